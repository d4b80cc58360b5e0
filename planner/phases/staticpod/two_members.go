package staticpod

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
)

// RestartGates returns the gates of a step that restarts etcd or an API server.
func RestartGates(n *topology.Node, phase string) []string {
	if HasTwoVoters(n, phase) && n.Cluster.Upgrade.AllowDowntime {
		return []string{planner.APIGate, planner.DowntimeGate}
	}
	return []string{planner.APIGate, planner.QuorumGate}
}

// toBeThree says how etcd gets quorum while one member restarts. A member that is gone for good is
// forgotten only in a plan in which another one joins. During a CA rotation none can join, so that the
// only way is to accept the downtime.
func toBeThree(c *topology.Cluster) string {
	if RotationBegun(c) {
		return "Until the rotation is complete no other control plane can join. Accept"
	}
	for _, l := range c.Fleet.Departures() {
		if l.Cluster == c && c.Fleet.Abandons(l.Target) {
			return "Add another control plane in the same plan that forgets " + l.Target.String() + ". Or accept"
		}
	}
	return "Add a third control plane, by a plan of its own. Or accept"
}

// StopsPair reports whether a step restarts one of two members of etcd and the configuration does not
// accept the downtime.
func StopsPair(n *topology.Node, s *planner.Step) bool {
	return HasTwoVoters(n, s.Phase) && slices.Contains(s.Gates, planner.QuorumGate) && planner.RestartsMember(s)
}

// CheckPairs refuses plans that restart one of two members of etcd, unless the configuration accepts
// that the API does not answer meanwhile.
func CheckPairs(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		var steps []string
		for i := range p.Steps {
			s := &p.Steps[i]
			n := c.Node(s.Target)
			if n != nil && StopsPair(n, s) {
				steps = append(steps, s.ID.String())
			}
		}
		if len(steps) == 0 || c.Report == nil {
			continue
		}
		diags = append(diags, diag.Errorf(PairStops,
			"Of the two control planes of cluster %q, etcd needs both: while one restarts nothing is stored, and the API does not answer. "+
				"These steps restart one:\n\n  %s\n\n%s that the API does not answer for some seconds each time, while pods keep running:\n\n"+
				"  upgrade { allow_downtime = true }", c.Label, strings.Join(steps, "\n  "), toBeThree(c)).At(pki.Place(c, "upgrade")).For(c.Target))
	}
	return diags
}
