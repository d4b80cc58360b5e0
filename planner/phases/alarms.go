package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// alarms tells of the alarms of etcd. A plan that does something to a cluster
// whose etcd has one is refused: nothing that the API is asked would be kept.
// What a destroy does needs no etcd.
func (v *View) alarms(p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		if c.report == nil || v.Destroy {
			continue
		}
		text := planner.Alarmed(c.report.Members)
		if text == "" {
			continue
		}
		d := diag.Warningf("Etcd has an alarm", "Cluster %q: %s", c.Label, text)
		if slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return v.concerns(c, s.Target) }) {
			d = diag.Errorf("Etcd has an alarm", "Cluster %q: %s\n\nUntil then nothing is changed: what this plan would do needs an etcd that takes writes.", c.Label, text)
		}
		diags = append(diags, d.At(c.Source))
	}
	return diags
}

// concerns tells that a target is of the cluster, or leaves it.
func (v *View) concerns(c *cluster, t state.Target) bool {
	return v.clusterOf(t) == c || slices.ContainsFunc(v.leavers(), func(l leaver) bool { return l.target == t && l.cluster == c })
}
