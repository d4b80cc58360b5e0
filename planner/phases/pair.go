package phases

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
)

// pair tells that etcd has two voters when its members restart: it needs both, so
// that nothing is served while one does.
func (c *cluster) pair() bool {
	if c.Etcd.External != nil || c.founding || c.seen == nil {
		return false
	}
	voters := 0
	for _, m := range c.seen.Members {
		if !m.Learner {
			voters++
		}
	}
	return voters == 2 || voters > 2 && len(c.controlPlanes()) == 2
}

// restartGates are the conditions of a step that restarts etcd or an API server.
func (c *cluster) restartGates() []string {
	if c.pair() && c.Upgrade.AllowDowntime {
		return []string{"api-served-elsewhere", planner.DowntimeGate}
	}
	return []string{"api-served-elsewhere", planner.QuorumGate}
}

// etcdMeanwhile says who holds quorum while this node's member restarts.
func (n *node) etcdMeanwhile() string {
	switch {
	case n.cluster.pair():
		return "; etcd has no quorum meanwhile, and the API does not answer"
	case len(n.otherPlanes()) > 0:
		return "; quorum is held by the other members"
	}
	return ""
}

// checkPairs refuses plans that restart one of two members of etcd, unless
// somebody has accepted that nothing is served meanwhile.
func (v *View) checkPairs(p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		var steps []string
		for i := range p.Steps {
			s := &p.Steps[i]
			if v.concerns(c, s.Target) && slices.Contains(s.Gates, planner.QuorumGate) && planner.RestartsMember(s) {
				steps = append(steps, s.ID.String())
			}
		}
		if len(steps) == 0 || !c.pair() || c.report == nil {
			continue
		}
		diags = append(diags, diag.Errorf("Etcd would lose quorum",
			"Of the two control planes of cluster %q, etcd needs both: while one restarts nothing is stored, and the API does not answer. These steps restart one:\n\n  %s\n\n"+
				"Nothing is changed on any host. Add a third control plane, by a plan of its own. Or accept that the API does not answer for some seconds each time, "+
				"while pods go on running:\n\n  upgrade { allow_downtime = true }", c.Label, strings.Join(steps, "\n  ")).At(c.place("upgrade")).For(c.target))
	}
	return diags
}
