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
		others := slices.Concat(replace(v), ownership.RefuseForgetLiving(v))
		refuse(v, others)
		resolve.Fleet(v)
		found := slices.Concat(others, Situate(v), preflight.Duplicates(v))
		v.ClusterReports, v.Reports, v.Original, v.Replacements, v.Refused = v.Original, v.OriginalReports, nil, nil, nil
		return found
	}
	return ownership.LeaveOutOf(v, find, func(t state.Target) string {
		if flag := ownership.LeavesOutWorker(v, t, o); flag != "" {
			return ", by -" + flag
		}
		return ""
	})
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
