package pipeline_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner/topology"
)

// TestRotationRefusedWithMissingCAFile checks that no rotation begins while a control plane lacks a file of a CA,
// which would be restored only after it.
func TestRotationRefusedWithMissingCAFile(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"ca.crt", "ca.key", "etcd/ca.crt", "sa.key"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			o.lose("10.0.0.13", lost)
			o.rotate = []topology.Rotation{rotationOf(t, "ca")}
			_, err := o.planShown()
			if err == nil {
				t.Fatal("the plan is not refused")
			}
			for _, want := range []string{`node.cp["cp3"]`, "/etc/kubernetes/pki/" + lost, "requests no rotation", "⟨apply⟩"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %s", err, want)
				}
			}
			o.rotate = nil
			o.must(o.apply())
			o.rotate = []topology.Rotation{rotationOf(t, "ca")}
			o.must(o.apply())
		})
	}
}
