package providers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// TestDrainErrorNamesBlockedPodsFirst checks that the error of a drain names every pod that a budget blocks, before
// all others, and counts those beyond the limit.
func TestDrainErrorNamesBlockedPodsFirst(t *testing.T) {
	t.Parallel()
	why := providers.WhyBlocked("shop/web", state.BudgetReport{Healthy: 12, Wanted: 12, Expected: 13})
	var left []providers.StillThere
	for i := range 120 {
		left = append(left, providers.StillThere{Pod: fmt.Sprintf("shop/a-%d", i), Why: "it was not evicted"})
	}
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("shop/web-%d", i))
		left = append(left, providers.StillThere{Pod: names[i], Why: why, Budget: "shop/web"})
	}
	err := providers.Blocked(planner.Drain{Node: "w1", Timeout: time.Minute}, left)
	if !errors.Is(err, providers.ErrBlocked) {
		t.Errorf("got %v", err)
	}
	want := "cannot drain node w1: after 1m0s pods are still on it: " + strings.Join(names, ", ") + " (PodDisruptionBudget shop/web allows 0 disruptions: " +
		"12 of 13 pods are healthy, 12 have to stay); shop/a-0, shop/a-1, "
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s…", err, want)
	}
	if end := ", shop/a-97 (it was not evicted); 22 more"; !strings.HasSuffix(err.Error(), end) {
		t.Errorf("got  %v\nwant …%s", err, end)
	}
}
