package providers

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/diagnosis"
)

const (
	// watchEvery is how often a wait asks its host for what keeps exiting there.
	watchEvery = 10 * time.Second
	// diagnosisTime bounds one such request.
	diagnosisTime = 100 * time.Second
)

// watch notices during a wait that something it needs keeps exiting.
type watch struct {
	waiting
	last   time.Time
	before *diagnosis.Report
}

// hopeless returns an error if waiting cannot help, once every ten seconds. A host that does not
// answer is no reason to end the wait.
func (w *watch) hopeless(ctx context.Context, now time.Time) error {
	if !needsContainers(w.want.For) || now.Sub(w.last) < watchEvery {
		return nil
	}
	w.last = now
	r, err := w.diagnosis(ctx)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if w.before == nil {
		w.before = r
		return nil
	}
	cause := r.KeepsExiting(*w.before)
	if cause == nil {
		return nil
	}
	return diagnosis.Hopeless(w.want.Summary(), *cause)
}

// needsContainers reports whether a condition depends on the kubelet and on containers of the
// step's host.
func needsContainers(c planner.WaitFor) bool {
	switch c {
	case planner.WaitHTTP, planner.WaitAPI, planner.WaitStaticPod, planner.WaitNodeRegistered, planner.WaitNodeReady,
		planner.WaitRestarted, planner.WaitEtcdStarted:
		return true
	}
	return false
}

// diagnosis asks the step's host what does not run there.
func (w *work) diagnosis(ctx context.Context) (*diagnosis.Report, error) {
	host, err := w.host(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, diagnosisTime)
	defer cancel()
	return host.Diagnose(ctx)
}

// settingsOfHost reports whether operations set up a host before anything of Kubernetes runs there:
// what does not run yet is not why they fail. A unit's own messages are in its error.
func settingsOfHost(ops []planner.Operation) bool {
	settings := false
	for _, op := range ops {
		switch op := op.(type) {
		case planner.SetSysctl, planner.LoadModule, planner.SystemUser, planner.Swap:
			settings = true
		case planner.Unit:
			if slices.Contains(diagnosis.Units(), op.Unit) {
				return false
			}
			settings = true
		case planner.Mark, planner.WriteFile, planner.EnsureDirectory, planner.RemovePath, planner.Preserve, planner.Restore:
		default:
			return false
		}
	}
	return settings
}

// diagnosed adds to an error what the step's host says of its cause, if a wait was in vain or a
// command failed.
func (w *work) diagnosed(ctx context.Context, g group, err error) error {
	if _, done := errors.AsType[*diagnosis.Error](err); done || ctx.Err() != nil {
		return err
	}
	if settingsOfHost(g.operations) {
		return err
	}
	wait, waits := g.operations[0].(planner.Wait)
	_, command := errors.AsType[*CommandError](err)
	if !command && !(waits && needsContainers(wait.For) && errors.Is(err, ErrTimeout)) {
		return err
	}
	r, failed := w.diagnosis(ctx)
	if failed != nil {
		return err //nolint:nilerr // the first failure is the one to report
	}
	if causes := r.Causes(); len(causes) > 0 {
		return diagnosis.Explain(err, causes)
	}
	return err
}
