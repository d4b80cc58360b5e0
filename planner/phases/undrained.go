package phases

import (
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
)

// undrained tells of nodes that leave without the drain, since somebody has left that
// out: their pods end with the reset. Who says so by name has decided about pods, and not
// about data: that is refused which no drain would have saved either.
func (v *View) undrained(p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	if !slices.Contains(v.skipped, drainPhase) {
		return nil
	}
	for _, l := range v.leavers() {
		if len(l.drainStep().Operations) == 0 || p.Step(step(l.target, resetPhase)) == nil {
			continue
		}
		if found := l.refuseLoss(); found != nil {
			diags = append(diags, found)
		} else if found := l.warnUndrained(); found != nil {
			diags = append(diags, found)
		}
	}
	return diags
}

// refuseLoss refuses to reset a host with the only copy of some data.
func (l leaver) refuseLoss() *diag.Diagnostic {
	found := obstacles{}
	found.noteLost(l.cluster, l.Name)
	if len(found) == 0 {
		return nil
	}
	return diag.Errorf("Data would be lost", "%s (node %s) leaves, and with its host goes what is on the disk there alone, whether its pods are evicted before or not. Nothing is changed on any host:\n\n%s",
		l.target, l.Name, found).For(l.target).At(l.cluster.place("upgrade.drain"))
}

// warnUndrained names the pods that end with the node.
func (l leaver) warnUndrained() *diag.Diagnostic {
	c := l.cluster
	pods := c.podsOf(l.Name)
	if len(pods) == 0 {
		return nil
	}
	end := "1 pod ends"
	if len(pods) > 1 {
		end = fmt.Sprintf("%d pods end", len(pods))
	}
	return diag.Warningf("Node leaves with its pods", "%s (node %s) leaves, and this plan leaves out the drain before that. With the reset %s, and no PodDisruptionBudget is asked: %s. "+
		"Plan without -skip-phase=drain to have them evicted first.",
		l.target, l.Name, end, c.withNotes(pods)).For(l.target).At(c.place("upgrade.drain"))
}
