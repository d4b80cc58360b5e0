package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// speak gives a plan the sentences about its clusters, which are true of the steps
// that it has: others may have been left out.
func (v *View) speak(d planner.Draft, p *planner.Plan) {
	if v.Destroy {
		return
	}
	out := map[state.Address]bool{}
	for _, s := range d.Steps {
		out[s.ID] = p.Step(s.ID) == nil
	}
	var quorum, upgrades []string
	for _, c := range v.clusters {
		sentence := c.quorum(p.Steps, out)
		if len(v.clusters)+len(v.goneClusters()) > 1 {
			sentence = c.target.String() + ": " + sentence
		}
		quorum = append(quorum, sentence)
		if c.up != nil && !c.lowers() {
			upgrades = append(upgrades, c.upgradePart(out))
		}
	}
	p.Quorum, p.Upgrades = append(quorum, p.Quorum...), upgrades
}

// quorum is the sentence about etcd membership, in a plan with these steps. Of what
// else could be done it is known whether it is left out.
func (c *cluster) quorum(steps []planner.Step, out map[state.Address]bool) string {
	planes := len(c.controlPlanes())
	acts := slices.DeleteFunc(c.acts(), func(a planner.Act) bool { return out[a.Step] })
	switch {
	case c.Etcd.External != nil:
		return "external, never changed by kubewright."
	case c.founding:
		return c.foundedMembers(out)
	case len(acts) > 0 && c.seen != nil && len(c.seen.Members) > 0:
		return c.walked(acts)
	}
	if silent := c.silentLeavers(); silent > 0 {
		all := planes + silent
		return fmt.Sprintf("%d members throughout, %d of which could not be looked at; quorum is %d.", all, silent, all/2+1)
	}
	return c.throughout(steps)
}

// foundedMembers is quorum of a cluster that is founded.
func (c *cluster) foundedMembers(out map[state.Address]bool) string {
	planes := slices.DeleteFunc(c.controlPlanes(), func(n *node) bool { return out[step(n.target, etcdPhase)] })
	switch n := len(planes); {
	case n == 0:
		return "no member is founded by this plan."
	case n > 1:
		return fmt.Sprintf("1 member founded, then %d added one at a time as learners; %d members, quorum %d.", n-1, n, n/2+1)
	}
	return "1 member founded."
}

// upgradePart is the sentence about the upgrade, and of one that is left out in
// part how much of it there is.
func (c *cluster) upgradePart(out map[state.Address]bool) string {
	all, here := 0, 0
	for id, gone := range out {
		if n := c.node(id.Target); n == nil || n.joins() || !slices.Contains([]string{etcdPhase, controlPlanePhase, kubeletStartPhase}, id.Phase) {
			continue
		}
		if all++; !gone {
			here++
		}
	}
	if here == all {
		return c.upgradeLine()
	}
	what, _, _ := strings.Cut(strings.TrimSuffix(c.upgradeLine(), "."), ";")
	if here == 0 {
		return what + "; this plan does not change a version yet."
	}
	return what + fmt.Sprintf("; this plan does %d of the %d steps that change a version.", here, all)
}
