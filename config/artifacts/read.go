package artifacts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

// Read reads a folder of artifacts and reports everything that is wrong with it at once. name
// is the folder's name in the configuration, at its position. Files that the memory has are not
// read.
func Read(dir, name string, at state.Source, memory *Memory) (*config.Catalog, diag.Diagnostics) {
	r := &reader{dir: dir, name: name, at: at, memory: memory}
	r.read()
	memory.save()
	if r.diags.HasErrors() {
		return nil, r.diags
	}
	return &config.Catalog{Files: r.files}, r.diags
}

type reader struct {
	dir    string
	name   string
	at     state.Source
	sums   map[string]string
	files  []config.Artifact
	memory *Memory
	diags  diag.Diagnostics
}

func (r *reader) refuse(format string, args ...any) {
	r.diags.Append(diag.Errorf("Artifacts do not fit", format, args...).At(r.at))
}

func (r *reader) read() {
	names, err := r.list()
	if err != nil {
		r.refuse("The folder of artifacts cannot be read: %v. Name it in install.artifacts, relative to the configuration.", err)
		return
	}
	if !r.readSums(names) {
		return
	}
	for name := range r.sums {
		if _, known := recognise(name); known && !slices.Contains(names, name) {
			r.refuse("%s stands in %s and is not in %s. Put it there, or take its line out.", name, SumsFile, r.name)
		}
	}
	r.examine(names)
	slices.SortFunc(r.files, func(a, b config.Artifact) int { return strings.Compare(a.Name, b.Name) })
	if len(names) == 0 && !r.diags.HasErrors() {
		r.refuse("%s holds nothing that kubewright knows by its name, such as kubelet, containerd-2.1.4-linux-amd64.tar.gz, runc.amd64, "+
			"cni-plugins-linux-amd64-v1.7.1.tgz or images/*.tar. Keep the names of the projects' releases.", r.name)
	}
	r.unique()
	slices.SortStableFunc(r.diags, func(a, b *diag.Diagnostic) int { return strings.Compare(a.Detail, b.Detail) })
}

// list returns the files that are recognised by their names.
func (r *reader) list() ([]string, error) {
	if info, err := os.Stat(r.dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder", r.name)
	}
	var names []string
	root, err := filepath.EvalSymlinks(r.dir)
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, file)
		name := filepath.ToSlash(rel)
		if _, known := recognise(name); known && err == nil {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// readSums reads the file of checksums and requires every recognised file to be in it.
func (r *reader) readSums(names []string) bool {
	sums := r.sumAll()
	content, err := safefile.ReadLinked(filepath.Join(r.dir, SumsFile), MaxSums)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.refuse("There is no %s in %s, so the files cannot be verified. Compare them with what their projects publish, and write it:\n\n  %s", SumsFile, r.name, sums)
		return false
	case err == nil:
		r.sums, err = ParseSums(content)
	}
	if err != nil {
		r.refuse("%s in %s cannot be read: %v. Write it again:\n\n  %s", SumsFile, r.name, err, sums)
		return false
	}
	var missing []string
	for _, name := range names {
		if r.sums[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		r.refuse("%s in %s has no line for %s. Compare what is new with what its project publishes, and write the file again:\n\n  %s",
			SumsFile, r.name, strings.Join(missing, ", "), sums)
	}
	return true
}

// sumAll returns the command that rewrites the checksums, including those of linked files.
func (r *reader) sumAll() string {
	home, dir := "", r.name
	if rest, ok := strings.CutPrefix(dir, "~/"); ok {
		home, dir = "~/", rest // which a shell does not expand in quotes
	}
	return "(cd " + home + state.ShellWord(dir) + ` && find . \( -type f -o -type l \) ! -name ` + SumsFile + " -exec sha256sum {} + > " + SumsFile + ")"
}

// examine reads all files, as many concurrently as there are processors.
func (r *reader) examine(names []string) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, name := range names {
		if r.sums[name] == "" {
			continue
		}
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			a, problem := r.file(name)
			mu.Lock()
			defer mu.Unlock()
			if problem != nil {
				r.refuse("%s: %v.", name, problem)
				return
			}
			r.files = append(r.files, a)
		})
	}
	wait.Wait()
}

// unique refuses two files with the same purpose: which one to use is ambiguous.
func (r *reader) unique() {
	seen := map[string]string{}
	for _, a := range r.files {
		keys := []string{}
		for _, p := range a.Programs {
			keys = append(keys, string(a.Kind)+" "+a.Arch+" "+p.Name)
		}
		if a.Kind == config.ArtifactConfig {
			keys = append(keys, string(a.Kind)+" "+a.Arch+" "+filepath.Base(a.Name))
		}
		for _, key := range keys {
			if other := seen[key]; other != "" && other != a.Name {
				r.refuse("%s and %s are both there. Take one of them out, and its line in %s.", other, a.Name, SumsFile)
				break
			}
			seen[key] = a.Name
		}
	}
}
