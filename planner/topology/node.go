package topology

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Node is a node of the configuration together with what is known of its host.
type Node struct {
	*config.Node
	Cluster *Cluster
	// Settings are the cluster's as this node has them: what is ignored is as it
	// is on its host.
	Settings *config.Cluster
	// Ignored are arguments of its static pods that are left to others; nil where none is.
	Ignored *kubeadm.Kept
	// Report is nil when the host did not answer.
	Report *state.Report
	// NodeName is the Kubernetes node name.
	NodeName string
}

func (n *Node) IsControlPlane() bool { return n.Role == config.ControlPlane }

// IsFounder reports whether the cluster is being founded on this node.
func (n *Node) IsFounder() bool { return n.Cluster.Founding && n.Target == n.Cluster.Primary }

func (n *Node) Facts() *state.Facts {
	if n.Report == nil {
		return &state.Facts{}
	}
	return &n.Report.Facts
}

// Input returns the node as the renderer takes it.
func (n *Node) Input() kubeadm.Input {
	in := kubeadm.Input{
		Cluster: n.Settings, Node: n.Node, NodeName: n.NodeName, Facts: n.Facts(), RunningKubelet: n.RunningKubelet(),
		ExternalCA: n.Cluster.ExternalCA(), SigningCert: n.signing().certificate, SigningKey: n.signing().key,
		Kept: n.Ignored,
	}
	// Without an endpoint the first control plane stands for the cluster.
	if primary := n.Cluster.PrimaryNode(); primary != nil {
		in.SharedAddress = primary.AdvertiseAddress()
	} else if planes := n.Cluster.ControlPlanes(); len(planes) > 0 {
		in.SharedAddress = planes[0].AdvertiseAddress()
	}
	return in
}

// RuntimeSocket returns the runtime's endpoint: configured, found, or containerd's.
func (n *Node) RuntimeSocket() string {
	switch {
	case n.CRISocket != "":
		return n.CRISocket
	case n.Facts().CRISocket != "":
		return n.Facts().CRISocket
	}
	return "unix:///var/run/containerd/containerd.sock"
}

// MissingCredentials says what a kubelet has lost of its identity in the cluster; empty when it
// has all of it, or never had one. It still runs with what it has read, but would not
// start again, and neither is given to it by joining once more, which needs a node
// that is not there. One whose certificate is in its kubeconfig is about to get its own.
func (n *Node) MissingCredentials() string {
	if n.Report == nil || n.Cluster.ExternalCA() || !n.Report.Files[KubeletConfig].Exists || !n.known() {
		return ""
	}
	conf, own := n.Report.Files[KubeletConf], n.Report.Files[KubeletClientCert]
	switch {
	case !conf.Exists && !own.Exists && n.Report.Files[BootstrapConf].Exists:
		return "" // an apply was cut short as it joined: a Node that is there is of a former life of its host
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

// known reports whether the cluster has the node: by the API, and where that is silent by
// what an apply has completed on it.
func (n *Node) known() bool {
	if n.Cluster.Report != nil {
		_, ok := n.Cluster.Report.Nodes[n.NodeName]
		return ok
	}
	phase := WaitBootstrapPhase
	if n.IsControlPlane() {
		phase = FinalizePhase
	}
	recorded := n.Cluster.Fleet.RecordedItems
	return recorded != nil && recorded.Find(ItemAddress(n.Target, phase, "file", KubeletConf)) != nil
}

// signing is with what this node's controller manager signs: what the stage says, and
// while no stage can go on, for the API is silent, what it was last told. With a
// bundle in the CA's file it cannot sign with that, and would not come up.
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

// Joining reports whether the node gets its identity from a cluster that is there:
// through the primary, which is therefore never one of those.
func (n *Node) Joining() bool { return n.Joins() && n.Target != n.Cluster.Primary }

// Bootstraps reports whether a joining node's kubelet asks the cluster for its certificate.
func (n *Node) Bootstraps() bool { return n.Joining() && !n.Cluster.ExternalCA() }

// Joins reports whether the node has no identity in the cluster yet. A kubelet
// writes its kubeconfig when it begins to bootstrap; that it has got its
// certificate shows in the file that the kubeconfig names. One whose certificate
// is replaced has it in the kubeconfig.
func (n *Node) Joins() bool {
	switch {
	case n.Report == nil || n.MissingCredentials() != "":
		return false
	case n.Target == n.Cluster.Primary:
		return !n.Report.Files[KubeletConf].Exists
	case n.Cluster.ExternalCA():
		return !n.registered()
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

// Short returns how a node is called in a sentence: by its key, or its name.
func (n *Node) Short() string { return ShortName(n.Target) }

func ShortName(t state.Target) string {
	if t.Keyed {
		return t.Key
	}
	return t.Name
}

// Stopped reports whether static pods of a control plane are stopped.
func (n *Node) Stopped() bool {
	return n.Report != nil && !n.Joins() && slices.ContainsFunc(n.StaticPods(), func(component string) bool {
		return !n.Report.Files[Manifest(component)].Exists
	})
}

// RunningKubelet returns the version of the node's kubelet as the API shows it,
// without v; empty when that is not known.
func (n *Node) RunningKubelet() string {
	if n.Cluster.Report == nil {
		return ""
	}
	return strings.TrimPrefix(n.Cluster.Report.Nodes[n.NodeName].KubeletVersion, "v")
}

// Upgrades reports whether the node takes part in its cluster's upgrade: it runs.
func (n *Node) Upgrades() bool { return n.Cluster.Up != nil && n.Report != nil && !n.Joins() }

// Seen returns a file of the host as it is compared; null when it cannot be read.
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

// EtcdFolder returns where etcd keeps its data on the node, empty where no etcd of ours runs.
func (n *Node) EtcdFolder() string {
	if !n.IsControlPlane() || n.Cluster.Etcd.External != nil {
		return ""
	}
	return n.Cluster.Etcd.DataDir
}

// EtcdData is there once an etcd member has started on the host.
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

// Fails reports whether some component of a control plane is known to fail.
func (n *Node) Fails() bool { return len(n.Cluster.Failed[n.Target]) > 0 }

// CADigestsIn returns the identities of the certificates in a file on the node's host.
func (n *Node) CADigestsIn(path string) []string { return CADigestsIn(n.Report, path) }

func (n *Node) ServiceAccountKey() string { return n.Cluster.Certificates.Dir + "/sa" }
