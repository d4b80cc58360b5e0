package pipeline_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// cluster returns a configuration with this many control planes and workers.
func cluster(planes, workers int) *config.Config {
	c := config.NewCluster("prod", "1.36.3")
	c.ControlPlaneEndpoint = "api.example.com:6443"
	c.Network.PodSubnet = "10.244.0.0/16"
	cfg := &config.Config{Clusters: []*config.Cluster{c}}
	add := func(block, prefix string, role config.Role, i int, address string) {
		cfg.Nodes = append(cfg.Nodes, &config.Node{
			Target: state.NodeKeyTarget(block, prefix), Cluster: "prod", Role: role, Address: address,
			Connection: config.Connection{Type: "ssh"},
		})
	}
	for i := range planes {
		add("cp", "cp"+string(rune('1'+i)), config.ControlPlane, i, "10.0.0.1"+string(rune('1'+i)))
	}
	for i := range workers {
		add("worker", "w"+string(rune('1'+i)), config.Worker, i, "10.0.0.2"+string(rune('1'+i)))
	}
	return cfg
}

// blankHosts returns a prepared, unchanged host for every node.
func blankHosts(cfg *config.Config) *topology.Fleet {
	v := &topology.Fleet{
		Config: cfg, Reports: map[state.Target]*state.Report{}, Unobserved: map[state.Target]state.Unobserved{},
		ClusterReports: map[string]*state.ClusterReport{}, Request: topology.Request{ObservedAt: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
	for _, n := range cfg.Nodes {
		v.Reports[n.Target] = &state.Report{Facts: state.Facts{
			Hostname: n.Target.Key, MachineID: n.Target.Key, Arch: "amd64", Systemd: true, CgroupV2: true, CPUs: 2, MemoryBytes: 4 << 30,
			CRISocket: "unix:///run/containerd/containerd.sock", CRISockets: []string{"unix:///run/containerd/containerd.sock"},
			KubeletVersion: "1.36.3", CADirs: []string{"/etc/ssl/certs"},
		}}
	}
	return v
}

func plan(t *testing.T, v *topology.Fleet) *planner.Plan {
	t.Helper()
	r, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	for _, d := range diags {
		t.Logf("%s: %s: %s", d.Severity, d.Summary, d.Detail)
	}
	if diags.HasErrors() {
		t.Fatal("there is no plan")
	}
	return r.Plan
}

func TestBootstrapPlanIsSound(t *testing.T) {
	t.Parallel()
	p := plan(t, blankHosts(cluster(3, 2)))
	for _, s := range p.Steps {
		t.Logf("%s needs %v", s.ID, s.Needs)
		for _, op := range s.Operations {
			t.Logf("    %s", op.Summary())
		}
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	if add, change, destroy := p.Counts(); add != 6 || change != 0 || destroy != 0 {
		t.Errorf("counts are %d, %d, %d; want 6 to add: a cluster and five nodes", add, change, destroy)
	}
}

func TestPlanIsDeterministic(t *testing.T) {
	t.Parallel()
	var first []byte
	for range 5 {
		b, err := json.Marshal(plan(t, blankHosts(cluster(3, 2))))
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && string(first) != string(b) {
			t.Fatal("two plans of the same input differ")
		}
		first = b
	}
}

// TestPlanIgnoresKubeletRestartLoop checks that the plan does not depend on the time of observation, so that
// a saved plan does not become stale: a kubelet without a configuration is active for a moment every
// ten seconds.
func TestPlanIgnoresKubeletRestartLoop(t *testing.T) {
	t.Parallel()
	at := func(active string) *planner.Plan {
		v := blankHosts(cluster(1, 1))
		for _, r := range v.Reports {
			r.Units = map[string]state.UnitReport{"kubelet.service": {Exists: true, Active: active, Enabled: "enabled"}}
		}
		return plan(t, v)
	}
	if a, b := at("activating"), at("active"); !reflect.DeepEqual(a, b) {
		t.Errorf("the plans differ:\n%v\n%v", a, b)
	}
}
