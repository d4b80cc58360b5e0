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

// TestCrashAnywhere stops the operator before and after single effects of
// founding a cluster; the same command again ends in the same place. Every
// effect is tried with KUBEWRIGHT_LONG set, otherwise every 31st.
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	crashAnywhere(t, newOperator(t, cluster(2, 1)), 31)
}

// crashAnywhere crashes an operator, who is at one place again each time, at
// every so many effects of what is to be applied there, from the last one back:
// before one and behind the next. With KUBEWRIGHT_LONG set it is before and
// behind every effect. What is to hold at the end holds with a crash and without.
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

// effects carries out what was planned, and tells the numbers of its first and
// last effect and which of them had an end: one that fails, and is tried again,
// has none.
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

// crashes yields the effects at which a crash is tried, and whether it comes
// behind the effect: before every so many and behind those between them, or with
// KUBEWRIGHT_LONG before and behind all.
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

// crashAt lets what was planned die at an effect. The same command again, a few
// times at most, ends where nothing is left to do.
func crashAt(t *testing.T, o *operator, n int, done bool) {
	t.Helper()
	if !crashOnce(o, n, done) {
		t.Fatalf("there was no crash at effect %d (done %v)", n, done)
	}
	p, err := o.plan()
	o.must(err)
	for _, c := range slices.Concat(p.Changes, p.Drift) {
		if c.Reason == planner.ReasonDrift {
			t.Errorf("after a crash at effect %d (done %v) its own doing counts as somebody else's: %s %s", n, done, c.Action, c.Address)
		}
	}
	for _, c := range o.refreshed().Drift {
		t.Errorf("after a crash at effect %d (done %v) its own doing is shown as somebody else's by a refresh-only plan: %s %s", n, done, c.Action, c.Address)
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
	t.Fatalf("after a crash at effect %d (done %v) it does not converge:\n%s", n, done, describe(p))
}

// crashOnce lets what was planned die at an effect. It reports whether there was
// such an effect.
func crashOnce(o *operator, n int, done bool) bool { return crashing(o, n, done, func() {}) }

// crashing is crashOnce, and says when it is.
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
	// A crash behind the last effect is none that the run could notice; one in
	// a round of observation is found by the next command.
	_ = o.carryOut()
	o.world.OnEffect = nil
	return crashed
}

// refreshed returns what a refresh-only plan says.
func (o *operator) refreshed() *planner.Plan {
	o.t.Helper()
	v := o.observe()
	v.Key, v.RefreshOnly = o.view.Key, true
	r, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	if diags.HasErrors() {
		o.t.Fatal(diags)
	}
	return r.Plan
}
