package pipeline

import (
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/absence"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/planner/upgrade"
)

// Check reports what cannot be rendered: patches that do not fit, component configurations that the
// component would not read; and addons with objects that kubewright manages. It reads only the
// configuration and comes before everything else. Values that are known to be wrong are skipped.
func Check(cfg *config.Config, wrong ...*diag.Diagnostic) diag.Diagnostics {
	v := resolve.NewFleet(&topology.Fleet{Config: withoutWrong(cfg, wrong)})
	var diags diag.Diagnostics
	said := map[string]bool{}
	for _, c := range v.Clusters {
		diags = append(diags, objects.RefuseAddonConflicts(c)...)
		checked := map[config.Role]bool{}
		for _, n := range c.Nodes {
			// Nodes without settings of their own are checked once per role.
			if plain := provenance.Plain(n); plain && checked[n.Role] {
				continue
			} else if plain {
				checked[n.Role] = true
			}
			err := kubeadm.Check(n.Input())
			if err == nil || said[err.Error()] {
				continue
			}
			said[err.Error()] = true
			diags = append(diags, upgrade.Misfit(n, err))
		}
	}
	return diags
}

// unchangeable refuses what cannot be done with the clusters in their observed condition.
func unchangeable(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	swapped := resolve.WithOtherSecrets(v)
	for i, c := range v.Clusters {
		if swapped != nil {
			diags = append(diags, steering(c, swapped.Clusters[i])...)
		}
		diags = append(diags, upgrade.VersionChange(c)...)
		diags = append(diags, upgrade.UnfitForKubelets(c)...)
		diags = append(diags, upgrade.UnfitIgnored(c)...)
		diags = append(diags, etcd.LostMembers(c)...)
		diags = append(diags, etcd.RemovedMembers(c)...)
		diags = append(diags, unseenDepartures(c)...)
		diags = append(diags, lastServing(c)...)
	}
	return diags
}

// unseenDepartures refuses to remove nodes from a cluster that stays while its API does not answer:
// what runs on them is unknown, and there is no API to evict pods, to respect budgets, or to list
// etcd's members.
func unseenDepartures(c *topology.Cluster) diag.Diagnostics {
	if c.Seen != nil || c.Founding {
		return nil
	}
	var names []string
	var silent remedy.Text
	for _, l := range c.Fleet.Departures() {
		if l.Cluster != c || l.Whole || !l.Acts() {
			continue
		}
		names = append(names, l.Target.String())
		if l.Report == nil {
			silent = remedy.Textf(" A node whose host does not answer either stays out of the configuration meanwhile: with %s, "+
				"and without declaring its host gone, the apply continues without it.", remedy.WithoutSilent)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("Node cannot be removed now", "The API of cluster %q did not answer, so it is unknown what runs on %s, "+
		"its pods cannot be evicted, and etcd does not list its members. Bring the API back first, in an apply with the block as it was and without %s; "+
		"then remove the node.%s If etcd has lost its quorum for good, %s recreates it from a snapshot.",
		c.Label, strings.Join(names, ", "), remedy.Replace, silent, remedy.Restore).At(c.Source).For(c.Target)}
}

// lastServing refuses to remove the control planes that serve the API while no remaining or joining one
// does: no apply could finish or repair anything then.
func lastServing(c *topology.Cluster) diag.Diagnostics {
	if c.Seen == nil || c.Founding || absence.Vouched(c) {
		return nil // unknown, or withheld
	}
	var leaving []string
	for _, l := range c.Departing() {
		if !l.HostGone {
			leaving = append(leaving, l.Target.String())
		}
	}
	var silent []string
	for _, n := range c.ControlPlanes() {
		if c.Fleet.Replaces(n.Target) {
			continue
		}
		if n.Bootstraps() || c.ShowsReady(n.NodeName) {
			return nil
		}
		silent = append(silent, n.Target.String())
	}
	if len(leaving) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Errorf("No API server would remain", "%s would be removed from cluster %q, and of the remaining control planes no API server is "+
		"ready: %s. One that has just started is ready within a minute: plan again then. Otherwise repair the remaining ones first, in an apply without the removal.",
		strings.Join(leaving, ", "), c.Label, strings.Join(silent, ", ")).At(c.Source).For(c.Target)}
}
