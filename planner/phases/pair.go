package phases

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
)

// restartGates are the conditions of a step that restarts etcd or an API server.
func (n *node) restartGates(phase string) []string {
	if n.pair(phase) && n.cluster.Upgrade.AllowDowntime {
		return []string{planner.APIGate, planner.DowntimeGate}
	}
	return []string{planner.APIGate, planner.QuorumGate}
}

// toBeThree says how etcd comes to hold quorum while one member restarts. Without one
// that is gone for good nothing is planned, so that another comes in the same plan.
// While a CA is rotated none comes, and what is left is to accept it.
func (c *cluster) toBeThree() string {
	if c.rotationBegun() {
		return "Until the rotation is complete no other control plane can join. Accept"
	}
	for _, l := range c.view.leavers() {
		if l.cluster == c && c.view.abandons(l.target) {
			return "Add another control plane in the same plan that forgets " + l.target.String() + ". Or accept"
		}
	}
	return "Add a third control plane, by a plan of its own. Or accept"
}

// stopsPair tells that a step restarts one of two members of etcd, and that nobody has
// accepted what that means.
func (n *node) stopsPair(s *planner.Step) bool {
	return n.pair(s.Phase) && slices.Contains(s.Gates, planner.QuorumGate) && planner.RestartsMember(s)
}

// checkPairs refuses plans that restart one of two members of etcd, unless
// somebody has accepted that nothing is served meanwhile.
func (v *View) checkPairs(p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		var steps []string
		for i := range p.Steps {
			s := &p.Steps[i]
			n := c.node(s.Target)
			if n != nil && n.stopsPair(s) {
				steps = append(steps, s.ID.String())
			}
		}
		if len(steps) == 0 || c.report == nil {
			continue
		}
		diags = append(diags, diag.Errorf(pairStops,
			"Of the two control planes of cluster %q, etcd needs both: while one restarts nothing is stored, and the API does not answer. These steps restart one:\n\n  %s\n\n"+
				"Nothing is changed on any host. %s that the API does not answer for some seconds each time, "+
				"while pods go on running:\n\n  upgrade { allow_downtime = true }", c.Label, strings.Join(steps, "\n  "), c.toBeThree()).At(c.place("upgrade")).For(c.target))
	}
	return diags
}
