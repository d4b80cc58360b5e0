package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// drain evicts the pods of a node. A drain that reached its deadline is not retried, nor is
// one refused because of what a pod is; on any error the node is left cordoned or
// uncordoned as the operation says.
func (w apiWork) drain(ctx context.Context, op planner.Drain) error {
	err := w.retry(ctx, max(retryTime, op.Timeout), passing, func(ctx context.Context) error {
		return w.Through(ctx, w.via(), func(ctx context.Context, a API) error { return a.Drain(ctx, op, w.log) })
	})
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, ErrSuperseded), errors.Is(err, ErrHeld):
		return err // a run that was stopped or superseded does nothing more
	}
	left := "The node stays cordoned, so that no further pod comes"
	if op.Uncordon {
		left = "The node lets pods in again"
		undo := func(ctx context.Context, a API) error {
			return a.Cordon(ctx, planner.Cordon{Node: op.Node, Undo: true})
		}
		if undoErr := w.retry(ctx, retryTime, passing, func(ctx context.Context) error { return w.Through(ctx, w.via(), undo) }); undoErr != nil {
			left = "The node stays cordoned, because that could not be undone: " + undoErr.Error()
		}
	}
	pods := "no pod was deleted that may not be evicted"
	if op.DisableEviction {
		pods = "the pods that it deleted went past any PodDisruptionBudget, as disable_eviction says"
	}
	return fmt.Errorf("%w. %s; %s", err, left, pods)
}

// StillThere is a pod that a drain could not evict, and why.
type StillThere struct {
	Pod string
	Why string
	// Budget is the PodDisruptionBudget that blocks it; empty for another reason.
	Budget string
}

// stillNamed bounds the pods that the error of a drain names: the kubelet's default of
// max-pods.
const stillNamed = 110

// Blocked is the error of a drain that reached its deadline. It names the pods blocked by a
// budget first, and groups pods with the same reason.
func Blocked(op planner.Drain, left []StillThere) error {
	left = slices.Clone(left)
	slices.SortStableFunc(left, func(a, b StillThere) int {
		if (a.Budget == "") != (b.Budget == "") {
			return strings.Compare(b.Budget, a.Budget) // pods without a budget come last
		}
		return strings.Compare(a.Budget, b.Budget)
	})
	shown := left[:min(len(left), stillNamed)]
	var groups []string
	for i := 0; i < len(shown); {
		var pods []string
		for why := shown[i].Why; i < len(shown) && shown[i].Why == why; i++ {
			pods = append(pods, shown[i].Pod)
		}
		groups = append(groups, strings.Join(pods, ", ")+" ("+shown[i-1].Why+")")
	}
	if more := len(left) - len(shown); more > 0 {
		groups = append(groups, fmt.Sprintf("%d more", more))
	}
	return &Error{
		Kind: ErrBlocked, Do: "drain node " + op.Node,
		Cause: fmt.Errorf("after %s pods are still on it: %s", op.Timeout, strings.Join(groups, "; ")),
	}
}

// WhyTerminating explains a pod that is being deleted by the time at which it should be
// gone, and the finalizers that keep it. That is the time the API reports, with the pod's grace
// period included, not the time of the deletion.
func WhyTerminating(goneBy time.Time, finalizers []string) string {
	why := "it terminates still, and was to be gone by " + goneBy.UTC().Format(time.RFC3339)
	if len(finalizers) > 0 {
		why += ": kept by finalizers, which their controllers remove: " + Sanitize(strings.Join(finalizers, ", "), 300)
	}
	return why
}

// WhyBlocked explains a budget by its desired and its current numbers.
func WhyBlocked(name string, b state.BudgetReport) string {
	if b.Failed != "" {
		return fmt.Sprintf("PodDisruptionBudget %s never allows a disruption, because its pods cannot be counted: %s; give it minAvailable as a number, or change what it selects", name, b.Failed)
	}
	why := fmt.Sprintf("PodDisruptionBudget %s allows %d disruptions: %d of %d pods are healthy, %d have to stay", name, b.Allowed, b.Healthy, b.Expected, b.Wanted)
	if b.Never() {
		why += ", so it never allows one; scale up or change it"
	}
	return why
}
