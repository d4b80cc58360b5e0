package topology

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// A CA is rotated in three stages, each of which ends before the next begins:
//
//   - trust-both: a new CA is made beside the old one, and everybody is told of
//     both and has read so.
//   - reissue: what the old one has signed is issued by the new one, also in the
//     kubelets' own files, and nobody signs with the old one any more.
//   - drop-old: everybody is told of the new one alone.
//
// At any moment everybody trusts what anybody shows. Until the last stage the
// first certificate of ca.crt is the old one, and ca.key is its key, so that
// kubeadm, which takes the first for the CA, signs with what everybody trusts.
// What the new CA and the old one are is in files beside it until all is done;
// how far a rotation has come is seen from those and from who has signed what.
// The procedure is that of the Kubernetes documentation, "Manual Rotation of CA
// Certificates".
const (
	TrustBoth = "trust-both"
	Reissue   = "reissue"
	DropOld   = "drop-old"
)

// Rotation asks for a CA of a cluster, or its service account keys, to be
// replaced by a new one.
type Rotation struct {
	Cluster state.Target
	// CA is its name: ca, front-proxy-ca or etcd-ca; or service-account for the
	// pair of keys by which tokens are believed.
	CA string
}

// String returns the rotation as it is asked for.
func (r Rotation) String() string { return r.Cluster.String() + "/" + r.CA }

// CARotation is a CA on its way to its successor.
type CARotation struct {
	CA
	// Source is the control plane that has the new CA, or is to make it.
	Source state.Target
	// Old and new are identities; new is empty as long as the CA is to be made.
	Old, New string
	// Begun reports whether the new CA is there, reissuing that it has signed something,
	// and so is trusted by all, dropping that somebody has let go of the old one,
	// and so nothing rests on that.
	Begun, Reissuing, Dropping bool
}

// KeyRotation is the pair of service account keys on its way to its successor.
type KeyRotation struct {
	// Base is the pair's path without .key and .pub.
	Base string
	// Source is the control plane that has the new pair, or is to make it.
	Source state.Target
	// Old and new are the identities of the public keys; new is empty as long as
	// the pair is to be made.
	Old, New string
	// Begun reports whether the new pair is there and somebody believes it, signing that
	// somebody signs with it, signed that all do, and dropping that somebody does
	// not believe the old one any more.
	Begun, Signing, Signed, Dropping bool
	// Since is when the last API server began to sign with the new one.
	Since time.Time
	// Secrets are the names of Secrets with tokens that the old one has signed.
	Secrets []string
	// Due reports whether the old one is dropped in this plan, and held why not although
	// it could be.
	Due  bool
	Held string
}

// TakesPart reports whether the keys have something left to do in a stage of this plan.
func (r *KeyRotation) TakesPart(stage string) bool {
	switch {
	case r == nil:
		return false
	case stage == TrustBoth:
		return !r.Signing && !r.Dropping
	case stage == Reissue:
		return !r.Signed && !r.Dropping
	}
	return r.Due
}

// Acts reports whether this plan goes on with the rotation.
func (r *KeyRotation) Acts() bool {
	return r.TakesPart(TrustBoth) || r.TakesPart(Reissue) || r.TakesPart(DropOld)
}

// RotationStage is a stage of a cluster's rotations.
type RotationStage struct {
	Name string
	// View is the cluster's in this stage, place its place in there.
	View  *Fleet
	Place int
}

// Cluster returns the cluster as it is configured in the stage.
func (s *RotationStage) Cluster() *Cluster { return s.View.Clusters[s.Place] }

// Step returns the address of a phase on a target in the stage.
func (s *RotationStage) Step(t state.Target, phase string) state.Address {
	id := StepAddress(t, phase)
	id.Waypoint = s.Name
	return id
}

// SigningAt returns the CA with which controller managers sign in a stage, without
// .crt and .key; empty is the cluster's as always.
func SigningAt(c *Cluster, stage string) Signing {
	r := c.ClusterCA()
	switch {
	case r == nil || stage == DropOld:
		return Signing{}
	case stage == TrustBoth:
		return Signing{certificate: r.OldFile(), key: r.Base + ".key"}
	}
	return Signing{certificate: r.NextBase() + ".crt", key: r.NextBase() + ".key"}
}

// Signing is a pair of files with which controller managers sign; zero for the cluster's CA.
type Signing struct{ certificate, key string }
