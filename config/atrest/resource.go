package atrest

import (
	"regexp"
	"slices"
	"strings"
)

// notEncrypted are the resources that are not objects in etcd, or of which other components
// read etcd themselves (k8s.io/apiserver/pkg/apis/apiserver/validation).
var notEncrypted = []string{"apiserveripinfo", "serviceipallocations", "servicenodeportallocations", "bindings", "componentstatuses"}

var (
	resourceName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$`)
	keyName      = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
)

// CheckResource returns why objects of a resource cannot be encrypted; empty if they can.
func CheckResource(name string) string {
	resource, group, _ := strings.Cut(name, ".")
	switch {
	case strings.Contains(name, "*"):
		return "has a wildcard: name each resource, so that its objects can be written again when the key changes"
	case strings.Contains(name, "/"):
		return "is a subresource, which is no object of its own"
	case strings.ToLower(name) != name:
		return "has capital letters: write it as kubectl api-resources does, in plural"
	case !resourceName.MatchString(name):
		return "is no resource: write it as RESOURCE, or as RESOURCE.GROUP, as in \"secrets\" and \"widgets.example.com\""
	case slices.Contains(notEncrypted, resource):
		return "is not stored as objects, and cannot be encrypted"
	case group == "events.k8s.io":
		return "is stored as \"events\": write that"
	case group == "extensions":
		return "is of a group that Kubernetes no longer has"
	}
	return ""
}

// CheckKey reports whether a name can be that of a key: it is part of what etcd holds of every
// object.
func CheckKey(name string) bool { return keyName.MatchString(name) }

// CheckPlugin reports whether a name can be that of a KMS plugin.
func CheckPlugin(name string) bool { return keyName.MatchString(name) }

// Prefix returns the beginning of what etcd holds of an object that the provider of an ID has
// encrypted; empty for Identity (k8s.io/apiserver/pkg/server/options/encryptionconfig).
func Prefix(id string) string {
	kind, name, ok := strings.Cut(id, ":")
	switch {
	case !ok:
		return ""
	case kind == KMS:
		return "k8s:enc:kms:v2:" + name + ":"
	}
	return "k8s:enc:" + kind + ":v1:" + name + ":"
}

// Encrypted is the beginning of what etcd holds of every encrypted object.
const Encrypted = "k8s:enc:"

// Under reports whether what etcd holds of an object is by the provider of an ID.
func Under(id string, stored []byte) bool {
	if id == Identity {
		return !strings.HasPrefix(string(stored[:min(len(stored), len(Encrypted))]), Encrypted)
	}
	p := Prefix(id)
	return len(stored) > len(p) && string(stored[:len(p)]) == p
}

// oddFolders are the resources whose objects are not in the folder of their name
// (pkg/kubeapiserver/default_storage_factory_builder.go).
var oddFolders = map[string]string{
	"replicationcontrollers": "controllers", "endpoints": "services/endpoints", "nodes": "minions", "services": "services/specs", "ingresses.networking.k8s.io": "ingress",
}

// ownGroups are the groups of Kubernetes whose objects are in the folder of their resource. Objects
// of all others are in a folder of the group.
var ownGroups = []string{
	"", "admissionregistration.k8s.io", "apps", "autoscaling", "batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "flowcontrol.apiserver.k8s.io",
	"internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}

// StoredBelow returns the prefix of the keys in etcd of the objects of a resource. Root is the prefix
// of all keys of the API servers.
func StoredBelow(root, name string) string {
	resource, group, _ := strings.Cut(name, ".")
	folder := resource
	if odd, ok := oddFolders[name]; ok {
		folder = odd
	} else if !slices.Contains(ownGroups, group) {
		folder = group + "/" + resource
	}
	return strings.TrimSuffix(root, "/") + "/" + folder + "/"
}
