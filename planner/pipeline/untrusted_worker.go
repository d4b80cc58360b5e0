package pipeline

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// leaveOut removes workers from the view whose hosts are not those that the state knows and that the
// plan does not need, and returns a warning for each.
func leaveOut(v *topology.Fleet, o planner.Options) diag.Diagnostics {
	if !v.AllowUnreachable && len(o.Targets)+len(o.Excludes) == 0 {
		return nil
	}
	find := func() diag.Diagnostics {
		return trial(v, func(others, situated diag.Diagnostics) diag.Diagnostics {
			return slices.Concat(others, situated, preflight.Duplicates(v))
		})
	}
	return ownership.LeaveOutOf(v, find, func(t state.Target) string {
		if flag := ownership.LeavesOutWorker(v, t, o); flag != "" {
			return ", by -" + flag
		}
		return ""
	})
}

// trial resolves and situates a fleet, hands the findings to look, and restores the observation.
func trial(v *topology.Fleet, look func(others, situated diag.Diagnostics) diag.Diagnostics) diag.Diagnostics {
	others := slices.Concat(replace(v), ownership.RefuseForgetLiving(v))
	refuse(v, others)
	resolve.Fleet(v)
	found := look(others, situate(v, true))
	v.ClusterReports, v.Reports, v.Original, v.Replacements, v.Refused = v.Original, v.OriginalReports, nil, nil, nil
	return found
}

// LeaveOutWorkers is leaveOut for operations that do not depend on the hosts of workers: does says what
// they do instead.
func LeaveOutWorkers(v *topology.Fleet, does string) diag.Diagnostics {
	find := func() diag.Diagnostics {
		resolve.Fleet(v)
		return Situate(v)
	}
	return ownership.LeaveOutOf(v, find, func(t state.Target) string {
		if ownership.IsWorker(v, t) {
			return ", which " + does
		}
		return ""
	})
}
