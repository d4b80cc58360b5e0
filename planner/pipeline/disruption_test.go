package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/providers/sim"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// touchesMember reports whether a step adds, promotes, removes or restarts a member of etcd.
func touchesMember(s *planner.Step) bool {
	return planner.RestartsMember(s) || slices.ContainsFunc(s.Operations, func(op planner.Operation) bool {
		switch op.(type) {
		case planner.AddEtcdMember, planner.PromoteEtcdMember, planner.RemoveEtcdMember:
			return true
		}
		return false
	})
}

// together returns an error if two steps of a plan touch a member of etcd and may run at the same time:
// neither waits for the other, and they share no limit. A gate checks only before its step. Steps
// without gates touch members that cannot be reached anyway, and are not considered.
func together(p *planner.Plan) error {
	before := map[state.Address]map[state.Address]bool{}
	var touching []*planner.Step
	for i := range p.Steps {
		s := &p.Steps[i]
		before[s.ID] = map[state.Address]bool{}
		for _, need := range s.Needs {
			before[s.ID][need] = true
			for id := range before[need] {
				before[s.ID][id] = true
			}
		}
		if !touchesMember(s) {
			continue
		}
		for _, o := range touching {
			shared := slices.ContainsFunc(s.Limits, func(l string) bool { return p.Limits[l] == 1 && slices.Contains(o.Limits, l) })
			if s.Target != o.Target && !shared && !before[s.ID][o.ID] && len(s.Gates)+len(o.Gates) > 0 {
				return fmt.Errorf("%s (limits %v) and %s (limits %v) touch members of etcd, and may run at the same time", o.ID, o.Limits, s.ID, s.Limits)
			}
		}
		touching = append(touching, s)
	}
	return nil
}

// TestJoinsAndDeparturesWithRestartsConverge lets control planes join and leave in a plan that restarts API servers and etcd:
// it converges, with a majority and an API server at all times where possible, and says who serves
// meanwhile.
func TestJoinsAndDeparturesWithRestartsConverge(t *testing.T) {
	t.Parallel()
	args := func(c *config.Cluster) {
		c.APIServer.Component.Args = append(c.APIServer.Component.Args, config.Arg{Name: "audit-log-maxage", Value: "30"})
		c.Etcd.Args = append(c.Etcd.Args, config.Arg{Name: "snapshot-count", Value: "20000"})
	}
	raise := func(c *config.Cluster) { c.KubernetesVersion = "1.36.3" }
	for _, tt := range []struct {
		name           string
		before, planes []int
		change         func(*config.Cluster)
		// step waits for needs; says is a part of step's impact.
		step, needs, says string
	}{
		{"1 to 3", []int{1}, []int{1, 2, 3}, args, "1/etcd", "3/wait-control-plane", "quorum is held by the other members; the API stays up on 2, 3"},
		{"1 to 2", []int{1}, []int{1, 2}, args, "2/kubelet-start", "1/etcd", ""},
		{"2 to 3", []int{1, 2}, []int{1, 2, 3}, args, "2/etcd", "3/wait-control-plane", "quorum is held by the other members; the API stays up on 1, 3"},
		{"3 to 1", []int{1, 2, 3}, []int{2}, args, "2/etcd", "3/reset", "the API is down while it restarts, because this is the only control plane"},
		{"3 and 7 to 2, 3 and 6", []int{3, 7}, []int{2, 3, 6}, args, "3/etcd", "7/reset", "quorum is held by the other members; the API stays up on 2, 6"},
		{"1 to 3 with a version", []int{1}, []int{1, 2, 3}, raise, "3/kubelet-start", "1/control-plane", ""},
		{"1 to 2 with a version", []int{1}, []int{1, 2}, raise, "2/kubelet-start", "1/kubelet-start", ""},
		{"3 to 5", []int{1, 2, 3}, []int{1, 2, 3, 4, 5}, args, "2/control-plane", "5/wait-control-plane", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := grown(t, tt.before)
			tt.change(o.config.Clusters[0])
			o.kubelets(o.config.Clusters[0].KubernetesVersion)
			o.planes(tt.planes...)
			p, err := o.plan()
			o.must(err)
			s, needed := stepOf(p, tt.step), stepOf(p, tt.needs)
			if s == nil || needed == nil || !waitsFor(p, s, needed.ID) {
				t.Errorf("%s does not wait for %s:\n%s", tt.step, tt.needs, describe(p))
			} else if !strings.Contains(s.Impact, tt.says) {
				t.Errorf("%s has the impact %q, want %q", tt.step, s.Impact, tt.says)
			}
			o.world.Watch = true
			o.must(o.carryOut())
			o.wantNothing()
			o.wantHeld()
		})
	}
}

// TestJoinWaitsForRepairOfStoppedControlPlane checks that a join waits for a control plane whose static pods are all gone, as
// after an interrupted apply: etcd accepts no member while another one is down.
func TestJoinWaitsForRepairOfStoppedControlPlane(t *testing.T) {
	t.Parallel()
	o := grown(t, []int{1, 2, 3, 4})
	for _, pod := range []string{"etcd", "kube-apiserver"} {
		o.must(sim.Edit(o.world, "10.0.0.12", "file /etc/kubernetes/manifests/"+pod+".yaml delete"))
	}
	o.planes(1, 2, 3, 4, 5)
	p, err := o.plan()
	o.must(err)
	for _, mends := range []string{"2/etcd", "2/control-plane"} {
		if s, needed := stepOf(p, "5/kubelet-start"), stepOf(p, mends); s == nil || needed == nil || !waitsFor(p, s, needed.ID) {
			t.Errorf("5/kubelet-start does not wait for %s:\n%s", mends, describe(p))
		}
	}
	o.must(o.carryOut())
	o.wantNothing()
}

// TestJoinReportsOnlyAPIServerRestart checks that a plan that restarts the only API server before others join says so.
func TestJoinReportsOnlyAPIServerRestart(t *testing.T) {
	t.Parallel()
	for _, planes := range [][]int{{1, 2}, {1, 2, 3}} {
		o := grown(t, []int{1})
		o.config.Clusters[0].KubernetesVersion = "1.36.3"
		o.kubelets("1.36.3")
		o.planes(planes...)
		p, err := o.plan()
		o.must(err)
		if s := stepOf(p, "1/etcd"); s == nil || !strings.Contains(s.Impact, "the API is down while it restarts, because no other control plane runs yet") || strings.Contains(s.Impact, "quorum") {
			t.Errorf("%v: %+v", planes, s)
		}
	}
}

// grown returns a cluster in 1.35.8 with control planes on the hosts with these numbers.
func grown(t *testing.T, planes []int) *operator {
	t.Helper()
	o := newOperator(t, cluster(1, 0))
	o.config.Clusters[0].KubernetesVersion = "1.35.8"
	o.config.Clusters[0].Upgrade.AllowDowntime = false
	o.kubelets("1.35.8")
	o.planes(planes...)
	o.kubelets("1.35.8")
	o.must(o.apply())
	o.wantNothing()
	return o
}

// planes makes the nodes with these numbers the control planes of the configuration.
func (o *operator) planes(numbers ...int) {
	o.config.Nodes = nil
	for _, i := range numbers {
		o.config.Nodes = append(o.config.Nodes, &config.Node{
			Target: target(i), Cluster: "prod", Role: config.ControlPlane, Address: address(i), Connection: config.Connection{Type: "ssh"},
		})
	}
	o.kubelets(o.config.Clusters[0].KubernetesVersion)
}

// stepOf returns the step of a node's key and a phase, such as 1/etcd; nil for none.
func stepOf(p *planner.Plan, name string) *planner.Step {
	for i := range p.Steps {
		if s := &p.Steps[i]; s.ID.Waypoint == "" && s.Target.Key+"/"+s.Phase == name {
			return s
		}
	}
	return nil
}

// waitsFor reports whether a step comes after another one in any order of execution.
func waitsFor(p *planner.Plan, s *planner.Step, other state.Address) bool {
	return slices.ContainsFunc(s.Needs, func(need state.Address) bool { return need == other || waitsFor(p, p.Step(need), other) })
}

// TestRestartImpactNamesOnlyHealthyMembers checks that a plan names only members that were observed to be healthy as holding
// quorum, and only such control planes as serving the API; and that repairs of the others come first.
func TestRestartImpactNamesOnlyHealthyMembers(t *testing.T) {
	t.Parallel()
	edit := func(host, what string) func(*operator) {
		return func(o *operator) { o.must(sim.Edit(o.world, host, what)) }
	}
	for _, tt := range []struct {
		name, step string
		broken     func(*operator)
		// says is the step's impact, quorum the plan's sentence about etcd.
		says, quorum string
	}{
		{"all are well", "cp1/etcd", func(*operator) {}, "quorum is held by the other members; the API stays up on cp2, cp3", "3 members throughout, quorum 2 held at every step."},
		{
			"a member of etcd is down", "cp1/etcd", edit("10.0.0.13", "file /etc/kubernetes/manifests/etcd.yaml delete"),
			"quorum is held when cp3 is back, and before that this is refused",
			"3 members throughout, quorum 2; cp3 is not healthy, and a step that would leave fewer than 2 healthy is refused.",
		},
		{
			"an API server is down", "cp1/etcd", edit("10.0.0.13", "file /etc/kubernetes/manifests/kube-apiserver.yaml delete"),
			"the API stays up on cp2", "3 members throughout, quorum 2 held at every step.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			c := o.config.Clusters[0]
			c.APIServer.Component.Args = append(c.APIServer.Component.Args, config.Arg{Name: "audit-log-maxage", Value: "30"})
			c.Etcd.Args = append(c.Etcd.Args, config.Arg{Name: "snapshot-count", Value: "20000"})
			tt.broken(o)
			o.world.Advance(time.Minute)
			p, err := o.plan()
			o.must(err)
			if s := stepOf(p, tt.step); s == nil || !strings.Contains(s.Impact+";", tt.says+";") {
				t.Errorf("the step is %+v, want the impact %q", s, tt.says)
			}
			if p.Quorum[0] != tt.quorum {
				t.Errorf("the plan says %q, want %q", p.Quorum[0], tt.quorum)
			}
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}

// TestRestartOrderBesideDepartures checks the order of restarts where others leave: a control plane with a failing
// component restarts in the same order as a healthy one, after dead members have left and in an upgrade
// after all departures. Consequences for quorum are reported before anything is changed.
func TestRestartOrderBesideDepartures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		planes int
		leaves func(o *operator, i int)
		to     string
	}{
		"forgotten": {3, func(o *operator, i int) {
			o.edit(address(i), "power off")
			o.forget = append(o.forget, o.config.Nodes[i-1].Target)
		}, "1.36.0"},
		"its member is dead":         {3, func(o *operator, i int) { o.edit(address(i), breaksEtcd) }, "1.36.0"},
		"two members of five are":    {5, func(o *operator, i int) { o.edit(address(i), breaksEtcd) }, "1.36.0"},
		"in an upgrade, it was well": {3, func(*operator, int) {}, "1.36.3"},
	} {
		for _, allowed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, downtime allowed %v", name, allowed), func(t *testing.T) {
				t.Parallel()
				o := running(t, tt.planes, 0, "1.36.0")
				c := o.config.Clusters[0]
				c.KubernetesVersion, c.Upgrade.AllowDowntime = tt.to, allowed
				o.kubelets(tt.to)
				c.Etcd.Args = []config.Arg{{Name: "snapshot-count", Value: "20000"}}
				for i := range tt.planes {
					o.edit(address(i+1), editsScheduler)
				}
				leave := tt.planes / 2
				for i := range leave {
					tt.leaves(o, i+1)
				}
				o.config.Nodes = o.config.Nodes[leave:]
				_, err := o.plan()
				if refused := err != nil && strings.HasPrefix(err.Error(), "Etcd would lose quorum"); refused != (tt.planes == 3 && !allowed) {
					t.Errorf("the plan is refused: %v", err)
				}
				if err == nil {
					o.must(o.carryOut())
					o.wantDone()
				}
			})
		}
	}
}
