package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/availability"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TestEveryOrderKeepsWhatTheWalkPromises makes plans for one to seven control planes, some of which join
// or are removed while the others restart and any one host or member may be silent. In every order of
// steps that a plan allows, each API server that the walk promises at a step serves when that step
// begins, its gate finds the quorum that the plan counts on, and control planes join in turn.
func TestEveryOrderKeepsWhatTheWalkPromises(t *testing.T) {
	t.Parallel()
	fleets := 24
	if long() {
		fleets = 300
	}
	planned, restarts, changes := 0, 0, 0
	for seed := range fleets {
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		o, story := randomPlanes(t, r)
		v := o.observe()
		v.AllowUnreachable = true
		result, diags := o.planOf(v, planner.Options{})
		if diags.HasErrors() {
			continue // refused
		}
		planned++
		for range 5 {
			m := newMidway(t, result, story)
			for len(m.done) < len(result.Plan.Steps) {
				ready := slices.DeleteFunc(slices.Clone(result.Plan.Steps), func(s planner.Step) bool {
					return m.done[s.ID] || slices.ContainsFunc(s.Needs, func(need state.Address) bool { return !m.done[need] })
				})
				s := ready[r.IntN(len(ready))]
				m.wantPromised(&s)
				m.wantTurn(&s)
				m.carryOut(&s)
				if planner.RestartsMember(&s) || planner.RestartsServer(&s) {
					restarts++
				}
				if planner.ChangesMembers(&s) {
					changes++
				}
			}
		}
	}
	t.Logf("%d of %d fleets planned, %d restarts, %d membership changes", planned, fleets, restarts, changes)
	if planned < fleets/3 || restarts == 0 || changes == 0 {
		t.Error("too few plans were checked")
	}
}

// randomPlanes returns a cluster of which something changes on every control plane, and in words what
// else does.
func randomPlanes(t *testing.T, r *rand.Rand) (*operator, string) {
	t.Helper()
	planes := 1 + r.IntN(7)
	o := founded(t, planes, 0)
	o.world.Advance(time.Minute)
	c := o.config.Clusters[0]
	c.Upgrade.AllowDowntime = r.IntN(2) == 0
	c.APIServer.Args = []config.Arg{{Name: "event-ttl", Value: "2h"}}
	if r.IntN(2) == 0 {
		c.Etcd.Args = []config.Arg{{Name: "snapshot-count", Value: "5000"}}
	}
	comes, goes := r.IntN(8-planes), r.IntN(planes)
	if r.IntN(2) == 0 {
		goes = min(goes, 1)
	}
	story := fmt.Sprintf("%d control planes, %d join, %d are removed", planes, comes, goes)
	r.Shuffle(len(o.config.Nodes), func(i, j int) { o.config.Nodes[i], o.config.Nodes[j] = o.config.Nodes[j], o.config.Nodes[i] })
	if host := o.config.Nodes[0].Address; planes > 1 && r.IntN(2) == 0 {
		what := []string{"power off", breaksEtcd, editsScheduler}[r.IntN(3)]
		story += "; " + host + ": " + what
		o.edit(host, what)
		o.world.Advance(time.Minute)
	}
	if r.IntN(2) == 0 { // it is among those that stay
		slices.Reverse(o.config.Nodes)
	}
	o.config.Nodes = o.config.Nodes[goes:]
	slices.SortFunc(o.config.Nodes, func(a, b *config.Node) int { return strings.Compare(a.Address, b.Address) })
	for i := range comes {
		name := fmt.Sprintf("cp%d", planes+1+i)
		o.config.Nodes = append(o.config.Nodes, &config.Node{
			Target: state.NodeKeyTarget("cp", name), Cluster: "prod", Role: config.ControlPlane, Address: fmt.Sprintf("10.0.0.1%d", planes+1+i), Connection: config.Connection{Type: "ssh"},
		})
	}
	return o, story
}

// midway is a cluster in the middle of a plan: the members of etcd, and which API servers serve.
type midway struct {
	t       *testing.T
	cluster *topology.Cluster
	plan    *planner.Plan
	story   string
	done    map[state.Address]bool
	members []state.EtcdMember
	serving map[state.Target]bool
}

func newMidway(t *testing.T, r topology.Result, story string) *midway {
	t.Helper()
	m := &midway{t: t, cluster: r.Fleet.Clusters[0], plan: r.Plan, story: story, done: map[state.Address]bool{}, serving: map[state.Target]bool{}}
	m.members = slices.Clone(m.cluster.Seen.Members)
	for _, n := range m.cluster.ControlPlanes() {
		m.serving[n.Target] = m.cluster.ShowsReady(n.NodeName)
	}
	for _, l := range m.cluster.Departing() {
		m.serving[l.Target] = m.cluster.ShowsReady(l.Name)
	}
	return m
}

// wantPromised checks what the walk promises at a step that begins now.
func (m *midway) wantPromised(s *planner.Step) {
	m.t.Helper()
	f := availability.At(m.cluster, m.plan.Steps, s.ID)
	for _, o := range f.Servers {
		if o.Serves && !m.serving[o.Target] {
			m.t.Errorf("%s: %s promises that the API server of %s serves, after %v", m.story, s.ID, o.Target, m.done)
		}
	}
	n := m.cluster.Node(s.Target)
	if !slices.Contains(s.Gates, planner.QuorumGate) && !slices.Contains(s.Gates, planner.DowntimeGate) {
		return
	}
	own := planner.RemovedMember(s)
	if n != nil && own == "" {
		own = n.PeerURL()
	}
	for _, member := range m.members {
		if !member.Healthy && (slices.Contains(member.PeerURLs, own) || slices.Contains(f.Touched, member.PeerURLs[0])) {
			return // the step repairs it, or its gate waits for the one that does
		}
	}
	if err := quorum.Allows(s, own, m.members); err != nil {
		m.t.Errorf("%s: %s is refused after %v: %v", m.story, s.ID, m.done, err)
	}
}

// wantTurn checks that a control plane begins to join when each other one that has begun serves.
func (m *midway) wantTurn(s *planner.Step) {
	m.t.Helper()
	joins := func(t state.Target) bool {
		return slices.ContainsFunc(m.cluster.Newcomers(), func(n *topology.Node) bool { return n.Target == t })
	}
	if !joins(s.Target) || s.Phase != topology.KubeletStartPhase && !planner.ChangesMembers(s) {
		return
	}
	for id := range m.done {
		if id.Target != s.Target && joins(id.Target) && id.Phase == topology.KubeletStartPhase && !m.serving[id.Target] {
			m.t.Errorf("%s: %s begins before the API server of %s serves, after %v", m.story, s.ID, id.Target, m.done)
		}
	}
}

// carryOut does a step.
func (m *midway) carryOut(s *planner.Step) {
	m.done[s.ID] = true
	n := m.cluster.Node(s.Target)
	for _, op := range s.Operations {
		switch op := op.(type) {
		case planner.AddEtcdMember:
			m.members = slices.DeleteFunc(m.members, func(o state.EtcdMember) bool { return slices.Contains(o.PeerURLs, op.PeerURL) })
			m.members = append(m.members, state.EtcdMember{Name: op.Name, PeerURLs: []string{op.PeerURL}, Healthy: true})
		case planner.RemoveEtcdMember:
			m.members = slices.DeleteFunc(m.members, func(o state.EtcdMember) bool { return slices.Contains(o.PeerURLs, op.PeerURL) })
		}
	}
	for i := range m.members {
		if n != nil && planner.RestartsMember(s) && slices.Contains(m.members[i].PeerURLs, n.PeerURL()) {
			m.members[i].Healthy = true
		}
	}
	switch s.Phase {
	case topology.ResetPhase:
		m.serving[s.Target] = false
	case topology.WaitControlPlanePhase:
		m.serving[s.Target] = true
	}
}
