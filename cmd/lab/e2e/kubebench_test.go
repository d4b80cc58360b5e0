//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

const hardening = "  hardening {\n    profile = \"cis\"\n    except \"1.1.12\" { reason = \"etcd runs as root\" }\n  }\n"

// TestKubeBench lets kube-bench judge a cluster with a hardening block: a new one, and one that runs
// without and gets it.
func TestKubeBench(t *testing.T) {
	begin(t)
	cache, err := build.DefaultCache()
	if err != nil {
		t.Fatal(err)
	}
	cache.Log = os.Stderr
	bench, err := cache.KubeBench(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	planes := 1
	if os.Getenv(allVariable) != "" {
		planes = 3
	}
	s := newSite(t, "e2ekb", planes, 1)
	s.logIn()
	before := s.listings()
	with := func(block string) {
		s.extra = block
		s.configure()
		s.must("apply", "-auto-approve", "-no-color")
		s.wantNoChanges()
		s.wantCallable()
	}
	with(hardening)
	s.wantJudged(bench)
	with("")
	with(hardening)
	s.wantJudged(bench)
	s.wantRefusals()
	s.wantGone(before)
}

// warnings are the controls of sections 1 to 4 that kube-bench leaves to the reader, by their numbers,
// and why that is so for this cluster. Those of workers are among them.
var warnings = map[string]string{
	"1.1.9":  "the network plugin writes its configuration, and here the lab does",
	"1.1.20": "certificates are public; their keys have mode 0600 (1.1.21)",
	"1.2.1":  "kube-bench asks for anonymous-auth=false, with which probes fail; an AuthenticationConfiguration limits requests without credentials to health paths",
	"1.2.11": "AlwaysPullImages is for those who have a registry that always answers",
	"1.2.20": "the default of 60 s holds; kube-bench tests nothing",
	"3.1.1":  "how users authenticate is theirs to decide; kube-bench tests nothing",
	"3.1.2":  "how users authenticate is theirs to decide; kube-bench tests nothing",
	"3.1.3":  "how users authenticate is theirs to decide; kube-bench tests nothing",
	"3.2.2":  "whether a policy covers what matters is for a reader; kube-bench tests nothing",
	"4.1.3":  "kube-proxy has its kubeconfig in a ConfigMap",
	"4.1.4":  "kube-proxy has its kubeconfig in a ConfigMap",
	"4.1.7":  "the CA's certificate is public",
}

// failing are the controls that fail, and why.
var failing = map[string]string{
	"1.1.12": "etcd runs as root, and the hardening block says so",
}

// added are controls of cis-1.12 that cis-1.10 lacks, with commands that print ok.
var added = map[string]string{
	"1.2.30": "tr '\\0' '\\n' </proc/$(pgrep -x kube-apiserver)/cmdline | grep -qx -- --service-account-extend-token-expiration=false && echo ok",
	"4.2.14": "grep -qx 'seccompDefault: true' /var/lib/kubelet/config.yaml && echo ok",
}

// verdict is what kube-bench says of one control.
type verdict struct {
	Number string `json:"test_number"`
	Text   string `json:"test_desc"`
	Status string `json:"status"`
	Actual string `json:"actual_value"`
	Reason string `json:"reason"`
}

// wantJudged checks what kube-bench says of every host: nothing fails, and each warning has a reason.
func (s *site) wantJudged(bench build.KubeBench) {
	s.t.Helper()
	content, err := exec.Command("tar", "-cf", "-", "-C", filepath.Dir(bench.Program), filepath.Base(bench.Program), "-C", bench.Checks, "config.yaml", "cis-1.10").Output()
	if err != nil {
		s.t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, h := range s.hosts() {
		passed := 0
		for _, v := range s.judge(h, content, slices.ContainsFunc(s.planes, func(p lab.Host) bool { return p.Name == h.Name })) {
			reason, known := warnings[v.Number], false
			if v.Status == "FAIL" {
				reason = failing[v.Number]
			}
			known = reason != ""
			seen[v.Number] = true
			switch {
			case v.Status == "PASS":
				passed++
			case known:
				s.t.Logf("%s: %s %s: %s", h.Name, v.Status, v.Number, reason)
			default:
				s.t.Errorf("%s: %s %s (%s): %s %q", h.Name, v.Status, v.Number, v.Text, v.Reason, v.Actual)
			}
		}
		s.t.Logf("%s: %d controls pass", h.Name, passed)
	}
	for number := range warnings {
		if !seen[number] {
			s.t.Errorf("%s was not judged", number)
		}
	}
	for number, command := range added {
		if out := s.sh(s.planes[0].Name, command+" || true"); out != "ok" {
			s.t.Errorf("%s does not hold: %q", number, out)
		}
	}
}

// judge returns what kube-bench says of a host.
func (s *site) judge(h lab.Host, content []byte, plane bool) []verdict {
	s.t.Helper()
	targets := "node"
	if plane {
		targets = "master,etcd,controlplane,node"
	}
	out := s.put(h.Name, "/root/kube-bench.tar", content, "cd /root && mkdir -p kb && tar -xf kube-bench.tar -C kb && cd kb && ./kube-bench run --targets "+targets+
		" --benchmark cis-1.10 --config-dir /root/kb --config /root/kb/config.yaml --json 2>/root/kb/log || cat /root/kb/log; rm -rf /root/kb")
	var report struct {
		Controls []struct {
			Tests []struct {
				Results []verdict `json:"results"`
			} `json:"tests"`
		} `json:"Controls"`
	}
	if i := strings.Index(out, "{"); i < 0 || json.Unmarshal([]byte(out[i:]), &report) != nil {
		s.t.Fatalf("kube-bench on %s: %s", h.Name, out)
	}
	var all []verdict
	for _, c := range report.Controls {
		for _, t := range c.Tests {
			all = append(all, t.Results...)
		}
	}
	if len(all) < 20 {
		s.t.Fatalf("kube-bench judged only %d controls on %s", len(all), h.Name)
	}
	return all
}

// wantRefusals checks what no scanner looks at: requests without credentials are answered on health
// paths alone, and privileged pods are refused.
func (s *site) wantRefusals() {
	s.t.Helper()
	const probe = "for p in livez version; do curl -sk -o /dev/null -w '%{http_code} ' https://$(hostname -i | cut -d' ' -f1):6443/$p; done"
	if got := strings.TrimSpace(s.sh(s.planes[0].Name, probe)); got != "200 401" {
		s.t.Errorf("without credentials /livez and /version answer %q", got)
	}
	out, err := s.Kubectl(context.Background(), s.planes[0].Name, "run", "root", "--image=x", "--privileged")
	if err == nil || !strings.Contains(string(out)+err.Error(), "violates PodSecurity") {
		s.t.Errorf("a privileged pod: %v %s", err, out)
	}
}
