package objects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/diff"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Some objects exist in every cluster, even if a user's manifest writes a label to them. A manifest may
// contain them, and they are not deleted when it no longer does: only what was written to them is taken
// back.

const (
	anyName   = "*"
	rbacGroup = "rbac.authorization.k8s.io"
)

// ownMark is a label or annotation on built-in objects of an API group.
type ownMark struct{ group, in, key, why string }

// ownMarks are the marks of objects that the API server creates itself, and recreates when they are
// deleted: at its start, or at once. (kubernetes.io's reference of labels and annotations;
// kube-aggregator's autoregister controller, v1.36.)
var ownMarks = []ownMark{
	{rbacGroup, "labels", "kubernetes.io/bootstrapping", "access rights depend on it"},
	{"flowcontrol.apiserver.k8s.io", "annotations", "apf.kubernetes.io/autoupdate-spec", "API priority and fairness depends on it"},
	{"apiregistration.k8s.io", "labels", "kube-aggregator.kubernetes.io/automanaged", "the API server serves a group with it"},
}

// clustersOwn lists Kubernetes' built-in objects, and what each is for.
var clustersOwn = []struct {
	objectName
	why string
}{
	{objectName{"", "Namespace", "", "default"}, "every cluster has it"},
	{objectName{"", "Namespace", "", "kube-system"}, "every cluster has it"},
	{objectName{"", "Namespace", "", "kube-public"}, "every cluster has it"},
	{objectName{"", "Namespace", "", "kube-node-lease"}, "every cluster has it"},
	{objectName{"", "Node", "", anyName}, "its kubelet creates it"},
	{objectName{"coordination.k8s.io", "Lease", "kube-node-lease", anyName}, "its kubelet creates it"},
	{objectName{"", "Service", "default", "kubernetes"}, "pods reach the API through it"},
	{objectName{"", "Endpoints", "default", "kubernetes"}, "pods reach the API through it"},
	{objectName{"discovery.k8s.io", "EndpointSlice", "default", "kubernetes"}, "pods reach the API through it"},
	{objectName{"networking.k8s.io", "ServiceCIDR", "", "kubernetes"}, "Services get their addresses from it"},
	{objectName{"", "ConfigMap", "kube-system", "extension-apiserver-authentication"}, "other API servers rely on it"},
	{objectName{"", "ServiceAccount", anyName, "default"}, "every namespace has it"},
	{objectName{"", "ConfigMap", anyName, "kube-root-ca.crt"}, "every namespace has it"},
	{objectName{rbacGroup, "ClusterRole", "", "cluster-admin"}, "access rights depend on it"},
	{objectName{rbacGroup, "ClusterRole", "", "admin"}, "access rights depend on it"},
	{objectName{rbacGroup, "ClusterRole", "", "edit"}, "access rights depend on it"},
	{objectName{rbacGroup, "ClusterRole", "", "view"}, "access rights depend on it"},
	{objectName{rbacGroup, "ClusterRoleBinding", "", "cluster-admin"}, "access rights depend on it"},
	{objectName{"scheduling.k8s.io", "PriorityClass", "", "system-cluster-critical"}, "the control plane's pods use it"},
	{objectName{"scheduling.k8s.io", "PriorityClass", "", "system-node-critical"}, "the control plane's pods use it"},
}

// whyOwn says why an object is built-in, "" for one that is not. live is the observed object.
func whyOwn(ref state.ObjectRef, live state.Value) string {
	name := nameOf(ref)
	for _, own := range clustersOwn {
		if own.group == name.group && own.kind == name.kind && isOr(own.namespace, name.namespace) && isOr(own.name, name.name) {
			return own.why
		}
	}
	for _, m := range ownMarks {
		if _, marked := live.Get("metadata").Get(m.in).AsMap()[m.key]; marked && m.group == name.group {
			return m.why
		}
	}
	return ""
}

func isOr(pattern, name string) bool { return pattern == name || pattern == anyName }

// OwnObject is a recorded built-in object that is no longer in a manifest.
type OwnObject struct {
	why string
	// goes reports whether its namespace is deleted in the same plan.
	goes bool
}

// UnwantedBuiltin returns the built-in objects that addons have written to and that are no longer in a
// manifest of their cluster.
func UnwantedBuiltin(v *topology.Fleet, desired *state.Snapshot) map[state.Address]OwnObject {
	out := map[state.Address]OwnObject{}
	if v.Destroy {
		return out // the hosts are reset, and the cluster with them
	}
	var wanted, recorded map[clusterObject]bool
	for i := range v.RecordedItems.Items {
		it := &v.RecordedItems.Items[i]
		if it.Kind != state.KindObject || it.Address.Target.Type != state.TypeAddon || desired.Find(it.Address) != nil {
			continue
		}
		c, ref := v.ClusterOf(it.Address.Target), ParseRef(it.Address.ID())
		if c == nil {
			continue
		}
		if wanted == nil {
			wanted, recorded = objectsOf(desired), objectsOf(v.RecordedItems)
		}
		why := whyOwn(ref, there(c, ref))
		if why == "" || wanted[clusterObject{c.Label, nameOf(ref)}] {
			continue
		}
		around := clusterObject{c.Label, objectName{kind: "Namespace", name: ref.Namespace}}
		out[it.Address] = OwnObject{why, recorded[around] && !wanted[around] && whyOwn(NamespaceRef(ref.Namespace), state.Null()) == ""}
	}
	return out
}

func NamespaceRef(name string) state.ObjectRef {
	return state.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: name}
}

// WithoutOwnedFields returns these objects as desired items without the fields that kubewright wrote,
// as long as such fields are left. Objects that are deleted with their namespace are not among them.
func WithoutOwnedFields(v *topology.Fleet, own map[state.Address]OwnObject, observed *state.Snapshot) []state.Item {
	var out []state.Item
	for a, o := range own {
		was, have, ref := v.RecordedItems.Find(a), observed.Find(a), ParseRef(a.ID())
		if have == nil || o.goes {
			continue
		}
		wanted := withoutOurs(ref, there(v.ClusterOf(a.Target), ref), was.Attributes)
		if heldSecret(wanted, was.Attributes) {
			continue
		}
		it := provenance.ObjectItem(a.Target, topology.AddonPhase, ref, wanted)
		if len(diff.Changes(only(it), only(*have), only(*was))) > 0 {
			out = append(out, it)
		}
	}
	return out
}

// withoutOurs returns the object to apply in order to take back what we wrote. For most objects these
// are only labels and annotations: the cluster depends on the rest, which stays as it is. Of a
// namespace and a service account only the name is left.
func withoutOurs(ref state.ObjectRef, live, was state.Value) state.Value {
	meta := map[string]state.Value{"name": state.String(ref.Name)}
	if ref.Namespace != "" {
		meta["namespace"] = state.String(ref.Namespace)
	}
	for _, key := range []string{"labels", "annotations"} {
		if kept := keysOfKubernetes(live.Get("metadata").Get(key), was.Get("metadata").Get(key)); len(kept) > 0 {
			meta[key] = state.Map(kept)
		}
	}
	out := map[string]state.Value{"apiVersion": state.String(ref.APIVersion), "kind": state.String(ref.Kind), "metadata": state.Map(meta)}
	if ref.Kind == "Namespace" || ref.Kind == "ServiceAccount" {
		return state.Map(out)
	}
	for key, ours := range was.AsMap() {
		if there := live.Get(key); key != "metadata" && !there.IsNull() {
			out[key] = diff.Ours(there, ours)
		}
	}
	return state.Map(out)
}

// heldSecret reports whether an applied field had a secret value from us: the plan and the journal
// would hold it in plain text.
func heldSecret(wanted, was state.Value) bool {
	for key, ours := range was.AsMap() {
		if _, applied := wanted.AsMap()[key]; applied && key != "metadata" && ours.HasSensitive() {
			return true
		}
	}
	return false
}

// keysOfKubernetes returns the labels or annotations that we wrote and that the API server itself uses
// to recognize its objects.
func keysOfKubernetes(live, was state.Value) map[string]state.Value {
	out := map[string]state.Value{}
	for key, v := range live.AsMap() {
		_, ours := was.AsMap()[key]
		if ours && (isOwnMark(key) || key == "kubernetes.io/metadata.name" || strings.HasPrefix(key, "rbac.authorization.")) {
			out[key] = v
		}
	}
	return out
}

func isOwnMark(key string) bool {
	return slices.ContainsFunc(ownMarks, func(m ownMark) bool { return m.key == key })
}

// only returns a snapshot of one item.
func only(it state.Item) *state.Snapshot {
	out := &state.Snapshot{Items: []state.Item{it}}
	out.Sort()
	return out
}

// WarnLeft reports the built-in objects that are only forgotten: nothing in them can be taken back.
func WarnLeft(v *topology.Fleet, p *planner.Plan, own map[state.Address]OwnObject, observed *state.Snapshot) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, a := range p.Forgotten {
		o, ok := own[a]
		if !ok || o.goes || observed.Find(a) == nil || len(v.RecordedItems.Find(a).Attributes.Leaves()) == 0 {
			continue
		}
		ref := ParseRef(a.ID())
		diags = append(diags, diag.Warningf("Built-in object is kept", "The %s %q is no longer in a manifest of cluster %q. "+
			"It is a built-in object of Kubernetes (%s) and is not deleted: it stays as it is, including what was written to it.",
			ref.Kind, ref.Name, a.Target.Name, o.why).For(state.ClusterTarget(a.Target.Name)))
	}
	return diags
}

// staysImpact names the built-in objects that stay while fields in them are reverted.
func staysImpact(c *topology.Cluster, changes []planner.Change) []string {
	var out []string
	for _, ch := range changes {
		ref := ParseRef(ch.Address.ID())
		written := slices.ContainsFunc(UserAddons(c), func(it state.Item) bool { return it.Address == ch.Address })
		if why := whyOwn(ref, there(c, ref)); why != "" && ch.Action == planner.Update && !written {
			out = append(out, fmt.Sprintf("reverts what was written to %s %s, which is kept (%s)", ref.Kind, ref.Name, why))
		}
	}
	return out
}
