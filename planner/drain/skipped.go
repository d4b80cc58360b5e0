package drain

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
)

// CheckSkippedDrains tells of nodes that leave without the drain, since somebody has left that
// out: their pods end with the reset. Who says so by name has decided about pods, and not
// about data: that is refused which no drain would have saved either.
func CheckSkippedDrains(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, l := range v.Departures() {
		if !undrained(l) || p.Step(topology.StepAddress(l.Target, topology.ResetPhase)) == nil {
			continue
		}
		if found := refuseLoss(l); found != nil {
			diags = append(diags, found)
		} else if found := warnUndrained(l); found != nil {
			diags = append(diags, found)
		}
	}
	return diags
}

// undrained reports whether the node would be drained, and that somebody has left that out.
func undrained(l topology.Departure) bool {
	return l.Cluster != nil && slices.Contains(l.Cluster.Fleet.Skipped, topology.DrainPhase) && len(DrainStep(l).Operations) > 0
}

// EndPods says, in front of what else the reset means, which pods end with it. It is what
// the drain would say, so that who approves the plan approves these pods and no others.
func EndPods(l topology.Departure, s *planner.Step) {
	if !undrained(l) {
		return
	}
	pods := PodsOf(l.Cluster, l.Name)
	for _, p := range pods {
		s.Pods = append(s.Pods, planner.DrainedPod{Name: p.String(), Note: PodNote(p, l.Cluster.Fleet.ObservedAt)})
	}
	if len(pods) > 0 {
		s.Impact = "ends " + podCount(pods) + ": " + withNotes(l.Cluster, pods) + "; " + s.Impact
	}
}

// refuseLoss refuses to reset a host with the only copy of some data.
func refuseLoss(l topology.Departure) *diag.Diagnostic {
	found := drainBlockers{}
	found.noteLost(l.Cluster, l.Name)
	if len(found) == 0 {
		return nil
	}
	return diag.Errorf("Data would be lost", "%s (node %s) is being removed, and the data on the disk of its host is lost with it, whether its pods are evicted before or not:\n\n%s",
		l.Target, l.Name, found).For(l.Target).At(pki.Place(l.Cluster, "upgrade.drain"))
}

// warnUndrained names the pods that end with the node.
func warnUndrained(l topology.Departure) *diag.Diagnostic {
	c := l.Cluster
	pods := PodsOf(c, l.Name)
	if len(pods) == 0 {
		return nil
	}
	end := podCount(pods) + " end"
	if len(pods) == 1 {
		end += "s"
	}
	return diag.Warningf("Node is removed without a drain", "%s (node %s) is being removed, and this plan skips its drain. "+
		"With the reset %s, and no PodDisruptionBudget is checked: %s. Plan without -skip-phase=drain to have them evicted first.",
		l.Target, l.Name, end, withNotes(c, pods)).For(l.Target).At(pki.Place(c, "upgrade.drain"))
}
