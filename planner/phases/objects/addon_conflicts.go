package objects

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// objectName identifies an object across the versions of its API.
type objectName struct{ group, kind, namespace, name string }

func nameOf(ref state.ObjectRef) objectName {
	group, _, grouped := strings.Cut(ref.APIVersion, "/")
	if !grouped {
		group = ""
	}
	return objectName{group, ref.Kind, ref.Namespace, ref.Name}
}

// RefuseAddonConflicts refuses addons whose manifests have an object that a phase of the cluster
// manages. Both apply it under one field manager, and server-side apply removes fields that the manager
// no longer sends: each would remove the fields that the other one has set.
func RefuseAddonConflicts(c *topology.Cluster) diag.Diagnostics {
	if len(c.Addons) == 0 {
		return nil
	}
	kept := keptObjects(c)
	var diags diag.Diagnostics
	for _, a := range c.Addons {
		for _, o := range a.Objects {
			ref := RefOf(o.Value)
			instead, ok := kept[nameOf(ref)]
			if !ok {
				continue
			}
			diags = append(diags, diag.Errorf("Object is managed by kubewright", "The object %s %q of addon %q is also managed by kubewright itself in cluster %q. "+
				"Each would overwrite the other: remove it from the manifest. %s",
				ref.Kind, ref.Name, a.Name, c.Label, instead).At(addonPlace(c, a)).For(c.Target))
		}
	}
	return diags
}

func addonPlace(c *topology.Cluster, a *config.Addon) state.Source {
	if s, ok := c.Origins[`addon["`+a.Name+`"].manifest`]; ok {
		return s
	}
	return a.Source
}

// keptObjects returns the objects that the cluster's own phases keep as desired, with what to do
// instead of putting them into a manifest. Objects that are written only once, such as the Corefile,
// are not among them, nor are those that the configuration leaves to the user.
func keptObjects(c *topology.Cluster) map[objectName]string {
	out := map[objectName]string{}
	for _, ref := range RefsOfBlocks(c) {
		out[nameOf(ref)] = "A bootstrap_token block creates it."
		if ref == CertsSecret {
			out[nameOf(ref)] = "upload_certs = true creates it."
		}
	}
	for _, n := range c.ControlPlanes() {
		in := n.Input()
		if kubeadm.Check(in) != nil {
			continue // reported by another check, and nothing can be rendered
		}
		for _, o := range kubeadm.Objects(in) {
			once := o.CreateOnly || slices.Equal(provenance.ObjectAttributes(o.Ref, o.Object).Leaves(), o.Initial)
			if !once {
				out[nameOf(o.Ref)] = insteadOf(o)
			}
		}
		break
	}
	return out
}

// insteadOf says how to get the desired effect on an object that kubewright manages.
func insteadOf(o kubeadm.Object) string {
	switch {
	case o.Phase == topology.AddonPhase && (strings.Contains(o.Ref.Name, "coredns") || o.Ref.Name == "kube-dns"):
		return `What can be set is in dns { … }, and a patch with target = "corednsdeployment" changes the Deployment. To bring all of CoreDNS yourself write dns { enabled = false }.`
	case o.Phase == topology.AddonPhase:
		return `What can be set is in kube_proxy { config = { … } } and proxy_env, and from Kubernetes 1.37 a patch with target = "kubeproxydaemonset" changes the DaemonSet. To bring all of kube-proxy yourself write kube_proxy { enabled = false }.`
	case o.Ref == provenance.SystemConfigMap("kubelet-config"):
		return "It is generated from kubelet { config = { … } }."
	case o.Ref == provenance.SystemConfigMap("kubeadm-config"):
		return "It is generated from the settings of the cluster block."
	case o.Ref == state.ClusterInfo:
		return "Nodes join with it; control_plane_endpoint sets where they find the API."
	}
	return "kubeadm and joining nodes need it unchanged. Give one of your own another name."
}
