package pipeline_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TestDepartureOfForeignStateIsNotReset checks that a worker whose block is gone and whose host belongs to another state
// is not reset, and does not prevent other changes.
func TestDepartureOfForeignStateIsNotReset(t *testing.T) {
	t.Parallel()
	base := founded(t, 1, 2)
	w := base.config.Nodes[2]
	for name, c := range map[string]struct {
		allow   bool
		options planner.Options
		want    diag.Severity
	}{
		"no flag":            {false, planner.Options{}, diag.Error},
		"-allow-unreachable": {true, planner.Options{}, diag.Warning},
		"-exclude":           {false, planner.Options{Excludes: []planner.Selector{{Target: w.Target}}}, diag.Warning},
		"-target":            {false, planner.Options{Targets: []planner.Selector{{Target: base.config.Nodes[1].Target}}}, diag.Warning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			o.leave(w.Target.Key)
			v := o.observe()
			mark(v, w, func(m *state.Marks) { m.Lineage = "another" })
			v.AllowUnreachable = c.allow
			r, diags := o.planOf(v, c.options)
			want := finding{c.want, "Host belongs to another state", "", w.Target.String(), []string{w.Address}}
			if c.want == diag.Error {
				want.says = append(want.says, "is being removed from cluster", "in the state with lineage another", "⟨forget ", "To continue without this host")
			}
			wantFindings(t, diags, want)
			if c.want == diag.Warning && (r.Plan == nil || stepOf(r.Plan, w.Target.Key+"/reset") != nil) {
				t.Error("there is no plan, or it resets the host")
			}
		})
	}
}

// TestForeignWorkerExcludedFromBootstrap checks that a worker of another state does not prevent a bootstrap if
// it is left out.
func TestForeignWorkerExcludedFromBootstrap(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	places(o.config)
	w := o.config.Nodes[1]
	seen := o.observe().Reports[w.Target]
	blank := newOperator(t, o.config)
	places(blank.config)
	v := blank.observe()
	v.Reports[w.Target] = seen
	_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	if !diags.HasErrors() {
		t.Error("the plan is not refused")
	}
	r, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{Excludes: []planner.Selector{{Target: w.Target}}})
	if diags.HasErrors() || r.Plan == nil || r.Plan.Empty() {
		t.Errorf("nothing is planned:\n%s", printedFindings(diags))
	}
}

// TestOutdatedStateIsRefused checks that a state that lacks a run is refused, unless the cluster shows that the run
// was interrupted, or a flag accepts it.
func TestOutdatedStateIsRefused(t *testing.T) {
	t.Parallel()
	base := founded(t, 1, 2)
	last := base.recorded.RunToken
	for name, c := range map[string]struct {
		change func(*topology.Fleet)
		want   finding
	}{
		"refused":  {func(*topology.Fleet) {}, finding{diag.Error, "State is older than its hosts", "", "", []string{"⟨recover⟩", "⟨+older-state⟩"}}},
		"accepted": {func(v *topology.Fleet) { v.AllowOlderState = true }, finding{diag.Warning, "State is older than its hosts", "", "", []string{"as changed outside"}}},
		"interrupted": {
			func(v *topology.Fleet) {
				v.ClusterReports["prod"].Lease = &state.RunLease{Lineage: v.Recorded.Lineage, Token: last + 1}
			},
			finding{diag.Warning, "Last run was interrupted", "", "", []string{"still has the lease"}},
		},
		"another state's lease": {
			func(v *topology.Fleet) {
				v.ClusterReports["prod"].Lease = &state.RunLease{Lineage: "another", Token: last + 1}
			},
			finding{diag.Error, "State is older than its hosts", "", "", nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			v := o.observe()
			mark(v, o.config.Nodes[0], func(m *state.Marks) { m.Token = last + 1 })
			c.change(v)
			_, diags := o.planOf(v, planner.Options{})
			wantFindings(t, diags, c.want)
			if got := ownership.NextRun(v); got != last+2 {
				t.Errorf("the next run is %d, want %d", got, last+2)
			}
		})
	}
	t.Run("workers", func(t *testing.T) {
		t.Parallel()
		o := base.copy(t)
		v := o.observe()
		mark(v, o.config.Nodes[1], func(m *state.Marks) { m.Token = math.MaxInt64 })
		mark(v, o.config.Nodes[2], func(m *state.Marks) { m.Token = last + 3 })
		_, diags := o.planOf(v, planner.Options{})
		wantFindings(t, diags,
			finding{diag.Warning, "Run token is invalid", "", "", []string{"w1", "9223372036854775807"}},
			finding{diag.Warning, "Only workers report a later run", "", "", []string{"w2"}})
		if got := ownership.NextRun(v); got != last+4 || ownership.VoidRuns(v)[o.config.Nodes[1].Target] != math.MaxInt64 || len(ownership.VoidRuns(v)) != 1 {
			t.Errorf("the next run is %d, want %d; void are %v", got, last+4, ownership.VoidRuns(v))
		}
	})
}

// TestForgedRunTokenIsCorrected checks that a state that took over a forged run token counts on from the token
// that hosts have really seen, and reports that.
func TestForgedRunTokenIsCorrected(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	last := o.recorded.RunToken
	v := o.observe()
	recorded := *v.Recorded
	recorded.RunToken = math.MaxInt64
	v.Recorded = &recorded
	_, diags := o.planOf(v, planner.Options{})
	wantFindings(t, diags, finding{diag.Warning, "Run token is invalid", "", "", []string{
		"The state has the run token 9223372036854775807, a number that no run can have reached: it came from a host. ",
		fmt.Sprintf("The next run is number %d, which the state records.", last+1),
	}})
	if got := ownership.NextRun(v); got != last+1 {
		t.Errorf("the next run is %d, want %d", got, last+1)
	}
}

// TestUnreadableMarkerShowsNoOwner checks that an unreadable marker shows neither the host's owner nor its run.
func TestUnreadableMarkerShowsNoOwner(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	v := o.observe()
	mark(v, o.config.Nodes[1], func(m *state.Marks) { m.Unreadable = "cannot read /var/lib/kubewright/marks.json" })
	_, diags := o.planOf(v, planner.Options{})
	if len(diags) != 1 || diags[0].Summary != "Host mark cannot be read" {
		t.Fatalf("got\n%s", printedFindings(diags))
	}
	for _, part := range []string{
		"cannot read /var/lib/kubewright/marks.json. This file identifies the owner of the host and the last run there.",
		"restore the file from a backup, or delete it", "⟨+replace=",
	} {
		if !strings.Contains(diags[0].Detail, part) {
			t.Errorf("%q is not in\n%s", part, diags[0].Detail)
		}
	}
}

// TestForeignWorkerDoesNotBlockEtcdMaintenance checks that maintenance of etcd touches no worker, and that no worker
// prevents it.
func TestForeignWorkerDoesNotBlockEtcdMaintenance(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	places(o.config)
	v := o.observe()
	mark(v, o.config.Nodes[3], func(m *state.Marks) { m.Lineage = "another" })
	r, diags := maintenance.Defragment(v, planner.Plan{}, planner.Options{}, "prod")
	if diags.HasErrors() || r.Plan == nil || r.Plan.Empty() {
		t.Errorf("nothing is planned:\n%s", printedFindings(diags))
	}
	if (finding{diag.Warning, "Host belongs to another state", "main.hcl:14", o.config.Nodes[3].Target.String(), []string{"which changes control planes only"}}).in(diags) == nil {
		t.Errorf("there is no warning:\n%s", printedFindings(diags))
	}
}
