package kube

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Pauses of a drain.
const (
	// evictRetry is the pause after an eviction that a PodDisruptionBudget did not allow, as
	// in kubectl.
	evictRetry = 5 * time.Second
	// drainGrace is how much longer than its own timeout a drain may take.
	drainGrace = 30 * time.Second
	// leaderGap is how long a drain waits for a controller manager to lead: twice the
	// duration of the lease that a departed leader leaves (--leader-elect-lease-duration).
	leaderGap = 30 * time.Second
	// renewal is the pause between two reads of that lease, which is renewed every two
	// seconds (--leader-elect-retry-period).
	renewal = 500 * time.Millisecond
)

// errNoEviction: without evictions kubectl drain deletes pods instead.
var errNoEviction = errors.New("the API server serves no evictions, and pods are not deleted instead: that would pass every PodDisruptionBudget by. Set disable_eviction = true in upgrade { drain } when that is wanted")

// Drain implements providers.API. DaemonSets' pods stay, as with kubectl drain
// --ignore-daemonsets. If one pod may not be evicted, none is, and pods are never deleted
// instead. Pods still there at the deadline are providers.ErrBlocked. If the API was
// unavailable, the error has that kind, and the drain may be retried.
func (a *API) Drain(ctx context.Context, op planner.Drain, log func(string)) error {
	began := time.Now()
	var told error
	err := a.as("drain node "+op.Node, func(s *session) error {
		way, err := evict(ctx, s, op, log)
		if err == nil || forbidden(err) || ctx.Err() != nil {
			return err
		}
		if op.Timeout > 0 && time.Since(began) >= op.Timeout {
			// The deadline's own context is done: the remaining pods are read with the
			// caller's.
			if left := stillThere(ctx, s, op); len(left) > 0 {
				told = providers.Blocked(op, left)
				return nil
			}
		}
		if kind := way.kind(); kind != nil {
			told = &providers.Error{Kind: kind, Do: "drain node " + op.Node, Cause: err}
			return nil
		}
		return err
	})
	return cmp.Or(told, err)
}

// evict evicts a node's pods, and returns the transport that it used.
func evict(ctx context.Context, s *session, op planner.Drain, log func(string)) (*noting, error) {
	if op.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, op.Timeout+drainGrace)
		defer cancel()
	}
	client, way, err := s.noted()
	if err != nil {
		return way, err
	}
	pods, err := drainable(ctx, client, op)
	if err != nil {
		return way, err
	}
	if !op.DisableEviction {
		if served, err := servesEvictions(client); err != nil {
			return way, err
		} else if !served {
			return way, errNoEviction
		}
	}
	if len(pods) == 0 {
		return way, nil
	}
	awaitLeader(ctx, s, log)
	return way, (&eviction{client: client, op: op, log: log}).run(ctx, pods)
}

// awaitLeader waits until the controller managers' lease is renewed. After a restart of
// their leader none leads until its lease ends: in that time evicted pods stay among the
// addresses of their Services, and no replacements start. If there is no such lease, or it
// is not renewed in time, the drain continues as kubectl's does.
func awaitLeader(ctx context.Context, s *session, log func(string)) {
	ctx, cancel := context.WithTimeout(ctx, leaderGap)
	defer cancel()
	first := ""
	for {
		lease, err := s.typed.CoordinationV1().Leases(leaseNamespace).Get(ctx, "kube-controller-manager", metav1.GetOptions{})
		switch {
		case err != nil:
			return
		case first == "":
			first = lease.ResourceVersion
		case lease.ResourceVersion != first:
			return
		}
		select {
		case <-ctx.Done():
			log("no controller manager has renewed its lease; continuing without it")
			return
		case <-time.After(renewal):
		}
	}
}

// pause returns the pause after an eviction that was not allowed; shorter if the timeout is
// short.
func pause(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return evictRetry
	}
	return min(evictRetry, max(timeout/10, 100*time.Millisecond))
}

// stillThere returns the pods that a drain could not evict, with the reasons. It returns
// none if the pods cannot be read.
func stillThere(ctx context.Context, s *session, op planner.Drain) []providers.StillThere {
	ctx, cancel := context.WithTimeout(ctx, drainGrace)
	defer cancel()
	pods, err := drainable(ctx, s.typed, op)
	if err != nil {
		return nil
	}
	budgets, err := allBudgets(ctx, s)
	if err != nil {
		budgets = &policyv1.PodDisruptionBudgetList{}
	}
	var out []providers.StillThere
	for i := range pods {
		p := providers.StillThere{Pod: pods[i].Namespace + "/" + pods[i].Name}
		p.Why, p.Budget = why(&pods[i], budgets)
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b providers.StillThere) int { return strings.Compare(a.Pod, b.Pod) })
	return out
}

// why returns what keeps a pod on its node, and the budget if it is one.
func why(p *corev1.Pod, budgets *policyv1.PodDisruptionBudgetList) (text, budget string) {
	if !p.DeletionTimestamp.IsZero() {
		return providers.WhyTerminating(p.DeletionTimestamp.Time, p.Finalizers), ""
	}
	for _, b := range asked(budgets, p) {
		if name := b.Namespace + "/" + b.Name; b.Status.DisruptionsAllowed == 0 {
			return providers.WhyBlocked(name, budgetReport(b)), name
		}
	}
	return "it was not evicted", ""
}

// selected reports whether a budget selects a pod. An empty selector selects all pods of
// its namespace.
func selected(b *policyv1.PodDisruptionBudget, p *corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && b.Namespace == p.Namespace && selector.Matches(labelsOf(p))
}

func budgetReport(b *policyv1.PodDisruptionBudget) state.BudgetReport {
	r := state.BudgetReport{
		Allowed: int(b.Status.DisruptionsAllowed), Healthy: int(b.Status.CurrentHealthy),
		Wanted: int(b.Status.DesiredHealthy), Expected: int(b.Status.ExpectedPods),
	}
	for _, c := range b.Status.Conditions {
		if c.Type == policyv1.DisruptionAllowedCondition && c.Status == metav1.ConditionFalse && c.Reason == policyv1.SyncFailedReason {
			r.Failed = strings.TrimRight(cmp.Or(c.Message, c.Reason), ". \n")
		}
	}
	return r
}
