package pipeline

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// checkPods refuses static pods that could not run with all patches and with the volumes that depend on
// the host: a host's folders of CA certificates are mounted as well.
func checkPods(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		said := map[string]bool{}
		for _, n := range c.ControlPlanes() {
			for _, component := range staticpod.PodComponents {
				d := checkPod(n, component)
				if d != nil && !said[d.Summary+d.Detail] {
					said[d.Summary+d.Detail] = true
					diags = append(diags, d.For(n.Target))
				}
			}
		}
	}
	return diags
}

// checkPod is checkPods for one pod.
func checkPod(n *topology.Node, component string) *diag.Diagnostic {
	if n.Report == nil || component == "etcd" && n.Cluster.Etcd.External != nil {
		return nil
	}
	content, err := staticpod.StaticPod(n, component)
	if err != nil {
		return nil // refused where it is rendered
	}
	pod, err := kubeadm.YAMLDocument(content)
	if err != nil {
		return nil
	}
	if what := usedTwice(pod.Get("spec")); what != "" {
		return diag.Errorf("Pod would be rejected", "The pod of %s on a control plane would have %s, and the kubelet rejects such a pod. "+
			"Give the volume another name or path, or omit it where kubeadm adds the same.", component, what).At(podPlace(n, component))
	}
	if component != "kube-apiserver" {
		return nil
	}
	tree, err := staticpod.ManifestTree(n, component)
	if err != nil {
		return nil
	}
	for _, a := range slices.Backward(tree.Get("args").AsArgs()) {
		if kubeadm.FlagName(component, a.Name) != "anonymous-auth" {
			continue
		}
		value := a.Of()
		if allowed, err := strconv.ParseBool(value.AsString()); err == nil && !allowed {
			return diag.Errorf("Probes would be rejected", "%s", config.AnonymousProbes).At(podPlace(n, component))
		}
		break
	}
	return nil
}

// usedTwice names a volume, or a path in a container, that a pod has twice; empty for none.
func usedTwice(spec state.Value) string {
	names := map[string]bool{}
	for _, v := range spec.Get("volumes").AsList() {
		name := v.Get("name").AsString()
		if names[name] {
			return fmt.Sprintf("two volumes with the name %q", name)
		}
		names[name] = true
	}
	for _, c := range slices.Concat(spec.Get("containers").AsList(), spec.Get("initContainers").AsList()) {
		at := map[string]string{}
		for _, m := range c.Get("volumeMounts").AsList() {
			p := path.Clean(m.Get("mountPath").AsString())
			if before, ok := at[p]; ok {
				return fmt.Sprintf("the volumes %q and %q at the path %s", before, m.Get("name").AsString(), p)
			}
			at[p] = m.Get("name").AsString()
		}
	}
	return ""
}

// podPlace returns the last place in the configuration that changes a pod: the last patch, else the
// last volume, else the cluster's block.
func podPlace(n *topology.Node, component string) state.Source {
	if patches := kubeadm.Patches(n.Input(), component); len(patches) > 0 {
		return patches[len(patches)-1].Source
	}
	volumes := map[string][]config.Volume{
		"kube-apiserver": n.Cluster.APIServer.Volumes, "kube-controller-manager": n.Cluster.ControllerManager.Volumes, "kube-scheduler": n.Cluster.Scheduler.Volumes,
	}[component]
	if len(volumes) > 0 {
		return volumes[len(volumes)-1].Source
	}
	return n.Cluster.Source
}
