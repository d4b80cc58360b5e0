package pipeline

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hardening"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// kubeletTarget is the target of patches of the kubelet's configuration.
const kubeletTarget = "kubeletconfiguration"

// places are where a hardening block's controls have the settings of what patches change.
var places = map[string]hardening.Place{
	"kube-apiserver": hardening.APIServer, "kube-controller-manager": hardening.ControllerManager, "kube-scheduler": hardening.Scheduler,
	"etcd": hardening.Etcd, kubeletTarget: hardening.Kubelet,
}

// checkPatches refuses patches that make a component contradict a control of the hardening block. Without
// patches the settings are checked when the configuration is loaded.
func checkPatches(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Hardening == nil || v.Destroy {
			continue
		}
		said := map[string]bool{}
		for _, n := range c.Nodes {
			targets := []string{kubeletTarget}
			if n.IsControlPlane() {
				targets = append(targets, staticpod.PodComponents...)
			}
			for _, target := range targets {
				for _, d := range contradictingPatches(n, target) {
					if key := d.Subject.String() + d.Detail; !said[key] {
						said[key] = true
						diags = append(diags, d.For(n.Target))
					}
				}
			}
		}
	}
	return diags
}

// contradictingPatches returns the errors about the patches of one component of a node.
func contradictingPatches(n *topology.Node, target string) []*diag.Diagnostic {
	patches := kubeadm.Patches(n.Input(), target)
	if n.Report == nil || len(patches) == 0 || target == "etcd" && n.Cluster.Etcd.External != nil {
		return nil
	}
	var stages []hardening.Values // without patches, and after each
	for i := range len(patches) + 1 {
		values, err := settingsOf(n, target, i)
		if err != nil {
			return nil // refused where it is rendered
		}
		stages = append(stages, values)
	}
	var out []*diag.Diagnostic
	for _, c := range hardening.Patched(n.Cluster.Cluster, places[target], stages[0], stages[len(patches)]) {
		at := patches[0].Source
		for i, p := range patches { // the last one that makes it so
			found := hardening.Patched(n.Cluster.Cluster, places[target], stages[i], stages[i+1])
			if slices.ContainsFunc(found, func(o hardening.Contradiction) bool { return o.Setting == c.Setting }) {
				at = p.Source
			}
		}
		out = append(out, diag.Errorf(hardening.Contradicts, "%s", c.Text).At(at))
	}
	return out
}

// settingsOf returns the settings of a component with its first patches.
func settingsOf(n *topology.Node, target string, count int) (hardening.Values, error) {
	in := provenance.WithPatches(n.Input(), target, count)
	if target == kubeletTarget {
		content, err := kubeadm.KubeletConfig(in)
		if err != nil {
			return nil, err
		}
		tree, err := n.Cluster.Fleet.Cache.Tree(state.KindYAMLFile, content)
		return func(name string) (string, bool) {
			v := tree.Get(name)
			return hardening.Text(v), !v.IsNull()
		}, err
	}
	content, err := staticpod.Rendered(in, target)
	if err != nil {
		return nil, err
	}
	tree, err := n.Cluster.Fleet.Cache.Tree(state.KindStaticPod, content)
	return func(name string) (value string, set bool) {
		for _, a := range tree.Get("args").AsArgs() { // the last one of several counts
			if kubeadm.FlagName(target, a.Name) == name {
				v := a.Of()
				value, set = v.AsString(), true
			}
		}
		return value, set
	}, err
}
