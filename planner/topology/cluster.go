package topology

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// Cluster is a cluster of the configuration together with what is known of it.
type Cluster struct {
	*config.Cluster
	Fleet  *Fleet
	Target state.Target
	// Shared is what the objects in the cluster are rendered of: the
	// configuration, with what is ignored as it is there.
	Shared *config.Cluster
	// Nodes has control planes first.
	Nodes    []*Node
	ByTarget map[state.Target]*Node
	// Authorities are its CAs in kubeadm's order.
	Authorities []CA
	// Report is nil when the API did not answer. It is without the nodes that are
	// replaced; seen has them still.
	Report, Seen *state.ClusterReport
	// Restoring reports whether its etcd is restored from a snapshot.
	Restoring bool
	// Stages are those of the rotations of its CAs.
	Stages []*RotationStage
	Situation
}

// ControlPlanes returns the cluster's control planes in order.
func (c *Cluster) ControlPlanes() []*Node {
	var out []*Node
	for _, n := range c.Nodes {
		if n.Role != config.ControlPlane {
			break
		}
		out = append(out, n)
	}
	return out
}

// Node is nil when the target is no node of the cluster.
func (c *Cluster) Node(t state.Target) *Node { return c.ByTarget[t] }

// PrimaryNode returns the control plane through which the cluster is spoken to, or nil.
func (c *Cluster) PrimaryNode() *Node { return c.Node(c.Primary) }

// Rotation returns the rotation of the CA with the base path; nil when it is not rotated.
func (c *Cluster) Rotation(base string) *CARotation {
	for _, r := range c.Rotating {
		if r.Base == base {
			return r
		}
	}
	return nil
}

// ClusterCA returns the rotation of the CA for clients and API servers, or nil.
func (c *Cluster) ClusterCA() *CARotation { return c.Rotation(c.Certificates.Dir + "/ca") }

// Rotates reports whether this plan goes on with a rotation. Without the API nobody
// could tell whether all have taken it up; what keeps it down comes first.
func (c *Cluster) Rotates() bool {
	return (len(c.Rotating) > 0 || c.Keys.Acts()) && c.Report != nil
}

// Votes reports whether etcd counts the member as a voter.
func (c *Cluster) Votes(peerURL string) bool {
	return slices.ContainsFunc(c.Seen.Members, func(m state.EtcdMember) bool {
		return !m.Learner && slices.Contains(m.PeerURLs, peerURL)
	})
}

// Lists reports whether etcd counts the member, as a voter or as a learner.
func (c *Cluster) Lists(peerURL string) bool {
	return slices.ContainsFunc(c.Seen.Members, func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, peerURL) })
}

// CAFile returns the certificate of the cluster's CA on a control plane.
func (c *Cluster) CAFile() string { return c.Certificates.Dir + "/ca.crt" }

// CABase returns the path of the cluster's CA without .crt and .key.
func (c *Cluster) CABase() string { return c.Certificates.Dir + "/ca" }

// Limit returns the name of a limit of this cluster.
func (c *Cluster) Limit(name string) string { return c.Target.String() + "/" + name }
