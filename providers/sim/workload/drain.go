package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// Drain evicts the pods of a node as kubectl drain does, and logs each eviction.
func (wl Workloads) Drain(ctx context.Context, op planner.Drain, log func(string)) error {
	pods, err := wl.c.Evictable(wl.servers.Now, op)
	if err != nil {
		return err
	}
	return wl.evict(ctx, op, pods, log)
}

// evict removes pods one after the other, waits when a budget blocks, and gives up after
// the drain's timeout.
func (wl Workloads) evict(ctx context.Context, op planner.Drain, pods []*store.Pod, log func(string)) error {
	deadline := wl.servers.Now.Add(op.Timeout)
	for len(pods) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		var blocked []*store.Pod
		var why string
		for _, p := range pods {
			if !p.GoneBy.IsZero() {
				if !p.Skipped(wl.servers.Now, op) {
					blocked, why = append(blocked, p), fmt.Sprintf("pod %s/%s: %s", p.Namespace, p.Name, providers.WhyTerminating(p.GoneBy, nil))
				}
				continue
			}
			if b := wl.c.BlockedBy(wl.servers.Now, p); b != nil && !op.DisableEviction {
				blocked = append(blocked, p)
				why = fmt.Sprintf("pod %s/%s: it would violate PodDisruptionBudget %s", p.Namespace, p.Name, b.Name)
				log("blocked " + why)
				continue
			}
			log("evicted pod " + p.Namespace + "/" + p.Name)
			wl.servers.Hosts[wl.c.Nodes[op.Node].Host].CountChange("evict " + p.Namespace + "/" + p.Name)
			wl.move(p)
		}
		pods = blocked
		if len(pods) == 0 {
			return nil
		}
		if op.Timeout > 0 && !wl.servers.Now.Add(drainRetry).Before(deadline) {
			wl.servers.Advance(deadline.Sub(wl.servers.Now))
			return providers.Blocked(op, wl.stillThere(pods))
		}
		if op.Timeout <= 0 && !wl.c.WillImprove(wl.servers.Now) && !ends(pods, op) {
			return &providers.Error{Kind: providers.ErrTimeout, Do: "drain " + op.Node, Cause: errors.New("for ever: " + why)}
		}
		wl.servers.Advance(drainRetry)
	}
	return nil
}

// ends reports whether a drain without a deadline ends by itself: all remaining pods are
// terminating, and the drain limits how long it waits for that.
func ends(pods []*store.Pod, op planner.Drain) bool {
	return op.SkipWait > 0 && !slices.ContainsFunc(pods, func(p *store.Pod) bool { return p.GoneBy.IsZero() })
}

// move removes a pod from its node; its controller recreates it elsewhere.
func (wl Workloads) move(p *store.Pod) {
	wl.unplug(p)
	if p.Controller == "" {
		wl.c.Pods = slices.DeleteFunc(wl.c.Pods, func(o *store.Pod) bool { return o == p })
		return
	}
	from := p.Node
	p.Node = ""
	wl.place(p, from)
}

// PodReports returns the pods of nodes that a drain has to consider, and the budgets that
// apply to them.
func (wl Workloads) PodReports(nodes []string) ([]state.PodReport, map[string]state.BudgetReport) {
	var out []state.PodReport
	budgets := map[string]state.BudgetReport{}
	for _, p := range wl.c.Pods {
		if p.Controller == store.DaemonSet || !slices.Contains(nodes, p.Node) {
			continue
		}
		r := state.PodReport{Namespace: p.Namespace, Name: p.Name, Node: p.Node, Controller: p.Controller, Labels: p.Labels, EmptyDir: p.EmptyDir, LocalClaims: p.LocalClaims, GoneBy: p.GoneBy, Tolerations: wl.c.TolerationsOf(p)}
		if p.Selects != "" {
			r.NodeSelectors = []string{p.Selects}
		}
		for _, b := range wl.c.PDBs {
			if p.GoneBy.IsZero() && b.Namespace == p.Namespace && b.Matches(p) {
				r.Budgets = append(r.Budgets, b.Key())
				budgets[b.Key()] = wl.budgetReport(b)
			}
		}
		slices.Sort(r.Budgets)
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b state.PodReport) int { return strings.Compare(a.String(), b.String()) })
	return out, budgets
}

func (wl Workloads) budgetReport(b *store.PDB) state.BudgetReport {
	r := state.BudgetReport{Wanted: b.MinAvailable}
	for _, p := range wl.c.Pods {
		if p.Namespace != b.Namespace || !b.Matches(p) {
			continue
		}
		r.Expected++
		if p.Node != "" && !wl.servers.Now.Before(p.ReadyAt) {
			r.Healthy++
		}
	}
	r.Allowed = max(0, r.Healthy-r.Wanted)
	return r
}

// stillThere returns the pods that a drain could not evict, with the reasons.
func (wl Workloads) stillThere(pods []*store.Pod) []providers.StillThere {
	var out []providers.StillThere
	for _, p := range pods {
		left := providers.StillThere{Pod: p.Namespace + "/" + p.Name, Why: providers.WhyTerminating(p.GoneBy, nil)}
		if b := wl.c.BlockedBy(wl.servers.Now, p); b != nil {
			left.Why, left.Budget = providers.WhyBlocked(b.Key(), wl.budgetReport(b)), b.Key()
		}
		out = append(out, left)
	}
	return out
}

// drainRetry is the pause before a blocked eviction is retried.
const drainRetry = 5 * time.Second
