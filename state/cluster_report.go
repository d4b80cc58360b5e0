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

// String prints v1/ConfigMap/kube-system/kubeadm-config; the slash of the API group is kept.
func (r ObjectRef) String() string {
	s := r.APIVersion + "/" + r.Kind
	if r.Namespace != "" {
		s += "/" + r.Namespace
	}
	return s + "/" + r.Name
}

// ClusterQuery says what to read from one cluster.
type ClusterQuery struct {
	Objects []ObjectRef
	// Etcd asks for the members of stacked etcd.
	Etcd bool
	// PodsOn are nodes for which the query also reads the pods that a drain would evict, the
	// PodDisruptionBudgets that apply, and the volumes that only they have.
	PodsOn []string
	// Kubelet is the version that kubelets should have, without v: nodes with another version may
	// have to be drained, so they are queried like PodsOn. Empty for any.
	Kubelet string
	// Evicting maps nodes to the NoExecute taints that they should have: a new one evicts pods,
	// so nodes that lack one are queried like PodsOn.
	Evicting map[string][]Taint
	// TokenSecrets asks for the Secrets that hold tokens of service accounts.
	TokenSecrets bool
	// Losses asks for what ends with the whole cluster.
	Losses bool
}

// Drained returns the nodes for which the query reads what a drain or a taint would evict,
// sorted.
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

// ClusterInfo is the ConfigMap from which a node that joins by a token learns the API endpoint
// and the CA to trust (kubeadm). Under ClusterInfoKey it has a kubeconfig without a user.
var ClusterInfo = ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-public", Name: "cluster-info"}

// ClusterInfoKey is the key of the kubeconfig in ClusterInfo's data.
const ClusterInfoKey = "kubeconfig"

// KubeProxyConfig is the ConfigMap that kube-proxy reads when it starts (kubeadm).
var KubeProxyConfig = ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "kube-proxy"}

// RunLease identifies the run that has a cluster's lease.
type RunLease struct {
	Lineage string
	Token   int64
}

// ClusterReport is what API and etcd of one cluster show.
type ClusterReport struct {
	// Version is the API server's gitVersion.
	Version string
	// Lease is the lease of a run that is at work or was interrupted. Nil when there is none.
	Lease *RunLease
	// Objects holds the requested objects that exist, without managedFields.
	Objects map[ObjectRef]Value
	// InfoCAs are the CAs that joining nodes find in cluster-info, in order, if it was requested;
	// nil when it holds none that can be read.
	InfoCAs []CertificateInfo
	// Nodes are all Node objects by name, reduced to the fields that kubewright uses.
	Nodes map[string]NodeReport
	// StaticPods maps the name of a mirror pod in kube-system, such as kube-apiserver-cp1, to its
	// report.
	StaticPods map[string]StaticPodReport
	// Pods are the pods of the requested nodes, sorted by namespace and name; Budgets are the
	// budgets that select any of them, by NAMESPACE/NAME.
	Pods    []PodReport
	Budgets map[string]BudgetReport
	// Claims are bound claims whose volume only one of the requested nodes has and that none of
	// Pods uses now, sorted by namespace and name.
	Claims []ClaimReport
	// Losses is what ends with the cluster, if asked for; nil otherwise.
	Losses *Losses
	// TokenSecrets are the token Secrets, if requested, sorted by namespace and name; TokensSeen
	// reports whether they were read completely.
	TokenSecrets []TokenSecret
	TokensSeen   bool
	// StaleProxies are the nodes, sorted, whose kube-proxy pod was created before the last write
	// of the ConfigMap KubeProxyConfig, if it was requested.
	StaleProxies []string
	// JoinTokens are the IDs of the bootstrap tokens that were created for joins, in order.
	JoinTokens []string
	// Deprecated are the APIs that clients have requested and that a later release removes, if
	// asked for; DeprecatedUnread lists the API servers that did not answer.
	Deprecated       []DeprecatedAPI
	DeprecatedUnread []string
	// Members are etcd's members; nil when not requested or not answered.
	Members []EtcdMember
	// EtcdUnobserved says why Members is nil although it was requested.
	EtcdUnobserved string
	// EtcdClusterID is hex.
	EtcdClusterID string
}

// EtcdIdentity is the etcd cluster that a member belongs to, as reported by the member.
type EtcdIdentity struct {
	// ClusterID is hex.
	ClusterID string
	// PeerURLs are the peer URLs of all members that it knows; nil when it does not report them.
	PeerURLs []string
}

// TokenSecret is a Secret of the type kubernetes.io/service-account-token, without its token.
// Such tokens do not expire, and nothing renews them.
type TokenSecret struct {
	Namespace, Name string
	// Key is the identity of the key that signed the token, in the form of FileReport.PublicKeys;
	// empty when the token does not name it.
	Key string
}

// NodeReport is the state of a node in the API.
type NodeReport struct {
	Labels        map[string]string
	Annotations   map[string]string
	Taints        []Taint
	Unschedulable bool
	Ready         bool
	// Reported is when the kubelet last reported the node's status, by the node's clock, in
	// seconds; zero if it never has.
	Reported time.Time
	// Silent reports whether the kubelet has not reported for a while: the status of its pods in
	// the API may be outdated.
	Silent bool
	// Troubles are what the kubelet reports against the node, in its words: why it is not ready, and
	// of what it has too little.
	Troubles []string
	// InternalIPs are the addresses at which other nodes reach the node.
	InternalIPs []string
	// KubeletVersion is the version in status.nodeInfo, with the leading v.
	KubeletVersion string
	// Pods counts the pods bound to the node, without mirror pods and pods of DaemonSets.
	Pods int
}

// Taint is a node's taint.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect"`
}

// String returns KEY=VALUE:EFFECT as kubectl writes it, without empty parts.
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

// StaticPodReport is the state of a mirror pod in the API.
type StaticPodReport struct {
	// Hash is the annotation kubernetes.io/config.hash: it identifies the running manifest.
	Hash    string
	Running bool
	Ready   bool
	Image   string
	// Seen is when the kubelet saw the manifest that Hash identifies, Acknowledged when it
	// accepted the pod of the status (status.startTime), and Started when the container started;
	// all by the host's clock, zero when not known.
	Seen         time.Time
	Acknowledged time.Time
	Started      time.Time
	// Args is the running command line, without the binary.
	Args []string
	// Probe is the URL of the liveness probe, on the pod's host; empty without one. Alive reports
	// whether a pod that is not shown as ready answered it.
	Probe string
	Alive bool
}

// Stale reports whether the status belongs to a pod of an older manifest: the API shows the new
// hash while the old container still stops. A container that is older than Seen does not prove
// that alone: a restarted kubelet sees the manifests again, and keeps the containers.
func (r *StaticPodReport) Stale() bool {
	seen := r.Seen.Truncate(time.Second) // the other two have a resolution of seconds
	return r.Started.Before(seen) && r.Acknowledged.Before(seen)
}

// Unreported reports whether the kubelet has not reported a status of the pod yet.
func (r *StaticPodReport) Unreported() bool {
	return !r.Running && r.Acknowledged.IsZero() && r.Started.IsZero()
}

// ExternalEtcdReport is what was observed of an etcd that is managed outside kubewright.
type ExternalEtcdReport struct {
	// Versions are the versions of the servers that answered, by endpoint, without v.
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
	// Alarms are the member's alarms: NOSPACE, CORRUPT.
	Alarms []string `json:"alarms,omitempty"`
	// Version is the version of the member's etcd. DBSize is the size of its database on disk in
	// bytes, of which DBInUse are in use. All are empty when it does not answer.
	Version string `json:"version,omitempty"`
	// DowngradeTo is the version that the cluster is downgrading to (etcdctl downgrade enable,
	// etcd 3.6 or later); empty otherwise.
	DowngradeTo string `json:"downgrade_to,omitempty"`
	DBSize      int64  `json:"db_size,omitempty"`
	DBInUse     int64  `json:"db_in_use,omitempty"`
	// Revision is the revision of the data that the member itself holds. It is read where etcd
	// has no quorum, and shows then which members answer and which one has the newest data.
	Revision int64 `json:"revision,omitempty"`
}

// Voters returns how many members of etcd vote, and how many of these are healthy.
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
