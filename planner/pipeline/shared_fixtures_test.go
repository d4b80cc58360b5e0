package pipeline_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state/statefile"
)

// size is what distinguishes the clusters of cluster(), including the version of their kubelets.
type size struct {
	planes, workers int
	version         string
}

// foundings caches clusters by their size. The first test that needs one bootstraps it: func()
// (*operator, error) returns the same operator each time.
var foundings sync.Map

// founded returns an operator with a running cluster and nothing left to do. Hosts, state and
// configuration are copies that no other test sees. Tests of the bootstrap itself begin with
// newOperator.
func founded(t testing.TB, planes, workers int) *operator {
	t.Helper()
	return size{planes, workers, sim.DefaultProfile().KubeletVersion}.founded(t)
}

// running is founded in a given version.
func running(t testing.TB, planes, workers int, version string) *operator {
	t.Helper()
	o := size{planes, workers, version}.founded(t)
	o.world.Advance(time.Minute)
	return o
}

func (s size) founded(t testing.TB) *operator {
	t.Helper()
	once, _ := foundings.LoadOrStore(s, sync.OnceValues(func() (*operator, error) { return s.found(t) }))
	first, err := once.(func() (*operator, error))()
	if err != nil {
		t.Fatal(err)
	}
	o := first.copy(t)
	o.config, o.fleet, o.result = s.config(), nil, topology.Result{}
	return o
}

func (s size) config() *config.Config {
	cfg := cluster(s.planes, s.workers)
	cfg.Clusters[0].KubernetesVersion = s.version
	return cfg
}

func (s size) found(t testing.TB) (*operator, error) {
	o := newOperator(t, s.config())
	if s.version != sim.DefaultProfile().KubeletVersion {
		o.kubelets(s.version)
	}
	if err := o.apply(); err != nil {
		return nil, err
	}
	p, err := o.plan()
	if err == nil && !p.Empty() {
		err = fmt.Errorf("the plan is not empty:\n%s", describe(p))
	}
	return o, err
}

// copy returns an operator in the same condition, with its own hosts, state and blocks of clusters and
// nodes, and with the same plan to carry out.
func (o *operator) copy(t testing.TB) *operator {
	t.Helper()
	out, cfg := *o, *o.config
	out.t, out.world, out.config = t, o.world.Clone(), &cfg
	cfg.Clusters, cfg.Nodes = copies(cfg.Clusters), copies(cfg.Nodes)
	if o.recorded != nil {
		recorded, err := statefile.Fold(o.recorded, nil)
		out.must(err)
		// A fold shares what it does not change, and tests write into it.
		for target, n := range recorded.Nodes {
			another := *n
			recorded.Nodes[target] = &another
		}
		for name, c := range recorded.Clusters {
			another := *c
			recorded.Clusters[name] = &another
		}
		out.recorded = recorded
	}
	return &out
}

// copies returns a list of pointers to copies of the values.
func copies[T any](list []*T) []*T {
	var out []*T
	for _, p := range list {
		another := *p
		out = append(out, &another)
	}
	return out
}

// TestSharedFixturesAreIndependent checks that no other test sees what a test writes into its cluster.
func TestSharedFixturesAreIndependent(t *testing.T) {
	t.Parallel()
	mine, theirs := founded(t, 1, 1), founded(t, 1, 1)
	mine.config.Nodes[0].Name = "mine"
	for _, n := range mine.recorded.Nodes {
		n.Name = "mine"
	}
	for _, c := range mine.recorded.Clusters {
		c.Version = "mine"
	}
	if theirs.config.Nodes[0].Name == "mine" {
		t.Error("the configuration is shared")
	}
	for target, n := range theirs.recorded.Nodes {
		if n.Name == "mine" {
			t.Errorf("the record of %s is shared", target)
		}
	}
	for name, c := range theirs.recorded.Clusters {
		if c.Version == "mine" {
			t.Errorf("the record of cluster %s is shared", name)
		}
	}
}
