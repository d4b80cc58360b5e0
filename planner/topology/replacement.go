package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// The flags of replacing nodes.
const (
	ReplaceFlag = "replace"
	// AcceptNewHostFlag says that a node's host is another machine than before.
	AcceptNewHostFlag = "accept-new-host"
	// ForgetUnreachableFlag takes a node out whose host is gone for good.
	ForgetUnreachableFlag = "forget-unreachable"
)

// AsFlags are these flags with a node's address each, as words of a command that is
// printed to be copied.
func AsFlags(t state.Target, flags ...string) string {
	words := make([]string, len(flags))
	for i, f := range flags {
		words[i] = "-" + f + "=" + state.ShellWord(t.String())
	}
	return strings.Join(words, " ")
}

// Replacement is a node that leaves its cluster and joins again in one plan.
type Replacement struct {
	Reason string
	// Report is the host as it was seen; nil when it holds nothing to take away,
	// because it was reinstalled or is another machine.
	Report *state.Report
}

// Replaces reports whether the node is replaced in this plan.
func (v *Fleet) Replaces(t state.Target) bool { return v.Replacements[t] != nil }

// Readdressed reports whether the node is at another address than when it was recorded.
func Readdressed(n *config.Node, was *state.RecordedNode) bool {
	return was.Address != "" && !SameAddress(was.Address, n.AdvertiseAddress())
}

// SameAddress reports whether two addresses are one, however each is written.
func SameAddress(a, b string) bool { return state.CanonicalIP(a) == state.CanonicalIP(b) }

// ControlPlaneStays reports whether a control plane stays at its address besides the node: a
// cluster without one goes as a whole, so its block is nothing to take out.
func (v *Fleet) ControlPlaneStays(n *config.Node) bool {
	return slices.ContainsFunc(v.Config.NodesOf(n.Cluster, config.ControlPlane), func(p *config.Node) bool {
		was := v.Recorded.Nodes[p.Target]
		return p.Target != n.Target && was != nil && was.Role == string(config.ControlPlane) && !Readdressed(p, was)
	})
}

// AnotherNodeReason returns why the configuration's node is another one than that
// which was recorded; "" when it is not.
func AnotherNodeReason(n *config.Node, was *state.RecordedNode) string {
	switch {
	case was.Role != string(n.Role):
		return fmt.Sprintf("role %s -> %s", was.Role, n.Role)
	case n.Name != "" && was.Name != n.Name:
		return fmt.Sprintf("name %s -> %s", was.Name, n.Name)
	case n.Role == config.ControlPlane && Readdressed(n, was):
		return fmt.Sprintf("address %s -> %s", was.Address, n.AdvertiseAddress())
	}
	return ""
}

// KeptMarks returns what a host remembers while its node is replaced: that it is
// ours, and what was there before.
func (l Departure) KeptMarks() *state.Marks {
	if l.Report == nil {
		return nil
	}
	if l.Report.Marks == nil || l.Report.Marks.Cluster == "" {
		return l.adoptedMarks()
	}
	m := *l.Report.Marks
	m.Founder, m.ClusterCA, m.FormerCAs = false, "", nil
	return &m
}

// ReplacesWorker reports whether the node leaves as a worker and joins again in this plan.
func (n *Node) ReplacesWorker() bool {
	return n.Cluster.Fleet.Replaces(n.Target) && n.Cluster.Fleet.Recorded.Nodes[n.Target].Role == string(config.Worker)
}

// ComesBack tells of a worker that it is away until it has joined: this plan takes it out
// before, or an earlier apply did, as its host is ours already.
func (n *Node) ComesBack() bool {
	if n.IsControlPlane() || !n.Joins() {
		return false
	}
	return n.ReplacesWorker() || !n.Cluster.Fleet.Replaces(n.Target) && n.Report.Marks != nil
}
