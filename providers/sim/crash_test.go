package sim_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/kubewright/kubewright/providers/sim"
)

var errStopped = errors.New("stopped")

// effects counts the effects of a bootstrap, and names their kinds.
func effects(t *testing.T, planes, workers int) (int, []string) {
	t.Helper()
	l := newLife(t, planes, workers)
	n := 0
	var kinds []string
	known := map[string]bool{}
	l.w.OnEffect = func(e sim.Effect) error {
		if e.Done {
			return nil
		}
		n++
		if !known[e.Op] {
			known[e.Op] = true
			kinds = append(kinds, e.Op)
		}
		return nil
	}
	l.mustApply()
	return n, kinds
}

// stride returns the distance between the effects at which runs are stopped: 1 with
// KUBEWRIGHT_LONG set.
func stride() int {
	if os.Getenv("KUBEWRIGHT_LONG") != "" {
		return 1
	}
	return 40
}

// converge applies until no change is left, as an operator would.
func (l *life) converge() {
	l.t.Helper()
	var err error
	for range 4 {
		if _, err = l.apply(false); err == nil {
			l.mustBeEmpty()
			return
		}
	}
	l.t.Errorf("does not converge: %v", err)
}

// TestApplyContinuesAfterCrash checks that the next run completes one that ended before or after any
// effect.
func TestApplyContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	n, _ := effects(t, 2, 1)
	for i := 1; i <= n; i += stride() {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d-%v", i, done), func(t *testing.T) {
				t.Parallel()
				l := newLife(t, 2, 1)
				var at *sim.Effect
				l.w.OnEffect = func(e sim.Effect) error {
					if at == nil && e.N == i && e.Done == done {
						at = &e
					}
					if at != nil {
						return errStopped
					}
					return nil
				}
				_, err := l.apply(false)
				if at == nil {
					t.Skip("the operation failed by itself, so there is no moment after it")
				}
				if !errors.Is(err, errStopped) {
					t.Fatalf("the run ended with %v", err)
				}
				l.w.OnEffect = nil
				l.converge()
				if t.Failed() {
					t.Logf("stopped %s", at)
				}
			})
		}
	}
}

// TestApplyRecoversFromFaults checks that another apply recovers from every kind of fault at every
// kind of operation.
func TestApplyRecoversFromFaults(t *testing.T) {
	t.Parallel()
	_, kinds := effects(t, 2, 1)
	faults := []sim.FaultKind{sim.FaultUnreachable, sim.FaultDropBefore, sim.FaultDropAfter, sim.FaultFail, sim.FaultHang, sim.FaultPartial}
	for i, op := range append(kinds, "observe", "http", "api.observe", "api.ready", "etcd.members", "read_secrets") {
		for j, kind := range faults {
			if (i*len(faults)+j)%max(1, stride()/4) != 0 {
				continue
			}
			t.Run(op+"-"+string(kind), func(t *testing.T) {
				t.Parallel()
				l := newLife(t, 2, 1)
				l.w.Fault(sim.Fault{Op: op, Skip: i % 3, Kind: kind})
				if op == "observe" {
					l.w.ClearFaults() // the test's own observation must succeed
					l.w.Fault(sim.Fault{Op: op, Skip: 3 + i%3, Kind: kind})
				}
				l.converge()
			})
		}
	}
}
