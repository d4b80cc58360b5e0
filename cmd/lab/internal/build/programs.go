package build

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/sync/errgroup"

	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// Programs returns the paths of a release's programs by name, and builds missing ones. Without
// names it returns all programs.
func (c *Cache) Programs(ctx context.Context, r Release, names ...string) (map[string]string, error) {
	if len(names) == 0 {
		names = r.Programs()
	}
	for _, name := range names {
		if _, _, err := r.sourceOf(name); err != nil {
			return nil, err
		}
	}
	paths := map[string]string{}
	builds, ctx := errgroup.WithContext(ctx)
	builds.SetLimit(2) // linking uses one core: the other one compiles meanwhile
	for _, s := range r.sources() {
		wanted := s.only(names)
		for _, p := range wanted {
			paths[p.name] = c.programPath(s, p)
		}
		builds.Go(func() error { return c.buildSource(ctx, s, wanted) })
	}
	if err := builds.Wait(); err != nil {
		return nil, err
	}
	return paths, nil
}

// Fetch downloads the modules of a release's programs that are not built yet: downloading is
// bound by the network, building by the cores.
func (c *Cache) Fetch(ctx context.Context, r Release) error {
	for _, s := range r.sources() {
		if !slices.ContainsFunc(s.programs, func(p program) bool { return !disk.Exists(c.programPath(s, p)) }) {
			continue
		}
		if err := c.Timed("fetch "+s.name+" "+s.version, func() error { return c.fetch(ctx, s) }); err != nil {
			return fmt.Errorf("cannot fetch %s %s: %w", s.name, s.version, err)
		}
	}
	return nil
}

func (c *Cache) fetch(ctx context.Context, s source) error {
	key := "programs/" + s.name + "-" + s.version
	unlock, ok, err := c.TryLock(key)
	if err != nil || !ok {
		return err // who holds the lock downloads the modules, and builds in the same folder
	}
	defer unlock()
	dir, err := c.temp(key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if _, err := s.writeModule(ctx, dir, s.programs); err != nil {
		return err
	}
	args := []string{"list", "-deps", "-tags", s.tags, "-f", "{{.ImportPath}}"}
	for _, p := range s.programs {
		args = append(args, p.pkg)
	}
	_, err = goCommand(ctx, dir, args...)
	return err
}

func (s source) only(names []string) []program {
	return slices.DeleteFunc(slices.Clone(s.programs), func(p program) bool {
		return !slices.Contains(names, p.name)
	})
}

func (c *Cache) programPath(s source, p program) string {
	return c.Path("programs", s.name+"-"+s.version, p.name)
}

// buildSource builds the missing programs of a source. They are built together, because they
// share most of their packages, and renamed one by one, so that a later call finds each
// separately.
func (c *Cache) buildSource(ctx context.Context, s source, wanted []program) error {
	if len(wanted) == 0 {
		return nil
	}
	key := "programs/" + s.name + "-" + s.version
	unlock, err := c.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	missing := slices.DeleteFunc(slices.Clone(wanted), func(p program) bool { return disk.Exists(c.programPath(s, p)) })
	if len(missing) == 0 {
		return nil
	}
	tmp, err := c.temp(key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	var names []string
	for _, p := range missing {
		names = append(names, p.name)
	}
	what := fmt.Sprintf("build %s %s (%s)", s.name, s.version, strings.Join(names, ", "))
	if err := c.Timed(what, func() error { return s.build(ctx, tmp, missing) }); err != nil {
		return fmt.Errorf("cannot build %s %s: %w", s.name, s.version, err)
	}
	if err := os.MkdirAll(c.Path(key), 0o755); err != nil {
		return err
	}
	for _, p := range missing {
		if err := os.Rename(filepath.Join(tmp, "out", p.name), c.programPath(s, p)); err != nil {
			return err
		}
	}
	return nil
}

// build builds programs into dir/out from a module created in dir, which requires the source as
// any other module would. It checks out nothing of the source.
func (s source) build(ctx context.Context, dir string, programs []program) error {
	info, err := s.writeModule(ctx, dir, programs)
	if err != nil {
		return err
	}
	ldflags := "-s -w"
	vars := map[string]string{}
	if s.variable != nil {
		vars = s.variable(info)
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		ldflags += fmt.Sprintf(" -X %s=%s", name, vars[name])
	}
	// Debug information is not linked (-w); not generating it saves a tenth of compile time.
	flags := []string{"-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-tags", s.tags, "-ldflags", ldflags, "-o"}
	for _, p := range programs {
		if !p.test {
			continue
		}
		args := append([]string{"test", "-c", "-vet=off"}, flags...)
		if _, err := goCommand(ctx, dir, append(args, filepath.Join("out", p.name), p.pkg)...); err != nil {
			return err
		}
	}
	programs = slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return p.test })
	return buildMains(ctx, dir, append([]string{"build"}, flags...), programs)
}

// buildMains builds programs of main packages at once. args is the command up to -o.
func buildMains(ctx context.Context, dir string, args []string, programs []program) error {
	if len(programs) == 0 {
		return nil
	}
	if len(programs) == 1 { // its package may have another name, as etcd's has
		_, err := goCommand(ctx, dir, append(args, filepath.Join("out", programs[0].name), programs[0].pkg)...)
		return err
	}
	args = append(args, "out"+string(filepath.Separator))
	for _, p := range programs {
		if path.Base(p.pkg) != p.name {
			return fmt.Errorf("internal error: package %s would not make %s", p.pkg, p.name)
		}
		args = append(args, p.pkg)
	}
	_, err := goCommand(ctx, dir, args...)
	return err
}

// writeModule writes dir/go.mod and our own main packages of the programs. It repeats the
// source's language version, godebug settings and replacements by other modules, because go
// honors only those of the main module. Kubernetes replaces its staging libraries with folders,
// which the proxy serves as separate modules.
func (s source) writeModule(ctx context.Context, dir string, programs []program) (moduleInfo, error) {
	var info moduleInfo
	download, err := s.download(ctx, dir)
	if err != nil {
		return info, err
	}
	raw, err := os.ReadFile(download.Info)
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return info, fmt.Errorf("cannot read %s: %w", download.Info, err)
	}
	mod, err := os.ReadFile(download.GoMod)
	if err != nil {
		return info, err
	}
	text, err := s.buildModule(mod)
	if err != nil {
		return info, err
	}
	for _, p := range programs {
		if err := p.writeMain(dir); err != nil {
			return info, err
		}
	}
	return info, os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o644)
}

// downloaded is where go keeps a module: files, and the folder of its source.
type downloaded struct{ Info, GoMod, Dir string }

// download downloads the source's module, if it is missing, from any folder without a module.
func (s source) download(ctx context.Context, dir string) (downloaded, error) {
	var d downloaded
	out, err := goCommand(ctx, dir, "mod", "download", "-json", s.module+"@"+s.version)
	if err != nil {
		return d, err
	}
	if err := json.Unmarshal(out, &d); err != nil {
		return d, fmt.Errorf("cannot read go mod download's answer: %w", err)
	}
	return d, nil
}

// buildModule returns the go.mod of a module that builds the source's programs, derived from the
// source's own go.mod.
func (s source) buildModule(upstream []byte) ([]byte, error) {
	up, err := modfile.Parse("go.mod", upstream, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot read go.mod of %s: %w", s.module, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "module %s\n\ngo %s\n\n", labModule, up.Go.Version)
	for _, g := range up.Godebug {
		fmt.Fprintf(&b, "godebug %s=%s\n", g.Key, g.Value)
	}
	fmt.Fprintf(&b, "require %s %s\n", s.module, s.version)
	for _, r := range up.Replace {
		switch {
		case r.New.Version != "":
			fmt.Fprintf(&b, "replace %s => %s %s\n", strings.TrimSpace(r.Old.Path+" "+r.Old.Version), r.New.Path, r.New.Version)
		case s.instead[r.Old.Path] != "":
			fmt.Fprintf(&b, "replace %s => %s %s\n", r.Old.Path, r.Old.Path, s.instead[r.Old.Path])
		case s.staging != "":
			fmt.Fprintf(&b, "replace %s => %s %s\n", r.Old.Path, r.Old.Path, s.staging)
		}
	}
	return []byte(b.String()), nil
}

// goCommand runs the installed go. Programs are static (CGO off), so that they run in any image;
// the toolchain is never downloaded implicitly.
func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOWORK=off",
		"GOGC=400", "GOMEMLIMIT=2GiB") // compilers produce much garbage and keep little
	if args[0] == "list" {
		// go downloads as many modules in parallel as GOMAXPROCS.
		cmd.Env = append(cmd.Env, "GOMAXPROCS=16")
	}
	return process.Output(cmd)
}
