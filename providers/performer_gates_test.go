package providers_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

const (
	apiManifest  = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	etcdManifest = "/etc/kubernetes/manifests/etcd.yaml"
)

// restartsEtcd returns a step that stops the API server and etcd and starts both, as in a
// plan.
func restartsEtcd(before ...planner.Operation) *planner.Step {
	write := func(path string) planner.Operation {
		return planner.WriteFile{Path: path, Mode: "0600", Owner: "root:root", Content: planner.Content{Inline: "new"}}
	}
	return &planner.Step{Target: cp2, Via: cp1, Gates: []string{planner.QuorumGate}, Operations: append(before,
		planner.RemovePath{Path: apiManifest}, planner.Wait{For: planner.WaitClosed, URL: "https://a/livez"},
		planner.RemovePath{Path: etcdManifest}, planner.Wait{For: planner.WaitClosed, URL: "http://e/readyz"},
		write(etcdManifest), write(apiManifest), planner.Wait{For: planner.WaitFile, Name: "/f"}, planner.RestartProcess{})}
}

// performGated performs a step whose gates refuse at the nth evaluation within it.
func (s *scene) performGated(t *testing.T, step *planner.Step, nth int) (looks int, err error) {
	t.Helper()
	s.files[apiManifest], s.files[etcdManifest], s.files["/f"] = "old api", "old etcd", ""
	s.probeErr = []error{providers.ErrRefused, providers.ErrRefused}
	p := s.performer()
	p.Gates = func(context.Context, *planner.Step) error {
		if looks++; looks == nth {
			return errRefused
		}
		return nil
	}
	_, err = p.Perform(t.Context(), step, providers.Run{Token: 7, Lineage: "l"}, providers.Progress{})
	return looks, err
}

// TestGatesAreEvaluatedBeforeEtcdStops checks that the gates are evaluated again right before etcd
// stops, and before a serving component stops after a wait. On refusal, whatever was
// stopped for it starts again unchanged, and etcd is not touched.
func TestGatesAreEvaluatedBeforeEtcdStops(t *testing.T) {
	t.Parallel()
	s := newScene()
	if looks, err := s.performGated(t, restartsEtcd(), 0); err != nil || looks != 1 {
		t.Errorf("%d looks, %v", looks, err)
	}

	s = newScene()
	_, err := s.performGated(t, restartsEtcd(), 1)
	want := "refused. Etcd keeps running here; kube-apiserver was stopped for this step and starts again as it was. The same command continues from there"
	if !errors.Is(err, errRefused) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if len(s.batches) != 2 || len(s.batches[1].Operations) != 1 {
		t.Fatalf("the host was asked for %+v", s.batches)
	}
	b := s.batches[1]
	w := b.Operations[0].(planner.WriteFile)
	if w.Path != apiManifest || w.Mode != "0600" || w.Owner != "root:root" || string(b.Contents[w.Content.Ref].Reveal()) != "old api" || b.Token != 7 || b.Lineage != "l" || len(b.Expect) != 0 {
		t.Errorf("the restored file is %+v", b)
	}

	s = newScene()
	_, err = s.performGated(t, restartsEtcd(planner.Wait{For: planner.WaitFile, Name: "/f"}), 1)
	if want := "refused. Nothing is stopped here. The same command continues from there"; err == nil || err.Error() != want || len(s.batches) != 0 {
		t.Errorf("got %v after %+v", err, s.batches)
	}
}

// TestManifestThatCannotBeRestoredIsReported checks the error when the host does not take back the removed
// manifest.
func TestManifestThatCannotBeRestoredIsReported(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.printing = func(b providers.Batch) {
		if len(b.Contents) > 0 {
			s.hostErr = providers.ErrDisconnected
		}
	}
	_, err := s.performGated(t, restartsEtcd(), 1)
	want := "refused. Etcd keeps running here; kube-apiserver was stopped for this step and could not be started again (connection lost). The same command continues from there, and starts it"
	if !errors.Is(err, errRefused) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestWrittenManifestIsNotRestored checks that a manifest that the step has written stays as
// written.
func TestWrittenManifestIsNotRestored(t *testing.T) {
	t.Parallel()
	s := newScene()
	step := restartsEtcd()
	step.Operations = append(step.Operations, planner.Wait{For: planner.WaitFile, Name: "/f"}, planner.RemovePath{Path: etcdManifest})
	looks, err := s.performGated(t, step, 2)
	if want := "refused. Nothing is stopped here. The same command continues from there"; looks != 2 || err == nil || err.Error() != want {
		t.Errorf("%d looks, got %v", looks, err)
	}
	if slices.ContainsFunc(s.log, func(l string) bool { return strings.Contains(l, "old") }) || len(s.batches[len(s.batches)-1].Contents) != 0 {
		t.Errorf("something was restored: %s", s.log)
	}
}
