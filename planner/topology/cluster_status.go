package topology

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Situation is the status of a cluster: missing, being bootstrapped, or running.
type Situation struct {
	// Founding reports that no API has ever served this cluster's objects, as far as hosts and
	// state show; the primary makes the CAs and the first etcd member.
	Founding bool
	// Primary is the control plane through which the API and etcd are reached.
	Primary state.Target
	// Cas are the key digests of the CAs on the primary, by base path; CAs that do not exist yet
	// are missing.
	Cas map[string]string
	// Failed are the components of control planes that are known not to run as their files say.
	Failed map[state.Target][]string
	// Up is the version change; nil if there is none.
	Up *Upgrade
	// Rotating are the CAs that are being rotated; Signing is the pair of files with which the
	// cluster's controller managers sign meanwhile.
	Rotating []*CARotation
	Signing  Signing
	// Keys is the rotation of the service account keys; nil if there is none.
	Keys *KeyRotation
	// AtOnce are the identities of expired CAs that are replaced at once, by base path.
	AtOnce map[string]string
	// Disowned reports whether some of its hosts belong to another owner: findings about their
	// files would be about another cluster.
	Disowned bool
	// Void reports whether the API's answer does not count: it came over connections from before the
	// expiry of a CA that is replaced at once.
	Void bool
	// Restoring reports whether its etcd is being restored from a snapshot.
	Restoring bool
	// Stages are the stages of the rotations of its CAs.
	Stages []*RotationStage
}

// Blank reports whether a host has nothing of any cluster.
func Blank(r *state.Report) bool {
	return r.Marks == nil && Traceless(r)
}

// Traceless reports whether a host has no file of any cluster; it may have kubewright's marker.
func Traceless(r *state.Report) bool {
	return !slices.ContainsFunc(TracesOfCluster, func(p string) bool { return r.Files[p].Exists })
}

// tracesOfControlPlane are files that workers do not have.
var tracesOfControlPlane = []string{
	"/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/kubernetes/manifests/etcd.yaml",
	"/etc/kubernetes/manifests/kube-controller-manager.yaml", "/etc/kubernetes/manifests/kube-scheduler.yaml",
	"/etc/kubernetes/admin.conf", "/etc/kubernetes/pki/ca.key", "/var/lib/etcd/member",
}

// TracesOfCluster are files that show that a host belongs to a cluster.
var TracesOfCluster = slices.Concat(tracesOfControlPlane, []string{
	"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/bootstrap-kubelet.conf", "/etc/kubernetes/pki/ca.crt",
})

// Refused reports whether the cluster or one of its control planes was already refused; without a
// control plane the status of the cluster is unknown.
func (c *Cluster) Refused() bool {
	return c.Fleet.Refused[c.Target.String()] || slices.ContainsFunc(c.ControlPlanes(), (*Node).Refused)
}

func (n *Node) Refused() bool { return n.Cluster.Fleet.Refused[n.Target.String()] }

// Reachable returns a control plane with an administrator's kubeconfig whose API server runs, and
// which has the files that others copy: its CA and the service account key. An API server keeps
// running for a while after these were deleted. Without such a control plane it returns fallback.
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

// RecordedRunning reports whether an apply has ever observed the cluster's API.
func (c *Cluster) RecordedRunning() bool { return c.RecordedVersion() != "" }

// RecordedVersion returns the version of the cluster's API server that an apply observed last.
func (c *Cluster) RecordedVersion() string {
	if c.Fleet.Recorded == nil || c.Fleet.Recorded.Clusters[c.Label] == nil {
		return ""
	}
	return c.Fleet.Recorded.Clusters[c.Label].Version
}

// CADigests returns the key digests of the CAs on a control plane, by base path; none if it is nil or
// was not observed.
func (c *Cluster) CADigests(primary *Node) map[string]string {
	out := map[string]string{}
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

// Emptied reports whether the control planes of a cluster whose API was once observed have nothing
// left but kubewright's markers, as after kubeadm reset: a new cluster in its place would be empty,
// with another CA than its nodes and users know.
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

// LeavingNodeNames returns the names of the recorded nodes of a cluster that the configuration does
// not have, or has as other nodes, and of those to replace.
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

// HasRecordedNodes reports whether the state records nodes of a cluster.
func HasRecordedNodes(st *state.State, label string) bool {
	for _, n := range st.Nodes {
		if n.Cluster == label {
			return true
		}
	}
	return false
}

// RestoredFrom returns the digest of the snapshot that the etcd on a host was restored from, during
// that restore; empty if there is none.
func RestoredFrom(r *state.Report) string {
	return strings.TrimSpace(string(r.Files[planner.RestoredMark].Content))
}
