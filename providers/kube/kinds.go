package kube

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// known is how a built-in kind of Kubernetes is addressed, in every version of its group.
type known struct {
	resource   string
	namespaced bool
}

// kinds returns the kinds that clusters and their addons consist of. Discovery finds the
// rest; this table only saves requests.
func kinds() map[schema.GroupKind]known {
	out := map[schema.GroupKind]known{}
	for _, group := range []struct {
		name, namespaced, cluster string
	}{
		{"", "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount", "Namespace Node PersistentVolume"},
		{"apps", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet", ""},
		{"batch", "CronJob Job", ""},
		{"autoscaling", "HorizontalPodAutoscaler", ""},
		{"policy", "PodDisruptionBudget", ""},
		{"coordination.k8s.io", "Lease", ""},
		{"discovery.k8s.io", "EndpointSlice", ""},
		{"networking.k8s.io", "Ingress NetworkPolicy", "IngressClass"},
		{"rbac.authorization.k8s.io", "Role RoleBinding", "ClusterRole ClusterRoleBinding"},
		{"storage.k8s.io", "CSIStorageCapacity", "CSIDriver CSINode StorageClass VolumeAttachment"},
		{"scheduling.k8s.io", "", "PriorityClass"},
		{"node.k8s.io", "", "RuntimeClass"},
		{"certificates.k8s.io", "", "CertificateSigningRequest"},
		{"apiextensions.k8s.io", "", "CustomResourceDefinition"},
		{"apiregistration.k8s.io", "", "APIService"},
		{"admissionregistration.k8s.io", "", "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"},
		{"flowcontrol.apiserver.k8s.io", "", "FlowSchema PriorityLevelConfiguration"},
	} {
		for _, kind := range strings.Fields(group.namespaced) {
			out[schema.GroupKind{Group: group.name, Kind: kind}] = known{plural(kind), true}
		}
		for _, kind := range strings.Fields(group.cluster) {
			out[schema.GroupKind{Group: group.name, Kind: kind}] = known{plural(kind), false}
		}
	}
	return out
}

// plural returns the resource of one of the kinds above.
func plural(kind string) string {
	s := strings.ToLower(kind)
	switch {
	case s == "endpoints":
		return s
	case strings.HasSuffix(s, "s"), strings.HasSuffix(s, "class"):
		return s + "es"
	case strings.HasSuffix(s, "cy"), strings.HasSuffix(s, "ity"):
		return strings.TrimSuffix(s, "y") + "ies"
	}
	return s + "s"
}

func isSubresource(name string) bool { return strings.Contains(name, "/") }
