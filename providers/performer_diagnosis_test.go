package providers_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/diagnosis"
)

// crashing returns a report of an API server that has exited at once for the n-th time.
func crashing(n int) diagnosis.Report {
	at := time.Unix(1000, 0)
	return diagnosis.Report{Containers: []diagnosis.Container{{
		Pod: "kube-apiserver-cp2", Name: "kube-apiserver", Attempt: n, ExitCode: 1, Started: at, Finished: at.Add(time.Second),
		Log: []string{"unknown flag, password hunter22"},
	}}}
}

// waitHTTP is a wait for the health of an API server that does not come up.
var waitHTTP = planner.Wait{For: planner.WaitHTTP, URL: "https://a/livez", Timeout: 4 * time.Minute}

func TestWaitEndsWhenContainerKeepsExiting(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.diagnoses = []diagnosis.Report{crashing(0), crashing(1), crashing(2)}
	began := s.now
	_, err := s.perform(t, providers.Run{}, waitHTTP)
	if want := "cannot wait for https://a/livez: container kube-apiserver of pod kube-apiserver-cp2 keeps exiting: it exited with code 1 after 1s, 2 restarts"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if took := s.now.Sub(began); took > time.Minute {
		t.Errorf("it took %s until the cause was shown", took)
	}
	if errors.Is(err, providers.ErrTimeout) {
		t.Error("it is a timeout, although the wait was ended")
	}
}

func TestTimeoutNamesWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.diagnoses = []diagnosis.Report{{Units: []diagnosis.Unit{{Name: "kubelet.service", Active: "failed", Result: "exit-code", ExitCode: 1}}}}
	_, err := s.perform(t, providers.Run{}, waitHTTP)
	if !errors.Is(err, providers.ErrTimeout) || !strings.HasSuffix(err.Error(), ". On the host: unit kubelet.service is failed: exit-code, exit code 1") {
		t.Errorf("%v", err)
	}
}

func TestFailedCommandNamesWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.hostErr = &providers.CommandError{Host: "cp2", Command: "start unit kubelet.service", ExitCode: 1}
	s.diagnoses = []diagnosis.Report{crashing(3)}
	_, err := s.perform(t, providers.Run{}, planner.Unit{Unit: "kubelet.service", Action: "restart"})
	if _, ok := errors.AsType[*providers.CommandError](err); !ok || !strings.Contains(err.Error(), "container kube-apiserver of pod kube-apiserver-cp2 exited with code 1") {
		t.Errorf("%v", err)
	}
}

func TestLogsOfDiagnosisHoldNoSecret(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.diagnoses = []diagnosis.Report{crashing(0), crashing(9)}
	_, err := s.perform(t, providers.Run{}, waitHTTP)
	found, ok := errors.AsType[*diagnosis.Error](err)
	if !ok || len(found.Causes) != 1 || strings.Contains(found.Causes[0].Log[0], "hunter22") {
		t.Errorf("%+v", err)
	}
}

// TestHealthyHostIsNotDiagnosed checks that a wait that ends soon, and one that depends on no
// container, ask the host nothing more.
func TestHealthyHostIsNotDiagnosed(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.status = []int{500, 200}
	if _, err := s.perform(t, providers.Run{}, waitHTTP); err != nil {
		t.Fatal(err)
	}
	if _, err := s.perform(t, providers.Run{}, planner.Wait{For: planner.WaitFile, Name: "/f", Timeout: time.Minute}); err == nil {
		t.Fatal("the file is there")
	}
	if slices.Contains(s.log, cp2Name+" is diagnosed") {
		t.Errorf("%q", s.log)
	}
}
