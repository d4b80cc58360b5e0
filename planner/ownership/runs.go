package ownership

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// The findings about run tokens.
const (
	olderState     = "State is older than its hosts"
	runInterrupted = "Last run was interrupted"
	runAhead       = "Only workers report a later run"
	runVoid        = "Run token is invalid"
)

// runs returns the evaluation of the run tokens of the state, its hosts and its clusters.
func runs(v *topology.Fleet) state.Runs {
	if v.Recorded == nil {
		return state.WeighRuns(0, 0, nil)
	}
	return state.WeighRuns(v.Recorded.RunToken, leasedRun(v), seenRuns(v))
}

// NextRun returns the token of the next run.
func NextRun(v *topology.Fleet) int64 { return runs(v).Next }

// VoidRuns returns the invalid run tokens, by the hosts that report them. A run may replace them.
func VoidRuns(v *topology.Fleet) map[state.Target]int64 {
	out := map[state.Target]int64{}
	for _, s := range runs(v).Void {
		out[s.Target] = s.Token
	}
	return out
}

// seenRuns returns the run tokens that hosts of this state report.
func seenRuns(v *topology.Fleet) []state.SeenRun {
	reports := v.Reports
	if v.Original != nil { // as observed, not as planned for
		reports = v.OriginalReports
	}
	var out []state.SeenRun
	for _, t := range slices.SortedFunc(maps.Keys(reports), topology.CompareTargets) {
		m := topology.MarksOf(reports[t])
		if m == nil || m.Unreadable != "" || m.Lineage != "" && m.Lineage != v.Recorded.Lineage {
			continue
		}
		out = append(out, state.SeenRun{Target: t, ControlPlane: isControlPlane(v, t), Token: m.Token})
	}
	return out
}

// isControlPlane reports whether a node is a control plane: according to the state if it records
// the node, otherwise to the configuration.
func isControlPlane(v *topology.Fleet, t state.Target) bool {
	if v.RecordedNode(t) {
		return v.Recorded.Nodes[t].Role == string(config.ControlPlane)
	}
	return slices.ContainsFunc(v.Config.Nodes, func(n *config.Node) bool { return n.Target == t && n.Role == config.ControlPlane })
}

// leasedRun returns the highest run of this state whose lease a cluster still has.
func leasedRun(v *topology.Fleet) int64 {
	clusters, leased := v.ClusterReports, int64(0)
	if v.Original != nil {
		clusters = v.Original
	}
	for _, c := range clusters {
		if l := c.Lease; l != nil && l.Lineage == v.Recorded.Lineage && state.CountableRun(l.Token) {
			leased = max(leased, l.Token)
		}
	}
	return leased
}

// CheckRuns refuses a state that is older than the last run, and warns of invalid run tokens.
func CheckRuns(v *topology.Fleet) diag.Diagnostics {
	if v.Recorded == nil {
		return nil
	}
	var diags diag.Diagnostics
	r := runs(v)
	if len(r.Older) > 0 {
		diags.Append(olderThan(v, r))
	}
	if len(r.Ahead) > 0 {
		diags.Append(diag.Warningf(runAhead, "The state is of run %d. A later run is reported by workers only:\n\n%s\n\n"+
			"Neither a control plane nor most hosts report it. The last run was interrupted, an older state was restored, or a host reports a false number. "+
			"The next run is number %d.",
			v.Recorded.RunToken, runLines(v, r.Ahead), r.Next))
	}
	if len(r.Void) > 0 {
		diags.Append(diag.Warningf(runVoid, "The next run is number %d. These hosts report a number that no run can have reached:\n\n%s\n\nIt is ignored. "+
			"The next run that changes such a host replaces it with its own number, in %s/token. Find out who wrote it: only root can.",
			r.Next, runLines(v, r.Void), host.OwnFolder))
	}
	if !state.CountableRun(v.Recorded.RunToken) {
		diags.Append(diag.Warningf(runVoid, "The state has the run token %d, a number that no run can have reached: it came from a host. "+
			"The next run is number %d, which the state records.", v.Recorded.RunToken, r.Next))
	}
	return diags
}

// olderThan refuses a state that lacks runs. It only warns if a flag accepts that, or if the
// cluster shows that the only missing run was interrupted.
func olderThan(v *topology.Fleet, r state.Runs) *diag.Diagnostic {
	seen := fmt.Sprintf("The state is of run %d, but hosts have seen run %d of this state:\n\n%s\n\n", v.Recorded.RunToken, r.Seen, runLines(v, r.Older))
	switch {
	case r.Interrupted:
		return diag.Warningf(runInterrupted, "%sThe cluster still has the lease of that run: the run did not finish, and its journal is in the folder where it ran. "+
			"Its changes are observed on the hosts.", seen)
	case v.AllowOlderState:
		return diag.Warningf(olderState, "%sThe plan continues because of %s. Changes that the state does not record are shown as changed outside.", seen, remedy.OlderState)
	}
	return diag.Errorf(olderState, "%sThe last state was replaced by an older one, or the last run was interrupted and its journal is in another folder. "+
		"A plan with this state would treat unrecorded changes as drift, and would remove nodes a second time.\n\n"+
		"Restore the state of the last run; older states are beside it as *.backup.SERIAL. "+
		"If a run was interrupted, run the same command in the folder where it ran. If the last state is lost, "+
		"move this one away and rebuild it from what the hosts hold:\n\n  %s\n\nTo continue with this state anyway: %s.", seen, remedy.Recover, remedy.OlderState)
}

// runLines lists hosts with the run token that each reports.
func runLines(v *topology.Fleet, seen []state.SeenRun) string {
	var lines []string
	for _, s := range seen {
		lines = append(lines, fmt.Sprintf("  %s (%s): run %d", s.Target, addressOf(v, s.Target), s.Token))
	}
	return strings.Join(lines, "\n")
}
