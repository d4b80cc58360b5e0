package pipeline_test

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/state"
)

func addresses(t *testing.T, texts ...string) []state.Address {
	t.Helper()
	var out []state.Address
	for _, text := range texts {
		a, err := state.ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

// TestInterruptedStepTouchesItsItemsOnly checks which items an interrupted step may have changed: those of its phase on its target
// and their direct consequences, and no others.
func TestInterruptedStepTouchesItsItemsOnly(t *testing.T) {
	t.Parallel()
	touched := drift.Touched(addresses(t, "node.a/kubelet-start", "node.b/certs@trust-both", "node.c/reset", "cluster.prod/addon", "node.d/install"))
	for text, want := range map[string]bool{
		"node.a/kubelet-start/file:/var/lib/kubelet/config.yaml": true,
		"node.a/kubelet-start":                                            true,
		"node.a/mark-worker/node:a":                                       true,
		"node.a/kubelet-finalize/file:/x":                                 true,
		"node.a/kubelet-wait-bootstrap/file:/etc/kubernetes/kubelet.conf": true,
		"node.d/kubelet-start/unit:kubelet.service":                       true,
		"node.d/images/image:registry.k8s.io/pause:3.10.2":                true,
		"node.a/images/image:registry.k8s.io/pause:3.10.2":                false,
		"node.a/install/package:kubelet":                                  false,
		"node.d/certs/certificate:/x":                                     false,
		"node.a/mark-control-plane/node:a":                                true,
		"node.a/certs/certificate:/x":                                     false,
		"node.b/mark-worker/node:b":                                       false,
		"node.b/certs/certificate:/x":                                     true,
		"node.b/certs@reissue":                                            true,
		"node.b/kubeconfig/file:/x":                                       false,
		"node.c/prepare/sysctl:x":                                         true,
		"cluster.prod/addon/object:x":                                     true,
		"cluster.prod/upload-config/object:x":                             false,
		`cluster.prod.addon["cni"]/addon/object:x`:                        false,
		"cluster.other/addon/object:x":                                    false,
	} {
		if got := touched(addresses(t, text)[0]); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestContinuedPlanDoesNotReplaceAgain checks that a target that was replaced before a plan was interrupted is not replaced
// again by the rest of the plan.
func TestContinuedPlanDoesNotReplaceAgain(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{Nodes: []*config.Node{
		{Target: state.NodeTarget("cp"), Cluster: "prod"}, {Target: state.NodeTarget("w"), Cluster: "prod"}, {Target: state.NodeTarget("x"), Cluster: "other"},
	}}
	asked := []string{"node.cp", "node.w", "cluster.prod/ca", "cluster.prod/service-account", "cluster.other/ca"}
	for _, tt := range []struct {
		name        string
		begun, want []string
	}{
		{"nothing begun", nil, asked},
		{"leaving", []string{"node.w/drain", "node.w/reset"}, asked},
		{"joining", []string{"node.w/drain", "node.w/reset", "node.w/prepare"}, []string{"node.cp", "cluster.prod/ca", "cluster.prod/service-account", "cluster.other/ca"}},
		{"rotating", []string{"node.x/certs@trust-both", "node.x/certs@reissue", "node.x/certs@drop-old"}, []string{"node.cp", "node.w", "cluster.prod/ca", "cluster.prod/service-account", "cluster.other/ca"}},
		{"rotated", []string{"node.x/certs@drop-old", "node.x/certs@rotated"}, []string{"node.cp", "node.w", "cluster.prod/ca", "cluster.prod/service-account"}},
		{"rotated, several", []string{"node.x/certs@rotated", "node.cp/certs@rotated"}, []string{"node.w"}},
	} {
		if got := record.Unreplaced(cfg, asked, addresses(t, tt.begun...)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
