package topology

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// Cluster is a cluster of the configuration with its observation.
type Cluster struct {
	*config.Cluster
	Fleet  *Fleet
	Target state.Target
	// Shared is the configuration from which the objects in the cluster are rendered, with the
	// observed values of ignored settings.
	Shared *config.Cluster
	// Nodes has control planes first.
	Nodes []*Node
	// Places are the indexes of its nodes.
	Places map[state.Target]int
	// Authorities are its CAs in kubeadm's order.
	Authorities []CA
	// Report is nil if the API did not answer, or its answer is Void. It lacks the nodes that are
	// replaced; Seen still has them.
	Report, Seen *state.ClusterReport
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

// Node returns the node of the cluster, or nil if it has no such node.
func (c *Cluster) Node(t state.Target) *Node {
	if i, ok := c.Places[t]; ok {
		return c.Nodes[i]
	}
	return nil
}

// PrimaryNode returns the control plane through which the API and etcd are reached, or nil.
func (c *Cluster) PrimaryNode() *Node { return c.Node(c.Primary) }

// Rotation returns the rotation of the CA with the base path; nil if it is not rotated.
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

// Rotates reports whether this plan continues a rotation. Without the API it is unknown whether all
// components have picked up the new CA; restoring the API comes first.
func (c *Cluster) Rotates() bool {
	return (len(c.Rotating) > 0 || c.Keys.Acts()) && c.Report != nil
}

// CAFile returns the path of the cluster CA's certificate on a control plane.
func (c *Cluster) CAFile() string { return c.Certificates.Dir + "/ca.crt" }

// CABase returns the path of the cluster's CA without .crt and .key.
func (c *Cluster) CABase() string { return c.Certificates.Dir + "/ca" }

// Limit returns the name of a limit of this cluster.
func (c *Cluster) Limit(name string) string { return c.Target.String() + "/" + name }
