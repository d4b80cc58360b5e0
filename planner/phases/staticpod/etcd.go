package staticpod

import (
	"fmt"
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

// Etcd runs the stacked etcd member: the first one founds the cluster, further
// ones are added as learners and promoted once they have caught up.
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
		return append(beforeDisruption(n), topology.StepAddress(n.Target, topology.CertsPhase), topology.StepAddress(n.Target, topology.ImagesPhase))
	},
}

// etcdManifest returns the pod as it should be. One who joins gets a placeholder,
// since who else is a member is known only then.
func etcdManifest(n *topology.Node, in kubeadm.Input) ([]byte, error) {
	switch {
	case n.IsFounder():
		return kubeadm.EtcdPod(in, "", false)
	case n.Report != nil && n.Report.Files[n.EtcdData()].Exists && !n.Cluster.Restoring:
		// A member that has run finds the others in its data. It is named alone, as
		// by kubeadm's upgrade, and may not found anything should its data be gone.
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
		return planner.Step{Operations: append([]planner.Operation{topology.EnsureFolder("/etc/kubernetes/manifests", "0700"), topology.EnsureFolder(c.Etcd.DataDir, "0700")}, host.FileOperations(w)...)}
	}
	return planner.Step{
		Via: c.Primary, Limits: memberLimits(c), Gates: []string{planner.QuorumGate},
		Impact:     "adds an etcd member as a learner, which does not count for quorum until it is promoted",
		Operations: JoinEtcd(n, EtcdManifest(w, n)),
	}
}

// NotAMember reports whether etcd answers and counts no member of the node that has run, and
// that its host holds no data of one: whatever the state remembers, it has to be added.
func NotAMember(n *topology.Node) bool {
	c := n.Cluster
	return c.Etcd.External == nil && !n.IsFounder() && n.Report != nil && MembersKnown(c) &&
		!n.Report.Files[n.EtcdData()].Exists && MemberName(n) == ""
}

// OrphanedMember reports whether the host has the pod of a member that etcd does not count any more,
// as where its leaving was cut short. The kubelet must not find it: who was the first
// member would found an etcd by it, and any other wait for members of then.
func OrphanedMember(n *topology.Node) bool {
	return n.Joins() && NotAMember(n) && n.Report.Files[topology.Manifest("etcd")].Exists
}

// enters reports whether nothing of a control plane runs here yet that could be restarted,
// whatever the state remembers: it joins.
func enters(n *topology.Node) bool {
	return n.Joining() && n.Report.Units[topology.KubeletUnit].Active != "active" ||
		NotAMember(n) && !n.Report.Files[topology.Manifest("kube-apiserver")].Exists
}

// JoinEtcd adds the node's member as a learner, starts it, and promotes it.
func JoinEtcd(n *topology.Node, pod planner.Content) planner.Operations {
	c := n.Cluster
	return planner.Operations{
		topology.EnsureFolder("/etc/kubernetes/manifests", "0700"), topology.EnsureFolder(c.Etcd.DataDir, "0700"),
		planner.AddEtcdMember{Name: n.NodeName, PeerURL: n.PeerURL()},
		planner.RenderEtcdManifest{Path: topology.Manifest("etcd"), Manifest: pod, Mode: "0600", Owner: topology.Root},
		planner.Wait{For: planner.WaitEtcdStarted, Name: n.NodeName, Timeout: c.Timeouts.EtcdAPICall},
		planner.PromoteEtcdMember{PeerURL: n.PeerURL(), Timeout: c.Timeouts.EtcdAPICall},
	}
}

// EtcdManifest returns the manifest of one who joins, as a plan holds it.
func EtcdManifest(w topology.PhaseWork, n *topology.Node) planner.Content {
	it := w.Desired.Find(topology.ItemAddress(n.Target, topology.EtcdPhase, "file", topology.Manifest("etcd")))
	content, _ := sensitive.Inlined(it, it.Content)
	return content
}

// promoteStep finishes what an earlier apply began: the member runs and is not
// a voter yet.
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

// memberLimits returns those of a step that changes etcd's membership. A gate looks
// before its step only, so that no other member may restart during the step:
// both would be let through, and together they could take the quorum.
func memberLimits(c *topology.Cluster) []string {
	return []string{c.Limit("etcd-membership"), c.Limit("control-plane-disruption")}
}

// MemberName returns the name by which etcd counts the node as a member that has run and,
// where etcd does not say who its members are, by which the state has it as one;
// empty when it is none.
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

// MembersKnown reports whether etcd answers.
func MembersKnown(c *topology.Cluster) bool { return c.Report != nil && len(c.Report.Members) > 0 }

func Members(n int) string {
	if n == 1 {
		return "1 member"
	}
	return fmt.Sprintf("%d members", n)
}

const PairStops = "Etcd would lose quorum"

// OfMinor returns a release by its minor alone, which is what etcd compares.
func OfMinor(r skew.Release) skew.Release {
	return skew.Release{Major: r.Major, Minor: r.Minor}
}
