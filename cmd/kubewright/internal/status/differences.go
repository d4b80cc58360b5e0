package status

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
)

// clusterOf returns the label of the cluster that a target belongs to.
func (f facts) clusterOf(t state.Target) string {
	if t.Type == state.TypeNode {
		return f.session.Hosts.ClusterOf(t)
	}
	return t.Name
}

// refusals returns why no plan can be made, as far as that is about the cluster, or about all of
// them. That hosts do not answer is said with the hosts.
func (f facts) refusals(label string) []string {
	return f.reasons(label, func(d *diag.Diagnostic) bool { return !pipeline.Unreachable(d) })
}

func (f facts) reasons(label string, counts func(*diag.Diagnostic) bool) []string {
	var out []string
	for _, d := range f.findings.Errors() {
		a, err := state.ParseAddress(d.Address)
		own := d.Address == "" || err != nil || f.clusterOf(a.Target) == label
		if own && counts(d) && !slices.Contains(out, d.Summary) {
			out = append(out, d.Summary)
		}
	}
	return out
}

// differences says what of a cluster differs from the configuration, and what is known about since
// when. The state does not record when a difference was first observed: a status writes nothing.
// But an apply of everything leaves nothing that differs, so that what differs now was changed
// after the observation that the last such apply began with.
func (f facts) differences(label string) listing.Differences {
	if f.plan == nil {
		out := listing.Differences{Reasons: f.reasons(label, func(*diag.Diagnostic) bool { return true })}
		if len(out.Reasons) == 0 {
			out.Reasons = []string{"another cluster of the configuration keeps the plan from being made"}
		}
		return out
	}
	out := listing.Differences{Known: true, Pending: &listing.Counts{}}
	missing := map[state.Target]bool{}
	for _, u := range f.plan.Withheld {
		missing[u.Target] = true
	}
	for t := range f.fleet.Unobserved {
		missing[t] = true
	}
	maps.DeleteFunc(missing, func(t state.Target, _ bool) bool { return f.clusterOf(t) != label })
	out.NotObserved = len(missing)
	matched := f.session.Recorded.Matched()
	out.Outside = f.outside(label, matched)
	if len(out.Outside) > 0 {
		out.After = utc(matched)
	}
	of := *f.plan
	of.Resources = slices.DeleteFunc(slices.Clone(f.plan.Resources), func(r planner.ResourceChange) bool { return f.clusterOf(r.Target) != label })
	out.Pending.Add, out.Pending.Change, out.Pending.Destroy = of.Counts()
	return out
}

// outside returns the items of a cluster that were changed outside of kubewright, by address.
func (f facts) outside(label string, matched time.Time) []listing.OutsideChange {
	found := map[string]listing.OutsideChange{}
	note := func(c planner.Change) {
		a := c.Address
		a.Waypoint, a.Field = "", ""
		if f.clusterOf(a.Target) == label {
			found[a.String()] = listing.OutsideChange{Address: a.String(), Written: utc(f.written(a, matched))}
		}
	}
	for _, c := range f.plan.Drift {
		note(c)
	}
	for _, c := range f.plan.Changes {
		if c.Mends() {
			note(c)
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b listing.OutsideChange) int { return strings.Compare(a.Address, b.Address) })
}

// written returns when the file of an item was last written, by the clock of its host. A time before
// the item last matched came with a copy of the file, and says nothing.
func (f facts) written(a state.Address, matched time.Time) time.Time {
	r := f.fleet.Reports[a.Target]
	if r == nil || a.Class() != "file" {
		return time.Time{}
	}
	at := r.Files[a.ID()].Modified
	if !r.Files[a.ID()].Exists || at.Before(matched) {
		return time.Time{}
	}
	return at
}
