package staticpod

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Etcd runs the stacked etcd member: the first one bootstraps the etcd cluster, further ones are added
// as learners and promoted once they have caught up.
var Etcd = topology.Phase{
	Name: topology.EtcdPhase,
	NodeItems: func(n *topology.Node) []state.Item {
		if !n.IsControlPlane() || n.Cluster.Etcd.External != nil {
			return nil
		}
		it := host.FileItem(n, topology.EtcdPhase, state.KindStaticPod, topology.Manifest("etcd"), "0600", func(n *topology.Node) []byte { return topology.Must(etcdManifest(n, n.Input())) })
		provenance.PodOrigins(n, &it, "etcd", func(in kubeadm.Input) ([]byte, error) { return etcdManifest(n, in) })
		return []state.Item{it, {
			Address: topology.ItemAddress(n.Target, topology.EtcdPhase, "member", n.PeerURL()), Kind: state.KindEtcdMember, Attributes: topology.Attributes("voter", true),
		}}
	},
	NodeStep: etcdStep,
	NodeNeeds: func(n *topology.Node) []state.Address {
		if n.Joining() {
			return []state.Address{topology.StepAddress(n.Target, topology.KubeletStartPhase), topology.StepAddress(n.Target, topology.CertsPhase)}
		}
		return append(beforeDisruption(n), topology.StepAddress(n.Target, topology.CertsPhase), topology.StepAddress(n.Target, topology.ImagesPhase), topology.StepAddress(n.Target, topology.HostFilesPhase))
	},
}

// etcdManifest returns the desired pod. A joining member gets a placeholder, since the other members
// are known only when it joins.
func etcdManifest(n *topology.Node, in kubeadm.Input) ([]byte, error) {
	switch {
	case n.IsFounder():
		return kubeadm.EtcdPod(in, "", false)
	case n.Report != nil && n.Report.Files[n.EtcdData()].Exists && !n.Cluster.Restoring:
		// A member that has run finds the others in its data. As in kubeadm's upgrade, its manifest
		// names only itself, and it must not bootstrap a new etcd if its data is gone.
		return kubeadm.EtcdPod(in, "", true)
	}
	return kubeadm.EtcdPod(in, planner.InitialClusterPlaceholder, true)
}

func etcdStep(n *topology.Node, w topology.PhaseWork) planner.Step {
	c := n.Cluster
	switch {
	case !w.Empty() && !w.Concerns(state.KindStaticPod) && !NotAMember(n):
		return promoteStep(n)
	case !w.Create() && (w.Empty() || !NotAMember(n)):
		return podStep(n, w, topology.EtcdPhase)
	}
	if n.IsFounder() {
		return planner.Step{Operations: append([]planner.Operation{topology.EnsureFolder("/etc/kubernetes/manifests", "0700"), host.EtcdFolder(n)}, host.FileOperations(w)...)}
	}
	return planner.Step{
		Via: c.Primary, Limits: memberLimits(c), Gates: []string{planner.QuorumGate},
		Impact:     "adds an etcd member as a learner, which does not count for quorum until it is promoted",
		Operations: JoinEtcd(n, EtcdManifest(w, n)),
	}
}

// NotAMember reports whether etcd answers and does not list a started member of the node, and its host
// holds no data of one: it has to be added, whatever the state records.
func NotAMember(n *topology.Node) bool {
	c := n.Cluster
	return c.Etcd.External == nil && !n.IsFounder() && n.Report != nil && MembersKnown(c) &&
		!n.Report.Files[n.EtcdData()].Exists && MemberName(n) == ""
}

// OrphanedMember reports whether the host has the pod of a member that etcd no longer lists, as after
// an interrupted removal. The kubelet must not start it: the first member would bootstrap an etcd with
// it, and any other would wait for former members.
func OrphanedMember(n *topology.Node) bool {
	return n.Joins() && NotAMember(n) && n.Report.Files[topology.Manifest("etcd")].Exists
}

// enters reports whether no component of a control plane runs here that could be restarted, whatever
// the state records: the node joins.
func enters(n *topology.Node) bool {
	return n.Joining() && n.Report.Units[topology.KubeletUnit].Active != "active" ||
		NotAMember(n) && !n.Report.Files[topology.Manifest("kube-apiserver")].Exists
}

// JoinEtcd adds the node's member as a learner, starts it, and promotes it.
func JoinEtcd(n *topology.Node, pod planner.Content) planner.Operations {
	c := n.Cluster
	return planner.Operations{
		topology.EnsureFolder("/etc/kubernetes/manifests", "0700"), host.EtcdFolder(n),
		planner.AddEtcdMember{Name: n.NodeName, PeerURL: n.PeerURL()},
		planner.RenderEtcdManifest{Path: topology.Manifest("etcd"), Manifest: pod, Mode: "0600", Owner: topology.Root},
		planner.Wait{For: planner.WaitEtcdStarted, Name: n.NodeName, Timeout: c.Timeouts.EtcdAPICall},
		planner.PromoteEtcdMember{PeerURL: n.PeerURL(), Timeout: c.Timeouts.EtcdAPICall},
	}
}

// EtcdManifest returns the manifest of a joining member, in the form that a plan holds.
func EtcdManifest(w topology.PhaseWork, n *topology.Node) planner.Content {
	it := w.Desired.Find(topology.ItemAddress(n.Target, topology.EtcdPhase, "file", topology.Manifest("etcd")))
	content, _ := sensitive.Inlined(it, it.Content)
	return content
}

// promoteStep finishes what an earlier apply began: the member runs and is not a voter yet.
func promoteStep(n *topology.Node) planner.Step {
	c := n.Cluster
	if n.IsFounder() {
		return planner.Step{}
	}
	return planner.Step{
		Via: c.Primary, Limits: memberLimits(c), Gates: []string{planner.QuorumGate},
		Operations: []planner.Operation{
			planner.AddEtcdMember{Name: n.NodeName, PeerURL: n.PeerURL()},
			planner.Wait{For: planner.WaitEtcdStarted, Name: n.NodeName, Timeout: c.Timeouts.EtcdAPICall},
			planner.PromoteEtcdMember{PeerURL: n.PeerURL(), Timeout: c.Timeouts.EtcdAPICall},
		},
	}
}

// memberLimits returns the limits of a step that changes etcd's membership. A gate checks only before
// its step, so that no other member may restart during the step: both would pass their gates, and
// together they could break quorum.
func memberLimits(c *topology.Cluster) []string {
	return []string{c.Limit("etcd-membership"), c.Limit("control-plane-disruption")}
}

// MemberName returns the name by which etcd lists the node's started member. Where etcd does not list
// its members, it returns the node's name if the state records a member. It is empty when there is
// none.
func MemberName(n *topology.Node) string {
	c := n.Cluster
	if !MembersKnown(c) {
		if c.Fleet.RecordedItems.Find(topology.ItemAddress(n.Target, topology.EtcdPhase, "member", n.PeerURL())) == nil {
			return ""
		}
		return n.NodeName
	}
	for _, m := range c.Report.Members {
		if slices.Contains(m.PeerURLs, n.PeerURL()) {
			return m.Name
		}
	}
	return ""
}

// MembersKnown reports whether etcd listed its members.
func MembersKnown(c *topology.Cluster) bool { return c.Report != nil && len(c.Report.Members) > 0 }

// OfMinor returns a release reduced to its minor version, which is what etcd compares.
func OfMinor(r skew.Release) skew.Release {
	return skew.Release{Major: r.Major, Minor: r.Minor}
}
