package pipeline_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// labelled returns an object with a label of ours.
func labelled(apiVersion, kind, namespace, name string) state.Value {
	o := object(apiVersion, kind, namespace, name)
	m := o.AsMap()
	meta := m["metadata"].AsMap()
	meta["labels"] = state.FromGo(map[string]any{"ours": "yes"})
	m["metadata"] = state.Map(meta)
	return state.Map(m)
}

// wantKept checks that an object of an addon stays when the addon is removed, without what the addon
// wrote to it, and that the plan gives the reason.
func wantKept(t *testing.T, given state.Value, why string) {
	t.Helper()
	o := newOperator(t, cluster(1, 0))
	o.config.Clusters[0].Addons = []*config.Addon{{Name: "marks", Objects: documents(given)}}
	o.must(o.apply())

	o.config.Clusters[0].Addons = nil
	p, err := o.plan()
	o.must(err)
	what := given.Get("kind").AsString() + " " + given.Get("metadata").Get("name").AsString()
	inOrder(t, acts(p, "marks"), "apply "+what)
	if got, want := p.Steps[0].Impact, "reverts what was written to "+what+", which is kept ("+why+")"; !strings.Contains(got, want) {
		t.Errorf("the plan says %q, want %q", got, want)
	}
	o.must(o.apply())
	o.wantNothing()
}

// TestAddonRemovalKeepsBuiltInObjects checks that a built-in object is not deleted with the addon that wrote to it;
// the plan takes back what was written, and says why the object stays.
func TestAddonRemovalKeepsBuiltInObjects(t *testing.T) {
	t.Parallel()
	const rbac = "rbac.authorization.k8s.io/v1"
	const everyCluster, everyNamespace, rights = "every cluster has it", "every namespace has it", "access rights depend on it"
	const reached, important = "pods reach the API through it", "the control plane's pods use it"
	for _, own := range []struct{ apiVersion, kind, namespace, name, why string }{
		{"v1", "Namespace", "", "default", everyCluster},
		{"v1", "Namespace", "", "kube-system", everyCluster},
		{"v1", "Namespace", "", "kube-public", everyCluster},
		{"v1", "Namespace", "", "kube-node-lease", everyCluster},
		{"v1", "ServiceAccount", "kube-public", "default", everyNamespace},
		{"v1", "ConfigMap", "kube-public", "kube-root-ca.crt", everyNamespace},
		{"coordination.k8s.io/v1", "Lease", "kube-node-lease", "cp1", "its kubelet creates it"},
		{"v1", "Service", "default", "kubernetes", reached},
		{"v1", "Endpoints", "default", "kubernetes", reached},
		{"discovery.k8s.io/v1", "EndpointSlice", "default", "kubernetes", reached},
		{"networking.k8s.io/v1", "ServiceCIDR", "", "kubernetes", "Services get their addresses from it"},
		{"v1", "ConfigMap", "kube-system", "extension-apiserver-authentication", "other API servers rely on it"},
		{rbac, "ClusterRole", "", "cluster-admin", rights},
		{rbac, "ClusterRole", "", "view", rights},
		{rbac, "ClusterRoleBinding", "", "cluster-admin", rights},
		{"scheduling.k8s.io/v1", "PriorityClass", "", "system-node-critical", important},
	} {
		t.Run(own.kind+" "+own.name, func(t *testing.T) {
			t.Parallel()
			wantKept(t, labelled(own.apiVersion, own.kind, own.namespace, own.name), own.why)
		})
	}
}

// TestAddonRemovalKeepsAPIServerMarkedObjects checks the same for objects with any name that the API server marks as its own; the
// mark stays even if a manifest had it too.
func TestAddonRemovalKeepsAPIServerMarkedObjects(t *testing.T) {
	t.Parallel()
	for _, own := range []struct{ apiVersion, kind, name, in, mark, why string }{
		{"rbac.authorization.k8s.io/v1", "ClusterRole", "system:basic-user", "labels", "kubernetes.io/bootstrapping", "access rights depend on it"},
		{"flowcontrol.apiserver.k8s.io/v1", "FlowSchema", "probes", "annotations", "apf.kubernetes.io/autoupdate-spec", "API priority and fairness depends on it"},
		{"flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", "system", "annotations", "apf.kubernetes.io/autoupdate-spec", "API priority and fairness depends on it"},
		{"apiregistration.k8s.io/v1", "APIService", "v1.apps", "labels", "kube-aggregator.kubernetes.io/automanaged", "the API server serves a group with it"},
	} {
		t.Run(own.kind, func(t *testing.T) {
			t.Parallel()
			given := labelled(own.apiVersion, own.kind, "", own.name).AsMap()
			meta := given["metadata"].AsMap()
			marked := map[string]state.Value{own.mark: state.String("true")}
			maps.Copy(marked, meta[own.in].AsMap())
			meta[own.in] = state.Map(marked)
			given["metadata"] = state.Map(meta)
			wantKept(t, state.Map(given), own.why)
		})
	}
}
