package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// withholdChanges are changes of a configuration, by what they ask of control planes. Each comes with
// a label of the first worker, which has to be planned beside it.
var withholdChanges = []struct {
	name   string
	change func(*operator)
	// whole reports whether the change concerns each control plane, so that something is withheld.
	whole bool
}{
	{"an argument of the API server", func(o *operator) {
		o.config.Clusters[0].APIServer.Args = []config.Arg{{Name: "profiling", Value: "false"}}
	}, true},
	{"an argument of etcd and kubelets", func(o *operator) {
		o.config.Clusters[0].Etcd.Args = []config.Arg{{Name: "log-level", Value: "warn"}}
		o.config.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{"maxPods": 200})
	}, true},
	{"labels alone", func(*operator) {}, false},
	{"an upgrade", func(o *operator) { o.config.Clusters[0].KubernetesVersion = "1.36.4" }, true},
	{"another endpoint", func(o *operator) { o.config.Clusters[0].ControlPlaneEndpoint = "other.example.com:6443" }, true},
	{"another control plane", func(o *operator) {
		o.config.Nodes = append(o.config.Nodes, config.NewNode(state.NodeKeyTarget("cp", "late"), "prod", config.ControlPlane, "10.0.0.99"))
	}, false},
	{"the last control plane leaves", func(o *operator) {
		o.config.Nodes = slices.DeleteFunc(o.config.Nodes, func(n *config.Node) bool {
			return n.Target == lastPlane(o.config)
		})
	}, false},
}

func lastPlane(cfg *config.Config) state.Target {
	planes := cfg.NodesOf("prod", config.ControlPlane)
	return planes[len(planes)-1].Target
}

// TestSilentControlPlanesWithhold checks for up to seven control planes and any of them silent: with a
// quorum there is a plan that touches no silent host, changes no member, and lets no etcd member or API
// server go; without one the cluster is refused. Each combination meets one change of the configuration
// after the other. Without KUBEWRIGHT_LONG every fifth combination of more than three control planes is
// tried.
func TestSilentControlPlanesWithhold(t *testing.T) {
	t.Parallel()
	tried, try := 0, every(5)
	for planes := 1; planes <= 7; planes++ {
		for silent := 1; silent < 1<<planes; silent++ {
			of := withholdChanges[tried%len(withholdChanges)]
			if tried++; planes > 3 && !try() {
				continue
			}
			t.Run(fmt.Sprintf("%d control planes, %0*b silent, %s", planes, planes, silent, of.name), func(t *testing.T) {
				o := founded(t, planes, 2)
				down := map[state.Target]bool{}
				for i, n := range o.config.NodesOf("prod", config.ControlPlane) {
					if silent&(1<<i) != 0 {
						o.edit(n.Address, "power off")
						down[n.Target] = true
					}
				}
				of.change(o)
				workers := o.config.NodesOf("prod", config.Worker)
				workers[0].Labels = map[string]string{"example.com/pool": "a"}
				o.allowUnreachable = true
				p, err := o.plan()
				if 2*(planes-len(down)) <= planes {
					if err == nil || !strings.Contains(err.Error(), "Control plane could not be observed") {
						t.Fatalf("without a quorum the plan is not refused: %v", err)
					}
					return
				}
				o.must(err)
				if p.Step(topology.StepAddress(workers[0].Target, topology.MarkWorkerPhase)) == nil {
					t.Errorf("the worker is not labelled:\n%s", describe(p))
				}
				if of.whole && len(p.WithheldSteps) == 0 {
					t.Error("nothing is withheld")
				}
				o.wantHarmless(p, down)
			})
		}
	}
}

// wantHarmless checks that no prefix of a plan touches a missing host, changes a member of etcd, or
// stops one or an API server.
func (o *operator) wantHarmless(p *planner.Plan, down map[state.Target]bool) {
	o.t.Helper()
	members := o.fleet.ClusterReports["prod"].Members
	for i := range p.Steps {
		s := &p.Steps[i]
		switch {
		case down[s.Target] || down[s.Via]:
			o.t.Errorf("%s touches a host that does not answer", s.ID)
		case planner.ChangesMembers(s), planner.RestartsMember(s):
			o.t.Errorf("%s changes or restarts a member", s.ID)
		case quorum.Allows(s, "", members) != nil:
			o.t.Errorf("%s: %v", s.ID, quorum.Allows(s, "", members))
		}
		for place := range s.Operations {
			if planner.StopsServing(s, place) {
				o.t.Errorf("%s stops etcd or an API server", s.ID)
			}
		}
		for _, op := range s.Operations {
			for _, path := range planner.Overwrites(op) {
				if strings.HasPrefix(path, "/etc/kubernetes/manifests/") {
					o.t.Errorf("%s writes %s", s.ID, path)
				}
			}
		}
	}
	if len(p.Withheld) != len(down) {
		o.t.Errorf("%d targets are withheld, want %d", len(p.Withheld), len(down))
	}
}

// TestWithheldIsDoneLater checks that the apply does what the plan has, and that the first plan after
// the host is back does what was withheld.
func TestWithheldIsDoneLater(t *testing.T) {
	t.Parallel()
	for i := range 3 {
		t.Run(fmt.Sprint("cp", i+1), func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 1)
			address := o.config.Nodes[i].Address
			o.edit(address, "power off")
			o.config.Clusters[0].APIServer.Args = []config.Arg{{Name: "profiling", Value: "false"}}
			o.config.Nodes[3].Labels = map[string]string{"example.com/pool": "a"}
			o.allowUnreachable = true
			o.must(o.apply())
			p, err := o.plan()
			o.must(err)
			if len(p.Steps) > 0 || len(p.WithheldSteps) == 0 {
				t.Errorf("want nothing but what is withheld:\n%s", describe(p))
			}
			o.edit(address, "power on")
			o.world.Advance(time.Minute)
			o.allowUnreachable = false
			p, err = o.plan()
			o.must(err)
			if p.Withholds() || p.Step(topology.StepAddress(o.config.Nodes[i].Target, topology.ControlPlanePhase)) == nil {
				t.Errorf("what was withheld is not planned:\n%s", describe(p))
			}
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}

// TestUnpermittedPlanIsForReading checks that without the flag there are the same plan and an error, and
// that the cluster's block permits it as the flag does.
func TestUnpermittedPlanIsForReading(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 2)
	o.edit("10.0.0.13", "power off")
	o.edit("10.0.0.22", "power off")
	o.config.Nodes[3].Labels = map[string]string{"example.com/pool": "a"}
	places(o.config)
	read, diags := o.planOf(o.observe(), planner.Options{})
	wantFindings(t, diags,
		finding{diag.Error, "Control plane could not be observed", "main.hcl:13", `node.cp["cp3"]`, []string{"2 of 3 members of etcd answer, quorum is 2", "⟨+without-silent⟩", `on_unreachable = "withhold"`}},
		finding{diag.Error, "Host could not be observed", "main.hcl:15", `node.worker["w2"]`, []string{"⟨+without-silent⟩"}})
	if read.Plan == nil || len(read.Plan.Unpermitted) != 2 {
		t.Fatalf("want a plan that is not permitted without two hosts: %+v", read.Plan)
	}
	o.config.Clusters[0].OnUnreachable = config.Withhold
	permitted, diags := o.planOf(o.observe(), planner.Options{})
	wantFindings(t, diags)
	if len(permitted.Plan.Unpermitted) != 0 || describe(permitted.Plan) != describe(read.Plan) {
		t.Errorf("want the same plan, permitted:\n%s\n%s", describe(permitted.Plan), describe(read.Plan))
	}
}

// TestUnaccountedControlPlaneIsRefused checks what a cluster has to show of a missing control plane.
func TestUnaccountedControlPlaneIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*operator, *topology.Fleet)
		want   string
	}{
		"the API is silent": {func(_ *operator, v *topology.Fleet) {
			delete(v.ClusterReports, "prod")
			v.ClusterErrors["prod"] = "timeout"
		}, "the API of the cluster does not answer either (timeout)"},
		"etcd lists no members": {func(_ *operator, v *topology.Fleet) {
			v.ClusterReports["prod"].Members, v.ClusterReports["prod"].EtcdUnobserved = nil, "timeout"
		}, "etcd does not say who its members are (timeout)"},
		"no member there": {func(_ *operator, v *topology.Fleet) {
			v.ClusterReports["prod"].Members = slices.DeleteFunc(v.ClusterReports["prod"].Members, func(m state.EtcdMember) bool { return !m.Healthy })
		}, `etcd lists no voting member at https://10.0.0.13:2380, so that it does not say what became of node.cp["cp3"]`},
		"another member is missing": {func(_ *operator, v *topology.Fleet) {
			for i := range v.ClusterReports["prod"].Members {
				v.ClusterReports["prod"].Members[i].Healthy = i > 1
			}
		}, "etcd also misses the member"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 5, 1)
			o.edit("10.0.0.13", "power off")
			o.allowUnreachable = true
			v := o.observe()
			c.change(o, v)
			r, diags := o.planOf(v, planner.Options{})
			if r.Plan != nil || len(diags.Errors()) != 1 || !strings.Contains(diags.Errors()[0].Detail, c.want) {
				t.Errorf("want a refusal with %q:\n%s", c.want, printedFindings(diags))
			}
		})
	}
}

// TestBrokenClusterStopsNoOther checks that a cluster that does not account for its control planes is
// withheld as a whole, and that others are planned.
func TestBrokenClusterStopsNoOther(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	second := config.NewCluster("test", "1.36.3")
	second.ControlPlaneEndpoint, second.Network.PodSubnet, second.Network.ServiceSubnet = "test.example.com:6443", "10.245.0.0/16", "10.97.0.0/16"
	o.config.Clusters = append(o.config.Clusters, second)
	o.config.Nodes = append(o.config.Nodes, config.NewNode(state.NodeKeyTarget("tcp", "t1"), "test", config.ControlPlane, "10.0.1.11"))
	o.must(o.apply())
	known := len(o.recorded.Items)
	o.edit("10.0.1.11", "power off")
	o.config.Nodes[1].Labels = map[string]string{"example.com/pool": "a"}
	places(o.config)
	r, diags := o.planOf(o.observe(), planner.Options{})
	wantFindings(t, diags, finding{diag.Error, "Control plane could not be observed", "main.hcl:2", "", []string{`Cluster "test": cannot observe node.tcp["t1"]`}})
	if r.Plan == nil || stepOf(r.Plan, "worker") == nil && r.Plan.Empty() || !slices.Equal(r.Plan.Unpermitted, []state.Target{state.ClusterTarget("test")}) {
		t.Fatalf("want a plan for the other cluster: %+v", r.Plan)
	}
	o.allowUnreachable = true
	o.must(o.apply())
	if w := o.result.Plan.Withheld; len(w) != 1 || w[0].Target != state.ClusterTarget("test") {
		t.Errorf("want the cluster to be withheld as a whole: %v", w)
	}
	if len(o.recorded.Items) < known {
		t.Errorf("the state has %d items, want %d at least", len(o.recorded.Items), known)
	}
	o.edit("10.0.1.11", "power on")
	o.world.Advance(time.Minute)
	o.allowUnreachable = false
	o.wantNothing()
}
