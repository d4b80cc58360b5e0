package state

import (
	"slices"
	"strings"
	"time"
)

// ObjectRef names an API object.
type ObjectRef struct {
	APIVersion string `json:"api_version"`
	Kind       string `json:"kind"`
	// Namespace is empty for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String prints v1/ConfigMap/kube-system/kubeadm-config; the API group's slash is kept.
func (r ObjectRef) String() string {
	s := r.APIVersion + "/" + r.Kind
	if r.Namespace != "" {
		s += "/" + r.Namespace
	}
	return s + "/" + r.Name
}

// ClusterQuery says what to look at in one cluster.
type ClusterQuery struct {
	Objects []ObjectRef
	// Etcd asks for the members of stacked etcd.
	Etcd bool
	// PodsOn are nodes of which it is asked what a drain would evict, which
	// PodDisruptionBudgets refer to it, and which volumes they alone have.
	PodsOn []string
	// Kubelet is the version that kubelets are to have, without v: the same is
	// asked of nodes with another one, which may have to be emptied. Empty for any.
	Kubelet string
	// Evicting are taints with the effect NoExecute that nodes are to have, by the
	// nodes' names: the same is asked of those that lack one, since it empties them.
	Evicting map[string][]Taint
	// TokenSecrets asks for the Secrets that hold tokens of service accounts.
	TokenSecrets bool
}

// Drained returns the nodes of which the query asks what a drain, or a taint, would evict,
// in order.
func (q ClusterQuery) Drained(nodes map[string]NodeReport) []string {
	out := slices.Clone(q.PodsOn)
	for name, n := range nodes {
		if q.Kubelet != "" && strings.TrimPrefix(n.KubeletVersion, "v") != q.Kubelet {
			out = append(out, name)
		}
		if slices.ContainsFunc(q.Evicting[name], func(t Taint) bool { return !slices.Contains(n.Taints, t) }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ClusterInfo is the ConfigMap from which a node that joins by a token learns where the API
// is and which CA to trust (kubeadm). Under ClusterInfoKey it has a kubeconfig without a user.
var ClusterInfo = ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-public", Name: "cluster-info"}

// ClusterInfoKey is where in ClusterInfo's data the kubeconfig is.
const ClusterInfoKey = "kubeconfig"

// KubeProxyConfig is the ConfigMap that kube-proxy reads when it starts (kubeadm).
var KubeProxyConfig = ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-proxy"}

// RunLease says which run has a cluster's lease.
type RunLease struct {
	Lineage string
	Token   int64
}

// ClusterReport is what API and etcd of one cluster show.
type ClusterReport struct {
	// Version is the API server's gitVersion.
	Version string
	// Lease is that of a run: one that is at work, or was cut short. Nil when there is none.
	Lease *RunLease
	// Objects holds those asked for that exist; managedFields are left out.
	Objects map[ObjectRef]Value
	// InfoCAs are those that nodes which join find in cluster-info, in order, where that
	// was asked for; nil when it holds none that can be read.
	InfoCAs []CertificateInfo
	// Nodes are all Node objects by name, reduced to what kubewright looks at.
	Nodes map[string]NodeReport
	// StaticPods maps the name of a mirror pod of kube-system, such as
	// kube-apiserver-cp1, to what runs.
	StaticPods map[string]StaticPodReport
	// Pods are those of the nodes asked for, in order of namespace and name;
	// Budgets those that select any of them, by NAMESPACE/NAME.
	Pods    []PodReport
	Budgets map[string]BudgetReport
	// Claims are bound ones whose volume one of the nodes asked for alone has, and that
	// none of Pods uses now, in order of namespace and name.
	Claims []ClaimReport
	// TokenSecrets are those asked for, by namespace and name; TokensSeen reports whether
	// they were, and that these are all.
	TokenSecrets []TokenSecret
	TokensSeen   bool
	// StaleProxies are the nodes, in order, whose pod of kube-proxy was made before the
	// ConfigMap KubeProxyConfig was last written, where that was asked for.
	StaleProxies []string
	// JoinTokens are the IDs of the bootstrap tokens that were made for joins, in order.
	JoinTokens []string
	// Deprecated are APIs that go and that any API server was asked for, where that
	// was asked; DeprecatedUnread tells of API servers that did not answer.
	Deprecated       []DeprecatedAPI
	DeprecatedUnread []string
	// Members are etcd's members; nil when not asked for or not answered.
	Members []EtcdMember
	// EtcdUnobserved says why Members is nil although it was asked for.
	EtcdUnobserved string
	// EtcdClusterID is hex.
	EtcdClusterID string
}

// EtcdIdentity is of which etcd a member is, as it says itself.
type EtcdIdentity struct {
	// ClusterID is hex.
	ClusterID string
	// PeerURLs are those of all members that it knows; nil when it does not tell.
	PeerURLs []string
}

// TokenSecret is a Secret of the type kubernetes.io/service-account-token,
// without its token. Such tokens do not end, and nobody renews them.
type TokenSecret struct {
	Namespace, Name string
	// Key is the identity of the key that has signed the token, as of
	// FileReport.PublicKeys; empty when the token does not say it.
	Key string
}

// NodeReport is what the API shows of a node.
type NodeReport struct {
	Labels        map[string]string
	Annotations   map[string]string
	Taints        []Taint
	Unschedulable bool
	Ready         bool
	// Silent reports whether the kubelet has not been heard of for a while: what the API
	// shows of its pods may not be so any more.
	Silent bool
	// InternalIPs are the addresses that the node has for the others.
	InternalIPs []string
	// KubeletVersion is as in status.nodeInfo, with the leading v.
	KubeletVersion string
	// Pods counts pods bound to the node that are neither mirror pods nor of DaemonSets.
	Pods int
}

// Taint is a node's taint.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// String is KEY=VALUE:EFFECT as kubectl writes it, without what is empty.
func (t Taint) String() string {
	text := t.Key
	if t.Value != "" {
		text += "=" + t.Value
	}
	if t.Effect != "" {
		text += ":" + t.Effect
	}
	return text
}

// StaticPodReport is what the API shows of a mirror pod.
type StaticPodReport struct {
	// Hash is the annotation kubernetes.io/config.hash: which manifest runs.
	Hash    string
	Running bool
	Ready   bool
	Image   string
	// Seen is when the kubelet saw the manifest that Hash names, Acknowledged when it
	// took on the pod that the status is of (status.startTime), and Started when the
	// container was started; all by the host's clock, zero when not known.
	Seen         time.Time
	Acknowledged time.Time
	Started      time.Time
	// Args is the command line that runs, without the binary.
	Args []string
}

// Stale reports whether the status is of a pod of an older manifest: the API shows the
// new hash while the old container still stops. That the container is older than the
// moment when the manifest was seen does not tell so alone: a kubelet that was
// restarted sees manifests again, and goes on with the containers.
func (r *StaticPodReport) Stale() bool {
	seen := r.Seen.Truncate(time.Second) // the other two have no parts of seconds
	return r.Started.Before(seen) && r.Acknowledged.Before(seen)
}

// ExternalEtcdReport is what was seen of an etcd that is not kubewright's.
type ExternalEtcdReport struct {
	// Versions are those of the servers that answered, by endpoint, without v.
	Versions map[string]string
	// Keys counts the keys that belong to a cluster.
	Keys int64
}

// EtcdMember is a member of the etcd cluster.
type EtcdMember struct {
	// ID is hex.
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	PeerURLs   []string `json:"peer_urls"`
	ClientURLs []string `json:"client_urls,omitempty"`
	Learner    bool     `json:"learner,omitempty"`
	// Healthy reports whether the member answered a linearizable read through its own endpoint.
	Healthy bool `json:"healthy"`
	Leader  bool `json:"leader,omitempty"`
	// Alarms are etcd's: NOSPACE, CORRUPT.
	Alarms []string `json:"alarms,omitempty"`
	// Version is that of the member's etcd. DBSize is the size of its database on
	// the disk in bytes, of which DBInUse are in use. Empty when it does not answer.
	Version string `json:"version,omitempty"`
	// DowngradeTo is the version to which the cluster was told to step down
	// (etcdctl downgrade enable, from etcd 3.6 on); empty else.
	DowngradeTo string `json:"downgrade_to,omitempty"`
	DBSize      int64  `json:"db_size,omitempty"`
	DBInUse     int64  `json:"db_in_use,omitempty"`
	// Revision is that of the data which the member itself holds. It is asked for where
	// etcd has no quorum, and tells then who answers, and whose data is newest.
	Revision int64 `json:"revision,omitempty"`
}

// Voters returns how many members of etcd have a vote, and how many of these are healthy.
func Voters(members []EtcdMember) (voters, healthy int) {
	for _, m := range members {
		if m.Learner {
			continue
		}
		voters++
		if m.Healthy {
			healthy++
		}
	}
	return voters, healthy
}
