package providers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

const (
	cp1Name = `node.cp["cp1"]`
	cp2Name = `node.cp["cp2"]`
)

// TestPerformerGroupsAdjacentOperations checks that adjacent operations of one kind travel together, and that their
// order stays.
func TestPerformerGroupsAdjacentOperations(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.files["/f"] = ""
	_, err := s.perform(t, providers.Run{Token: 7, Lineage: "l"},
		planner.EnsureDirectory{Path: "/a"}, planner.WriteFile{Path: "/b", Content: planner.Content{Ref: "config:x"}},
		planner.CopySecrets{From: cp1}, planner.IssueCertificate{CA: planner.Signer{On: cp1}},
		planner.Unit{Unit: "kubelet.service", Action: "restart"},
		planner.Wait{For: planner.WaitFile, Name: "/f"}, planner.Wait{For: planner.WaitFile, Name: "/f"},
		planner.RemovePath{Path: "/c"})
	if err != nil {
		t.Fatal(err)
	}
	s.expect(t,
		"begin 0+2", cp2Name+" performs ensure_directory write_file", "done 0+2",
		"begin 2+2", "issuer makes copy_secrets issue_certificate for "+cp2Name+", token 7", "done 2+2",
		"begin 4+1", cp2Name+" performs unit", "done 4+1",
		"begin 5+1", "done 5+1", "begin 6+1", "done 6+1",
		"begin 7+1", cp2Name+" performs remove_path", "done 7+1")
	if b := s.batches[0]; b.Token != 7 || b.Lineage != "l" || string(b.Contents["config:x"].Reveal()) != "content of config:x" {
		t.Errorf("got batch %+v", b)
	}
	for _, r := range s.issued {
		if fmt.Sprint(r.Source.(interface{ Name() string }).Name()) != cp1Name {
			t.Errorf("%s from %v", r.Operation.Op(), r.Source)
		}
	}
}

func (h *fakeHost) Name() string { return h.name }

// TestPerformerStopsAtFirstFailure checks that the first failure ends the step, and that later operations are
// not begun.
func TestPerformerStopsAtFirstFailure(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.hostErr = errRefused
	_, err := s.perform(t, providers.Run{}, planner.EnsureDirectory{Path: "/a"}, planner.IssueCA{}, planner.EnsureDirectory{Path: "/b"})
	if !errors.Is(err, errRefused) {
		t.Errorf("got %v", err)
	}
	s.expect(t, "begin 0+1", cp2Name+" performs ensure_directory")
}

// TestPerformerNeedsRecordedBeginning checks that an operation is not begun if its beginning could not be
// recorded.
func TestPerformerNeedsRecordedBeginning(t *testing.T) {
	t.Parallel()
	s := newScene()
	step := &planner.Step{Target: cp1, Operations: planner.Operations{planner.EnsureDirectory{Path: "/a"}}}
	_, err := s.performer().Perform(t.Context(), step, providers.Run{}, providers.Progress{Begin: func(int, int) error { return errRefused }})
	if !errors.Is(err, errRefused) || len(s.log) != 0 {
		t.Errorf("got %v after %v", err, s.log)
	}
}

func TestPerformerCancelledDoesNothing(t *testing.T) {
	t.Parallel()
	s := newScene()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	step := &planner.Step{Target: cp1, Operations: planner.Operations{planner.EnsureDirectory{Path: "/a"}}}
	if _, err := s.performer().Perform(ctx, step, providers.Run{}, providers.Progress{}); !errors.Is(err, context.Canceled) || len(s.log) != 0 {
		t.Errorf("got %v after %v", err, s.log)
	}
}

func TestPerformerCreatesAndUsesToken(t *testing.T) {
	t.Parallel()
	s := newScene()
	outputs, err := s.perform(t, providers.Run{}, planner.CreateToken{})
	if err != nil || string(outputs["token"].Secret.Reveal()) != token {
		t.Fatal(outputs, err)
	}
	made := state.Pending{Step: "cluster.prod/bootstrap-token", Output: "token"}
	run := providers.Run{Output: func(p state.Pending) (providers.Output, bool) { return outputs["token"], p == made }}
	if _, err := s.perform(t, run, planner.WriteKubeconfig{Path: "/k", Token: &made}, planner.DeleteToken{Token: made}); err != nil {
		t.Fatal(err)
	}
	if len(s.issued) != 1 || string(s.issued[0].Token.Reveal()) != token {
		t.Errorf("got %+v", s.issued)
	}
	s.log = nil
	// Without the run that made it a token cannot be used, and need not be deleted.
	if _, err := s.perform(t, providers.Run{}, planner.DeleteToken{Token: made}); err != nil {
		t.Error(err)
	}
	_, err = s.perform(t, providers.Run{}, planner.WriteKubeconfig{Path: "/k", Token: &made})
	if err == nil || !strings.Contains(err.Error(), "cannot find the bootstrap token of cluster.prod/bootstrap-token") {
		t.Errorf("got %v", err)
	}
	s.expect(t, "begin 0+1", "log 0: the bootstrap token is not known to this run; it expires by itself", "done 0+1", "begin 0+1")
}

// TestPerformerErrorsHideToken checks that no error and no log line contains the token, wherever it
// comes from.
func TestPerformerErrorsHideToken(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.apiErrs = []error{nil, fmt.Errorf("cannot apply: %s is no name: %w", token, providers.ErrUnavailable), fmt.Errorf("cannot apply: %s is no name", token)}
	pending := state.PendingValue(state.Address{Target: cp2, Phase: "x"}.String(), "token")
	object := state.Map(map[string]state.Value{"data": state.List(pending, state.SensitiveValue("config:a", "leaf")), "metadata": state.Null()})
	outputs, err := s.perform(t, providers.Run{}, planner.CreateToken{}, planner.ApplyObject{Object: object})
	if err == nil || strings.Contains(err.Error(), token) || strings.Contains(fmt.Sprintf("%v%+v", s.log, outputs), token) {
		t.Errorf("got %v after %v", err, s.log)
	}
	if got := s.applied.Get("data").AsList(); got[0].AsString() != token || got[1].AsString() != "leaf of config:a" {
		t.Error("references were not resolved")
	}
}

// TestPerformerMasksSecretsInAPIErrors checks that the operator's secrets are masked in an API server's errors,
// both in the final error and in the log of retries.
func TestPerformerMasksSecretsInAPIErrors(t *testing.T) {
	t.Parallel()
	s := newScene()
	quoting := `Secret "db" is invalid: data: Invalid value: "hunter22"`
	s.apiErrs = []error{fmt.Errorf("%s: %w", quoting, providers.ErrUnavailable), fmt.Errorf("%s: %w", quoting, errRefused)}
	_, err := s.perform(t, providers.Run{}, planner.ApplyObject{})
	if !errors.Is(err, errRefused) || strings.Contains(fmt.Sprintf("%v %v", err, s.log), "hunter22") || !strings.Contains(err.Error(), `Invalid value: "(sensitive value)"`) {
		t.Errorf("got %v after %v", err, s.log)
	}
}

// TestSensitiveAnnotationIsResolvedInRequest checks that a node's sensitive annotation is resolved only in the request
// itself.
func TestSensitiveAnnotationIsResolvedInRequest(t *testing.T) {
	t.Parallel()
	s := newScene()
	op := planner.PatchNode{Node: "n", Labels: map[string]string{"a": "b"}, Sealed: map[string]state.Sensitive{`annotations["x.y/z"]`: {Ref: "config:n"}}}
	if _, err := s.perform(t, providers.Run{}, op); err != nil {
		t.Fatal(err)
	}
	if p := s.patched; p.Annotations["x.y/z"] != "content of config:n" || p.Labels["a"] != "b" || len(p.Sealed) != 0 || len(op.Annotations) != 0 {
		t.Errorf("patched with %+v", p)
	}
	op.Sealed = map[string]state.Sensitive{"taints.x": {Ref: "config:n"}}
	if _, err := s.perform(t, providers.Run{}, op); err == nil {
		t.Error("a path that cannot be patched was accepted")
	}
}

func TestPerformerRetries(t *testing.T) {
	t.Parallel()
	busy := fmt.Errorf("cannot apply: %w", providers.ErrUnavailable)
	lost := fmt.Errorf("cannot create: %w", providers.ErrTimeout)
	absent := fmt.Errorf("cannot change: %w", providers.ErrNotFound)
	for _, tt := range []struct {
		name string
		op   planner.Operation
		errs []error
		want error
		left int
	}{
		{"apply until it serves", planner.ApplyObject{}, []error{busy, busy, lost}, nil, 0},
		{"apply refused", planner.ApplyObject{}, []error{errRefused, nil}, errRefused, 1},
		{"token refused for now", planner.CreateToken{}, []error{busy}, nil, 0},
		{"token's answer lost", planner.CreateToken{}, []error{lost, nil}, providers.ErrTimeout, 1},
		{"node not there yet", planner.PatchNode{Node: "n"}, []error{absent, absent}, nil, 0},
		{"namespace not there yet", planner.ApplyObject{}, []error{absent, absent}, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			s.apiErrs = tt.errs
			if _, err := s.perform(t, providers.Run{}, tt.op); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if len(s.apiErrs) != tt.left {
				t.Errorf("%d attempts were not made, want %d", len(s.apiErrs), tt.left)
			}
		})
	}
}

// TestPerformerWaitsForFinalizers checks that a step waits for an object that finalizers hold, and names
// them.
func TestPerformerWaitsForFinalizers(t *testing.T) {
	t.Parallel()
	ref := state.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: "tools"}
	held := state.FromGo(map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": []any{"example.org/agent"}}})
	s := newScene()
	s.objects = map[state.ObjectRef]state.Value{ref: held}
	s.deleting = func() {
		if len(s.log) == 5 {
			delete(s.objects, ref)
		}
	}
	if _, err := s.perform(t, providers.Run{}, planner.DeleteObject{Ref: ref}); err != nil || len(s.log) < 5 {
		t.Errorf("got %v after %q", err, s.log)
	}
	s = newScene()
	s.objects = map[state.ObjectRef]state.Value{ref: held}
	_, err := s.perform(t, providers.Run{}, planner.DeleteObject{Ref: ref})
	if !errors.Is(err, providers.ErrUnavailable) || !strings.Contains(err.Error(), "it is being deleted, and held by example.org/agent (tried for 5m0s)") {
		t.Errorf("got %v", err)
	}
}

// TestPerformerRetriesEndWithLastError checks that retries end, with the last error.
func TestPerformerRetriesEndWithLastError(t *testing.T) {
	t.Parallel()
	service := state.FromGo(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "kube-dns"}})
	for limit, op := range map[string]planner.ApplyObject{"1m0s": {}, "3m0s": {Object: service}} {
		s := newScene()
		for range 1000 {
			s.apiErrs = append(s.apiErrs, providers.ErrUnavailable)
		}
		_, err := s.perform(t, providers.Run{}, op)
		if !errors.Is(err, providers.ErrUnavailable) || !strings.Contains(err.Error(), "tried for "+limit) {
			t.Errorf("got %v", err)
		}
		length, _ := time.ParseDuration(limit)
		if tried := 1000 - len(s.apiErrs); tried != int(2*length.Seconds()) {
			t.Errorf("got %d attempts within %s", tried, limit)
		}
	}
}

func TestPerformerWaits(t *testing.T) {
	t.Parallel()
	restarted := planner.Wait{For: planner.WaitRestarted, Process: state.Process{Name: "p", Argument: "a"}, Files: []string{"/f"}}
	rootCA := planner.Wait{For: planner.WaitRootCA, Name: "/c.crt"}
	served := planner.Wait{For: planner.WaitServed, URL: "https://h:1", Name: "/c.crt"}
	for _, tt := range []struct {
		name  string
		scene func(*scene)
		op    planner.Wait
		want  string
	}{
		{"http", func(s *scene) { s.status = []int{500, 403, 200} }, planner.Wait{For: planner.WaitHTTP, URL: "u"}, ""},
		{"http forbidden", func(s *scene) {
			for range 100 {
				s.status = append(s.status, 403)
			}
		}, planner.Wait{For: planner.WaitHTTP, URL: "u", Timeout: 5 * time.Second}, "cannot wait for u: not so after 5s; last seen: u answered 403"},
		{"old file", func(s *scene) { s.files["/f"] = "" }, planner.Wait{For: planner.WaitFile, Name: "/f", Files: []string{"/new"}}, "/f has not been written since /new was"},
		{"no file", func(*scene) {}, planner.Wait{For: planner.WaitFile, Name: "/f", Timeout: time.Minute}, "cannot wait for /f: not so after 1m0s; last seen: /f is not there"},
		{"api", func(s *scene) { s.apiErrs = []error{errRefused, errRefused} }, planner.Wait{For: planner.WaitAPI}, ""},
		{"node", func(s *scene) { s.nodes = map[string]state.NodeReport{"n": {}} }, planner.Wait{For: planner.WaitNodeRegistered, Name: "n"}, ""},
		{"node not ready", func(s *scene) { s.nodes = map[string]state.NodeReport{"n": {}} }, planner.Wait{For: planner.WaitNodeReady, Name: "n"}, "last seen: node n is not ready"},
		{"ready since its start", func(s *scene) {
			s.started, s.nodes = map[string]time.Time{"k": time.Unix(100, 5)}, map[string]state.NodeReport{"n": {Ready: true, Reported: time.Unix(100, 0)}}
		}, planner.Wait{For: planner.WaitNodeReady, Name: "n", Process: state.Process{Name: "k"}}, ""},
		{"ready before its start", func(s *scene) {
			s.started, s.nodes = map[string]time.Time{"k": time.Unix(100, 5)}, map[string]state.NodeReport{"n": {Ready: true, Reported: time.Unix(99, 0)}}
		}, planner.Wait{For: planner.WaitNodeReady, Name: "n", Process: state.Process{Name: "k"}}, "last seen: the kubelet of node n has not reported since it was started"},
		{"ready, started otherwise", func(s *scene) {
			s.nodes = map[string]state.NodeReport{"n": {Ready: true}}
		}, planner.Wait{For: planner.WaitNodeReady, Name: "n", Process: state.Process{Name: "k"}}, ""},
		{"no node", func(*scene) {}, planner.Wait{For: planner.WaitNodeReady, Name: "n"}, "last seen: node n does not exist"},
		{"another kubelet", func(s *scene) {
			s.nodes = map[string]state.NodeReport{"n": {Ready: true, KubeletVersion: "v1.35.8"}}
		}, planner.Wait{For: planner.WaitNodeReady, Name: "n", Version: "1.36.3"}, "last seen: the kubelet of node n reports version 1.35.8"},
		{"pause", func(s *scene) {
			s.nodes = map[string]state.NodeReport{"n": {Annotations: map[string]string{planner.LetInAnnotation: "2099-01-02T03:04:05Z 1.36.3"}}}
		}, planner.Wait{For: planner.WaitPause, Name: "n", Version: "1.36.3", Pause: time.Hour}, "the pause of 1h0m0s after node n ends in"},
		{"pause behind another version", func(s *scene) {
			s.nodes = map[string]state.NodeReport{"n": {Annotations: map[string]string{planner.LetInAnnotation: "2099-01-02T03:04:05Z 1.35.8"}}}
		}, planner.Wait{For: planner.WaitPause, Name: "n", Version: "1.36.3", Pause: time.Hour}, ""},
		{"pod", func(s *scene) {
			s.pods = map[string]state.StaticPodReport{"p": {Hash: "h", Running: true, Ready: true}}
		}, planner.Wait{For: planner.WaitStaticPod, Name: "p", Hash: "h"}, ""},
		{"old pod", func(s *scene) {
			s.pods = map[string]state.StaticPodReport{"p": {Hash: "g", Running: true, Ready: true}}
		}, planner.Wait{For: planner.WaitStaticPod, Name: "p", Hash: "h"}, "pod p still runs another manifest"},
		{"new hash, old container", func(s *scene) {
			seen := time.Date(2030, 1, 1, 0, 0, 9, 5, time.UTC)
			s.pods = map[string]state.StaticPodReport{"p": {Hash: "h", Running: true, Ready: true, Seen: seen, Started: seen.Add(-time.Minute)}}
		}, planner.Wait{For: planner.WaitStaticPod, Name: "p", Hash: "h"}, "pod p has not been restarted yet"},
		{"old container, new kubelet", func(s *scene) {
			seen := time.Date(2030, 1, 1, 0, 0, 9, 5, time.UTC)
			s.pods = map[string]state.StaticPodReport{"p": {Hash: "h", Running: true, Ready: true, Seen: seen, Acknowledged: seen.Truncate(time.Second), Started: seen.Add(-time.Minute)}}
		}, planner.Wait{For: planner.WaitStaticPod, Name: "p", Hash: "h"}, ""},
		{"started, not reported", func(s *scene) {
			s.files["/var/lib/kubelet/pods/h/etc-hosts"] = ""
			s.pods = map[string]state.StaticPodReport{"p": {Hash: "h", Seen: time.Date(2030, 1, 1, 0, 0, 9, 5, time.UTC)}}
		}, planner.Wait{For: planner.WaitStaticPod, Name: "p", Hash: "h"}, ""},
		{"started, not ready, not reported", func(s *scene) {
			s.files["/var/lib/kubelet/pods/h/etc-hosts"] = ""
			s.pods = map[string]state.StaticPodReport{"kube-apiserver-n": {Hash: "h", Seen: time.Date(2030, 1, 1, 0, 0, 9, 5, time.UTC)}}
			for range 100 {
				s.apiErrs = append(s.apiErrs, nil, errRefused) // the pod is read, and its API server is not ready
			}
		}, planner.Wait{For: planner.WaitStaticPod, Name: "kube-apiserver-n", Hash: "h", Timeout: 5 * time.Second}, "pod kube-apiserver-n has not been restarted yet"},
		{"neither started nor reported", func(s *scene) {
			s.files["/var/lib/kubelet/pods/g/etc-hosts"] = ""
			s.pods = map[string]state.StaticPodReport{"p": {Hash: "h", Seen: time.Date(2030, 1, 1, 0, 0, 9, 5, time.UTC)}}
		}, planner.Wait{For: planner.WaitStaticPod, Name: "p", Hash: "h"}, "pod p has not been restarted yet"},
		{"started, another manifest in the API", func(s *scene) {
			s.files["/var/lib/kubelet/pods/h/etc-hosts"] = ""
			s.pods = map[string]state.StaticPodReport{"p": {Hash: "g"}}
		}, planner.Wait{For: planner.WaitStaticPod, Name: "p", Hash: "h"}, "pod p still runs another manifest"},
		{"started, reported as not ready", func(s *scene) {
			s.files["/var/lib/kubelet/pods/h/etc-hosts"] = ""
			s.pods = map[string]state.StaticPodReport{"p": {Hash: "h", Running: true}}
		}, planner.Wait{For: planner.WaitStaticPod, Name: "p", Hash: "h"}, "pod p is not ready"},
		{"new container within the second", func(s *scene) {
			seen := time.Date(2030, 1, 1, 0, 0, 9, 5, time.UTC)
			s.pods = map[string]state.StaticPodReport{"p": {Hash: "h", Running: true, Ready: true, Seen: seen, Started: seen.Truncate(time.Second)}}
		}, planner.Wait{For: planner.WaitStaticPod, Name: "p", Hash: "h"}, ""},
		{"restarted", func(s *scene) { s.started = map[string]time.Time{"p": time.Unix(100, 1)} }, restarted, ""},
		{"not restarted", func(s *scene) { s.started = map[string]time.Time{"p": time.Unix(99, 0)} }, restarted, "p still runs as it was before /f was written"},
		{"not running", func(*scene) {}, restarted, "p does not run"},
		{"served", func(s *scene) { s.files["/c.crt"], s.served = "2a", "2a" }, served, ""},
		{"old one served", func(s *scene) { s.files["/c.crt"], s.served = "2a", "29" }, served, "https://h:1 shows the certificate with serial 29, and /c.crt has serial 2a"},
		{"nothing to serve", func(*scene) {}, served, "there is no certificate in /c.crt"},
		{"root CA", func(s *scene) {
			s.files["/c.crt"], s.rootCAs = "2a", map[string][]string{"default": {"2a"}, "kube-system": {"2a"}}
		}, rootCA, ""},
		{"old root CA", func(s *scene) {
			s.files["/c.crt"], s.rootCAs = "2a", map[string][]string{"default": {"2a"}, "kube-system": {"29"}}
		}, rootCA, "ConfigMap kube-root-ca.crt of namespace kube-system does not hold what is in /c.crt"},
		{"etcd", func(s *scene) { s.members = []state.EtcdMember{{Name: "n"}} }, planner.Wait{For: planner.WaitEtcdStarted, Name: "n"}, ""},
		{"no etcd", func(s *scene) { s.members = []state.EtcdMember{{Name: ""}} }, planner.Wait{For: planner.WaitEtcdStarted, Name: "n"}, "etcd has 1 members, and none that started is called n"},
		{"hopeless", func(s *scene) { s.apiErrs = []error{providers.ErrHostKeyChanged} }, planner.Wait{For: planner.WaitAPI}, "cannot wait for the API: host key changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			tt.scene(s)
			_, err := s.perform(t, providers.Run{}, tt.op)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %s", err, tt.want)
			case tt.want != "" && tt.name != "hopeless" && !errors.Is(err, providers.ErrTimeout):
				t.Errorf("%v is no timeout", err)
			}
		})
	}
}

func TestPerformerAddsEtcdMember(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.members = []state.EtcdMember{
		{ID: "1", Name: "cp1", PeerURLs: []string{"https://1:2380", "https://one:2380"}, Healthy: true},
		{ID: "1f", PeerURLs: []string{"https://3:2380"}, Healthy: true},
	}
	s.etcdErr = []error{errRefused}
	_, err := s.perform(t, providers.Run{},
		planner.AddEtcdMember{Name: "cp2", PeerURL: "https://2:2380"},
		planner.RenderEtcdManifest{Path: "/m", Manifest: planner.Content{Inline: "--initial-cluster=" + planner.InitialClusterPlaceholder + "\n"}, Mode: "0600", Owner: "root:root"})
	if err != nil {
		t.Fatal(err)
	}
	w := s.batches[0].Operations[0].(planner.WriteFile)
	if w.Content.Inline != "--initial-cluster=cp1=https://1:2380,1f=https://3:2380,cp2=https://2:2380\n" || len(w.SHA256) != 64 || w.Mode != "0600" {
		t.Errorf("got %+v", w)
	}
	s.expect(t, "begin 0+1", "etcd through "+cp1Name+" at [https://127.0.0.1:2379]", "add learner https://2:2380",
		"log 0: trying again: refused", "add learner https://2:2380", "done 0+1", "begin 1+1", cp2Name+" performs write_file", "done 1+1")
}

// TestWaitClosedRequiresRefusedConnection checks that only a refused connection counts as closed. A server that does
// not answer, or a host that cannot be asked, is waited for, and the error has the last
// observation.
func TestWaitClosedRequiresRefusedConnection(t *testing.T) {
	t.Parallel()
	closed := planner.Wait{For: planner.WaitClosed, URL: "https://a/livez", CA: "/ca.crt", Timeout: time.Minute}
	timeout := &providers.Error{Kind: providers.ErrTimeout, Do: "probe https://a/livez"}
	open := []error{
		timeout, providers.ErrDisconnected, errors.New("x509: certificate signed by unknown authority"),
		&providers.Error{Kind: providers.ErrUnreachable, Do: "connect to 10.0.0.1:22", Cause: errors.New("connection refused")},
	}
	s := newScene()
	s.probeErr = append(slices.Clone(open), &providers.Error{Kind: providers.ErrUnreachable, Do: "connect to a:6443", Cause: providers.ErrRefused})
	if _, err := s.perform(t, providers.Run{}, closed); err != nil {
		t.Error(err)
	}
	if asked := strings.Count(strings.Join(s.log, "|"), "asks https://a/livez"); asked != 5 {
		t.Errorf("it was asked %d times: %s", asked, s.log)
	}
	for range 30 {
		s.probeErr = append(s.probeErr, open...)
	}
	s.probeErr = append(s.probeErr, slices.Repeat([]error{timeout}, 60)...)
	_, err := s.perform(t, providers.Run{}, closed)
	if !errors.Is(err, providers.ErrTimeout) || !strings.Contains(err.Error(), "cannot wait until no server answers at https://a/livez: not so after 1m0s; last seen: ") {
		t.Errorf("got %v", err)
	}
	s.probeErr, s.status = nil, slices.Repeat([]int{401}, 100)
	if _, err = s.perform(t, providers.Run{}, closed); err == nil || !strings.Contains(err.Error(), "last seen: https://a/livez still answers 401") {
		t.Errorf("got %v", err)
	}
}

func TestPerformerPromotesEtcdMember(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.members = []state.EtcdMember{{ID: "2", Name: "cp2", PeerURLs: []string{"p"}, Learner: true}, {ID: "1", Name: "cp1", Healthy: true}}
	s.etcdErr = []error{errRefused, errRefused}
	if _, err := s.perform(t, providers.Run{}, planner.PromoteEtcdMember{PeerURL: "p"}); err != nil {
		t.Error(err)
	}
	if len(s.etcdErr) != 0 {
		t.Error("it was not tried again")
	}
	_, err := s.perform(t, providers.Run{}, planner.PromoteEtcdMember{PeerURL: "q", Timeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "cannot promote etcd member q: etcd does not list it") {
		t.Errorf("got %v", err)
	}
	s.members[0].Name = ""
	_, err = s.perform(t, providers.Run{}, planner.PromoteEtcdMember{PeerURL: "p", Timeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "cannot promote etcd member p: it has not started") {
		t.Errorf("got %v", err)
	}
}

// TestMemberChangeReadsEtcdStatusPerAttempt checks that each attempt to add or promote a member reads etcd's
// status again, since a member may have gone down in between.
func TestMemberChangeReadsEtcdStatusPerAttempt(t *testing.T) {
	t.Parallel()
	add := planner.AddEtcdMember{Name: "cp4", PeerURL: "p4"}
	for name, op := range map[string]planner.Operation{"add": add, "promote": planner.PromoteEtcdMember{PeerURL: "p4"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			s.members = []state.EtcdMember{
				{ID: "1", Name: "cp1", PeerURLs: []string{"p1"}, Healthy: true}, {ID: "2", Name: "cp2", PeerURLs: []string{"p2"}, Healthy: true}, {ID: "3", Name: "cp3", PeerURLs: []string{"p3"}, Healthy: true},
			}
			if name == "promote" {
				s.members = append(s.members, state.EtcdMember{ID: "4", Name: "cp4", PeerURLs: []string{"p4"}, Learner: true})
			}
			s.etcdErr = []error{errRefused}
			s.attempted = func() { s.members[1].Healthy, s.members[2].Healthy = false, false }
			_, err := s.perform(t, providers.Run{}, op)
			want := "cannot " + name + " etcd member cp4: refused: etcd has 3 voters of which 1 is healthy (not cp2, cp3)"
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
			if log := strings.Join(s.log, "|"); strings.Count(log, "add learner")+strings.Count(log, "promote 4") != 1 {
				t.Errorf("it was asked for again: %s", log)
			}
		})
	}
}

func TestPerformerRemovesEtcdMember(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.members = []state.EtcdMember{
		{ID: "1", PeerURLs: []string{"p1"}, Healthy: false},
		{ID: "2", PeerURLs: []string{"p2"}, Healthy: true, Leader: true},
		{ID: "3", Name: "c", PeerURLs: []string{"p3"}, Healthy: true},
		{ID: "4", PeerURLs: []string{"p4"}, Healthy: true},
	}
	if _, err := s.perform(t, providers.Run{}, planner.RemoveEtcdMember{Name: "b", PeerURL: "p2"}, planner.RemoveEtcdMember{Name: "gone", PeerURL: "p9"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.log, "|"); !strings.Contains(got, "move leader to 3|log 0: etcd's leader is c now|remove 2|done") || strings.Count(got, "remove") != 1 {
		t.Errorf("got %s", got)
	}
	// Another member has gone down since the gate was checked.
	s.members[3].Healthy, s.log = false, nil
	_, err := s.perform(t, providers.Run{}, planner.RemoveEtcdMember{Name: "b", PeerURL: "p2", Timeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "cannot remove etcd member b: refused: etcd has 4 voters of which 2 are healthy") || strings.Contains(strings.Join(s.log, "|"), "remove 2") {
		t.Errorf("got %v and %s", err, s.log)
	}
	s.members = s.members[1:2]
	_, err = s.perform(t, providers.Run{}, planner.RemoveEtcdMember{Name: "b", PeerURL: "p2"})
	if err == nil || !strings.Contains(err.Error(), "cannot remove etcd member b: it is the last voter") {
		t.Errorf("got %v", err)
	}
}

// TestPerformerWritesClusterInfoCA checks that cluster-info gets the CA that exists only at apply, read from
// the host that the step goes through.
func TestPerformerWritesClusterInfoCA(t *testing.T) {
	t.Parallel()
	s := newScene()
	object := state.FromGo(map[string]any{"metadata": map[string]any{"name": "cluster-info"}, "data": map[string]any{
		"other": "kept", "kubeconfig": "apiVersion: v1\nclusters:\n- cluster:\n    server: https://api:6443\n  name: \"\"\n",
	}})
	op := planner.ApplyObject{Object: object, CAFrom: "/pki/ca.crt", CAKey: "kubeconfig"}
	if _, err := s.perform(t, providers.Run{}, op); err == nil || !strings.Contains(err.Error(), "cannot read the CA: /pki/ca.crt is not there") {
		t.Errorf("got %v", err)
	}
	s.files["/pki/ca.crt"] = "PEM"
	if _, err := s.perform(t, providers.Run{}, op); err != nil {
		t.Fatal(err)
	}
	want := "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: UEVN\n    server: https://api:6443\n  name: \"\"\n"
	if got := s.applied.Get("data.kubeconfig").AsString(); got != want || s.applied.Get("data.other").AsString() != "kept" {
		t.Errorf("got %s", got)
	}
	if strings.Contains(object.Get("data.kubeconfig").AsString(), "UEVN") {
		t.Error("the plan's object was changed")
	}
}

func TestPerformerArtifacts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	inside := filepath.Join(folder, "inside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(folder, "secret"): "no", filepath.Join(inside, "kubelet"): "yes"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const yes = "8a798890fe93817163b10b5f7bd2ca4d25d84c52739a645a889c173eee7d9d3d"
	s := newScene()
	p := s.performer()
	p.Artifacts = func(state.Target) (string, error) { return inside, nil }
	perform := func(op planner.Operation) error {
		step := &planner.Step{Target: cp1, Operations: planner.Operations{op}}
		_, err := p.Perform(t.Context(), step, providers.Run{}, providers.Progress{})
		return err
	}
	if err := perform(planner.UploadArtifact{Artifact: "kubelet", SHA256: yes}); err != nil || s.sent["kubelet"] != "yes" {
		t.Errorf("sent %q, %v", s.sent, err)
	}
	if err := perform(planner.LoadImage{Image: "a", Artifact: "kubelet", SHA256: strings.Repeat("0", 64)}); err == nil ||
		!strings.Contains(err.Error(), "artifact kubelet has changed since the plan was made: its SHA-256 is "+yes) {
		t.Errorf("a file that is not the planned one: %v", err)
	}
	for _, name := range []string{"../secret", "nowhere", "."} {
		if err := perform(planner.UploadArtifact{Artifact: name}); err == nil || !strings.Contains(err.Error(), "cannot read artifact "+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPerformerOpensConnectionOnce checks that a connection is opened once, and closed once.
func TestPerformerOpensConnectionOnce(t *testing.T) {
	t.Parallel()
	s := newScene()
	p := s.performer()
	step := &planner.Step{Target: state.ClusterTarget("prod"), Via: cp1, Operations: planner.Operations{planner.ApplyObject{}, planner.ApplyObject{}}}
	for range 2 {
		if _, err := p.Perform(t.Context(), step, providers.Run{}, providers.Progress{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(p.Close(), p.Close()); err != nil {
		t.Error(err)
	}
	s.expect(t, "API through "+cp1Name+" at cp1:6443", "apply ", "apply ", "apply ", "apply ", "API closed")
}

// TestPerformerReopensConnectionOfRewrittenFiles checks that a connection is reopened once the files that it was
// opened with are rewritten.
func TestPerformerReopensConnectionOfRewrittenFiles(t *testing.T) {
	t.Parallel()
	s := newScene()
	p := s.performer()
	apply := planner.Operations{planner.ApplyObject{}}
	for _, step := range []*planner.Step{
		{Target: cp1, Via: cp1, Operations: apply},
		{Target: cp1, Via: cp1, Operations: planner.Operations{planner.SetKubeconfig{Path: "/etc/kubernetes/scheduler.conf"}}},
		{Target: cp1, Via: cp1, Operations: apply},
		{Target: cp1, Via: cp1, Operations: planner.Operations{planner.SetKubeconfig{Path: "/etc/kubernetes/admin.conf"}}},
		{Target: cp1, Via: cp1, Operations: apply},
	} {
		if _, err := p.Perform(t.Context(), step, providers.Run{}, providers.Progress{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	opened := "API through " + cp1Name + " at cp1:6443"
	s.expect(t, opened, "apply ", "issuer makes set_kubeconfig for "+cp1Name+", token 0", "apply ",
		"issuer makes set_kubeconfig for "+cp1Name+", token 0", opened, "apply ", "API closed", "API closed")
}

// TestPerformerRewritesFilesWhileConnectionsOpen checks, with the race detector, that a step may
// rewrite the files of connections while another step opens the first one.
func TestPerformerRewritesFilesWhileConnectionsOpen(t *testing.T) {
	t.Parallel()
	for range 20 {
		rewriting, opening := newScene(), newScene() // they share nothing but the performer
		p := rewriting.performer()
		p.Access = access{opening}
		p.Host = func(_ context.Context, target state.Target) (providers.Host, error) {
			if target == cp1 {
				return &fakeHost{scene: rewriting, name: cp1Name}, nil
			}
			return &fakeHost{scene: opening, name: cp2Name}, nil
		}
		var steps sync.WaitGroup
		for _, step := range []*planner.Step{
			{Target: cp1, Via: cp1, Operations: planner.Operations{planner.SetKubeconfig{Path: "/etc/kubernetes/admin.conf"}}},
			{Target: cp2, Via: cp2, Operations: planner.Operations{planner.ApplyObject{}}},
		} {
			steps.Go(func() {
				if _, err := p.Perform(t.Context(), step, providers.Run{}, providers.Progress{}); err != nil {
					t.Error(err)
				}
			})
		}
		steps.Wait()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestPerformerEscapesDrainOutput checks that the output of a drain is escaped for the terminal.
func TestPerformerEscapesDrainOutput(t *testing.T) {
	t.Parallel()
	s := newScene()
	if _, err := s.perform(t, providers.Run{}, planner.Drain{Node: "n"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.log, "|"); !strings.Contains(got, `log 0: evicting \x1b[31m`) {
		t.Errorf("got %s", got)
	}
}

// TestPerformerAsksNextControlPlane checks that the next control plane is asked if the first does not serve. An
// operation that may have been done is not repeated elsewhere, and the error is the node's
// own.
func TestPerformerAsksNextControlPlane(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		errs  []error
		want  error
		tried int
	}{
		{"served", []error{nil}, nil, 1},
		{"down", []error{providers.ErrUnreachable, nil}, nil, 2},
		{"starts", []error{providers.ErrUnavailable, nil}, nil, 2},
		{"two are down", []error{providers.ErrUnreachable, providers.ErrUnavailable, nil}, nil, 3},
		{"all are down", []error{providers.ErrUnreachable, providers.ErrUnavailable, providers.ErrUnavailable}, providers.ErrUnreachable, 3},
		{"answer lost", []error{providers.ErrDisconnected}, providers.ErrDisconnected, 1},
		{"refused", []error{errRefused}, errRefused, 1},
		{"refused elsewhere", []error{providers.ErrUnreachable, errRefused}, errRefused, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			p := s.performer()
			p.Others = func(state.Target) []state.Target { return []state.Target{cp2, state.NodeKeyTarget("cp", "cp3")} }
			tried := 0
			err := p.Through(t.Context(), cp1, func(context.Context, providers.API) error {
				tried++
				return tt.errs[tried-1]
			})
			if !errors.Is(err, tt.want) || tried != tt.tried {
				t.Errorf("got %v after %d attempts, want %v after %d", err, tried, tt.want, tt.tried)
			}
			var asked []string
			for _, line := range s.log {
				if strings.HasPrefix(line, "API through") {
					asked = append(asked, line)
				}
			}
			if len(asked) != tt.tried {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

// TestSecretsMadeInRunAreMasked checks that secrets made in a run are masked in texts from hosts
// and APIs, and reach the later steps: whole, and of a bootstrap token also the secret half
// alone.
func TestSecretsMadeInRunAreMasked(t *testing.T) {
	t.Parallel()
	s := newScene()
	p := s.performer()
	hidden := state.NewRedactor(nil)
	p.Made = func(secrets *state.Redactor) { hidden = hidden.And(secrets) }
	perform := func(run providers.Run, ops ...planner.Operation) (map[string]providers.Output, error) {
		return p.Perform(t.Context(), &planner.Step{Target: cp2, Via: cp1, Operations: ops}, run, providers.Progress{})
	}
	outputs, err := perform(providers.Run{}, planner.CreateToken{}, planner.UploadCerts{})
	if err != nil {
		t.Fatal(err)
	}
	key := string(outputs[providers.CertificateKey].Secret.Reveal())
	for _, secret := range []string{token, "0123456789abcdef", key} {
		if text := hidden.Text("it said " + secret + "."); secret == "" || text != "it said (sensitive value)." {
			t.Errorf("%q is not known to be secret: %s", secret, text)
		}
	}
	s.hostErr = fmt.Errorf("cannot use %s, of which 0123456789abcdef and %s are wrong", token, key)
	if _, err := perform(providers.Run{}, planner.EnsureDirectory{Path: "/a"}); err == nil || strings.Contains(err.Error(), "0123456789abcdef") || strings.Contains(err.Error(), key) {
		t.Errorf("a later step says %v", err)
	}
}
