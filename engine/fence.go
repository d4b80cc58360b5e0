package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/providers"
)

// fences are a run's claims on the clusters that its plan changes, so that two operators with
// two copies of a state cannot both act. A running cluster is claimed before the first step, a
// new one at the first write to its API. A run with nothing to do claims nothing.
type fences struct {
	*Run
	all map[string]*providers.Fence
}

// releaseTime limits how long releasing the claims may take: an API that is gone holds none.
const releaseTime = 5 * time.Second

// newFences prepares a fence for each cluster of the plan's steps.
func (p *Run) newFences(perf *providers.Performer) *fences {
	f := &fences{Run: p, all: map[string]*providers.Fence{}}
	if p.Leaseless {
		return f
	}
	for i := range p.Result.Plan.Steps {
		label := p.Hosts.ClusterOf(p.Result.Plan.Steps[i].Target)
		if f.all[label] != nil || p.Config.Cluster(label) == nil {
			continue
		}
		f.all[label] = &providers.Fence{
			Through: perf.Through, Clock: p.Hosts.World.Clock(), Dead: p.Dead,
			Mine: providers.Lease{Name: hosts.LeaseName, Lineage: p.Lineage, Run: p.ID, Who: p.Who, Token: ownership.NextRun(p.Observed)},
		}
	}
	return f
}

// Claim takes the leases of all clusters whose API was observed for the plan.
func (f *fences) Claim(ctx context.Context) error {
	for label, fence := range f.all {
		if !f.writable(label) {
			continue
		}
		if err := fence.Hold(ctx, f.Observed.Primary(label)); err != nil {
			return err
		}
	}
	return nil
}

// writable reports whether a cluster's API was observed and its etcd accepts writes: an etcd
// with an alarm can store no lease, and only steps that clear the alarm run then.
func (f *fences) writable(label string) bool {
	return f.Observed.ClusterReports[label] != nil && !f.alarmed(label)
}

func (f *fences) alarmed(label string) bool {
	report := f.Observed.ClusterReports[label]
	return report != nil && quorum.Alarmed(report.Members) != ""
}

// before makes sure that the run still holds the claim on the step's cluster.
func (f *fences) before(ctx context.Context, step *planner.Step) error {
	label := f.Hosts.ClusterOf(step.Target)
	fence := f.all[label]
	if fence == nil || f.alarmed(label) || f.Observed.ClusterReports[label] == nil && !slices.ContainsFunc(step.Operations, planner.IsAPIOperation) {
		return nil
	}
	via := f.Observed.Primary(label)
	if !step.Via.IsZero() {
		via = step.Via
	}
	return fence.Hold(ctx, via)
}

// Beat renews the claims until the returned function is called.
func (f *fences) Beat(ctx context.Context) (end func()) {
	every := f.Hosts.World.Beat()
	if every == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				for _, fence := range f.all {
					fence.Beat(ctx)
				}
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// Release releases the claims. A destroyed cluster takes its own with it.
func (f *fences) Release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	for label, fence := range f.all {
		fence.Bury(ctx, f.Observed.Primary(label))
		fence.Release(ctx)
	}
}
