package providers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// drain evicts the pods of a node. A drain that reached its deadline is not
// begun again; the node is left as the operation says.
func (w *work) drain(ctx context.Context, op planner.Drain) error {
	err := w.retry(ctx, max(retryTime, op.Timeout), passing, func(ctx context.Context) error {
		return w.Through(ctx, w.via(), func(ctx context.Context, a API) error { return a.Drain(ctx, op, w.log) })
	})
	if !errors.Is(err, ErrBlocked) {
		return err
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
	return fmt.Errorf("%w. %s; no pod was deleted that may not be evicted", err, left)
}

// StillThere is a pod that a drain could not evict, and why.
type StillThere struct {
	Pod string
	Why string
}

// Blocked is the error of a drain that reached its deadline.
func Blocked(op planner.Drain, left []StillThere) error {
	const most = 10
	var lines []string
	for i, p := range left {
		if i == most {
			lines = append(lines, fmt.Sprintf("%d more", len(left)-most))
			break
		}
		lines = append(lines, p.Pod+" ("+p.Why+")")
	}
	return &Error{
		Kind: ErrBlocked, Do: "drain node " + op.Node,
		Cause: fmt.Errorf("after %s it has pods still: %s", op.Timeout, strings.Join(lines, ", ")),
	}
}

// WhyTerminating says of a pod that was deleted by when it was to be gone. The API
// tells that time, and not when it was deleted: the pod's grace period is in it.
func WhyTerminating(goneBy time.Time) string {
	return "it terminates still, and was to be gone by " + goneBy.UTC().Format(time.RFC3339)
}

// WhyBlocked says of a budget what it wants and has.
func WhyBlocked(name string, b state.BudgetReport) string {
	why := fmt.Sprintf("PodDisruptionBudget %s allows %d disruptions: %d of %d pods are healthy, %d have to stay", name, b.Allowed, b.Healthy, b.Expected, b.Wanted)
	if b.Never() {
		why += ", so it never allows one; scale up or change it"
	}
	return why
}
