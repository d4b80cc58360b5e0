package pki

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
)

func Next(r *topology.KeyRotation) string { return r.Base + "-next" }

// lasts reports whether the rotation is not over when this plan is done: who is brought the
// keys is brought the new pair as well.
func lasts(r *topology.KeyRotation) bool { return r != nil && r.Begun && !r.Due }

// BringKeys copies files of the control plane that has the new pair.
func BringKeys(r *topology.KeyRotation, files ...planner.SecretFile) planner.Operation {
	for i := range files {
		files[i].Mode, files[i].Owner = KeyMode, topology.Root
	}
	return planner.CopySecrets{From: r.Source, Files: files}
}

// BringNext brings the new pair itself.
func BringNext(r *topology.KeyRotation) planner.Operation {
	return BringKeys(r, planner.SecretFile{Path: Next(r) + ".key"}, planner.SecretFile{Path: Next(r) + ".pub"})
}

// RotationPaths returns the files of a rotation, in the order in which they go: the
// last one reports whether it is a second copy, and may be taken away.
func RotationPaths(a topology.CA) []string {
	return []string{a.OldFile(), a.NextBase() + ".key", a.NextBase() + ".crt"}
}
