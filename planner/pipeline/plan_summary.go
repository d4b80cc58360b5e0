package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/availability"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/planner/upgrade"
	"github.com/kubewright/kubewright/state"
)

// speak returns a plan with the sentences about its clusters. They describe only steps that are in the plan:
// others may have been left out.
func speak(v *topology.Fleet, d planner.Draft, p *planner.Plan) *planner.Plan {
	if v.Destroy {
		return p
	}
	out := map[state.Address]bool{}
	for _, s := range d.Steps {
		out[s.ID] = p.Step(s.ID) == nil
	}
	var memberships, upgrades, rollouts []string
	for _, c := range v.Clusters {
		sentence := clusterQuorum(c, p.Steps, out)
		if len(v.Clusters)+len(GoneClusters(v)) > 1 {
			sentence = c.Target.String() + ": " + sentence
		}
		memberships = append(memberships, sentence)
		if c.Up != nil && !upgrade.LowersKubelets(c) {
			upgrades = append(upgrades, upgradePart(c, out))
		}
		rollouts = append(rollouts, upgrade.Rollouts(c, p)...)
	}
	said := *p
	said.Quorum, said.Upgrades, said.Rollouts = append(memberships, p.Quorum...), upgrades, rollouts
	return &said
}

// clusterQuorum returns the sentence about etcd membership in a plan with these steps. out says which
// steps of the draft are left out.
func clusterQuorum(c *topology.Cluster, steps []planner.Step, out map[state.Address]bool) string {
	planes := len(c.ControlPlanes())
	acts := slices.DeleteFunc(etcd.MembershipChanges(c), func(a quorum.Act) bool { return out[a.Step] })
	switch {
	case c.Etcd.External != nil:
		return "external, never changed by kubewright."
	case c.Founding:
		return foundedMembers(c, out)
	case len(acts) > 0 && c.Seen != nil && len(c.Seen.Members) > 0:
		return etcd.DescribeWalk(c, acts)
	}
	if silent := silentDepartures(c); silent > 0 {
		all := planes + silent
		return fmt.Sprintf("%d members throughout, %d of which could not be observed; quorum is %d.", all, silent, all/2+1)
	}
	return availability.SteadyMembership(c, steps)
}

// foundedMembers is clusterQuorum for a cluster that is being bootstrapped.
func foundedMembers(c *topology.Cluster, out map[state.Address]bool) string {
	planes := slices.DeleteFunc(c.ControlPlanes(), func(n *topology.Node) bool { return out[topology.StepAddress(n.Target, topology.EtcdPhase)] })
	switch n := len(planes); {
	case n == 0:
		return "this plan bootstraps no member."
	case n > 1:
		return fmt.Sprintf("1 member bootstrapped, then %d added one at a time as learners; %d members, quorum %d.", n-1, n, n/2+1)
	}
	return "1 member bootstrapped."
}

// upgradePart returns the sentence about the upgrade; if a part of it is left out, with how much the
// plan does.
func upgradePart(c *topology.Cluster, out map[state.Address]bool) string {
	all, here := 0, 0
	for id, gone := range out {
		if n := c.Node(id.Target); n == nil || n.Joins() || !slices.Contains([]string{topology.EtcdPhase, topology.ControlPlanePhase, topology.KubeletStartPhase}, id.Phase) {
			continue
		}
		if all++; !gone {
			here++
		}
	}
	if here == all {
		return upgrade.UpgradeLine(c)
	}
	what, _, _ := strings.Cut(strings.TrimSuffix(upgrade.UpgradeLine(c), "."), ";")
	if here == 0 {
		return what + "; this plan does not change a version yet."
	}
	return what + fmt.Sprintf("; this plan does %d of the %d steps that change a version.", here, all)
}
