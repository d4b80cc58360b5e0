package pipeline_test

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestBootstrapContinuesAfterCrash stops the operator before and after single effects of the bootstrap of a cluster:
// the same command again ends in the same place. Every effect is tried with KUBEWRIGHT_LONG set,
// otherwise every 31st.
func TestBootstrapContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	crashAnywhere(t, newOperator(t, cluster(2, 1)), 31)
}

// crashAnywhere crashes copies of an operator at effects of its next apply, in steps of stride from the
// last effect back, alternately before and after the effect. With KUBEWRIGHT_LONG set it crashes before
// and after every effect. The conditions in hold have to be true at the end, both with and without a
// crash.
func crashAnywhere(t *testing.T, begin *operator, stride int, hold ...func(*operator)) {
	t.Helper()
	_, err := begin.plan()
	begin.must(err)
	o := begin.copy(t)
	first, last, ended := o.effects()
	if last-first < 40 {
		t.Fatalf("there are only %d effects", last-first+1)
	}
	held := func(o *operator) {
		for _, want := range hold {
			want(o)
		}
	}
	held(o)
	for n, done := range crashes(t, first, last, stride) {
		if !done || ended[n] {
			o := begin.copy(t)
			crashAt(t, o, n, done)
			held(o)
		}
	}
}

// effects carries out the plan and returns the numbers of its first and last effect and which of them
// completed: an effect that fails and is retried did not.
func (o *operator) effects() (first, last int, ended map[int]bool) {
	o.t.Helper()
	ended = map[int]bool{}
	o.world.OnEffect = func(e sim.Effect) error {
		if first == 0 {
			first = e.N
		}
		last, ended[e.N] = max(last, e.N), ended[e.N] || e.Done
		return nil
	}
	o.must(o.carryOut())
	return first, last, ended
}

// crashes yields the effects at which a crash is tried, and whether it comes after the effect:
// alternately before and after, or with KUBEWRIGHT_LONG set both.
func crashes(t *testing.T, first, last, stride int) iter.Seq2[int, bool] {
	if long() {
		stride = 1
	}
	t.Logf("%d effects; a crash at every %d", last-first+1, stride)
	return func(yield func(int, bool) bool) {
		behind := true
		for n := last; n >= first; n -= stride {
			if long() && !yield(n, !behind) || !yield(n, behind) {
				return
			}
			behind = !behind
		}
	}
}

var errCrash = errors.New("the operator's machine lost power")

// crashAt lets the operator crash at an effect of the planned apply. The same command again, a few
// times at most, ends with nothing left to do.
func crashAt(t *testing.T, o *operator, n int, done bool) {
	t.Helper()
	if !crashOnce(o, n, done) {
		t.Fatalf("effect %d did not occur (done %v)", n, done)
	}
	p, err := o.plan()
	o.must(err)
	for _, c := range slices.Concat(p.Changes, p.Drift) {
		if c.Reason == planner.ReasonDrift {
			t.Errorf("after a crash at effect %d (done %v) its own change counts as drift: %s %s", n, done, c.Action, c.Address)
		}
	}
	for _, c := range o.refreshed().Drift {
		t.Errorf("after a crash at effect %d (done %v) a refresh-only plan shows its own change as drift: %s %s", n, done, c.Action, c.Address)
	}
	for range 3 {
		o.must(err)
		if err := o.carryOut(); err != nil {
			t.Fatalf("after a crash at effect %d (done %v): %v", n, done, err)
		}
		if p, err = o.plan(); err == nil && p.Empty() {
			o.wantHeld()
			return
		}
	}
	o.must(err)
	t.Fatalf("after a crash at effect %d (done %v) the applies do not converge:\n%s", n, done, describe(p))
}

// crashOnce lets the operator crash at an effect of the planned apply. It reports whether the effect
// occurred.
func crashOnce(o *operator, n int, done bool) bool { return crashing(o, n, done, func() {}) }

// crashing is crashOnce, and calls now at the crash.
func crashing(o *operator, n int, done bool, now func()) bool {
	crashed := false
	o.world.OnEffect = func(e sim.Effect) error {
		if crashed || e.N == n && e.Done == done {
			crashed = true
			now()
			return errCrash
		}
		return nil
	}
	// The run does not notice a crash after its last effect; the next command notices one during
	// observation.
	_ = o.carryOut()
	o.world.OnEffect = nil
	return crashed
}

// refreshed returns a refresh-only plan.
func (o *operator) refreshed() *planner.Plan {
	o.t.Helper()
	v := o.observe()
	v.Key, v.RefreshOnly = o.fleet.Key, true
	r, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	if diags.HasErrors() {
		o.t.Fatal(diags)
	}
	return r.Plan
}
