package pipeline

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// leaveOut returns the fleet without workers whose hosts are not those that the state knows and that the
// plan does not need, and a warning for each.
func leaveOut(v *topology.Fleet, o planner.Options) (*topology.Fleet, diag.Diagnostics) {
	if !v.AllowUnreachable && len(o.Targets)+len(o.Excludes) == 0 {
		return v, nil
	}
	find := func(v *topology.Fleet) diag.Diagnostics {
		tried, others, situated := trial(v)
		return slices.Concat(others, situated, preflight.Duplicates(tried))
	}
	return ownership.LeaveOutOf(v, find, func(v *topology.Fleet, t state.Target) remedy.Text {
		if by := ownership.LeavesOutWorker(v, t, o); by != "" {
			return remedy.Textf(", by %s", by)
		}
		return ""
	})
}

// trial returns the fleet as it is planned for: without the nodes that are replaced, resolved and situated, and the findings
// about replacements and about the clusters.
func trial(v *topology.Fleet) (tried *topology.Fleet, others, situated diag.Diagnostics) {
	v, others = replace(v)
	others = append(others, ownership.RefuseForgetLiving(v)...)
	tried, situated = situate(resolve.NewFleet(topology.WithRefused(v, refused(others))), true)
	return tried, others, situated
}

// LeaveOutWorkers is leaveOut for operations that do not depend on the hosts of workers: does says what
// they do instead.
func LeaveOutWorkers(v *topology.Fleet, does string) (*topology.Fleet, diag.Diagnostics) {
	find := func(v *topology.Fleet) diag.Diagnostics {
		_, found := Situate(v)
		return found
	}
	return ownership.LeaveOutOf(v, find, func(v *topology.Fleet, t state.Target) remedy.Text {
		if ownership.IsWorker(v, t) {
			return remedy.Text(", which " + does)
		}
		return ""
	})
}
