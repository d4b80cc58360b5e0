//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/conformance"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestRuntime lets critest judge the container runtime that an install block brings to bare hosts.
func TestRuntime(t *testing.T) {
	begin(t)
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	cache.Log = os.Stderr
	release, err := build.FindRelease(lab.DefaultKubernetes)
	if err != nil {
		t.Fatal(err)
	}
	suite, err := cache.CRITest(context.Background(), release)
	if err != nil {
		t.Fatal(err)
	}
	s := newBareSite(t, lab.Options{Name: "e2ecri", ControlPlanes: 1, Workers: 1})
	s.extra = "  image_pull_policy = \"Never\"\n  install { artifacts = \"./artifacts\" }\n"
	s.configure()
	s.bundled()
	for _, h := range s.hosts() {
		s.sh(h.Name, "mkdir -p /etc/cni/net.d && cat >/etc/cni/net.d/10-lab.conflist <<'E'\n"+network(h)+"E\n")
	}
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.wantRuntime(suite)
}

// wantRuntime runs critest on a worker, whose kubelet is stopped: it would remove pods that are not
// its own. Each test has to pass but for the exceptions.
func (s *site) wantRuntime(suite build.CRITest) {
	s.t.Helper()
	const program, report = "/root/critest", "/root/critest.json"
	s.offer(slices.Concat(suite.Images, s.Artifacts().Images())) // tests remove images that the others need
	w := s.workers[0].Name
	content, err := os.ReadFile(suite.Program)
	if err != nil {
		s.t.Fatal(err)
	}
	s.sh(w, "systemctl stop kubelet")
	out := s.put(w, program, content, "chmod +x "+program+" && { "+program+" -ginkgo.json-report="+report+
		" -ginkgo.no-color -runtime-endpoint=unix:///run/containerd/containerd.sock >/root/critest.log 2>&1; tail -n 60 /root/critest.log; }")
	s.sh(w, "systemctl start kubelet")
	file := filepath.Join(s.t.TempDir(), "critest.json")
	if err := os.WriteFile(file, []byte(s.sh(w, "cat "+report)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	verdicts, err := conformance.Report(file)
	if err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	s.wantVerdicts(verdicts, exceptions(s.t, "critest"))
}

// wantVerdicts checks that tests have passed, but for those that do not apply to the host by the
// suite's own words, and the exceptions.
func (s *site) wantVerdicts(verdicts []conformance.Verdict, excepted map[string]string) {
	s.t.Helper()
	passed, asked := 0, len(verdicts)
	for _, v := range verdicts {
		reason, known := excepted[v.Test]
		switch {
		case v.Passed && known:
			s.t.Errorf("%s passes: it is no exception any more", v.Test)
		case v.Passed:
			passed++
		case known:
			s.t.Logf("excepted: %s: %s", v.Test, reason)
		case v.Reason == "skipped": // benchmarks
			asked--
		case strings.HasPrefix(v.Reason, "skipped: "):
			s.t.Logf("does not apply: %s: %s", v.Test, v.Reason)
		default:
			s.t.Errorf("%s did not pass: %s", v.Test, v.Reason)
		}
	}
	s.t.Logf("critest: %d of %d tests passed", passed, asked)
	if passed < 60 {
		s.t.Errorf("only %d tests of critest passed", passed)
	}
}
