package runreport

import (
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// LastSnapshot is where the snapshot of a destroyed cluster's etcd is.
type LastSnapshot struct {
	Cluster state.Target
	Path    string
}

// String returns the sentence about it.
func (l LastSnapshot) String() string {
	return "The last snapshot of " + ui.Clean(l.Cluster.String()) + " is " + ui.Clean(l.Path)
}

// LastSnapshots returns the snapshots that a run has taken of clusters that its plan destroys; the
// outcome may be nil.
func LastSnapshots(plan *planner.Plan, outcome *executor.Outcome) []LastSnapshot {
	if outcome == nil {
		return nil
	}
	var out []LastSnapshot
	for _, s := range plan.Steps {
		destroyed := slices.ContainsFunc(plan.Resources, func(r planner.ResourceChange) bool { return r.Target == s.Target && r.Action == planner.Delete })
		if taken, ok := outcome.Outputs.Lookup(state.Pending{Step: s.ID.String(), Output: providers.SnapshotPath}); ok && destroyed {
			out = append(out, LastSnapshot{s.Target, taken.Value.AsString()})
		}
	}
	return out
}

// lastSnapshots prints where the snapshots of destroyed clusters are.
func (p printer) lastSnapshots() {
	for _, l := range LastSnapshots(p.plan, p.outcome) {
		p.Line()
		p.Line(l.String())
	}
}
