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
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/planner/upgrade"
	"github.com/kubewright/kubewright/state"
)

// Situate returns the fleet with the status of each cluster, and refuses what must not be guessed: a
// cluster is bootstrapped only if every control plane was observed to be blank and neither the state nor
// any host has a cluster's identity.
func Situate(v *topology.Fleet) (*topology.Fleet, diag.Diagnostics) {
	return situate(resolve.NewFleet(v), false)
}

// SituateByAPI is Situate for operations that only the API carries out: they go on without control planes
// that could not be observed, where their cluster accounts for them, and warn of each.
func SituateByAPI(v *topology.Fleet) (*topology.Fleet, diag.Diagnostics) {
	v, diags := situate(resolve.NewFleet(v), true)
	for _, c := range v.Clusters {
		if a := absence.Of(c); a != nil && a.Doubt == "" {
			for _, t := range a.Planes {
				diags.Append(couldNotLook(v, diag.Warning, v.Unobserved[t]))
			}
		}
	}
	return v, diags
}

// situate is Situate of a resolved fleet; with withholding for a plan that goes on without control
// planes that could not be observed, where their cluster accounts for them.
func situate(v *topology.Fleet, withholding bool) (*topology.Fleet, diag.Diagnostics) {
	owned := map[state.Target]diag.Diagnostics{}
	v = v.WithSituations(func(c *topology.Cluster) topology.Situation {
		owned[c.Target] = ownership.CheckOwner(c)
		return c.WithOwner(owned[c.Target].HasErrors())
	})
	for _, c := range v.Clusters {
		owned[c.Target] = append(owned[c.Target], ownership.CheckForgotten(c)...)
	}
	answered, silent := withPrimaries(v, withholding, func(*topology.Cluster) bool { return true })
	v = withRotations(withUpgrades(answered))
	diags := ownership.NewerMarks(v)
	for i, c := range v.Clusters {
		diags = append(diags, owned[c.Target]...)
		diags = append(diags, silent[c.Target]...)
		if !owned[c.Target].HasErrors() {
			diags = append(diags, ownership.CheckIdentity(answered.Clusters[i])...) // with an answer of the API that does not count later
			if d := etcd.RefuseUnfinished(c); d != nil {
				diags = append(diags, d)
			}
		}
		if a := absence.Of(c); withholding && a != nil && a.Doubt != "" && !silent[c.Target].HasErrors() && len(silentNodes(c)) > 0 {
			diags = append(diags, ownership.RefuseSilent(c, silentNodes(c), true, a.Doubt)...) // a rotation shows only now
		}
	}
	return v, append(diags, ownership.StrayDepartures(v)...)
}

// withUpgrades returns the fleet with what changes first: versions, and expired CAs that are replaced at
// once.
func withUpgrades(v *topology.Fleet) *topology.Fleet {
	v = v.WithSituations(func(c *topology.Cluster) topology.Situation { return c.WithUpgrade(upgrade.AnalyzeUpgrade(c)) })
	v = v.WithSituations(func(c *topology.Cluster) topology.Situation { return c.WithAtOnce(rotation.ExpiredCAs(c)) })
	return v.WithSituations(func(c *topology.Cluster) topology.Situation {
		s := c.Situation
		if staticpod.ReplacesAtOnce(c) {
			s = s.WithVoid()
			for base := range c.AtOnce {
				s = s.WithoutCA(base)
			}
		}
		return s
	})
}

// withRotations returns the fleet with the failing components of its clusters, and with what is rotated.
func withRotations(v *topology.Fleet) *topology.Fleet {
	v = v.WithSituations(func(c *topology.Cluster) topology.Situation {
		return c.Situation.WithFailed(staticpod.FailingComponents(c))
	})
	v = v.WithSituations(func(c *topology.Cluster) topology.Situation { return c.WithRotations(rotation.Rotations(c)) })
	return v.WithSituations(func(c *topology.Cluster) topology.Situation {
		s := c.WithKeys(rotation.KeyRotation(c))
		for _, r := range c.Rotating {
			s = s.WithoutCA(r.Base) // the signer changes within the plan
		}
		return s
	})
}

// SituateClusters returns the fleet with the status of the clusters with the labels, and the findings
// about each.
func SituateClusters(v *topology.Fleet, labels []string) (*topology.Fleet, map[state.Target]diag.Diagnostics) {
	return withPrimaries(v, false, func(c *topology.Cluster) bool { return slices.Contains(labels, c.Label) })
}

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

// withPrimaries returns the fleet with the primaries of the clusters that of selects, and by cluster why
// one has none.
func withPrimaries(v *topology.Fleet, withholding bool, of func(*topology.Cluster) bool) (*topology.Fleet, map[state.Target]diag.Diagnostics) {
	found, known := map[state.Target]diag.Diagnostics{}, map[state.Target]bool{}
	v = v.WithSituations(func(c *topology.Cluster) topology.Situation {
		if !of(c) {
			return c.Situation
		}
		s, diags := primaryOf(c, withholding)
		found[c.Target] = diags
		if s == nil {
			return c.Situation
		}
		known[c.Target] = true
		return *s
	})
	return v.WithSituations(func(c *topology.Cluster) topology.Situation {
		if !known[c.Target] {
			return c.Situation
		}
		primary := pki.CompletePrimary(c)
		return c.WithPrimary(primary, c.Founding).WithCAs(c.CADigests(c.Node(primary)))
	}), found
}

// primaryOf returns the situation of a cluster with its primary; nil if it must not be guessed, or the
// cluster is refused anyway.
func primaryOf(c *topology.Cluster, withholding bool) (*topology.Situation, diag.Diagnostics) {
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
			return nil, ownership.RefuseSilent(c, silent, known, doubt)
		}
	}
	if c.Refused() {
		return nil, nil
	}
	// A cluster that is brought back from a backup is bootstrapped, also where that was interrupted.
	s, restores := c.Situation, c.Restored != nil && c.Report == nil
	switch {
	case c.Report != nil && member != nil:
		s = c.WithPrimary(c.Reachable(member).Target, false)
	case founder != nil && !restores:
		if c.Emptied() {
			return nil, ownership.RefuseLost(c)
		}
		s = c.WithPrimary(founder.Target, !c.RecordedRunning())
	case member != nil && !restores:
		s = c.WithPrimary(member.Target, false)
	case holder != nil && c.RecordedRunning() && !restores: // no host has a kubeconfig, which is an item like any other
		s = c.WithPrimary(holder.Target, false)
	case len(planes) > 0:
		if known && c.RecordedCA() != "" && !restores && !c.Fleet.Destroy {
			return nil, ownership.RefuseLost(c)
		}
		s = c.WithPrimary(cmp.Or(founder, planes[0]).Target, true)
	}
	return &s, nil
}
