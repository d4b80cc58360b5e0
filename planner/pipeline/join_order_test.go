package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// add adds a node to the configuration.
func (o *operator) add(role config.Role, key, address string, labels map[string]string) state.Target {
	t := state.NodeKeyTarget("added", key)
	o.config.Nodes = append(o.config.Nodes, &config.Node{Target: t, Cluster: "prod", Role: role, Address: address, Labels: labels, Connection: config.Connection{Type: "ssh"}})
	return t
}

// precedes reports whether a step of a plan is done, in any order, when another one begins.
func precedes(p *planner.Plan, first, second state.Address) bool {
	s := p.Step(second)
	return s != nil && (slices.Contains(s.Needs, first) || slices.ContainsFunc(s.Needs, func(need state.Address) bool { return precedes(p, first, need) }))
}

// waitsReady reports whether a step ends only when the node is Ready.
func waitsReady(s *planner.Step) bool {
	if s == nil {
		return false
	}
	w, ok := s.Operations[len(s.Operations)-1].(planner.Wait)
	return ok && w.For == planner.WaitNodeReady
}

// TestFoundingIsSerialInEtcdAlone checks that control planes that join a new cluster wait for the first
// one and for no other one, and that etcd's members are added one at a time.
func TestFoundingIsSerialInEtcdAlone(t *testing.T) {
	t.Parallel()
	for _, planes := range []int{3, 5} {
		o := newOperator(t, cluster(planes, 0))
		p, err := o.plan()
		o.must(err)
		if limit := p.Limits["cluster.prod/etcd-membership"]; limit != 1 {
			t.Errorf("%d members are added at once", limit)
		}
		for i := range p.Steps {
			s := &p.Steps[i]
			if planner.ChangesMembers(s) && !slices.Contains(s.Limits, "cluster.prod/etcd-membership") {
				t.Errorf("%s has no limit: %v", s.ID, s.Limits)
			}
			for _, need := range s.Needs {
				founder := o.config.Nodes[0].Target
				if s.Target.Type == state.TypeNode && need.Target.Type == state.TypeNode && need.Target != s.Target && need.Target != founder {
					t.Errorf("%s waits for %s", s.ID, need)
				}
			}
		}
	}
}

// TestControlPlanesJoinInTurn checks that a control plane begins to join a living cluster when the API
// server of the one before it serves, with stacked and with external etcd alike, and also when an apply
// was interrupted in the first join. A plan that leaves one out does not leave out the others.
func TestControlPlanesJoinInTurn(t *testing.T) {
	t.Parallel()
	grown := func(t *testing.T) (o *operator, second, third state.Target) {
		t.Helper()
		o = founded(t, 1, 0)
		o.world.Advance(time.Minute)
		return o, o.add(config.ControlPlane, "cp2", "10.0.0.12", nil), o.add(config.ControlPlane, "cp3", "10.0.0.13", nil)
	}
	served := func(n state.Target) state.Address { return topology.StepAddress(n, topology.WaitControlPlanePhase) }
	t.Run("one after another", func(t *testing.T) {
		t.Parallel()
		o, second, third := grown(t)
		p, err := o.plan()
		o.must(err)
		if !precedes(p, served(second), topology.StepAddress(third, topology.KubeletStartPhase)) {
			t.Errorf("%s joins beside %s:\n%s", third, second, describe(p))
		}
		if precedes(p, served(second), topology.StepAddress(third, topology.CertsPhase)) {
			t.Errorf("the host of %s is prepared only after %s has joined:\n%s", third, second, describe(p))
		}
		o.must(o.carryOut())
		o.wantNothing()
		o.wantVoters(3)
	})
	for _, phase := range []string{topology.KubeletStartPhase, topology.EtcdPhase} {
		t.Run("interrupted after "+phase, func(t *testing.T) {
			t.Parallel()
			o, second, third := grown(t)
			_, err := o.plan()
			o.must(err)
			o.cutAfter(second, phase)
			p, err := o.plan()
			o.must(err)
			if !precedes(p, served(second), topology.StepAddress(third, topology.KubeletStartPhase)) {
				t.Errorf("%s joins beside %s:\n%s", third, second, describe(p))
			}
			o.must(o.carryOut())
			o.wantNothing()
			o.wantVoters(3)
		})
	}
	t.Run("one is left out", func(t *testing.T) {
		t.Parallel()
		o, second, third := grown(t)
		r, diags := o.planOf(o.observe(), planner.Options{Excludes: []planner.Selector{{Target: second}}})
		if diags.HasErrors() || r.Plan.Step(topology.StepAddress(third, topology.EtcdPhase)) == nil {
			t.Errorf("%s does not join: %v", third, diags)
		}
	})
}

// TestReplacementIsProvedAfterInterruptedJoin checks that a worker that leaves is drained when the one in its
// place is Ready and labelled, although an apply was interrupted while that one joined.
func TestReplacementIsProvedAfterInterruptedJoin(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 2)
	o.world.Advance(time.Minute)
	o.leave("w1")
	added := o.add(config.Worker, "x1", "10.0.0.31", map[string]string{"example.com/pool": "batch"})
	drain := topology.StepAddress(state.NodeKeyTarget("worker", "w1"), topology.DrainPhase)
	p, err := o.plan()
	o.must(err)
	mark := topology.StepAddress(added, topology.MarkWorkerPhase)
	if !precedes(p, mark, drain) || !waitsReady(p.Step(mark)) {
		t.Errorf("%s is drained before %s is Ready and labelled:\n%s", drain.Target, added, describe(p))
	}
	o.cutAfter(added, topology.WaitBootstrapPhase)

	p, err = o.plan()
	o.must(err)
	if !precedes(p, mark, drain) || !waitsReady(p.Step(mark)) {
		t.Errorf("%s is drained before %s, which has joined, is Ready and labelled:\n%s", drain.Target, added, describe(p))
	}
	o.cutAfter(added, topology.MarkWorkerPhase)

	// All of its items are as desired, and its Node is not Ready.
	v := o.observe()
	name := v.Reports[added].Facts.Hostname
	n := v.ClusterReports["prod"].Nodes[name]
	n.Ready = false
	v.ClusterReports["prod"].Nodes[name] = n
	r, diags := o.planOf(v, planner.Options{})
	wait := topology.StepAddress(added, topology.WaitBootstrapPhase)
	if diags.HasErrors() || !precedes(r.Plan, wait, drain) || !waitsReady(r.Plan.Step(wait)) {
		t.Fatalf("%s is drained before %s is Ready: %v", drain.Target, added, diags)
	}
	if start := topology.StepAddress(added, topology.KubeletStartPhase).String(); slices.Contains(record.Record(r.Fleet, r).Seen, start) {
		t.Errorf("%s is confirmed although the node is not Ready", start)
	}
	o.must(o.apply())
	o.wantNothing()
}

// TestReplacementIsNotProvedWithoutPodNetwork checks that replaced workers are not awaited while no node is Ready.
func TestReplacementIsNotProvedWithoutPodNetwork(t *testing.T) {
	t.Parallel()
	for _, network := range []bool{true, false} {
		o := running(t, 1, 2, "1.36.3")
		o.replace = []state.Target{state.NodeKeyTarget("worker", "w1"), state.NodeKeyTarget("worker", "w2")}
		v := o.observe()
		for name, n := range v.ClusterReports["prod"].Nodes {
			n.Ready = network
			v.ClusterReports["prod"].Nodes[name] = n
		}
		p, diags := o.planOf(v, planner.Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if waits := slices.ContainsFunc(p.Plan.Steps, func(s planner.Step) bool { return s.Target == o.replace[0] && waitsReady(&s) }); waits != network {
			t.Errorf("with a pod network: %v; it waits until the worker is Ready: %v", network, waits)
		}
	}
}

// TestEveryOrderOfWorkersKeepsCapacity makes plans in which workers join, are replaced, change their role
// and leave. In every order of steps that a plan allows, a drain begins when each worker that joins before
// it was seen Ready, after it got its labels, and when no replaced worker is away.
func TestEveryOrderOfWorkersKeepsCapacity(t *testing.T) {
	t.Parallel()
	fleets := 16
	if long() {
		fleets = 200
	}
	drains, proofs := 0, 0
	for seed := range fleets {
		r := rand.New(rand.NewPCG(uint64(seed), 23))
		o, story := randomWorkers(t, r)
		p, err := o.plan()
		if err != nil {
			t.Errorf("%s: %v", story, err)
			continue
		}
		for range 5 {
			done, ready, away := map[state.Address]bool{}, map[state.Target]bool{}, map[state.Target]bool{}
			for len(done) < len(p.Steps) {
				next := slices.DeleteFunc(slices.Clone(p.Steps), func(s planner.Step) bool {
					return done[s.ID] || slices.ContainsFunc(s.Needs, func(need state.Address) bool { return !done[need] })
				})
				s := next[r.IntN(len(next))]
				done[s.ID] = true
				n := o.fleet.Find(s.Target)
				switch {
				case s.Phase == topology.DrainPhase && (n == nil || n.ReplacesWorker()):
					drains++
					for _, other := range o.fleet.Clusters[0].Nodes {
						first := !other.IsControlPlane() && other.Joining() && other != n && (n == nil || !o.fleet.Replaces(other.Target))
						if proofs++; first && !ready[other.Target] {
							t.Errorf("%s: %s before %s is Ready, after %v", story, s.ID, other.Target, done)
						}
					}
					for target := range away {
						t.Errorf("%s: %s while %s is away, after %v", story, s.ID, target, done)
					}
					if n != nil {
						away[s.Target] = true
					}
				case n != nil && waitsReady(&s):
					if marks := topology.StepAddress(s.Target, topology.MarkWorkerPhase); len(n.Labels) > 0 && !done[marks] {
						t.Errorf("%s: %s is Ready for drains without its labels", story, s.Target)
					}
					ready[s.Target] = true
					delete(away, s.Target)
				case n != nil && n.IsControlPlane() && s.Phase == topology.WaitControlPlanePhase, n != nil && s.Phase == topology.MarkWorkerPhase:
					delete(away, s.Target)
				case n != nil && s.Phase == topology.WaitBootstrapPhase && p.Step(topology.StepAddress(s.Target, topology.MarkWorkerPhase)) == nil:
					delete(away, s.Target) // the last one to be replaced: no drain waits for it
				}
			}
		}
	}
	t.Logf("%d drains, %d proofs", drains, proofs)
	if drains < fleets || proofs < fleets {
		t.Error("too few drains were checked")
	}
}

// randomWorkers returns a cluster whose workers join, are replaced, change their role and leave, and says
// in words what happens.
func randomWorkers(t *testing.T, r *rand.Rand) (*operator, string) {
	t.Helper()
	workers := 2 + r.IntN(4)
	o := founded(t, 3, workers)
	o.world.Advance(time.Minute)
	comes, goes, replaced := r.IntN(3), r.IntN(2), r.IntN(3)
	if comes+goes+replaced == 0 {
		comes, goes = 1, 1
	}
	story := fmt.Sprintf("%d workers: %d join, %d leave, %d are replaced", workers, comes, goes, replaced)
	for i := range goes {
		o.leave(fmt.Sprint("w", i+1))
	}
	for i := range min(replaced, workers-goes) {
		o.replace = append(o.replace, state.NodeKeyTarget("worker", fmt.Sprint("w", goes+i+1)))
	}
	if r.IntN(4) == 0 {
		story += "; cp3 becomes a worker"
		o.config.Nodes[2].Role = config.Worker
	}
	if r.IntN(4) == 0 {
		story += fmt.Sprintf("; w%d becomes a control plane", workers)
		o.config.Nodes[len(o.config.Nodes)-1].Role = config.ControlPlane
	}
	for i := range comes {
		var labels map[string]string
		if r.IntN(2) == 0 {
			labels = map[string]string{"example.com/pool": "batch"}
		}
		o.add(config.Worker, fmt.Sprint("x", i+1), fmt.Sprint("10.0.0.3", i+1), labels)
	}
	return o, story
}
