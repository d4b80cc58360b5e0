package pipeline

import (
	"cmp"
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/absence"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/planner/upgrade"
)

// Situate determines the status of each cluster, and refuses what must not be guessed: a cluster is
// bootstrapped only if every control plane was observed to be blank and neither the state nor any host
// has a cluster's identity.
func Situate(v *topology.Fleet) diag.Diagnostics { return situate(v, false) }

// situate is Situate; with withholding for a plan that goes on without control planes that could not
// be observed, where their cluster accounts for them.
func situate(v *topology.Fleet, withholding bool) diag.Diagnostics {
	diags := ownership.NewerMarks(v)
	for _, c := range v.Clusters {
		owned := ownership.CheckOwner(c)
		c.Disowned = owned.HasErrors()
		owned = append(owned, ownership.CheckForgotten(c)...)
		diags = append(diags, owned...)
		silent := situateCluster(c, withholding)
		diags = append(diags, silent...)
		if !owned.HasErrors() {
			diags = append(diags, ownership.CheckIdentity(c)...)
			if d := etcd.RefuseUnfinished(c); d != nil {
				diags = append(diags, d)
			}
		}
		c.Up = upgrade.AnalyzeUpgrade(c)
		if c.AtOnce = rotation.ExpiredCAs(c); staticpod.ReplacesAtOnce(c) {
			c.Report = nil // any answer still comes over connections from before the expiry
			for base := range c.AtOnce {
				delete(c.Cas, base)
			}
		}
		c.Failed = staticpod.FailingComponents(c)
		c.Rotating = rotation.Rotations(c)
		c.Keys = rotation.KeyRotation(c)
		for _, r := range c.Rotating {
			// The signer changes within the plan.
			delete(c.Cas, r.Base)
		}
		if a := absence.Of(c); withholding && a != nil && a.Doubt != "" && !silent.HasErrors() && len(silentNodes(c)) > 0 {
			diags = append(diags, ownership.RefuseSilent(c, silentNodes(c), true, a.Doubt)...) // a rotation shows only now
		}
	}
	return append(diags, ownership.StrayDepartures(v)...)
}

// SituateCluster is Situate for the status of one cluster.
func SituateCluster(c *topology.Cluster) diag.Diagnostics { return situateCluster(c, false) }

// doubtOf returns why a cluster does not account for control planes that could not be observed.
func doubtOf(c *topology.Cluster) string {
	if a := absence.Of(c); a != nil {
		return a.Doubt
	}
	return ""
}

// silentNodes returns the control planes of the configuration that could not be observed.
func silentNodes(c *topology.Cluster) []*topology.Node {
	return slices.DeleteFunc(c.ControlPlanes(), func(n *topology.Node) bool { return n.Refused() || n.Report != nil })
}

func situateCluster(c *topology.Cluster, withholding bool) diag.Diagnostics {
	planes := c.ControlPlanes()
	var marked []string
	silent := silentNodes(c)
	var founder, member, holder *topology.Node
	for _, n := range planes {
		if n.Refused() || n.Report == nil {
			continue
		}
		if n.Report.Marks != nil || !topology.Blank(n.Report) {
			marked = append(marked, n.Target.String())
			if member == nil && n.Report.Files["/etc/kubernetes/admin.conf"].Exists {
				member = n
			}
			if holder == nil && n.Report.Files[c.CABase()+".crt"].Exists {
				holder = n
			}
		}
		if m := n.Report.Marks; m != nil && m.Founder {
			founder = n
		}
	}
	known := c.RecordedCA() != "" || len(marked) > 0
	if len(silent) > 0 && !c.Fleet.Destroy {
		doubt := ""
		if withholding {
			doubt = doubtOf(c)
		}
		if !withholding || !known || doubt != "" {
			return ownership.RefuseSilent(c, silent, known, doubt)
		}
	}
	if c.Refused() {
		return nil
	}
	// A cluster that is brought back from a backup is bootstrapped, also where that was interrupted.
	restores := c.Restored != nil && c.Report == nil
	switch {
	case c.Report != nil && member != nil:
		c.Primary = c.Reachable(member).Target
	case founder != nil && !restores:
		if c.Emptied() {
			return ownership.RefuseLost(c)
		}
		c.Founding, c.Primary = !c.RecordedRunning(), founder.Target
	case member != nil && !restores:
		c.Primary = member.Target
	case holder != nil && c.RecordedRunning() && !restores: // no host has a kubeconfig, which is an item like any other
		c.Primary = holder.Target
	case len(planes) > 0:
		if known && c.RecordedCA() != "" && !restores && !c.Fleet.Destroy {
			return ownership.RefuseLost(c)
		}
		c.Founding, c.Primary = true, cmp.Or(founder, planes[0]).Target
	}
	pki.CompletePrimary(c)
	c.Cas = c.CADigests()
	return nil
}
