package operation

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/state"
)

func (do Operations) writeFile(op planner.WriteFile, batch providers.Batch) (bool, error) {
	content := []byte(op.Content.Inline)
	if op.Content.Ref != "" {
		secret, ok := batch.Contents[op.Content.Ref]
		if !ok {
			return false, fmt.Errorf("internal error: nothing given for %s", op.Content.Ref)
		}
		content = secret.Reveal()
	}
	if op.SHA256 != "" && op.SHA256 != file.Digest(content) {
		return false, fmt.Errorf("internal error: content of %s has digest %s, expected %s", op.Path, file.Digest(content), op.SHA256)
	}
	return do.m.Write(op.Path, do.servers.NewFile(content, op.Mode, op.Owner))
}

// Check returns an error for an operation that a real host refuses before it does anything.
func Check(op planner.Operation) error {
	switch op := op.(type) {
	case planner.WriteFile:
		return errors.Join(state.CheckPath(op.Path), checkAccess(op.Mode, op.Owner))
	case planner.EnsureDirectory:
		return errors.Join(state.CheckPath(op.Path), checkAccess(op.Mode, op.Owner))
	case planner.SetAccess:
		return errors.Join(state.CheckPath(op.Path), checkAccess(op.Mode, op.Owner))
	case planner.UploadArtifact:
		return checkFiles(op.Files)
	case planner.Preserve:
		return state.CheckPath(op.Path)
	case planner.Restore:
		return state.CheckPath(op.Path)
	case planner.RemovePath:
		return errors.Join(state.CheckPath(op.Path), state.CheckRemoval(op.Path, op.ContentsOnly))
	case planner.Unmount:
		return errors.Join(state.CheckPath(op.Below), state.CheckRemoval(op.Below, false))
	}
	if !planner.IsHostOperation(op) {
		return fmt.Errorf("internal error: %T is no operation of a host", op)
	}
	return nil
}

func checkFiles(files []planner.ArtifactFile) error {
	var all []error
	for _, f := range files {
		all = append(all, state.CheckPath(f.Path), checkAccess(f.Mode, ""))
	}
	return errors.Join(all...)
}

var (
	modeForm  = regexp.MustCompile(`^0*[0-7]{1,4}$`)
	ownerForm = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`)
)

func checkAccess(mode, owner string) error {
	switch {
	case !modeForm.MatchString(mode):
		return fmt.Errorf("mode %q is not octal", mode)
	case !ownerForm.MatchString(owner):
		return fmt.Errorf("owner %q is not USER:GROUP", owner)
	}
	return nil
}

func (do Operations) removePath(op planner.RemovePath) (bool, error) {
	p := file.Clean(op.Path)
	f := do.m.File(p)
	if f == nil {
		return false, nil
	}
	for _, mount := range do.m.Mounts {
		if mount == p || file.Below(mount, p) {
			return false, do.m.CommandError("remove "+op.Path, 1, mount+": Device or resource busy")
		}
	}
	if op.ContentsOnly && !f.IsDir() {
		return false, do.m.CommandError("empty "+op.Path, 1, op.Path+" is no folder")
	}
	tree := do.m.Tree(p)
	if p == machine.RuntimeStore {
		for _, image := range do.m.ImageStore().List() {
			do.m.ImageStore().Set(image, false)
		}
	}
	if op.ContentsOnly {
		for _, child := range tree {
			do.m.RemoveOne(child)
		}
		return len(tree) > 0, nil
	}
	do.m.Remove(p)
	do.servers.Advance(machine.TimeFile)
	return true, nil
}

func (do Operations) ensureDirectory(op planner.EnsureDirectory) (bool, error) {
	f := file.File{Type: file.Directory}
	if present := do.m.File(file.Clean(op.Path)); present != nil && !present.IsDir() {
		return false, do.m.CommandError("make folder "+op.Path, 1, op.Path+": File exists")
	}
	return do.m.Write(op.Path, f.WithAccess(op.Mode, op.Owner))
}

func (do Operations) setAccess(op planner.SetAccess) (bool, error) {
	present := do.m.File(file.Clean(op.Path))
	if present == nil && op.IfPresent {
		return false, nil
	}
	if !present.IsRegular() {
		return false, do.m.CommandError(op.Summary(), 1, op.Path+" is no file")
	}
	f := present.WithAccess(op.Mode, op.Owner)
	if file.Same(present, f) {
		return false, nil
	}
	do.m.Put(file.Clean(op.Path), f)
	do.servers.Advance(machine.TimeFile)
	return true, nil
}
