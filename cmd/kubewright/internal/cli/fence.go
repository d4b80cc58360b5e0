package cli

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/providers"
)

// fences are a run's claims on the clusters that its plan changes, so that two
// operators with two copies of a state cannot both act. A cluster that runs is
// claimed before the first step; one that is being founded when its API is
// first written to. A run that finds nothing to do claims nothing.
type fences struct {
	session *session
	all     map[string]*providers.Fence
}

// leaseName is one for whoever changes a cluster, with whatever state: two who have
// adopted the same one have two, and its hosts tell them apart only once each was changed.
const leaseName = "kubewright"

// releaseTime bounds giving the claims back: an API that went away keeps none.
const releaseTime = 5 * time.Second

// newFences prepares a fence for each cluster of the plan's steps.
func (s *session) newFences(p *providers.Performer, lineage string) *fences {
	f := &fences{session: s, all: map[string]*providers.Fence{}}
	if s.leaseless {
		return f
	}
	for i := range s.result.Plan.Steps {
		label := s.clusterLabel(&s.result.Plan.Steps[i])
		if f.all[label] != nil || s.config.Cluster(label) == nil {
			continue
		}
		f.all[label] = &providers.Fence{
			Through: p.Through, Clock: s.fleet.world.clock(), Dead: s.ended.ID,
			Mine: providers.Lease{Name: leaseName, Lineage: lineage, Run: s.runID, Who: s.Who, Token: ownership.NextRun(s.view)},
		}
	}
	return f
}

// claim takes the leases of all clusters whose API the plan has seen.
func (f *fences) claim(ctx context.Context) error {
	for label, fence := range f.all {
		if !f.writable(label) {
			continue
		}
		if err := fence.Hold(ctx, f.session.view.Primary(label)); err != nil {
			return err
		}
	}
	return nil
}

// writable reports whether a cluster's API was seen, and that its etcd takes writes:
// one with an alarm keeps no lease, and nothing is done then but what helps
// against the alarm.
func (f *fences) writable(label string) bool {
	return f.session.view.ClusterReports[label] != nil && !f.alarmed(label)
}

func (f *fences) alarmed(label string) bool {
	report := f.session.view.ClusterReports[label]
	return report != nil && quorum.Alarmed(report.Members) != ""
}

// before makes sure that the step's cluster is still claimed.
func (f *fences) before(ctx context.Context, step *planner.Step) error {
	label := f.session.clusterLabel(step)
	fence := f.all[label]
	if fence == nil || f.alarmed(label) || f.session.view.ClusterReports[label] == nil && !slices.ContainsFunc(step.Operations, planner.IsAPIOperation) {
		return nil
	}
	via := f.session.view.Primary(label)
	if !step.Via.IsZero() {
		via = step.Via
	}
	return fence.Hold(ctx, via)
}

// beat shows signs of life until the function that it returns is called.
func (f *fences) beat(ctx context.Context) (end func()) {
	every := f.session.fleet.world.beat()
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

// release gives the claims back. A cluster that was destroyed has taken its own with it.
func (f *fences) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	f.session.buried = true
	for label, fence := range f.all {
		fence.Bury(ctx, f.session.view.Primary(label))
		fence.Release(ctx)
	}
}

// clusterLabel returns the cluster that a step is about.
func (s *session) clusterLabel(step *planner.Step) string {
	if m := s.fleet.member(step.Target); m != nil {
		return m.cluster
	}
	return step.Target.Name
}
