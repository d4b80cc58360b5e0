package operation

import (
	"path"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
)

// absent is the record of a path where nothing was; that of a folder is its mode and owner.
const absent = "absent"

// preserve keeps a copy of the file at a path, once; with op.Any also that nothing is there, or mode and
// owner of a folder.
func (do Operations) preserve(op planner.Preserve) (bool, error) {
	p := file.Clean(op.Path)
	f := do.m.File(p)
	switch {
	case do.m.Before[p] != nil || op.Any && do.m.Was[p] != "" || f == nil && !op.Any:
		return false, nil
	case f == nil:
		for dir := path.Dir(p); path.Dir(dir) != dir; dir = path.Dir(dir) {
			if do.m.File(dir) == nil && do.m.Was[dir] == "" {
				do.record(&do.m.Around, dir, absent)
			}
		}
		do.record(&do.m.Was, p, absent)
		return true, nil
	case f.IsDir() && op.Any:
		do.record(&do.m.Was, p, f.Mode+" "+f.Owner)
		return true, nil
	case f.IsDir():
		return false, do.m.CommandError("keep "+p, 1, p+" is a folder")
	}
	if do.m.Before == nil {
		do.m.Before = map[string]*file.File{}
	}
	do.m.Before[p] = f
	return true, nil
}

func (do Operations) record(into *map[string]string, p, what string) {
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[p] = what
}

// restore restores the copy that preserve has made, or what its record says, and removes folders that
// were made for it once they are empty.
func (do Operations) restore(p string) bool {
	changed := false
	if f := do.m.Before[p]; f != nil {
		do.m.Put(p, f)
		delete(do.m.Before, p)
		changed = true
	} else if was := do.m.Was[p]; was != "" {
		changed = do.unmake(p, was)
	}
	for dir := path.Dir(p); do.m.Around[dir] != "" && do.m.Was[dir] == ""; dir = path.Dir(dir) {
		if !do.removeEmpty(dir) {
			break
		}
		delete(do.m.Around, dir)
		changed = true
	}
	return changed
}

func (do Operations) unmake(p, was string) bool {
	f := do.m.File(p)
	mode, owner, folder := strings.Cut(was, " ")
	switch {
	case folder && f.IsDir():
		do.m.Put(p, f.WithAccess(mode, owner))
	case was == absent && f.IsDir():
		if !do.removeEmpty(p) {
			delete(do.m.Was, p)
			do.record(&do.m.Around, p, absent)
			return false
		}
	case was == absent && f != nil:
		do.m.Remove(p)
	}
	delete(do.m.Was, p)
	do.servers.Advance(machine.TimeFile)
	return true
}

// removeEmpty removes a folder without content, or reports that it stays.
func (do Operations) removeEmpty(dir string) bool {
	if do.m.File(dir) == nil {
		return true
	}
	for _, mount := range do.m.Mounts {
		if mount == dir || file.Below(mount, dir) {
			return false
		}
	}
	if len(do.m.Tree(dir)) > 0 {
		return false
	}
	do.m.Remove(dir)
	return true
}
