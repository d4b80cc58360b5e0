package drain

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
)

// CheckSkippedDrains checks nodes that are removed without a drain because the user skipped that
// phase: their pods end with the reset. Skipping the drain by name accepts the end of pods, not the
// loss of data: data that a drain would not have saved either is refused.
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

// undrained reports whether the user skipped a drain that the node would have had.
func undrained(l topology.Departure) bool {
	return l.Cluster != nil && slices.Contains(l.Cluster.Fleet.Skipped, topology.DrainPhase) && len(DrainStep(l).Operations) > 0
}

// EndPods prepends the pods that end with the reset to the impact of the step. It prints what the
// drain would print, so that an approval of the plan covers exactly these pods.
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

// warnUndrained warns of the pods that end with the node.
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
		"With the reset %s, and no PodDisruptionBudget is checked: %s. Plan without %s to have them evicted first.",
		l.Target, l.Name, end, withNotes(c, pods), remedy.Option{Kind: remedy.SkipPhase, Value: topology.DrainPhase}).For(l.Target).At(pki.Place(c, "upgrade.drain"))
}
