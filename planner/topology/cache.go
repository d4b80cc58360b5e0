package topology

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// cache keeps results that are expensive to compute and the same for most nodes of a cluster. Each
// entry is a function of its key alone, so it cannot become stale; the cache lives for one plan,
// and its entries are never modified.
type cache struct {
	trees    map[treeKey]parsed
	Kubelets map[KubeletKey][]byte
	// Objects are keyed by the input of the node that represents the cluster.
	Objects map[kubeadm.Input][]kubeadm.Object
	// Batches are the batches in which an upgrade takes the workers of a cluster down.
	Batches map[*Cluster][]Batch
	Pods    map[PodKey]rendered
	Health  map[HealthKey]Health
	// Settings are the settings in the block of a cluster or node.
	Settings map[state.Target]map[string][]Written
	Shared   map[SharedKey]map[string]state.Source
	// Patched are the paths of kubelet configurations that patches have changed.
	Patched map[KubeletKey][]PatchedPath
	// held is why API servers do not begin to verify kubelets.
	held map[heldKey][]string
}

func NewCache() *cache {
	return &cache{
		trees: map[treeKey]parsed{}, Kubelets: map[KubeletKey][]byte{}, Objects: map[kubeadm.Input][]kubeadm.Object{}, Batches: map[*Cluster][]Batch{},
		Pods: map[PodKey]rendered{}, Health: map[HealthKey]Health{}, Settings: map[state.Target]map[string][]Written{}, Shared: map[SharedKey]map[string]state.Source{},
		Patched: map[KubeletKey][]PatchedPath{}, held: map[heldKey][]string{},
	}
}

// treeKey is the kind and the content of a file.
type treeKey struct {
	kind    state.Kind
	content string
}

// parsed is the result of parsing it.
type parsed struct {
	tree state.Value
	err  error
}

// Tree is parseFile, called once for all files with the same content.
func (m *cache) Tree(kind state.Kind, content []byte) (state.Value, error) {
	// The compiler does not allocate a string for this lookup.
	p, ok := m.trees[treeKey{kind, string(content)}]
	if !ok {
		p.tree, p.err = parseFile(kind, content)
		m.trees[treeKey{kind, string(content)}] = p
	}
	return p.tree, p.err
}

// KubeletKey is everything that distinguishes the kubelet configurations of nodes without settings
// of their own.
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

// Health is the URL of a component's health check; Insecure reports whether its certificate is
// self-signed.
type Health struct {
	URL      string
	Insecure bool
}

// PodKey is all input of a static pod's manifest.
type PodKey struct {
	In        kubeadm.Input
	Component string
}

// rendered is the result of rendering it.
type rendered struct {
	Content []byte
	Err     error
}

// CertConsumer is a component of a control plane with the certificates, keys and kubeconfigs that
// it reads.
type CertConsumer struct {
	Component, Phase string
	Args             func(c *config.Cluster) []config.Arg
	// Once are the files that it reads only at start: it has to be restarted when one of them
	// changes.
	Once func(n *Node) []CertUse
	// Trusts are CAs that it rereads by itself within a minute, which cannot be observed. It is
	// restarted where the next step must not begin before that.
	Trusts func(n *Node) []CertUse
	// Shown are the certificates that it presents to clients and rereads by itself, which can be
	// observed in a TLS handshake.
	Shown func(n *Node) []CertUse
}

// CertUse is a file that a component uses because of a flag, and the URL at which its content can
// be observed.
type CertUse struct{ Flag, Path, URL string }
