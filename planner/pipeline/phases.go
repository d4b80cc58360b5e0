package pipeline

import (
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Names lists the names of all phases, in order.
func Names() []string {
	out := []string{topology.PreflightPhase}
	for _, p := range phases.All() {
		out = append(out, p.Name)
	}
	return append(out, topology.SnapshotPhase, topology.DrainPhase, topology.PausePhase, topology.TokenPausePhase, topology.ResetPhase)
}

// desired returns the items of all phases for the cluster itself and its addons.
func desired(c *topology.Cluster) []state.Item {
	var out []state.Item
	for _, p := range phases.All() {
		if p.ClusterItems != nil {
			out = append(out, p.ClusterItems(c)...)
		}
	}
	return out
}

// Desired returns the items that the configuration and the facts ask for, with secrets sealed.
func Desired(v *topology.Fleet) *state.Snapshot {
	out := &state.Snapshot{}
	if v.Destroy {
		return out
	}
	swapped := resolve.WithOtherSecrets(v)
	for i, c := range v.Clusters {
		for j, n := range c.Nodes {
			if n.Report == nil {
				continue
			}
			items := phases.Desired(n)
			if swapped != nil {
				sensitive.Seal(v, items, itemsOf(swapped, i, j))
			}
			out.Items = append(out.Items, missed(n, items)...)
		}
		items := desired(c)
		if swapped != nil {
			sensitive.Seal(v, items, clusterItemsOf(swapped, i))
		}
		out.Items = append(out.Items, items...)
	}
	out.Sort()
	return out
}

// refused returns the nodes and clusters, by address, that errors are about.
func refused(diags diag.Diagnostics) map[string]bool {
	out := map[string]bool{}
	for _, d := range diags.Errors() {
		out[d.Address] = true
	}
	return out
}
