package pipeline_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/growth"
)

// sizes are the numbers of nodes to plan for.
var sizes = []int{5, 100, 1000, 10000}

// large returns a configuration of three control planes and this many nodes in all.
func large(nodes int) *config.Config {
	cfg := cluster(3, 0)
	for i := 3; i < nodes; i++ {
		cfg.Nodes = append(cfg.Nodes, &config.Node{
			Target: state.NodeKeyTarget("worker", fmt.Sprintf("w%05d", i)), Cluster: "prod", Role: config.Worker,
			Address: fmt.Sprintf("10.%d.%d.%d", 1+i/65536, i/256%256, i%256), Connection: config.Connection{Type: "ssh"},
		})
	}
	return cfg
}

// settled returns a view with nothing to do: a simulated cluster of three control planes and one
// worker, whose worker is duplicated until there are enough nodes.
func settled(b *testing.B, nodes int) *topology.Fleet {
	b.Helper()
	o := newOperator(b, large(4))
	if err := o.apply(); err != nil {
		b.Fatal(err)
	}
	v := o.observe()
	cfg := large(nodes)
	first := cfg.Nodes[3]
	report, recorded, api := v.Reports[first.Target], v.Recorded, v.ClusterReports["prod"]
	items := itemsOf(recorded, first.Target)
	object := api.Nodes[recorded.Nodes[first.Target].Name]
	for _, n := range cfg.Nodes[4:] {
		name := n.Target.Key
		r, marks, rec := *report, *report.Marks, *recorded.Nodes[first.Target]
		r.Facts.Hostname, r.Facts.MachineID, r.Facts.Addresses, marks.Node, r.Marks = name, name, []string{n.Address}, n.Target, &marks
		rec.Name, rec.MachineID, rec.Address = name, name, n.Address
		v.Reports[n.Target], recorded.Nodes[n.Target], api.Nodes[name] = &r, &rec, object
		for _, it := range items {
			it.Address.Target = n.Target
			if it.Kind == state.KindMark {
				attrs := maps.Clone(it.Attributes.AsMap())
				attrs["node"] = state.String(n.Target.String())
				it.Attributes = state.Map(attrs)
			}
			recorded.Items = append(recorded.Items, it)
		}
	}
	slices.SortFunc(recorded.Items, func(x, y state.Item) int { return x.Address.Compare(y.Address) })
	v.Config = cfg
	return v
}

func itemsOf(st *state.State, t state.Target) []state.Item {
	var out []state.Item
	for _, it := range st.Items {
		if it.Address.Target == t {
			out = append(out, it)
		}
	}
	return out
}

func mustPlan(b *testing.B, v *topology.Fleet, empty bool) {
	b.Helper()
	r, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	if diags.HasErrors() {
		b.Fatal(diags.Err())
	}
	if r.Plan.Empty() != empty {
		b.Fatalf("the plan has %d changes", len(r.Plan.Changes))
	}
}

// BenchmarkPlanNew plans a cluster that does not exist yet.
func BenchmarkPlanNew(b *testing.B) {
	growth.Run(b, "nodes", sizes, func(b *testing.B, n int) func() {
		v := blankHosts(large(n))
		return func() { mustPlan(b, v, false) }
	})
}

// BenchmarkPlanUnchanged plans a cluster with nothing to do.
func BenchmarkPlanUnchanged(b *testing.B) {
	growth.Run(b, "nodes", sizes, func(b *testing.B, n int) func() {
		v := settled(b, n)
		return func() { mustPlan(b, v, true) }
	})
}

// BenchmarkQueries computes what to observe on all hosts of a cluster.
func BenchmarkQueries(b *testing.B) {
	growth.Run(b, "nodes", sizes, func(b *testing.B, n int) func() {
		v := settled(b, n)
		return func() { observe.Queries(v.Config, v.Recorded) }
	})
}
