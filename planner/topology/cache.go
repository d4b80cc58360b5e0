package topology

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// cache keeps what is dear to compute and comes out the same for most nodes of a
// cluster. Each entry is a function of its key alone, so that it cannot be out
// of date; it is kept for one plan, and nothing changes it.
type cache struct {
	trees    map[treeKey]parsed
	Kubelets map[KubeletKey][]byte
	// Objects are by the node that stands for the cluster.
	Objects map[*Node][]kubeadm.Object
	Pods    map[PodKey]rendered
	Health  map[HealthKey]Health
	// Settings are those that stand in the block of a cluster or node.
	Settings map[state.Target]map[string][]Written
	Shared   map[SharedKey]map[string]state.Source
	// Patched are the paths of kubelets' configurations that patches made others.
	Patched map[KubeletKey][]PatchedPath
}

func NewCache() *cache {
	return &cache{
		trees: map[treeKey]parsed{}, Kubelets: map[KubeletKey][]byte{}, Objects: map[*Node][]kubeadm.Object{},
		Pods: map[PodKey]rendered{}, Health: map[HealthKey]Health{}, Settings: map[state.Target]map[string][]Written{}, Shared: map[SharedKey]map[string]state.Source{},
		Patched: map[KubeletKey][]PatchedPath{},
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

// Tree is parseFile, once for all files that hold the same.
func (m *cache) Tree(kind state.Kind, content []byte) (state.Value, error) {
	// The compiler makes no string of the content to look it up.
	p, ok := m.trees[treeKey{kind, string(content)}]
	if !ok {
		p.tree, p.err = parseFile(kind, content)
		m.trees[treeKey{kind, string(content)}] = p
	}
	return p.tree, p.err
}

// KubeletKey is everything that tells the kubelet's configuration of one node
// from that of another which has no settings of its own.
type KubeletKey struct {
	Cluster  *config.Cluster
	Resolved bool
	Socket   string
}

// HealthKey is a component of a control plane.
type HealthKey struct {
	Node      *Node
	Component string
}

// Health is where a component is asked whether it is healthy; insecure reports
// whether its certificate is self-signed.
type Health struct {
	URL      string
	Insecure bool
}

// PodKey is everything that a static pod's manifest is made of.
type PodKey struct {
	In        kubeadm.Input
	Component string
}

// rendered is what became of rendering it.
type rendered struct {
	Content []byte
	Err     error
}

// CertConsumer is a component of a control plane and what it reads of certificates,
// keys and kubeconfigs.
type CertConsumer struct {
	Component, Phase string
	Args             func(c *config.Cluster) []config.Arg
	// Once are the files that it reads only when it starts: it has to be restarted
	// when one of them changes.
	Once func(n *Node) []CertUse
	// Trusts are CAs that it rereads by itself, within a minute, which nobody can
	// see. It is restarted where nothing may go on before it has.
	Trusts func(n *Node) []CertUse
	// Shown are the certificates that it shows to whoever connects, and rereads
	// by itself: that it has done so can be seen on the wire.
	Shown func(n *Node) []CertUse
}

// CertUse is a file that a component uses because its flag says so, and where what
// is in it is shown.
type CertUse struct{ Flag, Path, URL string }
