package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	program = "./cmd/kubewright"
	// standard is the name of Go's standard library in the generated files. It has no version there:
	// another patch release of Go would make them out of date.
	standard = "Go standard library"
)

// platforms are those of .goreleaser.yaml.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// A module is a dependency of the program.
type module struct {
	path, version string
	// dir is its folder in the module cache, and packages are the folders in it that are linked.
	dir      string
	packages []string
}

func (m module) String() string { return strings.TrimSpace(m.path + " " + m.version) }

// listed is what go list prints of a package.
type listed struct {
	Dir      string
	Standard bool
	Module   *listedModule
}

type listedModule struct {
	Path, Version, Dir string
	Main               bool
	Replace            *listedModule
}

// linked returns the modules that the program consists of on any platform, without kubewright
// itself, sorted by path.
func linked(ctx context.Context, repo string) ([]module, error) {
	root, err := goCommand(ctx, repo, nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	std := module{path: standard, dir: strings.TrimSpace(string(root))}
	std.packages = []string{std.dir}
	found := map[string]module{}
	for _, platform := range platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		out, err := goCommand(ctx, repo, []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + goarch},
			"list", "-deps", "-json=Dir,Standard,Module", program)
		if err != nil {
			return nil, err
		}
		if err := addListed(found, out); err != nil {
			return nil, err
		}
	}
	modules := []module{std}
	for _, m := range found {
		slices.Sort(m.packages)
		m.packages = slices.Compact(m.packages)
		modules = append(modules, m)
	}
	slices.SortFunc(modules[1:], func(a, b module) int { return cmp.Compare(a.path, b.path) })
	return modules, nil
}

// addListed adds the modules of the output of go list.
func addListed(found map[string]module, out []byte) error {
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		m := p.Module
		if p.Standard || m == nil || m.Main {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		entry := found[m.Path]
		entry.path, entry.version, entry.dir = m.Path, m.Version, m.Dir
		entry.packages = append(entry.packages, p.Dir)
		found[m.Path] = entry
	}
}

// licenceNames and noticeNames begin the names of files with licences and with notices.
var (
	licenceNames = []string{"LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "UNLICENSE", "PATENTS"}
	noticeNames  = []string{"NOTICE"}
)

// files returns the files whose names begin with one of these, in the folders of linked packages
// and all those above them up to the module's, as paths below the module's folder.
func (m module) files(names []string) ([]string, error) {
	folders := map[string]bool{}
	for _, p := range m.packages {
		for rel, err := filepath.Rel(m.dir, p); ; rel = filepath.Dir(rel) {
			if err != nil {
				return nil, err
			}
			folders[rel] = true
			if rel == "." {
				break
			}
		}
	}
	var out []string
	for folder := range folders {
		entries, err := os.ReadDir(filepath.Join(m.dir, folder))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name := strings.ToUpper(e.Name())
			if e.Type().IsRegular() && filepath.Ext(name) != ".GO" &&
				slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(name, n) }) {
				out = append(out, filepath.ToSlash(filepath.Join(folder, e.Name())))
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

func goCommand(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}
