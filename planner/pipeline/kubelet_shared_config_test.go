package pipeline_test

import (
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
)

// TestSharedKubeletConfigMatchesSingleNodeRendering checks that a configuration that nodes share is rendered once, and
// that each node gets what it would have got alone, whatever distinguishes it from the others.
func TestSharedKubeletConfigMatchesSingleNodeRendering(t *testing.T) {
	t.Parallel()
	cfg := cluster(1, 9)
	cfg.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{"maxPods": 90})
	v := blankHosts(cfg)
	for i, differ := range []func(*config.Node, *state.Facts){
		func(*config.Node, *state.Facts) {},
		func(*config.Node, *state.Facts) {},
		func(_ *config.Node, f *state.Facts) { f.SystemdResolved = true },
		func(_ *config.Node, f *state.Facts) { f.CRISocket = "unix:///var/run/crio/crio.sock" },
		func(n *config.Node, _ *state.Facts) { n.CRISocket = "unix:///var/run/other.sock" },
		func(n *config.Node, _ *state.Facts) { n.CRISocket = "/var/run/other.sock" },
		func(n *config.Node, _ *state.Facts) { n.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 30}) },
		func(n *config.Node, _ *state.Facts) { n.Kubelet.Args = []config.Arg{{Name: "v", Value: "4"}} },
		func(n *config.Node, _ *state.Facts) {
			n.Patches = []config.Patch{{Target: "kubeletconfiguration", Type: "merge", Content: "maxPods: 12\n"}}
		},
		func(_ *config.Node, f *state.Facts) { f.Hostname, f.Arch = "other", "arm64" },
	} {
		differ(cfg.Nodes[i], &v.Reports[cfg.Nodes[i].Target].Facts)
	}
	r, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	for _, n := range cfg.Nodes {
		want, err := kubeadm.KubeletConfig(kubeadm.Input{Cluster: cfg.Clusters[0], Node: n, Facts: &v.Reports[n.Target].Facts})
		if err != nil {
			t.Fatal(err)
		}
		it := r.Desired.Find(state.Address{Target: n.Target, Phase: "kubelet-start", Item: "file:/var/lib/kubelet/config.yaml"})
		if it == nil || string(it.Content) != string(want) {
			t.Errorf("%s gets\n%s\nand alone it would get\n%s", n.Target, it.Content, want)
		}
	}
}
