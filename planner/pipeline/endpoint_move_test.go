package pipeline_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/state"
)

// TestEndpointMoveRefusesUpgradeInSamePlan checks that an upgrade and a move of the endpoint in one plan are
// refused, and that either can come first; kubelets alone may change their version meanwhile.
func TestEndpointMoveRefusesUpgradeInSamePlan(t *testing.T) {
	t.Parallel()
	const was, moved = "api.example.com:6443", "moved.example.com:6443"
	both := func(t *testing.T) *operator {
		o := running(t, 3, 1, "1.35.8")
		places(o.config)
		o.config.Clusters[0].KubernetesVersion, o.config.Clusters[0].ControlPlaneEndpoint = "1.36.3", moved
		o.kubelets("1.35.8")
		wantSaid(t, o.diagnose(), finding{diag.Error, "Endpoint migration cannot be combined with an upgrade", "main.hcl:1", "cluster.prod", []string{
			`Cluster "prod": the endpoint of the API servers moves from api.example.com to moved.example.com:6443, and the version changes in the same plan (1.35.8 → 1.36.3). `,
			`Do one after the other: the move first, with kubernetes_version = "1.35.8"; or the upgrade first, with the previous control_plane_endpoint`,
		}})
		return o
	}
	t.Run("the move first", func(t *testing.T) {
		t.Parallel()
		o := both(t)
		o.config.Clusters[0].KubernetesVersion = "1.35.8"
		o.must(o.apply())
		o.config.Clusters[0].KubernetesVersion = "1.36.3"
		o.must(o.apply())
		o.wantNothing()
	})
	t.Run("the upgrade first", func(t *testing.T) {
		t.Parallel()
		o := both(t)
		o.config.Clusters[0].ControlPlaneEndpoint = was
		o.must(o.apply())
		o.config.Clusters[0].ControlPlaneEndpoint = moved
		o.must(o.apply())
		o.wantNothing()
	})
	t.Run("kubelets and others meanwhile", func(t *testing.T) {
		t.Parallel()
		o := running(t, 3, 1, "1.35.8")
		all := o.config.Nodes
		other := *all[2]
		other.Target.Key, other.Address = "cp9", "10.0.0.19"
		o.config.Clusters[0].ControlPlaneEndpoint, o.config.Nodes = moved, []*config.Node{all[0], all[1], &other, all[3]}
		o.kubelets("1.35.9")
		o.world.Watch = true
		o.must(o.apply())
		o.wantNothing()
		o.wantHeld()
	})
	t.Run("kubelets meanwhile", func(t *testing.T) {
		t.Parallel()
		o := running(t, 3, 1, "1.35.8")
		o.config.Clusters[0].ControlPlaneEndpoint = moved
		o.kubelets("1.35.9")
		o.must(o.apply())
		o.wantNothing()
	})
}

// TestEndpointMoveInterruptedMovesSuperAdminConf checks that the founder's emergency kubeconfig has the new
// endpoint after a move that is interrupted before any of its steps and continued.
func TestEndpointMoveInterruptedMovesSuperAdminConf(t *testing.T) {
	t.Parallel()
	base, founder := running(t, 3, 1, "1.36.3"), state.NodeKeyTarget("cp", "cp1")
	if server := base.observe().Reports[founder].Files[pki.SuperAdminConf].Kubeconfig.Server; server != "https://api.example.com:6443" {
		t.Fatalf("super-admin.conf has the server %s before", server)
	}
	for cut, done := 0, false; !done; cut++ {
		o, steps := base.copy(t), 0
		o.config.Clusters[0].ControlPlaneEndpoint = "moved.example.com:6443"
		o.around = func(*planner.Step) error {
			if steps++; steps > cut {
				return errCrash
			}
			return nil
		}
		done = o.apply() == nil
		o.around = nil
		o.must(o.apply())
		o.wantNothing()
		if server := o.observe().Reports[founder].Files[pki.SuperAdminConf].Kubeconfig.Server; server != "https://moved.example.com:6443" {
			t.Errorf("interrupted before step %d: super-admin.conf has the server %s", cut+1, server)
		}
	}
}

// TestEndpointMovePrecedesDrainOfItsHost checks that all clients of a departing host's address use the
// new endpoint before the host is drained, even if the node rejoins or others join in the same plan.
func TestEndpointMovePrecedesDrainOfItsHost(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 2)
	base.config.Clusters[0].ControlPlaneEndpoint = "10.0.0.12:6443"
	base.must(base.apply())
	add := func(o *operator, numbers ...int) {
		for _, i := range numbers {
			o.config.Nodes = append(o.config.Nodes, &config.Node{
				Target: state.NodeKeyTarget("cp", fmt.Sprintf("cp%d", i)), Cluster: "prod", Role: config.ControlPlane,
				Address: fmt.Sprintf("10.0.0.%d", 10+i), Connection: config.Connection{Type: "ssh"},
			})
		}
	}
	again := []state.Target{state.NodeKeyTarget("cp", "cp2")}
	for name, change := range map[string]func(*operator){
		"it leaves": func(o *operator) { o.leave("cp2") },
		"it leaves, called by its name": func(o *operator) {
			o.config.Clusters[0].ControlPlaneEndpoint = o.recorded.Nodes[again[0]].Name + ":6443"
			o.must(o.apply())
			o.leave("cp2")
		},
		"it is replaced":     func(o *operator) { o.replace = again },
		"with another one":   func(o *operator) { o.leave("cp2", "cp3") },
		"another one comes":  func(o *operator) { o.leave("cp2"); add(o, 4) },
		"all but one change": func(o *operator) { o.leave("cp2", "cp3"); add(o, 4, 5) },
		"etcd changes as well": func(o *operator) {
			o.leave("cp2")
			o.config.Clusters[0].Upgrade.AllowDowntime = true
			o.config.Clusters[0].Etcd.Args = append(o.config.Clusters[0].Etcd.Args, config.Arg{Name: "snapshot-count", Value: "20000"})
		},
		"a worker goes with it": func(o *operator) { o.leave("cp2", "w1") },
		"another one is sick": func(o *operator) {
			o.leave("cp2")
			o.edit("10.0.0.13", "file /etc/kubernetes/manifests/kube-apiserver.yaml delete")
			o.world.Advance(time.Minute)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			change(o)
			o.config.Clusters[0].ControlPlaneEndpoint = "moved.example.com:6443"
			p, err := o.plan()
			o.must(err)
			drain := stepOf(p, "cp2/drain")
			if drain == nil {
				t.Fatalf("cp2 does not leave:\n%s", describe(p))
			}
			for _, before := range []string{
				`node.cp["cp1"]/control-plane`, `node.worker["w2"]/kubelet-wait-bootstrap`, "cluster.prod/addon", "cluster.prod/addon@endpoint-moved", "cluster.prod/bootstrap-token",
			} {
				if !slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return s.ID.String() == before && waitsFor(p, drain, s.ID) }) {
					t.Errorf("%s does not wait for %s:\n%s", drain.ID, before, describe(p))
				}
			}
			o.world.Watch = true
			o.must(o.carryOut())
			o.wantNothing()
			o.wantHeld()
		})
	}
}

// TestEndpointRemovalMovesClientsFirst checks that removing the endpoint is a move to the address of the only remaining
// control plane: the old name is removed from the certificate last, and no client calls a departing
// host any more.
func TestEndpointRemovalMovesClientsFirst(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		planes int
		from   string
		leave  []string
	}{
		"of one":                          {1, "api.example.com:6443", nil},
		"of three, and the others":        {3, "api.example.com:6443", []string{"cp2", "cp3"}},
		"one's own, which leaves as well": {3, "10.0.0.12:6443", []string{"cp2", "cp3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, tt.planes, 2)
			o.config.Clusters[0].ControlPlaneEndpoint = tt.from
			o.must(o.apply())
			o.wantNothing()
			o.leave(tt.leave...)
			o.config.Clusters[0].ControlPlaneEndpoint = ""
			p, err := o.plan()
			o.must(err)
			at := func(target state.Target, phase, waypoint string) state.Address {
				return state.Address{Target: target, Phase: phase, Waypoint: waypoint}
			}
			goes := at(o.config.Nodes[0].Target, "certs", "endpoint-moved")
			i := slices.IndexFunc(p.Steps, func(s planner.Step) bool { return s.ID == goes })
			if i < 0 || !waitsFor(p, &p.Steps[i], at(state.ClusterTarget("prod"), "addon", "endpoint-moved")) {
				t.Fatalf("the old name does not go last:\n%s", describe(p))
			}
			if drain := stepOf(p, "cp2/drain"); tt.from != "api.example.com:6443" && !waitsFor(p, drain, at(state.ClusterTarget("prod"), "bootstrap-token", "")) {
				t.Errorf("%s does not wait for its clients:\n%s", drain.ID, describe(p))
			}
			o.world.Watch = true
			o.must(o.carryOut())
			o.wantNothing()
			o.wantHeld()
		})
	}
}
