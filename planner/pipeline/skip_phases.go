package pipeline

import (
	"maps"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// unskipped drops the changes, or the drift, of phases that the configuration skips with skip_phases:
// for a node, for all nodes of a cluster, or for the cluster itself. Their steps have nothing to do
// then. Items of such a phase from an earlier plan stay as they are, as with -skip-phase.
func unskipped(v *topology.Fleet) drift.Rule {
	skipped := map[*topology.Cluster]map[state.ObjectRef]bool{}
	return func(ch *planner.Change) bool {
		c := v.ClusterOf(ch.Address.Target)
		switch {
		case c == nil || len(c.SkipPhases) == 0 && ch.Address.Target == c.Target:
			return true
		case ch.Address.Target != c.Target:
			n := c.Node(ch.Address.Target)
			return n == nil || !host.SkipsPhase(n, ch.Address.Phase)
		case ch.Address.Phase != topology.AddonPhase || ch.Kind != state.KindObject:
			return true
		}
		if skipped[c] == nil {
			skipped[c] = skippedAddons(c)
		}
		return !skipped[c][objects.ParseRef(ch.Address.ID())]
	}
}

// skippedAddons returns the objects of skipped kubeadm addons. They may exist all the same, from an
// earlier apply or from another tool. The user's own addons are not among them, as their blocks ask for
// them.
func skippedAddons(c *topology.Cluster) map[state.ObjectRef]bool {
	out := map[state.ObjectRef]bool{}
	for _, part := range []string{topology.CoreDNSPart, topology.KubeProxyPart} {
		if c.Skips(part) {
			maps.Copy(out, addonObjects(c, part))
		}
	}
	return out
}

// addonObjects returns the objects of one of kubeadm's addons.
func addonObjects(c *topology.Cluster, part string) map[state.ObjectRef]bool {
	out := map[state.ObjectRef]bool{}
	primary := c.PrimaryNode()
	if primary == nil || primary.Report == nil {
		return out
	}
	alone := *c.Shared
	alone.SkipPhases, alone.DNS.Disabled, alone.KubeProxy.Disabled = nil, part != topology.CoreDNSPart, part != topology.KubeProxyPart
	in := primary.Input()
	in.Cluster = &alone
	for _, o := range kubeadm.Objects(in) {
		if o.Phase == topology.AddonPhase {
			out[o.Ref] = true
		}
	}
	return out
}
