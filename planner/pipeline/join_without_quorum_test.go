package pipeline_test

import (
	"testing"
	"time"

	"github.com/kubewright/kubewright/config/diag"
)

// TestJoinRefusedWithoutEtcdQuorum checks that control planes do not join an etcd that has lost its quorum, where
// one of three is left of a cluster, and that the text says how to restore it.
func TestJoinRefusedWithoutEtcdQuorum(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	o.edit("10.0.0.12", "power off")
	o.destroy, o.allowUnreachable = true, true
	o.must(o.apply())
	o.destroy, o.allowUnreachable = false, false
	o.edit("10.0.0.12", "power on")
	places(o.config)
	for range 2 {
		wantFindings(t, o.diagnose(), finding{diag.Error, "Control plane cannot join now", "main.hcl:1", "cluster.prod", []string{
			`node.cp["cp1"], node.cp["cp3"] would join cluster "prod"`, "⟨restore FILE⟩",
		}})
		o.world.Advance(time.Hour) // it does not come back by itself
	}
}

// TestJoinWaitsForAPIRepair checks that control planes join after the repair in a plan that brings the API
// back, as after an interrupted apply.
func TestJoinWaitsForAPIRepair(t *testing.T) {
	t.Parallel()
	for name, edits := range map[string][]string{
		"API server stopped": {"file /etc/kubernetes/manifests/kube-apiserver.yaml delete"},
		"kubelet disabled":   {"unit kubelet disable", "power reboot"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 1, 0)
			o.config = cluster(3, 0)
			o.edit("10.0.0.11", edits...)
			o.must(o.apply())
			if o.fleet.ClusterReports["prod"] == nil {
				o.t.Error("the API does not answer")
			}
			o.must(o.apply())
			o.wantNothing()
			o.wantVoters(3)
		})
	}
}
