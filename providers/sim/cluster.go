package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// cluster is what one etcd holds: its members and the API's objects.
type cluster struct {
	ID      string    `json:"id"` // etcd's cluster ID
	Members []*member `json:"members,omitempty"`
	Leader  string    `json:"leader,omitempty"`
	// Revision is what etcd's was when it last had a quorum.
	Revision int64 `json:"revision,omitempty"`
	// History is what was deleted or written over, in bytes, and since when. Every
	// member holds it until etcd is compacted.
	History int64     `json:"history,omitempty"`
	Since   time.Time `json:"since,omitzero"`

	Objects map[string]*object `json:"objects,omitempty"` // by state.ObjectRef's text
	Nodes   map[string]*node   `json:"nodes,omitempty"`
	Pods    []*Pod             `json:"pods,omitempty"`
	PDBs    []*PDB             `json:"pdbs,omitempty"`
	Claims  []*Claim           `json:"claims,omitempty"`
	Leases  map[string]*lease  `json:"leases,omitempty"`
	Made    int                `json:"made,omitempty"`
	// Leased counts the versions of all leases.
	Leased int `json:"leased,omitempty"`

	// stale reports whether pods may have to be made, removed or given a node.
	stale bool
}

// object is an API object other than a Node.
type object struct {
	// Live is what the API shows, Applied what kubewright last applied.
	Live    state.Value `json:"live"`
	Applied state.Value `json:"applied,omitzero"`
	// Trusts are the CAs by which its pods have known API servers since they were
	// started.
	Trusts []string `json:"trusts,omitempty"`
	// Token is what its pods show to API servers, or what is in it.
	Token *podToken `json:"token,omitempty"`
}

// node is a Node object, without what follows from its host.
type node struct {
	Host          string            `json:"host,omitempty"`
	UID           string            `json:"uid"`
	Created       time.Time         `json:"created"`
	ReadyAt       time.Time         `json:"ready_at"`
	Labels        map[string]string `json:"labels,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
	Taints        []state.Taint     `json:"taints,omitempty"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Kubelet       string            `json:"kubelet,omitempty"` // its version
	// rested reports whether the world was opened since the kubelet was started. Its time
	// stands still between two commands, and to whoever comes back to real hosts a
	// kubelet that was restarted is not starting for ever.
	rested bool
}

func (c *cluster) init() {
	if c.Objects == nil {
		c.Objects = map[string]*object{}
	}
	if c.Nodes == nil {
		c.Nodes = map[string]*node{}
	}
	c.stale = true
}

// has reports whether an object exists.
func (c *cluster) has(ref state.ObjectRef) bool { return c.Objects[ref.String()] != nil }

// kinds lists the keys of objects whose reference begins so, in order.
func (c *cluster) kinds(prefix string) []string {
	var out []string
	for key := range c.Objects {
		if strings.HasPrefix(key, prefix) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func (o *object) name() string { return o.Live.Get("metadata.name").AsString() }

// hostPaths returns the host folders that the pods of an object mount.
func (o *object) hostPaths() []string {
	var out []string
	for _, v := range o.Live.Get("spec.template.spec.volumes").AsList() {
		if p := v.Get("hostPath.path").AsString(); p != "" {
			out = append(out, p)
		}
	}
	return out
}

func clusterRoleBinding(name string) state.ObjectRef {
	return state.ObjectRef{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding", Name: name}
}

// registerNode makes the Node of a kubelet, or takes note that it is back.
func (c *cluster) registerNode(w *World, m *machine, name string) {
	n := c.Nodes[name]
	if n == nil {
		n = &node{UID: w.uid(c), Created: w.d.Now, Annotations: map[string]string{
			"node.alpha.kubernetes.io/ttl":                           "0",
			"volumes.kubernetes.io/controller-managed-attach-detach": "true",
		}}
		n.Labels, n.Taints = registered(w.kubeletFlag(m, "node-labels"), w.kubeletFlag(m, "register-with-taints"))
		for _, t := range w.kubeletTree(m).Get("registerWithTaints").AsList() {
			n.Taints = append(n.Taints, state.Taint{Key: t.Get("key").AsString(), Value: t.Get("value").AsString(), Effect: t.Get("effect").AsString()})
		}
		c.Nodes[name] = n
	}
	before := n.Kubelet
	n.Host, n.Kubelet = m.address, "v"+w.versionOf(m, "kubelet")
	if before != "" {
		w.restartPods(m, name, strings.TrimPrefix(before, "v"), w.versionOf(m, "kubelet"))
	}
	n.ReadyAt, n.rested = w.d.Now.Add(3*time.Second), false
}

// starting reports whether the kubelet of a node was started and has not said yet that it
// is ready.
func (w *World) starting(n *node) bool { return !n.rested && w.d.Now.Before(n.ReadyAt) }

// registered reads the kubelet's flags for labels and taints.
func registered(labels, taints string) (map[string]string, []state.Taint) {
	l := map[string]string{}
	for pair := range strings.SplitSeq(labels, ",") {
		if key, value, _ := strings.Cut(pair, "="); key != "" {
			l[key] = value
		}
	}
	var t []state.Taint
	for s := range strings.SplitSeq(taints, ",") {
		if taint, err := parseTaint(s); err == nil {
			t = append(t, taint)
		}
	}
	return l, t
}

// parseTaint reads key=value:effect or key:effect.
func parseTaint(s string) (state.Taint, error) {
	pair, effect, ok := strings.Cut(s, ":")
	key, value, _ := strings.Cut(pair, "=")
	if !ok || key == "" {
		return state.Taint{}, fmt.Errorf("cannot read taint %q: it is written KEY=VALUE:EFFECT", s)
	}
	return state.Taint{Key: key, Value: value, Effect: effect}, nil
}

// nodeReport returns what the API shows of a node.
func (w *World) nodeReport(c *cluster, name string) state.NodeReport {
	n := c.Nodes[name]
	r := state.NodeReport{
		Labels: map[string]string{}, Annotations: maps.Clone(n.Annotations), Taints: slices.Clone(n.Taints),
		Unschedulable: n.Unschedulable, Ready: w.nodeReady(n), KubeletVersion: n.Kubelet, InternalIPs: []string{n.Host},
	}
	arch := w.d.Profile.Arch
	if m := w.d.Hosts[n.Host]; m != nil {
		arch = w.arch(m)
	}
	for _, prefix := range []string{"beta.kubernetes.io/", "kubernetes.io/"} {
		r.Labels[prefix+"arch"], r.Labels[prefix+"os"] = arch, "linux"
	}
	r.Labels["kubernetes.io/hostname"] = name
	maps.Copy(r.Labels, n.Labels)
	if m := w.d.Hosts[n.Host]; m == nil || !w.kubeletRuns(m) || m.Kubelet.Node == "" {
		r.Silent = true
	}
	if !r.Ready {
		r.Taints = append(r.Taints, state.Taint{Key: "node.kubernetes.io/not-ready", Effect: "NoSchedule"})
	}
	if n.Unschedulable {
		r.Taints = append(r.Taints, state.Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"})
	}
	for _, p := range c.Pods {
		if p.Node == name && p.Controller != daemonSet {
			r.Pods++
		}
	}
	return r
}

// nodeReady reports whether a node's kubelet is there and its network is set up.
func (w *World) nodeReady(n *node) bool {
	m := w.d.Hosts[n.Host]
	return m != nil && w.kubeletRuns(m) && m.Kubelet.Node != "" && w.active(m, "containerd") && w.hasNetwork(m) && !w.starting(n)
}

// nodeObject returns the Node as an object.
func (w *World) nodeObject(c *cluster, name string) state.Value {
	n, r := c.Nodes[name], w.nodeReport(c, name)
	spec := map[string]any{}
	if n.Unschedulable {
		spec["unschedulable"] = true
	}
	var taints []any
	for _, t := range r.Taints {
		taint := map[string]any{"key": t.Key, "effect": t.Effect}
		if t.Value != "" {
			taint["value"] = t.Value
		}
		taints = append(taints, taint)
	}
	if taints != nil {
		spec["taints"] = taints
	}
	ready := "False"
	if r.Ready {
		ready = "True"
	}
	return state.FromGo(map[string]any{
		"apiVersion": "v1", "kind": "Node", "spec": spec,
		"metadata": map[string]any{
			"name": name, "uid": n.UID, "creationTimestamp": stamp(n.Created), "labels": r.Labels, "annotations": r.Annotations,
		},
		"status": map[string]any{
			"nodeInfo":   map[string]any{"kubeletVersion": n.Kubelet},
			"conditions": []any{map[string]any{"type": "Ready", "status": ready}},
		},
	})
}

// staticPods returns the mirror pods that the API shows.
func (w *World) staticPods(c *cluster) map[string]state.StaticPodReport {
	out := map[string]state.StaticPodReport{}
	for _, name := range sortedKeys(c.Nodes) {
		m := w.d.Hosts[c.Nodes[name].Host]
		if m == nil || m.Off || !w.planes[m.address] {
			continue // the kubelet of a host that is off says nothing any more
		}
		for podName := range m.Pods {
			out[podName+"-"+name] = *w.staticPod(m, podName, name, c.Nodes[name].Kubelet)
		}
	}
	return out
}

// staticPod returns one mirror pod.
func (w *World) staticPod(m *machine, pod, node, kubelet string) *state.StaticPodReport {
	running := m.Pods[pod]
	p := w.manifest(running.Manifest)
	return &state.StaticPodReport{
		Hash: w.podHash(running, pod, node, strings.TrimPrefix(kubelet, "v")), Running: true, Ready: !m.Conditions.Unprobed && !w.refusesProbes(m, p.component()) && w.fault(m, p.component()) == nil,
		Image: p.image, Args: slices.Clone(p.args),
	}
}

func (w *World) podHash(running *pod, name, node, kubelet string) string {
	path := running.Path
	if path == "" {
		path = usualManifest(name)
	}
	key := [4]string{running.Manifest, path, node, kubelet}
	if h, known := w.hashes[key]; known {
		return h
	}
	h := ""
	if w.PodHash != nil {
		h = w.PodHash([]byte(w.d.Blobs[running.Manifest]), path, node, kubelet)
	}
	if h == "" {
		h = w.manifest(running.Manifest).hash
	}
	w.hashes[key] = h
	return h
}

func usualManifest(pod string) string { return manifestsFolder + "/" + pod + ".yaml" }

// object returns what the API shows of an object, or null.
func (w *World) object(c *cluster, ref state.ObjectRef) state.Value {
	if ref.APIVersion == "v1" && ref.Kind == "Node" {
		if c.Nodes[ref.Name] == nil {
			return state.Value{}
		}
		return w.nodeObject(c, ref.Name)
	}
	o := c.Objects[ref.String()]
	if o == nil {
		if ref.APIVersion == "v1" && ref.Kind == "Namespace" && slices.Contains(systemNamespaces, ref.Name) {
			return state.FromGo(map[string]any{
				"apiVersion": "v1", "kind": "Namespace", "status": map[string]any{"phase": "Active"},
				"metadata": map[string]any{"name": ref.Name, "labels": map[string]any{"kubernetes.io/metadata.name": ref.Name}},
			})
		}
		return state.Value{}
	}
	if ref == state.ClusterInfo {
		return w.signed(c, o.Live)
	}
	return o.Live
}

var systemNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// keptNamespaces are those that an API server does not delete.
var keptNamespaces = []string{"default", "kube-public", "kube-system"}

// signed adds the signatures that the bootstrap signer keeps in cluster-info.
func (w *World) signed(c *cluster, live state.Value) state.Value {
	data := maps.Clone(live.Get("data").AsMap())
	if data == nil || data["kubeconfig"].IsNull() {
		return live
	}
	for _, key := range c.kinds(tokenPrefix) {
		if id := strings.TrimPrefix(key, tokenPrefix); c.Objects[key].tokenField("usage-bootstrap-signing") == "true" {
			data["jws-kubeconfig-"+id] = state.String("eyJhbGciOiJIUzI1NiIsImtpZCI6I.." + w.derive(43, "jws", id, data["kubeconfig"].AsString()))
		}
	}
	out := maps.Clone(live.AsMap())
	out["data"] = state.Map(data)
	return state.Map(out)
}

func (w *World) uid(c *cluster) string {
	c.Made++
	h := w.derive(32, "uid", c.ID, fmt.Sprint(c.Made))
	return h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:]
}

// patchNode sets and removes labels, annotations and taints.
func (n *node) patch(labels, annotations map[string]string, noLabels, noAnnotations []string, taints, noTaints []state.Taint) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	maps.Copy(n.Labels, labels)
	maps.Copy(n.Annotations, annotations)
	for _, key := range noLabels {
		delete(n.Labels, key)
	}
	for _, key := range noAnnotations {
		delete(n.Annotations, key)
	}
	for _, t := range slices.Concat(noTaints, taints) {
		n.Taints = slices.DeleteFunc(n.Taints, func(o state.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect })
	}
	n.Taints = append(n.Taints, taints...)
}

// admits checks what the API server would refuse in an object.
func (c *cluster) admits(v state.Value) (state.ObjectRef, error) {
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
	case ref.Namespace != "" && !slices.Contains(systemNamespaces, ref.Namespace) &&
		!c.has(state.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: ref.Namespace}):
		return ref, fmt.Errorf("namespaces %q: %w", ref.Namespace, providers.ErrNotFound)
	}
	return ref, nil
}
