package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/engine"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
)

// operator plans and applies in a simulated world, with the state in memory.
type operator struct {
	t        testing.TB
	world    *sim.World
	config   *config.Config
	recorded *state.State
	journal  []state.Entry
	token    int64
	destroy  bool
	// allowUnreachable is the flag -allow-unreachable.
	allowUnreachable bool
	allowOlder       bool
	// replace, accept and forget are the flags of these names.
	replace, accept, forget []state.Target
	// rotate are the CAs and keys that -replace names.
	rotate []topology.Rotation
	// around is called before each step.
	around func(*planner.Step) error
	// meanwhile is called whenever a step evaluates its gates again.
	meanwhile func(*planner.Step)
	fleet     *topology.Fleet
	result    topology.Result
	// said are the diagnostics of the last plan.
	said diag.Diagnostics
	// artifacts is the folder of artifacts.
	artifacts string
	// parallelism is how many steps run at once; 0 means one.
	parallelism int
}

func newOperator(t testing.TB, cfg *config.Config) *operator {
	t.Helper()
	w := sim.New(1, sim.DefaultProfile())
	w.PodHash = kubeadm.StaticPodHash
	return &operator{t: t, world: w, config: cfg}
}

// lineage is the lineage of the operator's state.
const lineage = "l1"

// hosts returns the hosts of configuration and state, in the simulated world.
func (o *operator) hosts() *hosts.Hosts {
	return hosts.List(hosts.Simulated(o.world), o.config, o.recorded, hosts.Options{Now: o.world.Now})
}

// observe observes every host, and the API and etcd of the cluster, with the engine.
func (o *operator) observe() *topology.Fleet {
	all := o.hosts()
	all.Replace, all.Rotate, all.Destroys = o.replace, o.rotate, o.destroy
	v := all.Observe(context.Background(), o.config, o.recorded)
	v.Destroy, v.AllowUnreachable, v.AllowOlderState, v.ObservedAt = o.destroy, o.allowUnreachable, o.allowOlder, o.world.Now()
	v.Replace, v.AcceptNewHost, v.ForgetUnreachable, v.Rotate = o.replace, o.accept, o.forget, o.rotate
	return v
}

// plan observes and plans.
func (o *operator) plan() (*planner.Plan, error) {
	o.fleet = o.observe()
	if o.recorded != nil {
		o.fleet.Key = state.NewKey(o.recorded.FingerprintKey)
	}
	r, diags := pipeline.Plan(o.fleet, planner.Plan{}, planner.Options{})
	o.said = diags
	if diags.HasErrors() {
		i := slices.IndexFunc(diags, func(d *diag.Diagnostic) bool { return d.Severity == diag.Error })
		return nil, fmt.Errorf("%s: %s", diags[i].Summary, diags[i].Detail)
	}
	o.result, o.fleet = r, r.Fleet
	return r.Plan, errors.Join(together(r.Plan), rolledOut(o.fleet, r.Plan), priced(o.fleet, r.Plan))
}

// planShown is plan, and also compares the findings with their recorded texts.
func (o *operator) planShown() (*planner.Plan, error) {
	o.t.Helper()
	p, err := o.plan()
	show(o.t, o.said...)
	return p, err
}

// Append keeps the entry until the journal is folded.
func (o *operator) Append(e state.Entry) error {
	o.journal = append(o.journal, e)
	return nil
}

// fold folds the journal into the state.
func (o *operator) fold() error {
	st, err := statefile.Fold(o.recorded, o.journal)
	if err == nil {
		o.recorded, o.journal = st, nil
	}
	return err
}

// apply plans and executes once, and records what it observes afterwards.
func (o *operator) apply() error {
	if _, err := o.plan(); err != nil {
		return err
	}
	return o.carryOut()
}

// carryOut executes the last plan, and records what it observes afterwards.
func (o *operator) carryOut() error {
	if o.recorded == nil {
		o.recorded = &state.State{FormatVersion: 1, Lineage: lineage, FingerprintKey: "k1"}
	}
	o.token++
	run := (&engine.Run{
		Hosts: o.hosts(), Config: o.config, Recorded: o.recorded, Observed: o.fleet, Result: o.result,
		Lineage: lineage, ID: fmt.Sprint("run ", o.token), Leaseless: true,
		Artifacts: func(state.Target) (string, error) { return o.artifacts, nil }, Snapshots: o.t.TempDir(),
	}).NewRunner()
	defer run.Performer.Close()
	gates := run.Performer.Gates
	run.Performer.Gates = func(ctx context.Context, s *planner.Step) error {
		if o.meanwhile != nil {
			o.meanwhile(s)
		}
		return gates(ctx, s)
	}
	plan := *o.result.Plan
	plan.Lineage = lineage
	out, err := executor.Execute(context.Background(), &plan, runner{o, run}, o, executor.Options{ID: run.ID, Token: o.token, Parallelism: max(o.parallelism, 1), Heartbeat: -1})
	if err := errors.Join(err, o.fold()); err != nil {
		return err
	}
	if !out.OK() {
		for _, s := range out.Steps {
			if s.Err != nil {
				return fmt.Errorf("%s: %w", s.Step, s.Err)
			}
		}
	}
	o.replace, o.accept, o.forget, o.rotate = nil, nil, nil, nil
	if o.destroy {
		return nil
	}
	if _, err := o.plan(); err != nil {
		return err
	}
	o.journal = []state.Entry{{Kind: state.EntryDone, Lineage: lineage, Learned: record.Record(o.fleet, o.result)}}
	if err := o.fold(); err != nil {
		return err
	}
	return o.allSeen()
}

// allSeen checks that every step was observed as done if nothing is left to do and all hosts, the API
// and etcd have answered.
func (o *operator) allSeen() error {
	dark := len(o.fleet.Unobserved)+len(o.fleet.ClusterErrors) > 0
	for _, c := range o.config.Clusters {
		r := o.fleet.ClusterReports[c.Label]
		dark = dark || c.Etcd.External == nil && (r == nil || r.Members == nil)
	}
	if len(o.result.Open) == 0 && !dark && len(o.recorded.Unseen) > 0 {
		return fmt.Errorf("nothing is left to do, and %v was not observed", o.recorded.Unseen)
	}
	return nil
}

// runner is the engine's runner, with the test's hook before each step.
type runner struct {
	o *operator
	*engine.Runner
}

func (r runner) RunStep(ctx context.Context, s *planner.Step, run executor.Run, report func(executor.OpEvent) error) (executor.Result, error) {
	if r.o.around != nil {
		if err := r.o.around(s); err != nil {
			return executor.Result{}, err
		}
	}
	return r.Runner.RunStep(ctx, s, run, report)
}

// describe prints the changes and steps of a plan.
func describe(p *planner.Plan) string {
	var b strings.Builder
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "%s %s (%s)\n", c.Action, c.Address, c.Reason)
		for _, a := range c.Attributes {
			before, _ := a.Before.MarshalJSON()
			after, _ := a.After.MarshalJSON()
			fmt.Fprintf(&b, "    %s: %s -> %s\n", a.Path, before, after)
		}
	}
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "step %s\n", s.ID)
	}
	return b.String()
}

func (o *operator) wantNothing() {
	o.t.Helper()
	p, err := o.plan()
	if err != nil {
		o.t.Fatal(err)
	}
	if !p.Empty() {
		o.t.Fatalf("the plan is not empty:\n%s", describe(p))
	}
}

func TestClusterLifeFromBootstrapToDestroy(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{1, 0}, {3, 2}} {
		t.Run(fmt.Sprintf("%d+%d", size[0], size[1]), func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, cluster(size[0], size[1]))
			if err := o.apply(); err != nil {
				t.Fatal(err)
			}
			o.wantNothing()
			o.destroy = true
			if err := o.apply(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func (o *operator) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *operator) listings() string {
	var b strings.Builder
	for _, n := range o.config.Nodes {
		fmt.Fprintf(&b, "== %s\n%s", n.Address, o.world.Listing(n.Address))
	}
	return b.String()
}

func TestDestroyLeavesNothing(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(3, 2))
	before := o.listings()
	o.must(o.apply())
	o.destroy = true
	o.must(o.apply())
	if after := o.listings(); after != before {
		t.Errorf("hosts differ from before; RemovedPaths in planner/reset lists what goes, FoldersBefore in planner/topology the folders that stay if they were there:\n%s", udiff.Unified("before", "after", before, after))
	}
	if len(o.recorded.Nodes) != 0 {
		t.Errorf("the state still has %d nodes", len(o.recorded.Nodes))
	}
}

// TestDriftIsShownAndCorrected changes things by hand and checks that each change is shown and corrected.
func TestDriftIsShownAndCorrected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ host, edit, want string }{
		{"10.0.0.12", "file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg profiling=false", "args.profiling: \"false\" -> null"},
		{"10.0.0.21", "yaml /var/lib/kubelet/config.yaml set maxPods=50", "maxPods: 50 -> null"},
		{"10.0.0.11", "label host-10-0-0-12 node.kubernetes.io/exclude-from-external-load-balancers=x", "exclude-from-external-load-balancers"},
		{"10.0.0.13", "unit kubelet stop", "active: \"inactive\" -> \"active\""},
	} {
		t.Run(c.edit, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 1)
			o.must(sim.Edit(o.world, c.host, c.edit))
			p, err := o.plan()
			o.must(err)
			text := describe(p)
			if !strings.Contains(text, c.want) || !strings.Contains(text, planner.ReasonDrift) || len(p.Steps) != 1 {
				t.Errorf("want a plan with one step that corrects %q:\n%s", c.want, text)
			}
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}

func TestRemovedWorkerHostIsRestored(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(3, 2))
	before := o.world.Listing("10.0.0.22")
	o.must(o.apply())
	o.config.Nodes = o.config.Nodes[:4]
	p, err := o.plan()
	o.must(err)
	if add, change, destroy := p.Counts(); add+change != 0 || destroy != 1 {
		t.Errorf("counts are %d, %d, %d; want 1 to destroy:\n%s", add, change, destroy, describe(p))
	}
	o.must(o.carryOut())
	o.wantNothing()
	if after := o.world.Listing("10.0.0.22"); after != before {
		t.Errorf("the host is not as it was:\n%s", udiff.Unified("before", "after", before, after))
	}
}

func TestControlPlaneIsRemovedAndRejoins(t *testing.T) {
	t.Parallel()
	for _, gone := range []int{0, 1, 2} {
		t.Run(fmt.Sprintf("cp%d", gone+1), func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 1)
			all := o.config.Nodes
			o.config.Nodes = slices.Delete(slices.Clone(all), gone, gone+1)
			o.must(o.apply())
			o.wantNothing()
			o.config.Nodes = all
			o.must(o.apply())
			o.wantNothing()
		})
	}
}

// TestUnreachableDepartureStaysInState checks that a node whose block is gone and whose host does not answer stays in the
// state, and that neither its host nor etcd is changed.
func TestUnreachableDepartureStaysInState(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	gone := o.config.Nodes[2]
	o.config.Nodes = slices.Delete(slices.Clone(o.config.Nodes), 2, 3)
	o.must(sim.Edit(o.world, gone.Address, "power off"))
	if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), "⟨+without-silent⟩") {
		t.Errorf("the plan is not refused: %v", err)
	}
	o.allowUnreachable = true
	p, err := o.plan()
	o.must(err)
	if len(p.Quorum) != 1 || !strings.Contains(p.Quorum[0], "3 members throughout, 1 of which could not be observed") {
		t.Errorf("quorum: %q", p.Quorum)
	}
	if len(p.Steps) != 0 || len(p.Withheld) != 1 || p.Withheld[0].Target != gone.Target {
		t.Errorf("steps %v, withheld %v; want nothing but that %s is withheld", p.Steps, p.Withheld, gone.Target)
	}
	if o.recorded.Nodes[gone.Target] == nil {
		t.Error("the node is forgotten")
	}
}

// TestUnreachableControlPlaneBlocksChanges checks that nothing is bootstrapped or changed while a control plane does not
// answer.
func TestUnreachableControlPlaneBlocksChanges(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{false, true} {
		o := newOperator(t, cluster(3, 1))
		if applied {
			o = founded(t, 3, 1)
		}
		o.must(sim.Edit(o.world, "10.0.0.13", "power off"))
		if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), "Control plane could not be observed") {
			t.Errorf("applied %v: the plan is not refused: %v", applied, err)
		}
	}
}

// TestReinstalledControlPlaneIsRefused checks that a host that has lost the data of a listed etcd member is not
// accepted as before.
func TestReinstalledControlPlaneIsRefused(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	for _, path := range []string{"/etc/kubernetes", "/var/lib/kubelet", "/var/lib/etcd", "/var/lib/kubewright"} {
		o.must(sim.Edit(o.world, "10.0.0.13", "unit kubelet stop"))
		o.must(sim.Edit(o.world, "10.0.0.13", "file "+path+" delete"))
	}
	_, err := o.planShown()
	for _, want := range []string{"Etcd member has lost its data", "as member host-10-0-0-13, but", `⟨apply +replace=node.cp["cp3"]⟩`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the plan is not refused with %q: %v", want, err)
		}
	}
}
