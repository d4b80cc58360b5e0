package session

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/state"
)

// NotObserved returns, for each host that could not be observed, the reason.
func NotObserved(unobserved map[state.Target]state.Unobserved) diag.Diagnostics {
	var diags diag.Diagnostics
	targets := slices.SortedFunc(maps.Keys(unobserved), func(a, b state.Target) int { return cmp.Compare(a.String(), b.String()) })
	for _, t := range targets {
		u := unobserved[t]
		d := diag.Errorf(ownership.HostNotObserved, "%s: %s.", t, u.Reason).For(t)
		if u.Remedy != "" {
			d.Detail += "\n\nTo do: " + u.Remedy + "."
		}
		diags = append(diags, d)
	}
	return diags
}
