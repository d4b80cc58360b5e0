package adopt

import (
	"encoding/json"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

func workload(kind, name string) state.ObjectRef {
	return state.ObjectRef{APIVersion: "apps/v1", Kind: kind, Namespace: "kube-system", Name: name}
}

var (
	dnsDeployment = workload("Deployment", "coredns")
	proxyDaemons  = workload("DaemonSet", "kube-proxy")
)

// absent treats a missing addon as disabled, whatever kubeadm-config says: an administrator has
// removed it since, for example to run another proxy.
func (r *reader) absent() {
	r.cluster.KubeProxy.Disabled = r.cluster.KubeProxy.Disabled || r.seen.Objects[proxyDaemons].IsNull()
	r.cluster.DNS.Disabled = r.cluster.DNS.Disabled || r.seen.Objects[dnsDeployment].IsNull()
}

// sinceProxyPatch is the minor from which kubeadm patches kube-proxy's DaemonSet.
const sinceProxyPatch = "1.37."

// addons reads how CoreDNS and kube-proxy differ from kubeadm's manifests, as far as kubeadm has
// patches for them. Images and the replicas of CoreDNS do not become patches: a patch would pin
// them through every upgrade.
func (r *reader) addons() error {
	first := r.planes()[0]
	objects, err := kubeadm.Addons(written(r.input(first.node, first.host), r.addonsVersion()))
	if err != nil {
		return err
	}
	for _, o := range objects {
		target, typed := "", any(nil)
		switch {
		case o.Ref == dnsDeployment:
			target, typed = "corednsdeployment", appsv1.Deployment{}
		case o.Ref == proxyDaemons && strings.HasPrefix(r.cluster.KubernetesVersion, sinceProxyPatch):
			target, typed = "kubeproxydaemonset", appsv1.DaemonSet{}
		}
		seen := r.seen.Objects[o.Ref]
		if target == "" || seen.IsNull() {
			continue
		}
		patch, err := objectPatch(o.Object, seen, typed)
		if err != nil {
			return err
		}
		if patch != "" {
			r.cluster.Patches = append(r.cluster.Patches, config.Patch{Target: target, Type: config.DefaultPatchType, Content: patch})
		}
	}
	return nil
}

// addonsVersion returns the version of the kubeadm that wrote the addons, according to the image of
// kube-proxy.
func (r *reader) addonsVersion() string {
	for _, c := range r.seen.Objects[proxyDaemons].Get("spec.template.spec.containers").AsList() {
		if version := release(c.Get("image").AsString()); version != "" {
			return version
		}
	}
	return r.stored
}

// objectPatch returns the strategic merge patch that gives the leaves of an object the observed
// values; empty when they already have them.
func objectPatch(base, seen state.Value, typed any) (string, error) {
	projected := project(base, seen)
	if projected.Equal(base) {
		return "", nil
	}
	from, err := json.Marshal(base)
	if err != nil {
		return "", err
	}
	to, err := json.Marshal(projected)
	if err != nil {
		return "", err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(from, to, typed)
	if err != nil {
		return "", err
	}
	var whole any
	if err := json.Unmarshal(patch, &whole); err != nil {
		return "", err
	}
	text, err := yaml.Marshal(withoutOrder(whole))
	return string(text), err
}

// untouched are fields that keep kubeadm's value, whatever is observed.
var untouched = map[string]bool{"image": true, "replicas": true, "apiVersion": true, "kind": true}

// project returns the tree base with the observed values at its leaves. It ignores fields outside
// of base: the server and other writers add many.
func project(base, seen state.Value) state.Value {
	switch {
	case base.Kind() == state.KindMap && seen.Kind() == state.KindMap:
		m := map[string]state.Value{}
		for key, value := range base.AsMap() {
			is, there := seen.AsMap()[key]
			switch {
			case untouched[key]:
				m[key] = value
			case there:
				m[key] = project(value, is)
			case empty(value):
				m[key] = value
			}
		}
		return state.Map(m)
	case base.Kind() == state.KindList && seen.Kind() == state.KindList:
		return projectList(base, seen)
	}
	return seen
}

// projectList matches elements by name if all have one, and otherwise by index.
func projectList(base, seen state.Value) state.Value {
	named := map[string]state.Value{}
	for _, e := range seen.AsList() {
		if name := e.Get("name").AsString(); name != "" {
			named[name] = e
		}
	}
	if len(named) != len(seen.AsList()) {
		if len(base.AsList()) != len(seen.AsList()) {
			return seen
		}
		named = nil
	}
	var out []state.Value
	for i, e := range base.AsList() {
		is, there := seen, named == nil
		if there {
			is = seen.AsList()[i]
		} else {
			is, there = named[e.Get("name").AsString()]
		}
		if there {
			out = append(out, project(e, is))
		}
	}
	return state.List(out...)
}
