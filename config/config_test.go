package config_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

func TestOriginsOf(t *testing.T) {
	t.Parallel()
	at := func(line int) state.Source { return state.Source{File: "main.hcl", Line: line} }
	o := config.Origins{
		"network": at(1), "network.pod_subnet": at(2), `api_server.arg["a.b[0]"]`: at(3), "kubelet.config": at(4),
		`kubelet.config["a.b/c"]`: at(5), "patch[0]": at(6),
	}
	for path, line := range map[string]int{
		"network.pod_subnet": 2, "network.service_subnet": 1, "dns": 0, "": 0,
		`api_server.arg["a.b[0]"]`: 3, `api_server.arg["a.b[0]"].value`: 3, `api_server.arg["other"]`: 0,
		"kubelet.config.maxPods": 4, `kubelet.config["a.b/c"].d["e.f"]`: 5, "patch[0].content": 6, "patch[1].content": 0,
	} {
		if got := o.Of(path); got.Line != line {
			t.Errorf("%s: got line %d, want %d", path, got.Line, line)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"kubernetes_version", "control_plane_endpoint", "Always", "dns_domain", "pod_subnet", "service_subnet", "a"}
	for given, want := range map[string]string{
		"kubernetes_versoin": "kubernetes_version", "control_plan_endpoint": "control_plane_endpoint", "always": "Always",
		"domain": "dns_domain", "subnet": "", "plane": "", "b": "", "xyz": "", "": "", "podsubnet": "pod_subnet",
		strings.Repeat("x", 1000): "",
	} {
		if got := config.Nearest(given, names); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

func TestVersionMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		have, want string
		fits       bool
	}{
		{"0.1.0", ">= 0.1.0", true},
		{"0.1.0", "> 0.1.0", false},
		{"0.1.0-dev", ">= 0.1.0", true},
		{"0.1.0-rc.1", ">= 0.1.0", false},
		{"v1.2.3", "1.2.3", true},
		{"1.2.3", "= 1.2.3", true},
		{"1.2.3", "!= 1.2.3", false},
		{"1.2.3", "~> 1.2.0", true},
		{"1.3.0", "~> 1.2.0", false},
		{"1.3.0", "~> 1.2", true},
		{"2.0.0", "~> 1.2", false},
		{"1.9.9", "~> 1", true},
		{"2.0.0", "~> 1", false},
		{"1.5.0", ">= 1.0, < 2.0", true},
		{"2.0.0", ">= 1.0,<2.0", false},
		{"1.2.3+build", "<= 1.2.3", true},
		{"1.2.3", ">1", true},
	}
	for _, tt := range tests {
		got, err := config.VersionMatches(tt.have, tt.want)
		if err != nil || got != tt.fits {
			t.Errorf("%s %s: got %t, %v", tt.have, tt.want, got, err)
		}
	}
	const constraint = ` is no version constraint; write one such as ">= 0.1.0, < 2.0.0"`
	for bad, want := range map[string]string{
		"": `""` + constraint, ">=": `">="` + constraint, "latest": `"latest"` + constraint, "1.2.3.4": `"1.2.3.4"` + constraint,
		">= 1.0 < 2.0": `">= 1.0 < 2.0"` + constraint, "=> 1.0": `"=>" is no operator; the operators are =, !=, >, >=, <, <= and ~>`,
	} {
		if _, err := config.VersionMatches("1.0.0", bad); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", bad, err, want)
		}
	}
	if _, err := config.VersionMatches("devel", ">= 1.0"); err == nil {
		t.Error("devel: no error")
	}
}

func TestCompleteEndpoint(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"": "", "api.example.com": "api.example.com:6443", "api.example.com:443": "api.example.com:443", "192.0.2.1": "192.0.2.1:6443",
		"fd00::1": "[fd00::1]:6443", "[fd00::1]": "[fd00::1]:6443", "[fd00::1]:443": "[fd00::1]:443", "https://a": "https://a", ":6443": ":6443",
	} {
		if got := config.CompleteEndpoint(given, 6443); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

func TestMinorOf(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]int{"1.34.0": 34, "1.37.12": 37, "1.33.1": 0, "1.38.0": 0, "v1.36.0": 0, "1.36": 0, "1.36.01": 0, "2.36.0": 0} {
		if got := config.MinorOf(v); got != want {
			t.Errorf("%s: got %d, want %d", v, got, want)
		}
	}
}

func TestRenewBefore(t *testing.T) {
	t.Parallel()
	if got := config.RenewBefore(config.DefaultValidity); got != config.DefaultRenewBefore {
		t.Errorf("a year: got %s", got)
	}
	if got := config.RenewBefore(3 * time.Hour); got != time.Hour {
		t.Errorf("three hours: got %s", got)
	}
}

// TestDefaultsAreValid checks that the defaults of NewCluster and NewNode are valid.
func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"1.34.9", "1.35.8", "1.36.3", "1.37.1"} {
		c := &config.Config{
			Clusters: []*config.Cluster{config.NewCluster("c", v)},
			Nodes:    []*config.Node{config.NewNode(state.NodeTarget("n"), "c", config.ControlPlane, "192.0.2.1")},
		}
		if diags := c.Validate(); len(diags) > 0 {
			t.Errorf("%s: %v", v, diags)
		}
	}
}

// TestPhasesAndChecksAreListed checks that the code that acts on phases and checks can look them up.
func TestPhasesAndChecksAreListed(t *testing.T) {
	t.Parallel()
	phases := config.Phases()
	for _, p := range []string{"preflight", "certs", "control-plane", "addon", "etcd", "reset", "drain"} {
		if _, ok := phases[p]; !ok {
			t.Errorf("no phase %s", p)
		}
	}
	if !slices.IsSorted(config.Checks()) || !slices.Contains(config.Checks(), "NumCPU") {
		t.Error("checks are not sorted, or lack NumCPU")
	}
}

// TestSkipPhasesIsCompleteOrRefused checks that each phase, and each part of one, is either skipped or refused
// with a reason, before any host is contacted.
func TestSkipPhasesIsCompleteOrRefused(t *testing.T) {
	t.Parallel()
	told := func(role config.Role, phases ...string) string {
		c := &config.Config{
			Clusters: []*config.Cluster{config.NewCluster("c", "1.36.3")},
			Nodes: []*config.Node{
				config.NewNode(state.NodeTarget("n"), "c", config.ControlPlane, "192.0.2.1"),
				config.NewNode(state.NodeTarget("w"), "c", config.Worker, "192.0.2.2"),
			},
		}
		switch role {
		case "":
			c.Clusters[0].SkipPhases = phases
		case config.Worker:
			c.Nodes[1].SkipPhases = phases
		default:
			c.Nodes[0].SkipPhases = phases
		}
		var out []string
		for _, d := range c.Validate() {
			out = append(out, d.Summary)
			if len(d.Detail) < 60 {
				t.Errorf("%s: %s", d.Summary, d.Detail)
			}
		}
		return strings.Join(out, ", ")
	}
	const refused, another = "Phase cannot be left out", "Phase is not the node's"
	open := map[string][3]string{ // for the cluster, a control plane, a worker
		"preflight": {}, "images": {}, "addon": {1: another, 2: another},
		"mark-control-plane": {2: another}, "control-plane-join/mark-control-plane": {2: another}, "mark-worker": {1: another},
	}
	for phase, parts := range config.Phases() {
		names := []string{phase}
		for _, part := range parts {
			names = append(names, phase+"/"+part)
		}
		for _, name := range names {
			want, ok := open[name]
			if !ok {
				if want, ok = open[phase]; !ok {
					want = [3]string{refused, refused, refused}
				}
			}
			for i, role := range []config.Role{"", config.ControlPlane, config.Worker} {
				if got := told(role, name); got != want[i] {
					t.Errorf("%s of %q: %q instead of %q. A phase that may be skipped has a row in the table open of this test, any other a reason in skipRules (skip.go)", name, role, got, want[i])
				}
			}
		}
	}
}

// TestReasonsForUnskippablePhases compares the messages that say why each phase is in every plan, and what to
// write instead, with testdata. UPDATE=1 rewrites it.
func TestReasonsForUnskippablePhases(t *testing.T) {
	t.Parallel()
	var names []string
	for phase := range config.Phases() {
		names = append(names, phase)
	}
	slices.Sort(names)
	c := &config.Config{
		Clusters: []*config.Cluster{config.NewCluster("c", "1.36.3")},
		Nodes: []*config.Node{
			config.NewNode(state.NodeTarget("n"), "c", config.ControlPlane, "192.0.2.1"),
			config.NewNode(state.NodeTarget("w"), "c", config.Worker, "192.0.2.2"),
		},
	}
	c.Clusters[0].SkipPhases = append(names, "control-plane-join/etcd", "certs/nothing", "images/all", "mark")
	c.Nodes[0].SkipPhases, c.Nodes[1].SkipPhases = []string{"addon/coredns", "mark-worker", "mark"}, []string{"mark-control-plane"}
	var got strings.Builder
	for _, d := range c.Validate() {
		got.WriteString(d.Address + ": " + d.Summary + ": " + d.Detail + "\n")
	}
	const golden = "testdata/phases.txt"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || got.String() != string(want) {
		t.Errorf("%s differs (%v): UPDATE=1 go test ./config rewrites it. Got\n%s", golden, err, got.String())
	}
}

func TestNodesOf(t *testing.T) {
	t.Parallel()
	c := &config.Config{Nodes: []*config.Node{
		config.NewNode(state.NodeTarget("a"), "x", config.ControlPlane, "192.0.2.1"),
		config.NewNode(state.NodeTarget("b"), "x", config.Worker, "192.0.2.2"),
		config.NewNode(state.NodeTarget("c"), "y", config.Worker, "host"),
	}}
	if n := len(c.NodesOf("x", "")); n != 2 {
		t.Errorf("got %d nodes of x", n)
	}
	if n := c.NodesOf("x", config.Worker); len(n) != 1 || n[0].Address != "192.0.2.2" {
		t.Errorf("got %v", n)
	}
	if a := c.Nodes[2].AdvertiseAddress(); a != "host" {
		t.Errorf("got %s", a)
	}
}
