package apiserver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// Apply sets the fields of an object, and creates it if it is missing.
func (a API) Apply(wanted state.Value, createOnly bool) error {
	name := wanted.Get("kind").AsString() + "/" + wanted.Get("metadata.name").AsString()
	ref, err := a.c.Admit(wanted)
	if err != nil {
		return fmt.Errorf("cannot apply %s: %w", name, err)
	}
	live := a.Object(ref)
	if createOnly && !live.IsNull() {
		return nil
	}
	if version := wanted.Get("metadata.resourceVersion"); !version.IsNull() {
		if !version.Equal(live.Get("metadata.resourceVersion")) {
			return conflict(name)
		}
		wanted = store.Without(wanted, state.FromGo(map[string]any{"metadata": map[string]any{"resourceVersion": version}}))
	}
	a.apply(ref, wanted)
	if ref.Kind == "DaemonSet" {
		a.c.Wake()
	}
	a.c.Stale = true
	return nil
}

// conflict returns the API's answer to a write with a stale version.
func conflict(name string) error {
	return &providers.Error{
		Kind: providers.ErrUnavailable, Do: "apply " + name,
		Cause: errors.New("the object has been modified; please apply your changes to the latest version and try again"),
	}
}

// Delete deletes an object; a namespace together with its contents.
func (a API) Delete(ref state.ObjectRef) error {
	switch {
	case ref.APIVersion == "v1" && ref.Kind == "Node":
		a.c.DeleteNode(ref.Name)
		return nil
	case ref.APIVersion == "v1" && ref.Kind == "Namespace" && slices.Contains(store.KeptNamespaces, ref.Name):
		return fmt.Errorf("namespaces %q is forbidden: this namespace may not be deleted", ref.Name)
	case ref.APIVersion == "v1" && ref.Kind == "Namespace":
		for key, o := range a.c.Objects {
			if o.Live.Get("metadata.namespace").AsString() == ref.Name {
				delete(a.c.Objects, key)
			}
		}
	}
	if o := a.c.Objects[ref.String()]; o != nil && ref.Kind == "DaemonSet" {
		a.stopDaemonSet(o.Name())
	}
	delete(a.c.Objects, ref.String())
	a.c.Stale = true
	return nil
}

// apply is server-side apply for the field manager kubewright, forced: it removes leaves
// that were applied before and are no longer sent, and keeps all others.
func (a API) apply(ref state.ObjectRef, wanted state.Value) {
	o := a.c.Objects[ref.String()]
	if o == nil {
		o = &store.Object{Live: state.FromGo(map[string]any{"metadata": map[string]any{
			"uid": a.newUID(), "creationTimestamp": machine.Timestamp(a.servers.Now), "generation": 1,
		}})}
		a.c.Objects[ref.String()] = o
	}
	if o.Trusts == nil && (ref.Kind == "DaemonSet" || ref.Kind == "Deployment") {
		o.Trusts = a.RootCAs()
		a.issueTokens(o)
	}
	if o.Token == nil && store.IsTokenSecret(wanted) {
		a.servers.signSecret(o)
	}
	before := o.Live
	o.Live = a.defaults(ref, store.Merge(o.Live, o.Applied, wanted))
	o.Applied = wanted
	if !before.Equal(o.Live) {
		a.NewVersion(o)
	}
	if !before.Get("spec.template").Equal(o.Live.Get("spec.template")) {
		a.restartProxies(ref)
	}
}

// NewVersion gives a changed object a new resourceVersion.
func (a API) NewVersion(o *store.Object) {
	a.c.Made++
	o.Live = store.With(o.Live, state.String(fmt.Sprint(1000+a.c.Made)), "metadata", "resourceVersion")
	a.encrypt(o)
}

// defaults adds the fields that the API server and its controllers set.
func (a API) defaults(ref state.ObjectRef, v state.Value) state.Value {
	switch ref.Kind {
	case "Namespace":
		v = store.WithDefault(v, ref.Name, "metadata", "labels", "kubernetes.io/metadata.name")
		v = store.WithDefault(v, []any{"kubernetes"}, "spec", "finalizers")
		return store.WithDefault(v, "Active", "status", "phase")
	case "Service":
		return a.serviceDefaults(ref, v)
	case "Deployment", "DaemonSet", "StatefulSet":
		return store.WorkloadDefaults(ref.Kind, v)
	case "ClusterRoleBinding", "RoleBinding":
		return store.BindingDefaults(v)
	}
	return v
}

func (a API) serviceDefaults(ref state.ObjectRef, v state.Value) state.Value {
	v = store.WithDefault(v, "10.96."+fmt.Sprint(1+len(a.c.Objects)%200)+".7", "spec", "clusterIP")
	v = store.WithDefault(v, []any{v.Get("spec.clusterIP").AsString()}, "spec", "clusterIPs")
	v = store.WithDefault(v, "ClusterIP", "spec", "type")
	v = store.WithDefault(v, "None", "spec", "sessionAffinity")
	v = store.WithDefault(v, "Cluster", "spec", "internalTrafficPolicy")
	v = store.WithDefault(v, "SingleStack", "spec", "ipFamilyPolicy")
	v = store.WithDefault(v, []any{"IPv4"}, "spec", "ipFamilies")
	var ports []state.Value
	for _, p := range v.Get("spec.ports").AsList() {
		p = store.WithDefault(p, "TCP", "protocol")
		ports = append(ports, store.WithDefault(p, p.Get("port"), "targetPort"))
	}
	if ports != nil {
		v = store.With(v, state.List(ports...), "spec", "ports")
	}
	return v
}

// Object returns what the API shows of an object, or null.
func (a API) Object(ref state.ObjectRef) state.Value {
	if ref.APIVersion == "v1" && ref.Kind == "Node" {
		if a.c.Nodes[ref.Name] == nil {
			return state.Value{}
		}
		return a.nodeObject(ref.Name)
	}
	o := a.c.Objects[ref.String()]
	if o == nil {
		if ref.APIVersion == "v1" && ref.Kind == "Namespace" && slices.Contains(store.SystemNamespaces, ref.Name) {
			return state.FromGo(map[string]any{
				"apiVersion": "v1", "kind": "Namespace", "status": map[string]any{"phase": "Active"},
				"metadata": map[string]any{"name": ref.Name, "labels": map[string]any{"kubernetes.io/metadata.name": ref.Name}},
			})
		}
		return state.Value{}
	}
	if ref == state.ClusterInfo {
		return a.signed(o.Live)
	}
	return o.Live
}

// signed adds the signatures that the bootstrap signer keeps in cluster-info.
func (a API) signed(live state.Value) state.Value {
	data := maps.Clone(live.Get("data").AsMap())
	if data == nil || data["kubeconfig"].IsNull() {
		return live
	}
	for _, key := range a.c.Keys(store.TokenPrefix) {
		if id := strings.TrimPrefix(key, store.TokenPrefix); a.c.Objects[key].TokenField("usage-bootstrap-signing") == "true" {
			data["jws-kubeconfig-"+id] = state.String("eyJhbGciOiJIUzI1NiIsImtpZCI6I.." + a.servers.Derive(43, "jws", id, data["kubeconfig"].AsString()))
		}
	}
	out := maps.Clone(live.AsMap())
	out["data"] = state.Map(data)
	return state.Map(out)
}

// newUID returns a UID for a new object.
func (a API) newUID() string {
	a.c.Made++
	h := a.servers.Derive(32, "uid", a.c.ID, fmt.Sprint(a.c.Made))
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// InfoCAs returns the CAs in cluster-info.
func InfoCAs(object state.Value) []state.CertificateInfo {
	conf, err := file.ImportKubeconfig([]byte(object.Get("data").AsMap()[state.ClusterInfoKey].AsString()))
	if err != nil || conf == nil {
		return nil
	}
	return conf.Kubeconfig.CAs
}
