package kubeadmtest

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A golden is kept as the files in which it differs from its base. What the base has and
// the golden has not is listed in the file absentFile.
const (
	baseVersion = "1.36.3"
	baseCase    = "default"
	absentFile  = "absent"
)

// goldenName names a golden: what kubeadm of a version wrote for a case.
type goldenName struct{ version, name string }

// restsOn reports whether the base of a golden contains another golden.
func (n goldenName) restsOn(o goldenName) bool {
	switch {
	case n == o:
		return false
	case o.name == baseCase:
		return o.version == baseVersion || o.version == n.version
	}
	return o.version == baseVersion && o.name == n.name
}

// depth returns how many goldens lie below a golden's base: a base is kept before what rests on it.
func (n goldenName) depth() int {
	switch {
	case n.name == baseCase:
		return 1
	case n.version == baseVersion:
		return 2
	}
	return 3
}

// difference is what a golden has in other words than its base, and what it lacks of it.
type difference struct {
	files  map[string]string
	absent []string
}

// of returns the files that differ so from a base.
func (d difference) of(base map[string]string) map[string]string {
	files := maps.Clone(base)
	for _, path := range d.absent {
		delete(files, path)
	}
	maps.Copy(files, d.files)
	return files
}

// between returns the difference of files from a base.
func between(base, files map[string]string) difference {
	d := difference{files: maps.Clone(files)}
	for path, content := range base {
		if now, ok := files[path]; !ok {
			d.absent = append(d.absent, path)
		} else if now == content {
			delete(d.files, path)
		}
	}
	slices.Sort(d.absent)
	return d
}

// Goldens are those below a folder. They remember what many of them share.
type Goldens struct {
	root    string
	bases   map[goldenName]map[string]string
	objects map[string]map[string]any
}

// NewGoldens returns the goldens below a folder.
func NewGoldens(root string) *Goldens {
	return &Goldens{root: root, bases: map[goldenName]map[string]string{}, objects: map[string]map[string]any{}}
}

// Write keeps a golden, replacing the one that is there. Goldens that rest on it are kept
// again, so that they stay what they are. Its base must be there.
func (s *Goldens) Write(version, name string, g *Golden) error {
	n := goldenName{version, name}
	resting, err := s.restingOn(n)
	if err != nil {
		return err
	}
	if err := s.keep(n, g.files()); err != nil {
		return err
	}
	for _, r := range resting {
		if err := s.keep(r.goldenName, r.files); err != nil {
			return err
		}
	}
	return nil
}

// wholeGolden is a golden with all of its files.
type wholeGolden struct {
	goldenName
	files map[string]string
}

// restingOn returns the goldens that rest on another one, each before those that rest on it.
func (s *Goldens) restingOn(on goldenName) ([]wholeGolden, error) {
	dirs, err := filepath.Glob(filepath.Join(s.root, "*", "*"))
	if err != nil {
		return nil, err
	}
	var out []wholeGolden
	for _, dir := range dirs {
		n := goldenName{filepath.Base(filepath.Dir(dir)), filepath.Base(dir)}
		if !n.restsOn(on) {
			continue
		}
		files, err := s.files(n)
		if err != nil {
			return nil, err
		}
		out = append(out, wholeGolden{n, files})
	}
	slices.SortStableFunc(out, func(a, b wholeGolden) int { return cmp.Compare(a.depth(), b.depth()) })
	return out, nil
}

// keep writes the files in which a golden differs from its base.
func (s *Goldens) keep(n goldenName, files map[string]string) error {
	clear(s.bases)
	base, err := s.base(n)
	if err != nil {
		return err
	}
	dir := s.dir(n)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	d := between(base, files)
	if len(d.absent) > 0 || len(d.files) == 0 { // a golden is a folder, which git keeps for a file in it alone
		d.files[absentFile] = lines(d.absent)
	}
	for path, content := range d.files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Compare returns the number of files of a golden, and the names of those in which it
// differs from the one that is kept, sorted. It writes nothing.
func (s *Goldens) Compare(version, name string, g *Golden) (files int, differing []string, err error) {
	kept, err := s.files(goldenName{version, name})
	if err != nil {
		return 0, nil, err
	}
	now := g.files()
	all := maps.Clone(kept)
	maps.Copy(all, now)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		before, was := kept[path]
		after, is := now[path]
		if was != is || before != after {
			differing = append(differing, path)
		}
	}
	return len(all), differing, nil
}

// Texts returns all files of a golden as they would stand in a folder of their own, by path.
func (s *Goldens) Texts(version, name string) (map[string]string, error) {
	return s.files(goldenName{version, name})
}

// base returns the files from which a golden differs. The default case of baseVersion has
// none, that of another version has baseVersion's. Every other case has the default case of
// its version, changed as the case changes it in baseVersion.
func (s *Goldens) base(n goldenName) (map[string]string, error) {
	switch {
	case n == goldenName{baseVersion, baseCase}:
		return map[string]string{}, nil
	case n.name == baseCase:
		return s.shared(goldenName{baseVersion, baseCase})
	}
	files, err := s.shared(goldenName{n.version, baseCase})
	if err != nil || n.version == baseVersion {
		return files, err
	}
	d, err := s.difference(goldenName{baseVersion, n.name})
	if errors.Is(err, fs.ErrNotExist) { // a case of this version alone
		return files, nil
	}
	return d.of(files), err
}

// shared returns the files of a default case, which are read once.
func (s *Goldens) shared(n goldenName) (map[string]string, error) {
	if files, ok := s.bases[n]; ok {
		return files, nil
	}
	files, err := s.files(n)
	if err == nil {
		s.bases[n] = files
	}
	return files, err
}

// files returns all files of a golden.
func (s *Goldens) files(n goldenName) (map[string]string, error) {
	d, err := s.difference(n)
	if err != nil {
		return nil, err
	}
	base, err := s.base(n)
	if err != nil {
		return nil, err
	}
	return d.of(base), nil
}

// difference reads what is kept of a golden; it fails with fs.ErrNotExist without one.
func (s *Goldens) difference(n goldenName) (difference, error) {
	d, dir := difference{files: map[string]string{}}, s.dir(n)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if name := strings.TrimPrefix(path, dir+"/"); name == absentFile {
			d.absent = strings.Fields(string(content))
		} else {
			d.files[name] = string(content)
		}
		return err
	})
	return d, err
}

func (s *Goldens) dir(n goldenName) string { return filepath.Join(s.root, n.version, n.name) }
