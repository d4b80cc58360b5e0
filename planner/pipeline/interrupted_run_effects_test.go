package pipeline_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestContinuedRunRepeatsNoCompletedEffect stops the operator at moments of a bootstrap, an upgrade and a rotation, and
// continues with the same command. It checks that effects of completed steps are not repeated: together
// with what follows, each occurs as often as without the interruption. Effects are restarts, evictions,
// certificates, files, images and members of etcd.
func TestContinuedRunRepeatsNoCompletedEffect(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) *operator{
		"founding": func(t *testing.T) *operator { return newOperator(t, cluster(3, 1)) },
		"upgrade": func(t *testing.T) *operator {
			o := running(t, 3, 2, "1.35.8")
			o.config.Clusters[0].KubernetesVersion = "1.36.3"
			o.kubelets("1.36.3")
			return o
		},
		"rotation": func(t *testing.T) *operator {
			o := running(t, 2, 1, sim.DefaultProfile().KubeletVersion) // a rotation waits for Nodes that are not Ready yet
			o.config.Clusters[0].Upgrade.AllowDowntime = true
			for _, ca := range []string{"ca", "etcd-ca", "service-account"} {
				o.rotate = append(o.rotate, rotationOf(t, ca))
			}
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := begin(t)
			_, err := o.planShown()
			o.must(err)
			whole := ledgerOf(o.copy(t))
			first, last, ended := whole.o.effects()
			whole.close()
			for n, done := range crashes(t, first, last-1, (last-first)/6) {
				if !done || ended[n] {
					ledgerOf(o.copy(t)).wantOnce(t, whole, n, done)
				}
			}
		})
	}
}

// ledger counts effects, separately for completed steps.
type ledger struct {
	o *operator
	// step is the running step.
	step string
	// before is what had been done when the step began.
	before map[string]int
	// over holds the effects of completed steps, and by the steps that caused them.
	over map[string]int
	by   map[string][]string
}

// ledgerOf starts a ledger of an operator's further effects, one step at a time.
func ledgerOf(o *operator) *ledger {
	l := &ledger{o: o, before: o.world.Changes(), over: map[string]int{}, by: map[string][]string{}}
	o.around = func(s *planner.Step) error {
		l.close()
		l.step = s.ID.String()
		return nil
	}
	return l
}

// close enters the effects of the step that ran last.
func (l *ledger) close() {
	now := l.o.world.Changes()
	for what, n := range now {
		if more := n - l.before[what]; more > 0 {
			l.over[what] += more
			l.by[what] = append(l.by[what], l.step)
		}
	}
	l.before = now
}

// inFlight returns what the running step has changed so far, and the components whose manifests it
// changed: the continued apply restores what the step has removed.
func (l *ledger) inFlight() map[string]bool {
	out := map[string]bool{}
	for what, n := range l.o.world.Changes() {
		if _, about, _ := strings.Cut(what, " "); n > l.before[what] {
			out[about] = true
			if name, ok := strings.CutPrefix(about, "/etc/kubernetes/manifests/"); ok {
				out[strings.Replace(name, ".yaml", "", 1)] = true
			}
		}
	}
	return out
}

// wantOnce lets an operator crash at an effect and continue with the same command.
func (l *ledger) wantOnce(t *testing.T, whole *ledger, n int, done bool) {
	t.Helper()
	o, alive := l.o, true
	note := o.around
	o.around = func(s *planner.Step) error {
		if !alive {
			return errCrash
		}
		return note(s)
	}
	rotate := slices.Clone(o.rotate)
	if !crashing(o, n, done, func() { alive = false }) {
		t.Fatalf("effect %d did not occur (done %v)", n, done)
	}
	away := l.inFlight()
	after := ledgerOf(o)
	o.rotate = rotate
	for range 3 {
		if err := o.apply(); err != nil {
			t.Fatalf("stopped at effect %d (done %v) in %s: %v", n, done, l.step, err)
		}
		p, err := o.plan()
		o.must(err)
		if p.Empty() {
			break
		}
	}
	after.close()
	for _, what := range slices.Sorted(maps.Keys(l.over)) {
		once, again := l.over[what], after.over[what]
		if _, about, _ := strings.Cut(what, " "); again > 0 && once+again > max(whole.over[what], once) && !away[about] {
			t.Errorf("stopped at effect %d (done %v) in %s: it repeats: %s\n  done by the completed steps %s, and again by %s",
				n, done, l.step, what, strings.Join(l.by[what], ", "), strings.Join(after.by[what], ", "))
		}
	}
}
