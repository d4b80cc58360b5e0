package phases_test

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/planner/phases"
)

// The pods of a node are looked at when it may have to be emptied.
func TestPodsAreLookedAt(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 2)
	all := o.config.Nodes
	asked := func() []string {
		v := o.observe()
		return phases.ClusterQuery(o.config, o.recorded, "prod").Drained(v.Clusters["prod"].Nodes)
	}
	if got := asked(); got != nil {
		t.Errorf("nothing is to change, and asked is for %v", got)
	}
	o.config.Nodes = slices.Delete(slices.Clone(all), 2, 3)
	if got := asked(); len(got) != 1 {
		t.Errorf("one leaves, and asked is for %v", got)
	}
	o.config.Nodes = all
	o.config.Clusters[0].KubernetesVersion = "1.37.1"
	if got := asked(); len(got) != 3 {
		t.Errorf("all are upgraded, and asked is for %v", got)
	}
}
