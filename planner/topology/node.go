package topology

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Node is a node of the configuration with the observation of its host.
type Node struct {
	*config.Node
	Cluster *Cluster
	// Settings are the cluster's settings for this node: ignored ones have the value on its host.
	Settings *config.Cluster
	// Ignored are arguments of its static pods that are left to others; nil if there are none.
	Ignored *kubeadm.Kept
	// Report is nil if the host did not answer.
	Report *state.Report
	// NodeName is the Kubernetes node name.
	NodeName string
}

// WithSettings returns the node with other settings of its own and of its cluster, and the arguments
// that are left to others.
func (n *Node) WithSettings(own *config.Node, shared *config.Cluster, ignored *kubeadm.Kept) *Node {
	out := *n
	out.Node, out.Settings, out.Ignored = own, shared, ignored
	return &out
}

func (n *Node) IsControlPlane() bool { return n.Role == config.ControlPlane }

// IsFounder reports whether the cluster is being bootstrapped on this node.
func (n *Node) IsFounder() bool { return n.Cluster.Founding && n.Target == n.Cluster.Primary }

func (n *Node) Facts() *state.Facts {
	if n.Report == nil {
		return &state.Facts{}
	}
	return &n.Report.Facts
}

// Input returns the node as input of the renderer.
func (n *Node) Input() kubeadm.Input {
	in := n.input()
	in.VerifiesKubelets = n.Cluster.VerifiesKubelets()
	return in
}

// input is Input without what depends on the other nodes.
func (n *Node) input() kubeadm.Input {
	in := kubeadm.Input{
		Cluster: n.Settings, Node: n.Node, NodeName: n.NodeName, Facts: n.Facts(), RunningKubelet: n.RunningKubelet(),
		ExternalCA: n.Cluster.ExternalCA(), SigningCert: n.signing().certificate, SigningKey: n.signing().key,
		Kept: n.Ignored,
	}
	// Without an endpoint the first control plane represents the cluster.
	if primary := n.Cluster.PrimaryNode(); primary != nil {
		in.SharedAddress = primary.AdvertiseAddress()
	} else if planes := n.Cluster.ControlPlanes(); len(planes) > 0 {
		in.SharedAddress = planes[0].AdvertiseAddress()
	}
	return in
}

// RuntimeSocket returns the runtime's endpoint: the configured, the observed, or containerd's
// default.
func (n *Node) RuntimeSocket() string {
	switch {
	case n.CRISocket != "":
		return n.CRISocket
	case n.Facts().CRISocket != "":
		return n.Facts().CRISocket
	}
	return "unix:///var/run/containerd/containerd.sock"
}

// MissingCredentials says what a kubelet has lost of its credentials; empty if they are complete,
// or never existed. The kubelet still runs with what it has read, but would not start again.
// Joining again does not restore them, because that requires a node that does not exist. A kubelet
// with a certificate in its kubeconfig is about to get its own.
func (n *Node) MissingCredentials() string {
	if n.Report == nil || n.Cluster.ExternalCA() || !n.Report.Files[KubeletConfig].Exists || !n.known() {
		return ""
	}
	conf, own := n.Report.Files[KubeletConf], n.Report.Files[KubeletClientCert]
	switch {
	case !conf.Exists && !own.Exists && n.Report.Files[BootstrapConf].Exists:
		return "" // an interrupted join: an existing Node is from earlier use of its host
	case !conf.Exists:
		return "its kubeconfig is missing"
	case conf.Kubeconfig == nil:
		return "its kubeconfig cannot be read"
	case conf.Kubeconfig.Client != nil || len(own.Certificates) > 0:
		return ""
	case own.Exists:
		return "its own cannot be read"
	}
	return "its own is missing"
}

// known reports whether the cluster has the node: according to the API or, if it does not answer,
// to what an apply has completed on the node.
func (n *Node) known() bool {
	if at := n.NodeCondition(); at != state.NodeUnknown {
		return at != state.NodeMissing
	}
	phase := WaitBootstrapPhase
	if n.IsControlPlane() {
		phase = FinalizePhase
	}
	recorded := n.Cluster.Fleet.RecordedItems
	return recorded != nil && recorded.Find(ItemAddress(n.Target, phase, "file", KubeletConf)) != nil
}

// signing returns the CA with which this node's controller manager signs: the one of the stage or,
// while no stage can continue because the API does not answer, its current one. It cannot sign with
// a CA file that is a bundle, and would not come up.
func (n *Node) signing() Signing {
	r := n.Cluster.ClusterCA()
	if n.Cluster.Rotates() || r == nil || !r.Begun || n.Report == nil {
		return n.Cluster.Signing
	}
	var told Signing
	for _, a := range n.Seen(state.KindStaticPod, Manifest("kube-controller-manager")).AsMap()["args"].AsArgs() {
		switch a.Name {
		case "cluster-signing-cert-file":
			told.certificate = a.Value
		case "cluster-signing-key-file":
			told.key = a.Value
		}
	}
	if told.certificate == r.Base+".crt" && len(n.CADigestsIn(told.certificate)) > 1 {
		return SigningAt(n.Cluster, TrustBoth)
	}
	return told
}

// Joining reports whether the node gets its identity from an existing cluster, through the primary,
// which therefore never counts as joining.
func (n *Node) Joining() bool { return n.Joins() && n.Target != n.Cluster.Primary }

// Bootstraps reports whether a joining node's kubelet requests its certificate from the cluster.
func (n *Node) Bootstraps() bool { return n.Joining() && !n.Cluster.ExternalCA() }

// Joins reports whether the node has no identity in the cluster yet. A kubelet writes its
// kubeconfig when it begins to bootstrap; the file that this names shows whether it has got its
// certificate. A kubelet whose certificate is being replaced has it in the kubeconfig. A node that did
// not bootstrap has no certificate that would show it: what runs there and what the API has count.
func (n *Node) Joins() bool {
	switch {
	case n.Report == nil || n.MissingCredentials() != "":
		return false
	case n.Target == n.Cluster.Primary:
		return !n.Report.Files[KubeletConf].Exists
	case n.Cluster.ExternalCA():
		return !n.Report.Files[KubeletConf].Exists || !n.Report.Files[KubeletConfig].Exists ||
			n.Report.Units[KubeletUnit].Active != "active" || n.NodeCondition() == state.NodeMissing
	}
	conf := n.Report.Files[KubeletConf].Kubeconfig
	return !n.Report.Files[KubeletClientCert].Exists && (conf == nil || conf.Client == nil)
}

func (n *Node) OtherControlPlanes() []string {
	var out []string
	for _, o := range n.Cluster.ControlPlanes() {
		if o != n {
			out = append(out, o.Short())
		}
	}
	return out
}

// Short returns the name of a node in a sentence: its key, or its name.
func (n *Node) Short() string { return ShortName(n.Target) }

func ShortName(t state.Target) string {
	if t.Keyed {
		return t.Key
	}
	return t.Name
}

// Stopped reports whether any static pod of a control plane is stopped.
func (n *Node) Stopped() bool {
	return n.Report != nil && !n.Joins() && slices.ContainsFunc(n.StaticPods(), func(component string) bool {
		return !n.Report.Files[Manifest(component)].Exists
	})
}

// RunningKubelet returns the version of the node's kubelet according to the API, without v; empty
// if unknown.
func (n *Node) RunningKubelet() string {
	if n.Cluster.Report == nil {
		return ""
	}
	return strings.TrimPrefix(n.Cluster.Report.Nodes[n.NodeName].KubeletVersion, "v")
}

// Upgrades reports whether the node takes part in its cluster's upgrade: it is running.
func (n *Node) Upgrades() bool { return n.Cluster.Up != nil && n.Report != nil && !n.Joins() }

// Seen returns a file of the host in compared form; null if it cannot be read.
func (n *Node) Seen(kind state.Kind, path string) state.Value {
	f := n.Report.Files[path]
	if !f.Exists {
		return state.Null()
	}
	tree, err := n.Cluster.Fleet.Cache.Tree(kind, f.Content)
	if err != nil {
		return state.Null()
	}
	return tree
}

// EtcdFolder returns the data folder of etcd on the node, or "" if it runs no stacked etcd.
func (n *Node) EtcdFolder() string {
	if !n.IsControlPlane() || n.Cluster.Etcd.External != nil {
		return ""
	}
	return n.Cluster.Etcd.DataDir
}

// EtcdData returns the folder that exists once an etcd member has started on the host.
func (n *Node) EtcdData() string { return n.Cluster.Etcd.DataDir + "/member" }

func (n *Node) PeerURL() string { return kubeadm.PeerURL(n.AdvertiseAddress()) }

// StaticPods returns the components that run on a control plane.
func (n *Node) StaticPods() []string {
	var out []string
	if n.Cluster.Etcd.External == nil {
		out = append(out, "etcd")
	}
	return append(out, ControlPlaneVersions...)
}

// Fails reports whether any component of a control plane is known to fail.
func (n *Node) Fails() bool { return len(n.Cluster.Failed[n.Target]) > 0 }

// CADigestsIn returns the identities of the certificates in a file on the node's host.
func (n *Node) CADigestsIn(path string) []string { return CADigestsIn(n.Report, path) }

func (n *Node) ServiceAccountKey() string { return n.Cluster.Certificates.Dir + "/sa" }
