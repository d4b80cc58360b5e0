package phases

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// memo keeps what is dear to compute and comes out the same for most nodes of a
// cluster. Each entry is a function of its key alone, so that it cannot be out
// of date; it is kept for one plan, and nothing changes it.
type memo struct {
	trees    map[treeKey]parsed
	kubelets map[kubeletKey][]byte
	// objects are by the node that stands for the cluster.
	objects map[*node][]kubeadm.Object
	pods    map[podKey]rendered
	health  map[healthKey]health
	// settings are those that stand in the block of a cluster or node.
	settings map[state.Target]map[string][]written
	shared   map[sharedKey]map[string]state.Source
	// patched are the paths of kubelets' configurations that patches made others.
	patched map[kubeletKey][]patchedPath
}

func newMemo() *memo {
	return &memo{
		trees: map[treeKey]parsed{}, kubelets: map[kubeletKey][]byte{}, objects: map[*node][]kubeadm.Object{},
		pods: map[podKey]rendered{}, health: map[healthKey]health{}, settings: map[state.Target]map[string][]written{}, shared: map[sharedKey]map[string]state.Source{},
		patched: map[kubeletKey][]patchedPath{},
	}
}

// treeKey is a file's content, and how it is read.
type treeKey struct {
	kind    state.Kind
	content string
}

// parsed is what became of reading it.
type parsed struct {
	tree state.Value
	err  error
}

// tree is parseFile, once for all files that hold the same.
func (m *memo) tree(kind state.Kind, content []byte) (state.Value, error) {
	// The compiler makes no string of the content to look it up.
	p, ok := m.trees[treeKey{kind, string(content)}]
	if !ok {
		p.tree, p.err = parseFile(kind, content)
		m.trees[treeKey{kind, string(content)}] = p
	}
	return p.tree, p.err
}

// kubeletKey is everything that tells the kubelet's configuration of one node
// from that of another which has no settings of its own.
type kubeletKey struct {
	cluster  *config.Cluster
	resolved bool
	socket   string
}

func (n *node) kubeletKey() kubeletKey {
	return kubeletKey{n.settings, n.facts().SystemdResolved, n.criSocket()}
}

// plain tells that the node block has no part in what components are configured
// with but arguments, which always fit.
func (n *node) plain() bool { return n.Kubelet.Config.IsNull() && len(n.Patches) == 0 }

// kubeletConfig renders the kubelet's config.yaml of a node.
func (n *node) kubeletConfig() []byte {
	if !n.plain() {
		return must(kubeadm.KubeletConfig(n.input()))
	}
	m, key := n.cluster.view.memo, n.kubeletKey()
	content, ok := m.kubelets[key]
	if !ok {
		content = must(kubeadm.KubeletConfig(key.input()))
		m.kubelets[key] = content
	}
	return content
}

// healthKey is a component of a control plane.
type healthKey struct {
	node      *node
	component string
}

// health is where a component is asked whether it is healthy; insecure tells
// that its certificate is self-signed.
type health struct {
	url      string
	insecure bool
}

// health is kubeadm.Healthz of a component, for all steps that wait for it; nothing
// where its manifest cannot be rendered.
func (n *node) health(component string) health {
	m, key := n.cluster.view.memo, healthKey{n, component}
	h, ok := m.health[key]
	if !ok {
		if tree, err := n.manifestTree(component); err == nil {
			h.url, h.insecure = kubeadm.Healthz(n.input(), component, tree)
		}
		m.health[key] = h
	}
	return h
}

// podKey is everything that a static pod's manifest is made of.
type podKey struct {
	in        kubeadm.Input
	component string
}

// rendered is what became of rendering it.
type rendered struct {
	content []byte
	err     error
}

// staticPod renders the manifest of a component: etcd's is that of a member which is
// there already.
func (n *node) staticPod(component string) ([]byte, error) {
	m, key := n.cluster.view.memo, podKey{n.input(), component}
	p, ok := m.pods[key]
	if !ok {
		if component == "etcd" {
			p.content, p.err = kubeadm.EtcdPod(key.in, "", true)
		} else {
			p.content, p.err = kubeadm.StaticPod(key.in, component)
		}
		m.pods[key] = p
	}
	return p.content, p.err
}

// manifestTree is what the manifest of a component says.
func (n *node) manifestTree(component string) (state.Value, error) {
	content, err := n.staticPod(component)
	if err != nil {
		return state.Value{}, err
	}
	return n.cluster.view.memo.tree(state.KindStaticPod, content)
}

// kubeadmObjects are the objects that kubeadm would make, rendered once for all
// phases; none while nobody can be spoken to.
func (c *cluster) kubeadmObjects() []kubeadm.Object {
	seat := c.seatNode()
	if seat == nil || seat.report == nil {
		return nil
	}
	m := c.view.memo
	if _, ok := m.objects[seat]; !ok {
		m.objects[seat] = kubeadm.Objects(c.seatInput())
	}
	return m.objects[seat]
}

// seatInput is what the objects in the cluster are rendered of.
func (c *cluster) seatInput() kubeadm.Input {
	in := c.seatNode().input()
	in.Cluster = c.shared
	return in
}

// input is made of the key alone: what is not in the key cannot be rendered.
func (k kubeletKey) input() kubeadm.Input {
	return kubeadm.Input{
		Cluster: k.cluster, Node: &config.Node{Role: config.Worker},
		Facts: &state.Facts{SystemdResolved: k.resolved, CRISocket: k.socket},
	}
}
