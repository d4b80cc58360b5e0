package kubeadm

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/state"
)

// Object is an API object that kubeadm creates.
type Object struct {
	// Phase is upload-config, upload-certs, bootstrap-token or addon.
	Phase string
	Ref   state.ObjectRef
	// Object holds the leaves that kubeadm sets and no others.
	Object state.Value
	// CreateOnly reports whether an existing object is left unchanged.
	CreateOnly bool
	// Initial lists paths that matter only when the object is created: a Deployment's replicas,
	// which users may scale.
	Initial []string
	// Outdated reports whether the value of such a path is one that kubeadm wrote in an earlier
	// release: an upgrade replaces it. Nil if no release differs.
	Outdated func(path, value string) bool
}

// The phases of objects.
const (
	uploadConfig   = "upload-config"
	uploadCerts    = "upload-certs"
	bootstrapToken = "bootstrap-token"
	addon          = "addon"
)

// The groups that roles are bound to.
const nodesGroup = "system:nodes"

// object is a tree under construction.
type object = map[string]any

// Objects lists the objects that kubeadm init creates, seen from the control plane that represents
// the cluster, in creation order. It panics for an object that cannot be rendered, since Check
// refuses it before.
//
// The binding kubeadm:cluster-admins comes first: without it the administrator's kubeconfig has no
// permissions.
func Objects(in Input) []Object {
	objects, err := in.settings().objects()
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return objects
}

func (s *settings) objects() ([]Object, error) {
	upload, err := s.configObjects()
	if err != nil {
		return nil, err
	}
	addons, err := s.addonObjects()
	if err != nil {
		return nil, err
	}
	if s.UploadCerts {
		upload = append(upload, s.secretReaders()...)
	}
	return slices.Concat(upload, s.tokenObjects(), addons), nil
}

// Check reports everything that cannot be rendered for the node, so that all other functions can be
// called safely.
func Check(in Input) error {
	s := in.settings()
	errs := []error{CheckVersion(s.KubernetesVersion)}
	if s.controlPlane() {
		errs = append(errs, podErrors(in)...)
		_, err := s.objects()
		errs = append(errs, err)
	}
	_, err := KubeletConfig(in)
	return once(append(errs, err))
}

// CheckPods is Check for the static pods of a control plane only: nothing else is rendered for an
// intermediate version of an upgrade.
func CheckPods(in Input) error { return once(podErrors(in)) }

// podErrors returns the errors of rendering static pods.
func podErrors(in Input) []error {
	var errs []error
	for _, c := range planeComponents {
		_, err := StaticPod(in, c)
		errs = append(errs, err)
	}
	if in.Cluster.Etcd.External == nil {
		_, err := EtcdPod(in, "", false)
		errs = append(errs, err)
	}
	return errs
}

// once joins errors, each text once: a mistake in a shared input affects several files.
func once(errs []error) error {
	said := map[string]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		if err == nil || said[err.Error()] {
			return true
		}
		said[err.Error()] = true
		return false
	})...)
}

// newObject creates an object from its reference and fields.
func newObject(phase, apiVersion, kind, namespace, name string, rest object) Object {
	metadata, _ := rest["metadata"].(object)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = object{}
	}
	metadata["name"] = name
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	all := maps.Clone(rest)
	if all == nil {
		all = object{}
	}
	all["apiVersion"], all["kind"], all["metadata"] = apiVersion, kind, metadata
	return Object{
		Phase: phase, Object: state.FromGo(all),
		Ref: state.ObjectRef{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name},
	}
}

const rbacVersion = "rbac.authorization.k8s.io/v1"

// configMap creates a ConfigMap.
func configMap(phase, namespace, name string, data map[string]string, metadata object) Object {
	return newObject(phase, "v1", "ConfigMap", namespace, name, object{"data": data, "metadata": metadata})
}

// serviceAccount creates a ServiceAccount in kube-system.
func serviceAccount(phase, name string) Object {
	return newObject(phase, "v1", "ServiceAccount", systemNamespace, name, nil)
}

// rule allows verbs on resources of an API group.
func rule(group string, resources, verbs []string, names ...string) object {
	r := object{"apiGroups": []string{group}, "resources": resources, "verbs": verbs}
	if len(names) > 0 {
		r["resourceNames"] = names
	}
	return r
}

// subject returns the subject of a binding; the API fills in the group.
func subject(kind, name string) object {
	s := object{"kind": kind, "name": name}
	if kind == "ServiceAccount" {
		s["namespace"] = systemNamespace
	}
	return s
}

func group(name string) object { return subject("Group", name) }

// clusterBinding binds a ClusterRole in the whole cluster.
func clusterBinding(phase, name, role string, subjects ...object) Object {
	return newObject(phase, rbacVersion, "ClusterRoleBinding", "", name, object{
		"roleRef": roleRef("ClusterRole", role), "subjects": subjects,
	})
}

func roleRef(kind, name string) object {
	return object{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
}

// reader returns a Role, and a binding of the same name, that let subjects get one object of a
// namespace.
func reader(phase, namespace, name, resource, resourceName string, subjects ...object) []Object {
	return []Object{
		newObject(phase, rbacVersion, "Role", namespace, name, object{
			"rules": []object{rule("", []string{resource}, []string{"get"}, resourceName)},
		}),
		newObject(phase, rbacVersion, "RoleBinding", namespace, name, object{
			"roleRef": roleRef("Role", name), "subjects": subjects,
		}),
	}
}

// hashAnnotation marks a component configuration that kubeadm generated, so that kubeadm may
// regenerate it; one given by the user does not have it.
func hashAnnotation(data map[string]string) object {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		h.Write([]byte(data[key]))
	}
	return object{"annotations": map[string]string{
		"kubeadm.kubernetes.io/component-config.hash": "sha256:" + hex.EncodeToString(h.Sum(nil)),
	}}
}
