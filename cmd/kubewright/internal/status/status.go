package status

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
)

// lastApplies is how many applies a status has.
const lastApplies = 5

// forms are the forms of a status, by name.
var forms = map[string]func(io.Writer, listing.Status, ui.Options) error{
	"text": listing.StatusText, "json": listing.StatusJSON, "openmetrics": listing.StatusMetrics,
}

// Forms returns the names of the forms.
func Forms() []string { return []string{"text", "json", "openmetrics"} }

// CheckForm refuses an unknown form.
func CheckForm(form string) error {
	if forms[form] == nil {
		return fmt.Errorf("there is no form %q of a status.%s The forms are %s", form, console.DidYouMean("", form, Forms()), console.ListOf(Forms()))
	}
	return nil
}

// Show prints the status of all clusters in a form. With detailed exit codes it returns the one for
// what it has found; code returns the one of a plan.
func Show(ctx context.Context, a *workspace.Workspace, o session.Options, form string, code func(*session.Session) int) error {
	s, err := session.Open(ctx, a, o, "")
	if err != nil {
		return err
	}
	defer s.Close()
	seen, plan, findings, err := session.Survey(ctx, s)
	if err != nil {
		return err
	}
	st := gather(ctx, s, seen, plan, findings)
	if err := forms[form](a.Stdout, st, a.Options()); err != nil {
		return err
	}
	switch {
	case !a.Finer:
		return nil
	case st.Broken():
		return console.Exit(console.ExitProblem)
	case plan == nil, code(s) == console.ExitOK:
		if st.Unknown() {
			return console.Exit(console.ExitUnreachable)
		}
		return nil
	}
	return console.Exit(code(s))
}

// gather makes a status of an observation and the plan that an apply would make of it now.
func gather(ctx context.Context, s *session.Session, v *topology.Fleet, plan *planner.Plan, findings diag.Diagnostics) listing.Status {
	st := listing.Status{Time: v.ObservedAt.UTC(), Clusters: []listing.ClusterStatus{}, OutputsDiffer: plan != nil && s.Recorded != nil && s.OutputsChange()}
	st.State = stateStatus(ctx, s)
	holder := ""
	if st.State.Holder != nil {
		holder = st.State.Holder.Run
	}
	st.Applies = listing.Applies(s.Recorded, lastApplies, holder)
	f := facts{session: s, fleet: v, plan: plan, findings: findings, certificates: record.Certificates(v)}
	for _, label := range f.labels() {
		st.Clusters = append(st.Clusters, f.cluster(label))
	}
	return st
}

// stateStatus says where the state is, and who holds its lock. It waits for no lock.
func stateStatus(ctx context.Context, s *session.Session) listing.StateStatus {
	out := listing.StateStatus{Place: s.Store.Place(), Local: s.Store.Local(), Exists: s.Recorded != nil}
	if s.Recorded != nil {
		out.Lineage, out.Serial = s.Recorded.Lineage, s.Recorded.Serial
	}
	holder, err := s.Store.Backend().Holder(ctx)
	if err != nil {
		out.Reason = state.WithoutPasswords(err.Error())
		return out
	}
	out.Locked = new(holder != nil)
	if holder == nil {
		return out
	}
	out.Holder = &listing.LockHolder{
		Run: holder.ID, Who: holder.Who, Operation: holder.Operation, PID: holder.PID, Since: holder.Time.UTC(), Renewed: utc(holder.Renewed),
	}
	out.Silent = !holder.Renewed.IsZero() && s.Now().Sub(holder.Renewed) > backend.Silent
	return out
}

// utc returns a time in UTC; the zero time stays zero.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
