package config

import (
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/state"
)

// patchTargets are the targets that kubeadm can patch.
var patchTargets = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "kubeletconfiguration", "corednsdeployment", "kubeproxydaemonset"}

// patches checks the patches of a cluster or a node.
func (c checker) patches(patches []Patch, ofNode bool) {
	for i, p := range patches {
		const summary = "Invalid patch"
		if p.Target != "" && !slices.Contains(patchTargets, p.Target) {
			c.errorAt(p.Source, summary, "%s is nothing that can be patched: %s.%s", Quote(p.Target), list(patchTargets), didYouMean(p.Target, patchTargets))
		}
		if p.Target == "kubeproxydaemonset" && c.minor != 0 && c.minor < 37 {
			c.errorAt(p.Source, summary, "kubeproxydaemonset can be patched since Kubernetes 1.37.")
		}
		if ofNode && (p.Target == "kubeproxydaemonset" || p.Target == "corednsdeployment") {
			c.errorAt(p.Source, summary, "%s exists once in a cluster: its patches belong into the cluster block.", p.Target)
		}
		types := []string{"strategic", "merge", "json"}
		if p.Type != "" && !slices.Contains(types, p.Type) {
			c.errorAt(p.Source, summary, "%s is no type of patch: %s.%s", Quote(p.Type), list(types), didYouMean(p.Type, types))
		}
		c.patchContent(i, p)
	}
}

// patchContent parses a patch, the one with that number in its block, and checks its form.
func (c checker) patchContent(number int, p Patch) {
	const summary = "Invalid patch"
	if p.Content == "" {
		return
	}
	for doc := range strings.SplitSeq("\n"+p.Content, "\n---") {
		b, err := yaml.YAMLToJSONStrict([]byte(doc))
		if err != nil {
			c.errorAt(p.Source, summary, "The content is neither YAML nor JSON: %s.", strings.TrimPrefix(err.Error(), "yaml: "))
			return
		}
		var v state.Value
		if v.UnmarshalJSON(b) != nil || v.IsNull() {
			continue
		}
		if p.Target == "kubeletconfiguration" {
			c.ownedPatch(p, v)
		}
		switch {
		case p.Type == "json":
			c.jsonPatch(p, v)
		case v.Kind() != state.KindMap:
			c.errorAt(p.Source, summary, "A patch of type %s is an object with the fields to change.", p.Type)
		case p.Target == "kubeletconfiguration":
			c.kubeletPatch(number, p, v)
		case patchedObjects[p.Target] != nil:
			c.objectPatch(number, p, v)
		}
	}
}

// patchedObjects are the types of the other targets.
var patchedObjects = map[string]reflect.Type{
	"kube-apiserver": reflect.TypeFor[corev1.Pod](), "kube-controller-manager": reflect.TypeFor[corev1.Pod](),
	"kube-scheduler": reflect.TypeFor[corev1.Pod](), "etcd": reflect.TypeFor[corev1.Pod](),
	"corednsdeployment": reflect.TypeFor[appsv1.Deployment](), "kubeproxydaemonset": reflect.TypeFor[appsv1.DaemonSet](),
}

// objectPatch checks the fields that a patch sets in an object: the API would silently drop a
// field that its type does not have.
func (c checker) objectPatch(number int, p Patch, v state.Value) {
	block := patchPath(number)
	c.origins = Origins{block: p.Source}
	t := patchedObjects[p.Target]
	c.tree(block, t.Name(), setBy(v), t)
}

// kubeletPatch checks the fields that a patch sets in the kubelet's configuration, as if they
// were written in kubelet { config }: a kubelet does not start with an unknown field or a value
// of another type.
func (c checker) kubeletPatch(number int, p Patch, v state.Value) {
	const block = "kubelet.config"
	c.hidden = map[string]bool{block: c.hidden[patchPath(number)]}
	c.origins = Origins{block: p.Source}
	c.kubeletFields(setBy(v))
}

// setBy returns a merge or strategic merge patch without the parts that delete a field or say
// how lists are merged.
func setBy(v state.Value) state.Value {
	switch v.Kind() {
	case state.KindMap:
		m := map[string]state.Value{}
		for k, e := range v.AsMap() {
			if !strings.HasPrefix(k, "$") && !e.IsNull() {
				m[k] = setBy(e)
			}
		}
		return state.Map(m)
	case state.KindList:
		list := make([]state.Value, len(v.AsList()))
		for i, e := range v.AsList() {
			list[i] = setBy(e)
		}
		return state.List(list...)
	}
	return v
}

// jsonPatch requires a list of operations of RFC 6902.
func (c checker) jsonPatch(p Patch, v state.Value) {
	const summary = "Invalid patch"
	if v.Kind() != state.KindList {
		c.errorAt(p.Source, summary, "A patch of type json is a list of operations, as in [{ op = \"add\", path = \"/spec/…\", value = … }].")
		return
	}
	ops := []string{"add", "remove", "replace", "move", "copy", "test"}
	for _, o := range v.AsList() {
		if !slices.Contains(ops, o.Get("op").AsString()) {
			c.errorAt(p.Source, summary, "%s is no operation of a JSON patch: %s.", Quote(o.Get("op").AsString()), list(ops))
		}
		if path := o.Get("path").AsString(); path == "" || path[0] != '/' {
			c.errorAt(p.Source, summary, "An operation has no path that begins with a slash.")
		}
	}
}

// clusterPatches warns about patches whose target does not exist.
func (c checker) clusterPatches(cl *Cluster) {
	for _, p := range cl.Patches {
		switch {
		case p.Target == "corednsdeployment" && cl.DNS.Disabled:
			c.errorAt(p.Source, "Invalid patch", "CoreDNS is not enabled, so that there is nothing to patch.")
		case p.Target == "kubeproxydaemonset" && cl.KubeProxy.Disabled:
			c.errorAt(p.Source, "Invalid patch", "kube-proxy is not enabled, so that there is nothing to patch.")
		case p.Target == "etcd" && cl.Etcd.External != nil:
			c.errorAt(p.Source, "Invalid patch", "An external etcd is never changed, so that there is nothing to patch.")
		}
	}
}
