package record_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestRecoverRequiresTheAPIOfAClusterWithData checks that a state is rebuilt without the API only
// where no control plane holds data of etcd, wherever the cluster keeps it.
func TestRecoverRequiresTheAPIOfAClusterWithData(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, dir string
		holds     bool
	}{
		{"data in the default folder", config.DefaultEtcdDataDir, true},
		{"data in another folder", "/srv/etcd", true},
		{"no data", config.DefaultEtcdDataDir, false},
		{"no data in another folder", "/srv/etcd", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(1, 0, tt.SilentAPI(), tt.Cluster(func(cl *config.Cluster) { cl.Etcd.DataDir = c.dir }), func(v *topology.Fleet) {
				delete(v.Reports[tt.CP(1)].Files, config.DefaultEtcdDataDir+"/member")
				v.Reports[tt.CP(1)].Files[c.dir+"/member"] = state.FileReport{Exists: c.holds, Type: "directory"}
			})
			_, diags := record.Recover(v)
			refused := false
			for _, d := range diags {
				refused = refused || strings.Contains(d.Detail, "a cluster that has data is recovered only while it runs")
			}
			if refused != c.holds {
				t.Errorf("refused for its data: %v, want %v: %v", refused, c.holds, diags)
			}
		})
	}
}
