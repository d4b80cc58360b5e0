package providers_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// TestBlockedDrainUncordonsNodeThatStays checks that a pod that may not be evicted ends a drain, and that the
// node is uncordoned if it stays in the cluster.
func TestBlockedDrainUncordonsNodeThatStays(t *testing.T) {
	t.Parallel()
	blocked := providers.Blocked(planner.Drain{Node: "n", Timeout: time.Minute}, []providers.StillThere{{Pod: "shop/a", Why: "it was not evicted"}})
	const has = "cannot drain node n: after 1m0s pods are still on it: shop/a (it was not evicted). "
	for want, c := range map[string]struct {
		op   planner.Drain
		errs []error
	}{
		has + "The node stays cordoned, so that no further pod comes; no pod was deleted that may not be evicted": {planner.Drain{Node: "n"}, []error{blocked}},
		has + "The node lets pods in again; no pod was deleted that may not be evicted":                           {planner.Drain{Node: "n", Uncordon: true}, []error{blocked}},
		has + "The node stays cordoned, because that could not be undone: refused; no pod was deleted that may not be evicted": {
			planner.Drain{Node: "n", Uncordon: true}, []error{blocked, errRefused},
		},
		has + "The node stays cordoned, so that no further pod comes; the pods that it deleted went past any PodDisruptionBudget, as disable_eviction says": {
			planner.Drain{Node: "n", DisableEviction: true}, []error{blocked},
		},
	} {
		s := newScene()
		s.apiErrs = c.errs
		if _, err := s.perform(t, providers.Run{}, c.op); !errors.Is(err, providers.ErrBlocked) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestFailedDrainUncordonsNodeThatStays checks that a drain that fails before its deadline, as because of a pod
// created since the plan or of a webhook, leaves the node as a blocked drain does. A
// superseded run does nothing more.
func TestFailedDrainUncordonsNodeThatStays(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		op   planner.Drain
		errs []error
	}{
		"refused. The node stays cordoned, so that no further pod comes; no pod was deleted that may not be evicted": {planner.Drain{Node: "n"}, []error{errRefused}},
		"refused. The node lets pods in again; no pod was deleted that may not be evicted":                           {planner.Drain{Node: "n", Uncordon: true}, []error{errRefused}},
		"refused. The node stays cordoned, because that could not be undone: refused; no pod was deleted that may not be evicted": {
			planner.Drain{Node: "n", Uncordon: true}, []error{errRefused, errRefused},
		},
		"another run": {planner.Drain{Node: "n", Uncordon: true}, []error{fmt.Errorf("another run%w", errSilent{})}},
	} {
		s := newScene()
		s.apiErrs = c.errs
		if _, err := s.perform(t, providers.Run{}, c.op); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// errSilent is an ErrSuperseded with an empty text.
type errSilent struct{}

func (errSilent) Error() string        { return "" }
func (errSilent) Is(target error) bool { return target == providers.ErrSuperseded }

// TestUnresolvedReferenceSendsNothing checks that nothing is sent with an unresolved reference, and that the
// step's error names it.
func TestUnresolvedReferenceSendsNothing(t *testing.T) {
	t.Parallel()
	s := newScene()
	object := state.Map(map[string]state.Value{"data": state.PendingValue("cluster.prod/upload-certs", "certificate_key")})
	_, err := s.perform(t, providers.Run{}, planner.ApplyObject{Object: object})
	if want := "cannot find output certificate_key of cluster.prod/upload-certs: that step was not part of this run; plan again"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	s.hostErr = errRefused
	if _, err := s.perform(t, providers.Run{}, planner.UploadCerts{}); err == nil || err.Error() != "cannot read the certificates: refused" {
		t.Errorf("got %v", err)
	}
}
