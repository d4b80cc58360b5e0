package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Object is an API object other than a Node.
type Object struct {
	// Live is the object as shown by the API, Applied as last applied by kubewright.
	Live    state.Value `json:"live"`
	Applied state.Value `json:"applied,omitzero"`
	// Trusts are the CAs by which its pods have verified API servers since they started.
	Trusts []string `json:"trusts,omitempty"`
	// Token is the token that its pods send to API servers, or that a Secret contains.
	Token *PodToken `json:"token,omitempty"`
	// Key is the provider that has encrypted it, with the fingerprint of its key; empty for none.
	Key string `json:"key,omitempty"`
}

// Name returns the object's name.
func (o *Object) Name() string { return o.Live.Get("metadata.name").AsString() }

// HostPaths returns the host folders that the pods of an object mount.
func (o *Object) HostPaths() []string {
	var out []string
	for _, v := range o.Live.Get("spec.template.spec.volumes").AsList() {
		if p := v.Get("hostPath.path").AsString(); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// ClusterRoleBinding returns the reference of a ClusterRoleBinding.
func ClusterRoleBinding(name string) state.ObjectRef {
	return state.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding", Name: name}
}

// SystemNamespaces are the namespaces of every cluster.
var SystemNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// KeptNamespaces are the namespaces that an API server does not delete.
var KeptNamespaces = []string{"default", "kube-public", "kube-system"}

// Admit returns the reference of an object, or the API server's reason for refusing it.
func (d *Data) Admit(v state.Value) (state.ObjectRef, error) {
	ref := state.ObjectRef{
		APIVersion: v.Get("apiVersion").AsString(), Kind: v.Get("kind").AsString(),
		Namespace: v.Get("metadata.namespace").AsString(), Name: v.Get("metadata.name").AsString(),
	}
	switch {
	case ref.APIVersion == "" || ref.Kind == "":
		return ref, errors.New("object has no apiVersion or kind")
	case ref.Name == "":
		return ref, fmt.Errorf("%s has no metadata.name", ref.Kind)
	case ref.Kind == "Node":
		return ref, errors.New("a node is made by its kubelet and changed by a patch")
	case ref.Namespace != "" && !slices.Contains(SystemNamespaces, ref.Namespace) &&
		!d.Has(state.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: ref.Namespace}):
		return ref, fmt.Errorf("namespaces %q: %w", ref.Namespace, providers.ErrNotFound)
	}
	return ref, nil
}

// Namespaces returns the names of all namespaces.
func (d *Data) Namespaces() []string {
	out := []string{"default", "kube-node-lease", "kube-public", "kube-system"}
	for _, key := range d.Keys("v1/Namespace/") {
		if name := d.Objects[key].Name(); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
