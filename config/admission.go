package config

// AdmissionPath is the configuration of admission plugins on control planes.
const AdmissionPath = "/etc/kubernetes/admission/configuration.yaml"

// PodSecurityLevels are the Pod Security Standards, from the weakest
// (k8s.io/pod-security-admission/api).
var PodSecurityLevels = []string{"privileged", "baseline", "restricted"}

// OptionalAdmissionPlugins are the plugins that are off in an API server of Kubernetes 1.34 to 1.37
// without an argument (pkg/kubeapiserver/options/plugins.go), but for NodeRestriction, which kubeadm
// switches on.
var OptionalAdmissionPlugins = []string{
	"AlwaysAdmit", "AlwaysDeny", "AlwaysPullImages", "DenyServiceExternalIPs", "EventRateLimit", "ExtendedResourceToleration", "ImagePolicyWebhook",
	"LimitPodHardAntiAffinityTopology", "NamespaceAutoProvision", "NamespaceExists", "OwnerReferencesPermissionEnforcement", "PodNodeSelector", "PodTolerationRestriction",
}
