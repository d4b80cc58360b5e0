package phases_test

import (
	"fmt"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/state"
)

// large is a configuration of three control planes and so many nodes in all.
func large(nodes int) *config.Config {
	cfg := cluster(3, 0)
	for i := 3; i < nodes; i++ {
		cfg.Nodes = append(cfg.Nodes, &config.Node{
			Target: state.NodeKeyTarget("worker", fmt.Sprintf("w%05d", i)), Cluster: "prod", Role: config.Worker,
			Address: fmt.Sprintf("10.%d.%d.%d", 1+i/65536, i/256%256, i%256), Connection: config.Connection{Type: "sim"},
		})
	}
	return cfg
}

// BenchmarkPlanNew plans clusters that are not there yet.
func BenchmarkPlanNew(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			v := blankHosts(large(n))
			b.ReportAllocs()
			for b.Loop() {
				if _, diags := phases.Plan(v, planner.Plan{}, planner.Options{}); diags.HasErrors() {
					b.Fatal(diags.Err())
				}
			}
		})
	}
}

// BenchmarkQuery says what to look at on one host of a large cluster.
func BenchmarkQuery(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			cfg := large(n)
			b.ReportAllocs()
			for b.Loop() {
				phases.HostQuery(cfg, nil, cfg.Nodes[n-1])
			}
		})
	}
}
