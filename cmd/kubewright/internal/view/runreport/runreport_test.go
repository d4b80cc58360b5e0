package runreport_test

import (
	"io"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/runreport"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

func TestCompleteReport(t *testing.T) {
	got := viewtest.Printed(t, func(w io.Writer) error { return runreport.Complete(w, viewtest.CreatePlan(), nil, ui.Options{}) })
	if want := "\nApply complete! Resources: 6 added, 0 changed, 0 destroyed.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = viewtest.Printed(t, func(w io.Writer) error { return runreport.Complete(w, viewtest.DestroyPlan(), nil, ui.Options{}) })
	if want := "\nDestroy complete! Resources: 6 destroyed.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTimingReport checks that an apply ends with where the time went.
func TestTimingReport(t *testing.T) {
	plan := viewtest.UpdatePlan()
	viewtest.Golden(t, "timing.txt", viewtest.Printed(t, func(w io.Writer) error {
		return runreport.Complete(w, plan, viewtest.FinishedRun(plan), ui.Options{Width: 100})
	}))
}

func TestIncompleteReport(t *testing.T) {
	plan := viewtest.CreatePlan()
	for _, color := range []bool{false, true} {
		got := viewtest.Printed(t, func(w io.Writer) error {
			return runreport.Incomplete(w, plan, viewtest.FailedRun(plan), ui.Options{Width: 80, Color: color})
		})
		name := "outcome.txt"
		if color {
			name = "outcome.color.txt"
		}
		viewtest.Golden(t, name, viewtest.Visible(got))
	}
}

func TestNotConvergedReport(t *testing.T) {
	viewtest.Golden(t, "not-converged.txt", viewtest.Printed(t, func(w io.Writer) error { return runreport.NotConverged(w, viewtest.UpdatePlan(), ui.Options{}) }))
}

// TestRareSentencesRunreport checks sentences that are rarely printed.
func TestRareSentencesRunreport(t *testing.T) {
	t.Parallel()
	o := ui.Options{Width: 400}
	overtaken := func(w io.Writer) error {
		outcome := viewtest.FailedRun(viewtest.CreatePlan())
		outcome.Overtaken = true
		for i := range outcome.Steps {
			if outcome.Steps[i].Status == executor.StatusFailed {
				outcome.Steps[i].Err = nil
			}
		}
		return runreport.Incomplete(w, viewtest.CreatePlan(), outcome, o)
	}
	viewtest.CheckSentences(t, map[string]viewtest.Sentences{
		"what was left alone": viewtest.Shows(func(w io.Writer) error { return runreport.Complete(w, viewtest.DriftPlan(), nil, o) }, "Run kubewright apply again when it is reachable."),
		"a key for certificates": viewtest.Shows(func(w io.Writer) error {
			return runreport.CertificateKey(w, viewtest.Prod, state.NewSecret([]byte("00ff")), o)
		}, "The certificates of cluster.prod are in the cluster for two hours, encrypted with this key. It is shown once and kept nowhere.", "kubeadm join … --control-plane --certificate-key 00ff"),
		"a run that another one has ended": viewtest.Shows(overtaken, "no reason was given", "Another run has begun, or was let in. What this one has done is found on the hosts. See what a plan says before you continue: it may undo what the other one does."),
		"what does not run yet": viewtest.Shows(func(w io.Writer) error {
			return runreport.NotConverged(w, viewtest.StepOf(planner.Wait{For: planner.WaitStaticPod}), o)
		}, "kubewright plan shows whether it does by now; what stays down says why in its log on the host. These steps would wait for it:\n"),
	})
}
