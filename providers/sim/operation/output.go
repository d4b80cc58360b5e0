package operation

import (
	"github.com/kubewright/kubewright/planner"
)

// Subject returns what an operation is about.
func Subject(op planner.Operation) string {
	switch op := op.(type) {
	case planner.WriteFile:
		return op.Path
	case planner.RemovePath:
		return op.Path
	case planner.EnsureDirectory:
		return op.Path
	case planner.SetAccess:
		return op.Path
	case planner.UploadArtifact:
		return op.Artifact
	case planner.Preserve:
		return op.Path
	case planner.Restore:
		return op.Path
	case planner.Packages:
		return op.Manager
	case planner.LoadImage:
		return op.Image
	case planner.RestoreEtcd:
		return op.Artifact
	case planner.TakeBackup:
		return op.Before
	case planner.SetAsideEtcd:
		return op.DataDir
	case planner.Unit:
		return op.Action + " " + op.Unit
	case planner.RestartProcess:
		return op.Process.Name
	case planner.SetSysctl:
		return op.Name
	case planner.LoadModule:
		return op.Module
	case planner.SystemUser:
		return op.Name
	case planner.Unmount:
		return op.Below
	}
	return ""
}

// Output returns the output of an operation's commands while they run, as real ones print
// it, for the operations of planner.Tells.
func Output(op planner.Operation) []string {
	switch op := op.(type) {
	case planner.LoadImage:
		if op.Artifact != "" {
			return []string{"unpacking " + op.Image + "...done"}
		}
		return []string{op.Image + ": resolving", "Image is up to date for " + op.Image}
	case planner.Packages:
		return packagesOutput(op)
	case planner.RemovePods:
		return []string{"Stopped sandboxes", "Removed sandboxes"}
	}
	return nil
}

func packagesOutput(op planner.Packages) []string {
	verb := "Setting up "
	if op.Remove {
		verb = "Removing "
	}
	var out []string
	for _, p := range op.List {
		name := p.Name
		if p.Version != "" {
			name += " (" + p.Version + ")"
		}
		out = append(out, verb+name+" ...")
	}
	return out
}
