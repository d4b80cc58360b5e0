package state_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/state"
)

// TestLossesAreCounted checks that pods are counted by namespace, and that names are bounded and
// do not depend on the order in which the API lists them.
func TestLossesAreCounted(t *testing.T) {
	t.Parallel()
	var l state.Losses
	if !l.IsZero() {
		t.Error("nothing is a loss")
	}
	for i := 20; i > 0; i-- {
		l.Add(state.LostPod{Namespace: "default", Name: fmt.Sprintf("lone-%02d", i), EmptyDir: i > 15})
		l.Add(state.LostPod{Namespace: "shop", Name: fmt.Sprintf("web-%02d", i), Controlled: true})
	}
	l.AddVolume(state.ClaimReport{Namespace: "shop", Name: "db", Volume: "pv-2", Node: "w1"})
	l.AddVolume(state.ClaimReport{Namespace: "shop", Name: "logs", Volume: "pv-1"})
	var first []string
	for i := range state.MostNamed {
		first = append(first, fmt.Sprintf("default/lone-%02d", i+1))
	}
	if l.IsZero() || len(l.Pods) != 1 || l.Pods["shop"] != 20 || l.EmptyDirs != 5 || l.Alone.Count != 20 || !slices.Equal(l.Alone.First, first) {
		t.Errorf("got  %+v\nwant the pods %q first", l, first)
	}
	if want := []string{"pv-1 (shop/logs)", "pv-2 (shop/db, w1)"}; l.Volumes.Count != 2 || !slices.Equal(l.Volumes.First, want) {
		t.Errorf("got  %+v\nwant %q", l.Volumes, want)
	}
}
