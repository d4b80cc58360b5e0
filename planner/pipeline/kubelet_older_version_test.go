package pipeline_test

import (
	"maps"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// TestSettingsUnknownToOlderKubeletAreRefused checks that settings that an older kubelet does not know, and would not
// start with, are refused with the nodes, and that settings that it knows are written.
func TestSettingsUnknownToOlderKubeletAreRefused(t *testing.T) {
	t.Parallel()
	gate := state.FromGo(map[string]any{"featureGates": map[string]any{"CRIListStreaming": true}})
	line := state.Source{File: "main.hcl", Line: 7, Column: 1}
	refused := finding{diag.Error, "Configuration does not fit a kubelet", line.String(), "cluster.prod", []string{"Upgrade it to 1.37.1 first"}}
	unknown := refused.saying(`kubelet 1.34 has no feature gate "CRIListStreaming", and would not start`)
	const behind = `A kubelet of 1.34 is on node.worker["w1"], while the cluster is at 1.37.1.`
	for name, c := range map[string]struct {
		change func(cl *config.Cluster, w1, w2 *config.Node)
		want   []finding
	}{
		"a gate of the cluster's": {func(cl *config.Cluster, _, _ *config.Node) {
			cl.Kubelet.Config, cl.Origins["kubelet.config.featureGates.CRIListStreaming"] = gate, line
		}, []finding{unknown.saying(behind)}},
		"a gate of the node's": {func(_ *config.Cluster, w1, _ *config.Node) {
			w1.Kubelet.Config, w1.Origins = gate, config.Origins{"kubelet.config.featureGates.CRIListStreaming": line}
		}, []finding{unknown.saying(behind)}},
		"a gate of another node's": {func(_ *config.Cluster, _, w2 *config.Node) { w2.Kubelet.Config = gate }, nil},
		"a gate by a patch": {func(cl *config.Cluster, _, _ *config.Node) {
			cl.Patches = []config.Patch{{Target: "kubeletconfiguration", Type: "merge", Content: "featureGates: {CRIListStreaming: true}", Source: line}}
		}, []finding{unknown.saying(behind)}},
		"a field": {func(cl *config.Cluster, _, _ *config.Node) {
			cl.Kubelet.Config = state.FromGo(map[string]any{"memoryReservationPolicy": "TieredReservation", "featureGates": map[string]any{"MemoryQoS": true}})
			cl.Origins["kubelet.config.memoryReservationPolicy"] = line
		}, []finding{refused.saying("The kubelet knows memoryReservationPolicy since Kubernetes 1.36, and would not start with it.", behind)}},
		"what it knows": {func(cl *config.Cluster, _, _ *config.Node) {
			cl.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 50})
		}, nil},
		"an argument of the API server's": {func(cl *config.Cluster, _, _ *config.Node) {
			cl.APIServer.Component.Args = []config.Arg{{Name: "feature-gates", Value: "CRIListStreaming=true"}}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := running(t, 1, 2, "1.37.1")
			o.edit("10.0.0.21", "install kubelet=1.34.9", "unit kubelet restart")
			cl := places(o.config).Clusters[0]
			cl.Origins = maps.Clone(cl.Origins)
			if cl.Origins == nil {
				cl.Origins = config.Origins{}
			}
			c.change(cl, o.config.Nodes[1], o.config.Nodes[2])
			diags := o.diagnose()
			wantFindings(t, diags, append(c.want, finding{diag.Warning, "Kubelet is not upgraded", "main.hcl:1", "", []string{"1.34.9"}})...)
		})
	}
}
