package topology

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// A CA is rotated in three stages, each of which ends before the next begins:
//
//   - trust-both: a new CA is made beside the old one, and every component trusts both and has read
//     them.
//   - reissue: the new CA reissues everything that the old one has signed, including the kubelets'
//     own files, and no component signs with the old one any more.
//   - drop-old: every component trusts only the new one.
//
// At any moment every component trusts what any other one presents. Until the last stage the first
// certificate of ca.crt is the old one, and ca.key is its key, so that kubeadm, which uses the
// first one as the CA, signs with a CA that every component trusts. Files beside it identify the
// new and the old CA until the rotation is complete; its progress is observed from those files and
// from the issuers of certificates. The procedure is that of the Kubernetes documentation, "Manual
// Rotation of CA Certificates".
const (
	TrustBoth = "trust-both"
	Reissue   = "reissue"
	DropOld   = "drop-old"
)

// Rotation is a request to replace a CA of a cluster, or its service account keys.
type Rotation struct {
	Cluster state.Target
	// CA is its name: ca, front-proxy-ca or etcd-ca; or service-account for the key pair that
	// verifies tokens.
	CA string
}

// String returns the rotation as the user requests it.
func (r Rotation) String() string { return r.Cluster.String() + "/" + r.CA }

// CARotation is a CA that is being rotated.
type CARotation struct {
	CA
	// Source is the control plane that has the new CA, or makes it.
	Source state.Target
	// Old and New are identities; New is empty until the CA is made.
	Old, New string
	// Begun reports whether the new CA exists; Reissuing whether it has signed something, and so is
	// trusted by all components; Dropping whether a component has dropped the old one, on which
	// nothing depends any more.
	Begun, Reissuing, Dropping bool
}

// KeyRotation is a pair of service account keys that is being rotated.
type KeyRotation struct {
	// Base is the pair's path without .key and .pub.
	Base string
	// Source is the control plane that has the new pair, or makes it.
	Source state.Target
	// Old and New are the identities of the public keys; New is empty until the pair is made.
	Old, New string
	// Begun reports whether the new pair exists and an API server accepts it; Signing whether a
	// component signs with it, Signed whether all do, and Dropping whether an API server no longer
	// accepts the old one.
	Begun, Signing, Signed, Dropping bool
	// Since is when the last API server began to sign with the new key.
	Since time.Time
	// Secrets are the names of Secrets with tokens signed by the old key.
	Secrets []string
	// Due reports whether this plan drops the old key; Held says what that waits for.
	Due  bool
	Held string
}

// WithEnd returns the rotation with what decides whether this plan drops the old key.
func (r *KeyRotation) WithEnd(secrets []string, due bool, held string) *KeyRotation {
	out := *r
	out.Secrets, out.Due, out.Held = secrets, due, held
	return &out
}

// TakesPart reports whether a stage of this plan has work left for the keys.
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

// Acts reports whether this plan continues the rotation.
func (r *KeyRotation) Acts() bool {
	return r.TakesPart(TrustBoth) || r.TakesPart(Reissue) || r.TakesPart(DropOld)
}

// RotationStage is a stage of a cluster's rotations.
type RotationStage struct {
	Name string
	// Fleet is the fleet in this stage, Place the index of the cluster in it.
	Fleet *Fleet
	Place int
}

// Cluster returns the cluster as configured in the stage.
func (s *RotationStage) Cluster() *Cluster { return s.Fleet.Clusters[s.Place] }

// Step returns the address of a phase on a target in the stage.
func (s *RotationStage) Step(t state.Target, phase string) state.Address {
	id := StepAddress(t, phase)
	id.Waypoint = s.Name
	return id
}

// SigningAt returns the CA with which controller managers sign in a stage; zero for the cluster CA
// as usual.
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
