package pki

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
)

// NextKeyBase returns the path of the new pair without .key and .pub.
func NextKeyBase(r *topology.KeyRotation) string { return r.Base + "-next" }

// lasts reports whether the rotation continues after this plan: nodes that get the keys get the new
// pair as well.
func lasts(r *topology.KeyRotation) bool { return r != nil && r.Begun && !r.Due }

// CopyKeys copies files from the control plane that has the new pair.
func CopyKeys(r *topology.KeyRotation, files ...planner.SecretFile) planner.Operation {
	for i := range files {
		files[i].Mode, files[i].Owner = KeyMode, topology.Root
	}
	return planner.CopySecrets{From: r.Source, Files: files}
}

// CopyNextKeys copies the new pair itself.
func CopyNextKeys(r *topology.KeyRotation) planner.Operation {
	return CopyKeys(r, planner.SecretFile{Path: NextKeyBase(r) + ".key"}, planner.SecretFile{Path: NextKeyBase(r) + ".pub"})
}

// RotationPaths returns the files of a CA rotation in the order in which they are removed. The new CA's
// certificate goes last: by it a plan recognizes a copy that may be removed.
func RotationPaths(a topology.CA) []string {
	return []string{a.OldFile(), a.NextBase() + ".key", a.NextBase() + ".crt"}
}
