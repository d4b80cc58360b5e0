package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// project is a repository with one commit, and a release of it without compilers.
type project struct {
	t *testing.T
	run
	lines []string
	// build is the number of the build; differs makes the second one differ.
	builds  int
	differs bool
	refuses error
}

func newProject(t *testing.T) *project {
	t.Helper()
	repo := t.TempDir()
	p := &project{t: t}
	p.run = run{
		repo: repo, dist: filepath.Join(repo, "dist"), build: p.fakeBuild,
		log:  func(format string, args ...any) { p.lines = append(p.lines, fmt.Sprintf(format, args...)) },
		sign: func(context.Context, string, func(string, ...any)) error { return nil },
	}
	p.git("init", "--quiet", "--initial-branch=main")
	p.write(".gitignore", "/bin/\n/dist/\n")
	p.commit("first")
	return p
}

func (p *project) git(args ...string) string {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", p.repo, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE=2026-02-03T04:05:06Z", "GIT_AUTHOR_DATE=2026-02-03T04:05:06Z", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.repo, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) commit(message string) {
	p.t.Helper()
	p.git("add", "-A")
	p.git("commit", "--quiet", "--allow-empty", "-m", message)
}

// fakeBuild makes what a build makes.
func (p *project) fakeBuild(_ context.Context, s source, folder string) (string, error) {
	p.builds++
	if p.refuses != nil {
		return "", p.refuses
	}
	dist := filepath.Join(folder, "dist")
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return "", err
	}
	content := "program of " + s.commit
	if p.differs && p.builds == 2 {
		content += ", built in " + folder
	}
	files := map[string]string{"program": content, aboutFile: fmt.Sprintf(`{"version": %q, "commit": %q}`, s.version, s.commit)}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dist, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return dist, writeSums(dist)
}

// wantRefused checks that nothing was released, and that the reason names these parts.
func (p *project) wantRefused(parts ...string) {
	p.t.Helper()
	before, _ := sums(p.dist)
	err := p.release(p.t.Context())
	if err == nil {
		p.t.Fatal("released")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			p.t.Errorf("the reason does not contain %q:\n%v", part, err)
		}
	}
	after, _ := sums(p.dist)
	if fmt.Sprint(before) != fmt.Sprint(after) {
		p.t.Errorf("dist was changed: %v, now %v", before, after)
	}
	left, _ := filepath.Glob(filepath.Join(p.repo, "bin", ".release-*"))
	if len(left) > 0 {
		p.t.Errorf("%v stays", left)
	}
}

func (p *project) wantReleased() {
	p.t.Helper()
	if err := p.release(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.dist, sumsFile))
	if err != nil || !strings.Contains(string(text), "  program\n") {
		p.t.Errorf("%s: %v %q", sumsFile, err, text)
	}
}

// TestReleaseIsRefused shows what no release is made of, with the reasons.
func TestReleaseIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(p *project)
		want    []string
	}{
		"changes": {func(p *project) { p.write("new.go", ""); p.git("tag", "v1.0.0") }, []string{"changes that are in no commit", "new.go"}},
		"no tag":  {func(*project) {}, []string{"has no version", "vMAJOR.MINOR.PATCH", "make snapshot"}},
		"a tag that is no version": {
			func(p *project) { p.git("tag", "v1.2"); p.git("tag", "nightly") }, []string{"has no version"},
		},
		"two versions": {
			func(p *project) { p.git("tag", "v1.0.0"); p.git("tag", "v1.1.0") }, []string{"several versions: v1.0.0, v1.1.0"},
		},
		"a snapshot of a release": {
			func(p *project) { p.git("tag", "v1.0.0"); p.snapshot = true }, []string{"is v1.0.0 and no snapshot", "make release"},
		},
		"one platform": {func(p *project) { p.git("tag", "v1.0.0"); p.only = "linux/amd64" }, []string{"all platforms"}},
		"different builds": {
			func(p *project) { p.git("tag", "v1.0.0"); p.differs = true }, []string{"two builds", "differ", "program has SHA-256"},
		},
		"no licence": {
			func(p *project) { p.git("tag", "v1.0.0"); p.refuses = errors.New("no licence was found") }, []string{"no licence was found"},
		},
		"files of another origin": {
			func(p *project) {
				p.git("tag", "v1.0.0")
				if err := os.Mkdir(p.dist, 0o755); err != nil {
					p.t.Fatal(err)
				}
				p.write("dist/letter", "dear")
			}, []string{"was not written by this program", "Move or remove"},
		},
		"another commit's release": {
			func(p *project) {
				p.git("tag", "v1.0.0")
				p.wantReleased()
				p.commit("second")
				p.git("tag", "v1.1.0")
			}, []string{"holds 1.0.0 of the commit", "this is 1.1.0"},
		},
		"another build of the same commit": {
			func(p *project) {
				p.git("tag", "v1.0.0")
				p.wantReleased()
				p.write("dist/program", "changed since")
			}, []string{"another build of this commit, which is kept", "program has SHA-256"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProject(t)
			c.prepare(p)
			p.builds = 0
			p.wantRefused(c.want...)
		})
	}
}

// TestReleaseAgain checks that a release is built twice, and that building it again changes nothing.
func TestReleaseAgain(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.git("tag", "v1.0.0-rc.1")
	p.wantReleased()
	if p.builds != 2 {
		t.Errorf("built %d times", p.builds)
	}
	before, err := os.Stat(filepath.Join(p.dist, "program"))
	if err != nil {
		t.Fatal(err)
	}
	p.wantReleased()
	if after, err := os.Stat(filepath.Join(p.dist, "program")); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("the program was written again: %v", err)
	}
	if last := p.lines[len(p.lines)-1]; !strings.Contains(last, "holds exactly these files already") {
		t.Errorf("got %q", last)
	}
}

// TestSnapshotVersion checks that the version of a snapshot follows from its commit, as Go's
// pseudo-versions do.
func TestSnapshotVersion(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.snapshot = true
	version := func() string {
		t.Helper()
		s, err := inspect(t.Context(), p.repo, true)
		if err != nil {
			t.Fatal(err)
		}
		if !s.time.Equal(time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)) {
			t.Errorf("got time %s", s.time)
		}
		return s.version
	}
	commit := p.git("rev-parse", "--short=12", "HEAD")
	if got, want := version(), "0.0.0-20260203040506-"+commit; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.git("tag", "v1.2.3")
	p.commit("second")
	commit = p.git("rev-parse", "--short=12", "HEAD")
	if got, want := version(), "1.2.4-0.20260203040506-"+commit; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.wantReleased()
}

// TestLicences checks which SBOMs are refused.
func TestLicences(t *testing.T) {
	t.Parallel()
	const licensed = `{"name": "a", "version": "v1", "evidence": {"licenses": [{"license": {"id": "MIT"}}]}}`
	for name, c := range map[string]struct{ sbom, want string }{
		"licensed":        {`{"components": [` + licensed + `, {"name": "std", "version": "go1"}]}`, ""},
		"no licence":      {`{"components": [` + licensed + `, {"name": "b", "version": "v2"}]}`, "  b v2\n"},
		"no dependencies": {`{"components": []}`, "lists no dependency"},
		"no SBOM":         {"", "there is no SBOM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if c.sbom != "" {
				if err := os.WriteFile(filepath.Join(dir, "x.cdx.json"), []byte(c.sbom), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := checkLicences(dir)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestSignWithGPG checks that a configured key signs SHA256SUMS, with a key of this test alone.
func TestSignWithGPG(t *testing.T) {
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("gpg is not installed")
	}
	home, err := os.MkdirTemp("/tmp", "gpg") // the path of a socket has few bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		exec.Command("gpgconf", "--homedir", home, "--kill", "gpg-agent").Run()
		os.RemoveAll(home)
	})
	t.Setenv("GNUPGHOME", home)
	if out, err := exec.Command("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "test@example.org", "ed25519", "sign", "1d").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := writeSums(dir); err != nil {
		t.Fatal(err)
	}
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	t.Setenv(cosignKey, "")
	t.Setenv(gpgKey, "")
	if err := sign(t.Context(), dir, say); err != nil || len(said) != 1 || !strings.HasPrefix(said[0], "not signed") {
		t.Fatalf("without a key: %v, %q", err, said)
	}
	t.Setenv(gpgKey, "test@example.org")
	if err := sign(t.Context(), dir, say); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, sumsFile)
	if out, err := exec.Command("gpg", "--verify", file+".asc", file).CombinedOutput(); err != nil {
		t.Errorf("the signature is wrong: %v\n%s", err, out)
	}
	t.Setenv(gpgKey, "unknown@example.org")
	os.Remove(file + ".asc")
	if err := sign(t.Context(), dir, say); err == nil || !strings.Contains(err.Error(), "gpg cannot sign") {
		t.Errorf("with an unknown key: %v", err)
	}
}

// TestLicenceFiles checks that a release has the licences of kubewright and of its dependencies, and
// that there is none without them.
func TestLicenceFiles(t *testing.T) {
	t.Parallel()
	files, err := licenceFiles(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"LICENSE": "Apache License", "NOTICE": "Copyright The kubewright authors", "THIRD_PARTY_LICENSES": "Go standard library"} {
		if !strings.Contains(string(files[name]), want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), files["LICENSE"], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := licenceFiles(dir); err == nil || !strings.Contains(err.Error(), "NOTICE") {
		t.Errorf("got %v", err)
	}
}
