package machine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/file"
)

// File returns the file at a path, or nil.
func (m *Machine) File(p string) *file.File {
	if f, ok := m.Files[p]; ok {
		if f.Gone {
			return nil
		}
		return f
	}
	if p == "/" {
		return &file.File{Type: file.Directory}
	}
	return m.Baseline().files[p]
}

// Resolve returns the file at a path with symbolic links followed, or nil.
func (m *Machine) Resolve(p string) *file.File {
	f, _ := m.Follow(p)
	return f
}

// Follow returns the file at a path, or at the target of a symbolic link there, and its
// path.
func (m *Machine) Follow(p string) (*file.File, string) {
	f := m.File(p)
	for i := 0; f != nil && f.Type == file.Link && i < 8; i++ {
		target := f.Link
		if !strings.HasPrefix(target, "/") {
			target = file.Parent(p) + "/" + target
		}
		p = file.Clean(target)
		f = m.File(p)
	}
	return f, p
}

// Put writes a file, with the folders above it.
func (m *Machine) Put(p string, f *file.File) {
	if p == "/" {
		return
	}
	for dir := file.Parent(p); dir != "/" && m.File(dir) == nil; dir = file.Parent(dir) {
		m.set(dir, &file.File{Type: file.Directory})
	}
	m.set(p, f)
}

// readAtStart are files without a record whose reader reads them only at its start. Files of the user,
// of which it is preserved what was there, have such readers as well.
var readAtStart = []string{"/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env"}

func (m *Machine) set(p string, f *file.File) {
	if b := m.Baseline().files[p]; b != nil && file.Same(b, f) {
		delete(m.Files, p)
		return
	}
	if m.Files == nil {
		m.Files = map[string]*file.File{}
	}
	if f.Record != nil || f.Type == file.Link || slices.Contains(readAtStart, p) || m.Was[p] != "" || m.Before[p] != nil {
		stamped := *f
		if was := m.Files[p]; was == nil || was.SHA256 != f.SHA256 || was.Link != f.Link {
			stamped.Modified = m.fleet.Now
		}
		f = &stamped
	}
	m.Files[p] = f
	delete(m.Versions, p)
}

// Remove removes the file or tree at a path.
func (m *Machine) Remove(p string) {
	for _, child := range m.Tree(p) {
		m.RemoveOne(child)
	}
	m.RemoveOne(p)
}

// RemoveOne removes the file at a path, and nothing below it.
func (m *Machine) RemoveOne(p string) {
	delete(m.Files, p)
	delete(m.Versions, p)
	if m.Baseline().files[p] == nil {
		return
	}
	if m.Files == nil {
		m.Files = map[string]*file.File{}
	}
	m.Files[p] = &file.File{Gone: true}
}

// Tree returns the paths of everything below a folder, in order.
func (m *Machine) Tree(dir string) []string {
	var out []string
	for p := range m.Baseline().files {
		if file.Below(p, dir) && m.File(p) != nil {
			out = append(out, p)
		}
	}
	base := m.Baseline().files
	for p, f := range m.Files {
		if !f.Gone && base[p] == nil && file.Below(p, dir) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// Children returns the paths that are directly in a folder, in order.
func (m *Machine) Children(dir string) []string {
	var out []string
	base := m.Baseline()
	for _, p := range base.entries[dir] {
		if m.File(p) != nil {
			out = append(out, p)
		}
	}
	for p, f := range m.Files {
		if strings.HasPrefix(p, dir) && file.Parent(p) == dir && !f.Gone && base.files[p] == nil {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out
}

// Write writes a file unless an equal one exists.
func (m *Machine) Write(name string, f *file.File) (bool, error) {
	p := file.Clean(name)
	present := m.File(p)
	switch {
	case present != nil && file.Same(present, f):
		return false, nil
	case present.IsDir() && f.Type != file.Directory:
		return false, m.CommandError("write "+name, 1, name+": Is a directory")
	case m.Conditions.DiskFull:
		return false, m.CommandError("write "+name, 1, "write error: No space left on device")
	}
	if at := m.notDirectory(p); at != "" {
		return false, m.CommandError("write "+name, 1, at+": Not a directory")
	}
	if at := m.foreignFolder(p); at != "" {
		return false, m.CommandError("write "+name, 1, "others than root can write to "+at)
	}
	m.Put(p, f)
	m.fleet.Advance(TimeFile)
	return true, nil
}

// notDirectory returns the first part of the path to p that is not a folder, or "".
func (m *Machine) notDirectory(p string) string {
	for dir := file.Parent(p); dir != "/"; dir = file.Parent(dir) {
		if f := m.File(dir); f != nil && !f.IsDir() {
			return dir
		}
	}
	return ""
}

// foreignFolder returns the first folder on the way to p that does not belong to root, or
// that others can write to, or "".
func (m *Machine) foreignFolder(p string) string {
	for dir := file.Parent(p); dir != "/"; dir = file.Parent(dir) {
		f := m.File(dir)
		if f == nil || !f.IsDir() {
			continue
		}
		mode, _ := strconv.ParseUint(f.EffectiveMode(), 8, 32)
		user, group, _ := strings.Cut(f.EffectiveOwner(), ":")
		if user != "root" || mode&0o002 != 0 || mode&0o020 != 0 && group != "root" && dir != "/var/log" {
			return dir
		}
	}
	return ""
}
