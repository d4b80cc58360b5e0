package topology

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Situation is where a cluster stands: not there, being founded, or running.
type Situation struct {
	// Founding: no API has ever served this cluster's objects as far as hosts
	// and state show; the primary makes CAs and the first etcd member.
	Founding bool
	// Primary is the control plane through which the cluster is spoken to.
	Primary state.Target
	// Cas are the key digests of the CAs on the primary, by base path; a CA that
	// does not exist yet is missing.
	Cas map[string]string
	// Failed are the components of control planes that are known not to run as
	// their files say.
	Failed map[state.Target][]string
	// Up is how versions change; nil when none does.
	Up *Upgrade
	// Rotating are the CAs that are on their way to a new one, signing what its
	// controller managers sign with meanwhile.
	Rotating []*CARotation
	Signing  Signing
	// Keys are the service account keys on their way to new ones; nil otherwise.
	Keys *KeyRotation
	// AtOnce are the identities of CAs that have ended and are replaced at once, by
	// base path.
	AtOnce map[string]string
	// Disowned reports whether hosts of it belong to somebody else: what their files say
	// is said of another cluster.
	Disowned bool
}

// Blank reports whether a host holds nothing of any cluster.
func Blank(r *state.Report) bool {
	return r.Marks == nil && Traceless(r)
}

// Traceless reports whether a host holds no file of any cluster; it may be marked as ours.
func Traceless(r *state.Report) bool {
	return !slices.ContainsFunc(TracesOfCluster, func(p string) bool { return r.Files[p].Exists })
}

// tracesOfControlPlane are files that workers do not have.
var tracesOfControlPlane = []string{
	"/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/kubernetes/manifests/etcd.yaml",
	"/etc/kubernetes/manifests/kube-controller-manager.yaml", "/etc/kubernetes/manifests/kube-scheduler.yaml",
	"/etc/kubernetes/admin.conf", "/etc/kubernetes/pki/ca.key", "/var/lib/etcd/member",
}

// TracesOfCluster are files that show that a host belongs to some cluster.
var TracesOfCluster = slices.Concat(tracesOfControlPlane, []string{
	"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/bootstrap-kubelet.conf", "/etc/kubernetes/pki/ca.crt",
})

// Refused reports whether it was refused already, or a control plane of it, without which
// nobody can tell where it stands.
func (c *Cluster) Refused() bool {
	return c.Fleet.Refused[c.Target.String()] || slices.ContainsFunc(c.ControlPlanes(), (*Node).Refused)
}

func (n *Node) Refused() bool { return n.Cluster.Fleet.Refused[n.Target.String()] }

// Reachable prefers a control plane with an administrator's kubeconfig whose API
// server runs, and which has what the others are given: its CA and the key of service
// accounts. An API server goes on for a while when somebody has deleted those.
func (c *Cluster) Reachable(fallback *Node) *Node {
	for _, n := range c.ControlPlanes() {
		if n.Report == nil || !n.Report.Files[AdminConf].Exists || !n.Report.Files[KubeletConf].Exists {
			continue
		}
		if !n.Report.Files[c.CABase()+".crt"].Exists || !n.Report.Files[n.ServiceAccountKey()+".pub"].Exists {
			continue
		}
		if c.Report.StaticPods["kube-apiserver-"+n.NodeName].Ready {
			return n
		}
	}
	return fallback
}

func (c *Cluster) RecordedCA() string {
	if c.Fleet.Recorded == nil || c.Fleet.Recorded.Clusters[c.Label] == nil {
		return ""
	}
	return c.Fleet.Recorded.Clusters[c.Label].CA
}

// RecordedRunning reports whether an apply once saw the cluster's API.
func (c *Cluster) RecordedRunning() bool { return c.RecordedVersion() != "" }

// RecordedVersion returns the version of the cluster's API server as an apply saw it last.
func (c *Cluster) RecordedVersion() string {
	if c.Fleet.Recorded == nil || c.Fleet.Recorded.Clusters[c.Label] == nil {
		return ""
	}
	return c.Fleet.Recorded.Clusters[c.Label].Version
}

func (c *Cluster) CADigests() map[string]string {
	out := map[string]string{}
	primary := c.PrimaryNode()
	if primary == nil || primary.Report == nil {
		return out
	}
	for _, base := range []string{"ca", "front-proxy-ca", "etcd/ca"} {
		path := c.Certificates.Dir + "/" + base
		if certs := primary.Report.Files[path+".crt"].Certificates; len(certs) > 0 {
			out[path] = certs[0].KeyDigest
		}
	}
	return out
}

// Emptied reports whether a cluster whose API was seen has left nothing on its control
// planes but our marks, as kubeadm reset does: a new one in its place would be
// empty, with another CA than its nodes and users know.
func (c *Cluster) Emptied() bool {
	return c.RecordedRunning() && !c.Fleet.Destroy && !slices.ContainsFunc(c.ControlPlanes(), func(n *Node) bool {
		return n.Report != nil && !Traceless(n.Report)
	})
}

func Short(digest string) string {
	if len(digest) > 12 {
		return digest[:12]
	}
	return digest
}

// LeavingNodeNames returns the names of the recorded nodes of a cluster that the
// configuration does not refer to, or has as other nodes, and of those to replace.
func LeavingNodeNames(cfg *config.Config, recorded *state.State, label string, replace []state.Target) []string {
	if recorded == nil || cfg.Cluster(label) == nil {
		return nil
	}
	var out []string
	for t, n := range recorded.Nodes {
		stays := slices.ContainsFunc(cfg.Nodes, func(c *config.Node) bool { return c.Target == t && AnotherNodeReason(c, n) == "" })
		if n.Cluster == label && (!stays || slices.Contains(replace, t)) {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}

// HasRecordedNodes reports whether the state has nodes of a cluster.
func HasRecordedNodes(st *state.State, label string) bool {
	for _, n := range st.Nodes {
		if n.Cluster == label {
			return true
		}
	}
	return false
}

// RestoredFrom returns the digest of the snapshot that the etcd on a host was made of,
// while that restore goes on; empty when none does.
func RestoredFrom(r *state.Report) string {
	return strings.TrimSpace(string(r.Files[planner.RestoredMark].Content))
}
