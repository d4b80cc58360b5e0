package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// life runs the real planner, phases and performer on a world, one step after the other.
type life struct {
	t   testing.TB
	w   *sim.World
	cfg *config.Config
	st  *state.State
}

func newLife(t testing.TB, planes, workers int) *life {
	c := config.NewCluster("prod", "1.36.3")
	c.ControlPlaneEndpoint = "api.example.com:6443"
	c.Network.PodSubnet = "10.244.0.0/16"
	l := &life{t: t, w: sim.New(3, sim.DefaultProfile()), cfg: &config.Config{Clusters: []*config.Cluster{c}}}
	for i := range planes {
		l.addNode("cp", config.ControlPlane, fmt.Sprintf("10.0.0.%d", 11+i))
	}
	for i := range workers {
		l.addNode("worker", config.Worker, fmt.Sprintf("10.0.1.%d", 11+i))
	}
	l.w.PodHash = kubeadm.StaticPodHash
	l.st = &state.State{FormatVersion: 1, Lineage: "l-1", Nodes: map[state.Target]*state.RecordedNode{}, Clusters: map[string]*state.RecordedCluster{}}
	return l
}

func (l *life) addNode(block string, role config.Role, address string) {
	l.cfg.Nodes = append(l.cfg.Nodes, &config.Node{
		Target: state.NodeKeyTarget(block, address), Cluster: "prod", Role: role, Address: address, Connection: config.Connection{Type: "sim"},
	})
}

func (l *life) host(_ context.Context, t state.Target) (providers.Host, error) {
	return l.w.Host(t.Key), nil
}

func (l *life) observe(destroy bool) *topology.Fleet {
	ctx := context.Background()
	v := &topology.Fleet{
		Config: l.cfg, Recorded: l.st, Reports: map[state.Target]*state.Report{}, Unobserved: map[state.Target]state.Unobserved{},
		ClusterReports: map[string]*state.ClusterReport{}, ClusterErrors: map[string]string{}, Request: topology.Request{Destroy: destroy, ObservedAt: l.w.Now()},
	}
	for t, q := range observe.Queries(l.cfg, l.st) {
		r, err := l.w.Host(t.Key).Observe(ctx, q)
		if err != nil {
			v.Unobserved[t] = state.Unobserved{Target: t, Reason: err.Error()}
			continue
		}
		v.Reports[t] = r
	}
	for _, n := range l.cfg.NodesOf("prod", config.ControlPlane) {
		h := l.w.Host(n.Address)
		api, err := sim.Access{}.API(ctx, h, n.Address+":6443")
		if err != nil {
			continue
		}
		report, err := api.Observe(ctx, observe.ClusterQuery(l.cfg, l.st, "prod"))
		if err != nil {
			v.ClusterErrors["prod"] = err.Error()
			continue
		}
		etcd, err := sim.Access{}.Etcd(ctx, h, []string{providers.Seat{}.EtcdURL()}, "")
		if err == nil {
			report.Members, report.EtcdClusterID, err = etcd.Members(ctx)
		}
		if err != nil {
			report.EtcdUnobserved = err.Error()
		}
		v.ClusterReports["prod"] = report
		break
	}
	return v
}

func (l *life) plan(destroy bool) (*topology.Fleet, topology.Result) {
	l.t.Helper()
	v := l.observe(destroy)
	r, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	if diags.HasErrors() {
		for _, d := range diags {
			l.t.Errorf("%s: %s", d.Summary, d.Detail)
		}
		l.t.FailNow()
	}
	return r.Fleet, r
}

// apply plans and performs; it returns the number of completed steps.
func (l *life) apply(destroy bool) (int, error) {
	l.t.Helper()
	v, r := l.plan(destroy)
	l.st.RunToken++
	p := &providers.Performer{
		Host: l.host, Seat: func(t state.Target) (providers.Seat, error) { return providers.Seat{API: t.Key + ":6443"}, nil },
		Access: sim.Access{}, Issuer: l.w.Issuer(), Clock: l.w.Clock(), Snapshots: l.t.TempDir(),
	}
	outputs := map[state.Pending]providers.Output{}
	run := providers.Run{Token: l.st.RunToken, Lineage: l.st.Lineage, Output: func(p state.Pending) (providers.Output, bool) { o, ok := outputs[p]; return o, ok }}
	for i := range r.Plan.Steps {
		step := &r.Plan.Steps[i]
		for t, n := range record.Identify(v, step).Nodes {
			l.st.Nodes[t] = n
		}
		out, err := p.Perform(context.Background(), step, run, providers.Progress{})
		if err != nil {
			return i, fmt.Errorf("%s: %w", step.ID, err)
		}
		for name, o := range out {
			outputs[state.Pending{Step: step.ID.String(), Output: name}] = o
		}
		for _, t := range objects.Left(step).Left {
			delete(l.st.Nodes, t)
		}
	}
	if !destroy {
		l.record()
	}
	return len(r.Plan.Steps), nil
}

func (l *life) record() {
	l.t.Helper()
	v, r := l.plan(false)
	learned := record.Record(v, r)
	s := &state.Snapshot{}
	known := map[state.Address]bool{}
	for _, it := range learned.Items {
		known[it.Address] = true
		s.Items = append(s.Items, it)
	}
	for _, it := range l.st.Items {
		if _, alive := l.st.Nodes[it.Address.Target]; !known[it.Address] && (it.Address.Target.Type != state.TypeNode || alive) {
			s.Items = append(s.Items, it)
		}
	}
	s.Sort()
	l.st.Items = s.Items
	for label, c := range learned.Clusters {
		l.st.Clusters[label] = c
	}
}

func (l *life) mustApply() {
	l.t.Helper()
	if _, err := l.apply(false); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) mustBeEmpty() {
	l.t.Helper()
	_, r := l.plan(false)
	for _, c := range r.Plan.Changes {
		for _, a := range c.Attributes {
			l.t.Errorf("%s %s#%s: %v, wanted %v", c.Action, c.Address, a.Path, a.Before.Go(), a.After.Go())
		}
	}
	for _, s := range r.Plan.Steps {
		l.t.Errorf("step %s", s.ID)
	}
}

func TestClusterLife(t *testing.T) {
	t.Parallel()
	l := newLife(t, 3, 2)
	before := map[string]string{}
	for _, n := range l.cfg.Nodes {
		before[n.Address] = l.w.Listing(n.Address)
	}
	l.mustApply()
	l.mustBeEmpty()
	l.w.Advance(10 * time.Minute)
	l.mustBeEmpty()
	if _, err := l.apply(true); err != nil {
		t.Fatal(err)
	}
	for _, n := range l.cfg.Nodes {
		if after := l.w.Listing(n.Address); after != before[n.Address] {
			t.Errorf("destroy left on %s\n%s", n.Address, difference(before[n.Address], after))
		}
	}
}

// TestNodesAreRemoved removes a worker and a control plane from a cluster that stays.
func TestNodesAreRemoved(t *testing.T) {
	t.Parallel()
	l := newLife(t, 3, 2)
	l.mustApply()
	gone := []string{"10.0.0.13", "10.0.1.12"}
	l.cfg.Nodes = slices.DeleteFunc(l.cfg.Nodes, func(n *config.Node) bool { return slices.Contains(gone, n.Address) })
	l.mustApply()
	l.mustBeEmpty()
	report := l.observe(false).ClusterReports["prod"]
	if len(report.Members) != 2 || len(report.Nodes) != 3 {
		t.Errorf("%d members, %d nodes", len(report.Members), len(report.Nodes))
	}
	blank := sim.New(3, sim.DefaultProfile())
	for _, address := range gone {
		blank.Host(address)
		if want, got := blank.Listing(address), l.w.Listing(address); want != got {
			t.Errorf("%s left\n%s", address, difference(want, got))
		}
	}
}

func difference(before, after string) string {
	var b strings.Builder
	for line := range strings.Lines(after) {
		if !strings.Contains(before, line) {
			b.WriteString("+ " + line)
		}
	}
	for line := range strings.Lines(before) {
		if !strings.Contains(after, line) {
			b.WriteString("- " + line)
		}
	}
	return b.String()
}

// TestChangedArgumentReachesPod checks that the wait for a pod with a changed manifest
// ends.
func TestChangedArgumentReachesPod(t *testing.T) {
	t.Parallel()
	l := newLife(t, 3, 0)
	l.mustApply()
	for _, host := range []string{"10.0.0.11", "10.0.0.12"} {
		if err := sim.Edit(l.w, host, "file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg profiling=false"); err != nil {
			t.Fatal(err)
		}
	}
	before := l.w.Now()
	l.mustApply()
	l.mustBeEmpty()
	if d := l.w.Now().Sub(before); d > time.Minute {
		t.Errorf("it took %s", d)
	}
}
