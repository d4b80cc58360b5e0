package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"go.yaml.in/yaml/v3"

	"github.com/kubewright/kubewright/tools/debian"
	"github.com/kubewright/kubewright/tools/image"
)

// programs are the tools of a release by name, as go install takes them. Go's checksum database
// verifies them.
var programs = map[string]string{
	"goreleaser":      "github.com/goreleaser/goreleaser/v2@v2.15.1",
	"cyclonedx-gomod": "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0",
}

// maxProgram is the largest size of a program in bytes: what a user downloads and a job of CI
// loads.
const maxProgram = 70_000_000

// A toolchain builds releases with the Go toolchain of this machine.
type toolchain struct {
	repo string
	// only is the one platform that is built, such as linux/amd64; empty for all.
	only string
	// cold reports whether the second build may not use the build cache.
	cold bool
	log  func(format string, args ...any)
}

// build clones the commit into a folder, makes everything there, and returns the folder with what
// is released.
func (t toolchain) build(ctx context.Context, s source, folder string) (string, error) {
	clone := filepath.Join(folder, "kubewright")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	if _, err := git(ctx, t.repo, "clone", "--quiet", "--no-checkout", t.repo, clone); err != nil {
		return "", err
	}
	if _, err := git(ctx, clone, "checkout", "--quiet", "--detach", s.commit); err != nil {
		return "", err
	}
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off",
		"PATH="+filepath.Join(t.repo, "bin", "tools")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"KUBEWRIGHT_VERSION="+s.version, "KUBEWRIGHT_SOURCE="+clone)
	if t.cold && !strings.HasPrefix(folder, t.repo) {
		env = append(env, "GOCACHE="+filepath.Join(folder, "cache"))
	}
	if err := t.install(ctx); err != nil {
		return "", err
	}
	if err := documents(ctx, s, clone, env); err != nil {
		return "", err
	}
	args := []string{"release", "--clean", "--skip=publish,announce"}
	if s.snapshot {
		args = []string{"release", "--clean", "--snapshot"}
	}
	if t.only != "" {
		config, err := configFor(t.only, clone, folder)
		if err != nil {
			return "", err
		}
		args = append(args, "--config", config)
	}
	if err := call(ctx, clone, env, "goreleaser", args...); err != nil {
		return "", err
	}
	return t.collect(ctx, s, clone, filepath.Join(folder, "dist"))
}

// configFor writes goreleaser's configuration for one platform, and returns its path.
func configFor(platform, clone, folder string) (string, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return "", fmt.Errorf("%q is no platform such as linux/amd64", platform)
	}
	text, err := os.ReadFile(filepath.Join(clone, ".goreleaser.yaml"))
	if err != nil {
		return "", err
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		return "", err
	}
	for _, build := range config["builds"].([]any) {
		build.(map[string]any)["goos"], build.(map[string]any)["goarch"] = []string{goos}, []string{goarch}
	}
	if text, err = yaml.Marshal(config); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "goreleaser.yaml")
	return path, os.WriteFile(path, text, 0o644)
}

// install installs the tools where they are missing.
func (t toolchain) install(ctx context.Context) error {
	env := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "GOBIN="+filepath.Join(t.repo, "bin", "tools"))
	for _, pkg := range programs {
		if err := call(ctx, t.repo, env, "go", "install", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", pkg); err != nil {
			return err
		}
	}
	return nil
}

// documents writes what archives and packages contain beside the program into the folder build of
// a clone: man pages, completion scripts, licences.
func documents(ctx context.Context, s source, clone string, env []string) error {
	build := filepath.Join(clone, "build")
	err := call(ctx, clone, env, "go", "run", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags=-s -w", "./cmd/kubewright/internal/manual",
		"-version="+s.version, "-date="+s.time.Format(time.RFC3339), build)
	if err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(build, "man", "*.md"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		if err := manPage(page); err != nil {
			return err
		}
	}
	licences, err := licenceFiles(clone)
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(build, "licenses"), 0o755); err != nil {
		return err
	}
	for name, text := range licences {
		if err := os.WriteFile(filepath.Join(build, "licenses", name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manPage turns a Markdown page into a compressed man page.
func manPage(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression) // without name and time
	if err != nil {
		return err
	}
	if _, err := w.Write(md2man.Render(text)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := os.WriteFile(strings.TrimSuffix(path, ".md")+".gz", b.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Remove(path)
}

// licenceNames are the files with the licence of kubewright, and the notices and licences of its
// dependencies (tools/licences), which every archive, package and image has.
var licenceNames = []string{"LICENSE", "NOTICE", "THIRD_PARTY_LICENSES"}

// licenceFiles returns the files of licenceNames by name.
func licenceFiles(clone string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, name := range licenceNames {
		text, err := os.ReadFile(filepath.Join(clone, name))
		if err != nil {
			return nil, err
		}
		out[name] = text
	}
	return out, nil
}

// collect takes what is released out of goreleaser's folder, and adds images and SHA256SUMS.
func (t toolchain) collect(ctx context.Context, s source, clone, dist string) (string, error) {
	if err := os.Mkdir(dist, 0o755); err != nil {
		return "", err
	}
	made := filepath.Join(clone, "dist")
	for _, pattern := range []string{"*.tar.gz", "*.deb", "*.rpm", "*.cdx.json"} {
		files, err := filepath.Glob(filepath.Join(made, pattern))
		if err != nil || len(files) == 0 {
			return "", fmt.Errorf("goreleaser made no %s: %w", pattern, err)
		}
		for _, file := range files {
			if err := os.Rename(file, filepath.Join(dist, filepath.Base(file))); err != nil {
				return "", err
			}
		}
	}
	if err := checkLicences(dist); err != nil {
		return "", err
	}
	linux, err := t.sizes(made)
	if err != nil {
		return "", err
	}
	licences, err := licenceFiles(clone)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	mirror := os.Getenv(debian.MirrorVariable)
	if mirror == "" {
		mirror = debian.DefaultMirror
	}
	packages := debian.Source{Mirror: mirror, Folder: filepath.Join(cache, "kubewright-release"), Client: &http.Client{Timeout: 5 * time.Minute}}
	images := image.Release{Version: s.version, Commit: s.commit, Time: s.time, Programs: linux, Licences: licences}
	if _, err := images.Write(ctx, packages, dist); err != nil {
		return "", fmt.Errorf("images: %w", err)
	}
	facts, err := json.MarshalIndent(about{Version: s.version, Commit: s.commit, Time: s.time.Format(time.RFC3339), Go: runtime.Version()}, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dist, aboutFile), append(facts, '\n'), 0o644); err != nil {
		return "", err
	}
	return dist, writeSums(dist)
}

// sizes prints the size of each program, refuses one that is too large, and returns those for
// Linux by architecture.
func (t toolchain) sizes(made string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(made, "kubewright_*", "kubewright"))
	if err != nil {
		return nil, err
	}
	linux := map[string]string{}
	for _, file := range files {
		// Folders are named by platform and level of the processor: kubewright_linux_amd64_v1.
		platform := strings.Split(filepath.Base(filepath.Dir(file)), "_")
		if len(platform) < 3 {
			return nil, fmt.Errorf("goreleaser's folder %s names no platform", filepath.Dir(file))
		}
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		t.log("  %s/%s: %.1f MB", platform[1], platform[2], float64(info.Size())/1e6)
		if info.Size() > maxProgram {
			return nil, fmt.Errorf("the program for %s/%s has %.1f MB, more than %.0f MB. make sizes shows what it consists of", platform[1], platform[2], float64(info.Size())/1e6, maxProgram/1e6)
		}
		if platform[1] == "linux" {
			linux[platform[2]] = file
		}
	}
	return linux, nil
}

// call runs a program and returns its output with the error if it fails.
func call(ctx context.Context, dir string, env []string, program string, args ...string) error {
	path, err := lookPath(program, env)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out)
	}
	return nil
}

// lookPath finds a program on the PATH of an environment; exec.LookPath reads that of this process.
func lookPath(program string, env []string) (string, error) {
	path := ""
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return filepath.Join(dir, program), nil
		}
	}
	return "", fmt.Errorf("%s is not on the PATH", program)
}
