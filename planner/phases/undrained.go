package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
)

// undrained tells of nodes that leave without the drain, since somebody has left that
// out: their pods end with the reset. Who says so by name has decided about pods, and not
// about data: that is refused which no drain would have saved either.
func (v *View) undrained(p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, l := range v.leavers() {
		if !l.undrained() || p.Step(step(l.target, resetPhase)) == nil {
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

// undrained tells that the node would be drained, and that somebody has left that out.
func (l leaver) undrained() bool {
	return l.cluster != nil && slices.Contains(l.cluster.view.skipped, drainPhase) && len(l.drainStep().Operations) > 0
}

// endPods says, in front of what else the reset means, which pods end with it. It is what
// the drain would say, so that who approves the plan approves these pods and no others.
func (l leaver) endPods(s *planner.Step) {
	if !l.undrained() {
		return
	}
	pods := l.cluster.podsOf(l.Name)
	for _, p := range pods {
		s.Pods = append(s.Pods, planner.DrainedPod{Name: p.String(), Note: podNote(p, l.cluster.view.ObservedAt)})
	}
	if len(pods) > 0 {
		s.Impact = "ends " + podCount(pods) + ": " + l.cluster.withNotes(pods) + "; " + s.Impact
	}
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
	end := podCount(pods) + " end"
	if len(pods) == 1 {
		end += "s"
	}
	return diag.Warningf("Node leaves with its pods", "%s (node %s) leaves, and this plan leaves out the drain before that. With the reset %s, and no PodDisruptionBudget is asked: %s. "+
		"Plan without -skip-phase=drain to have them evicted first.",
		l.target, l.Name, end, c.withNotes(pods)).For(l.target).At(c.place("upgrade.drain"))
}
