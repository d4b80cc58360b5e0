package staticpod

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// ManifestVersion returns the version in a component's manifest on the host; false when there is no
// manifest, or its image's tag is no version.
func ManifestVersion(n *topology.Node, component string) (skew.Release, bool) {
	if n.Report == nil || !n.IsControlPlane() || !n.Report.Files[topology.Manifest(component)].Exists {
		return skew.Release{}, false
	}
	pod, err := n.Cluster.Fleet.Cache.Tree(state.KindStaticPod, n.Report.Files[topology.Manifest(component)].Content)
	if err != nil {
		return skew.Release{}, false
	}
	return ReleaseOf(pod.Get("image").AsString())
}

// ReleaseOf returns the version in an image's tag; false when the tag is none.
func ReleaseOf(image string) (skew.Release, bool) {
	image, _, _ = strings.Cut(image, "@")
	tag := image[strings.LastIndexByte(image, ':')+1:]
	return skew.ParseRelease(strings.ReplaceAll(tag, "_", "+"))
}

// ComingKubelet returns the version of the host's kubelet, or the cluster's version where packages or
// artifacts replace it. It is empty when it is unknown.
func ComingKubelet(n *topology.Node) string {
	if n.Report == nil {
		return ""
	}
	if host.PackagesMisfit(n) {
		return n.Cluster.KubernetesVersion
	}
	for _, f := range host.Software(n) {
		if f.Path == host.Programs+"/kubelet" && n.Report.Files[f.Path].SHA256 != f.Program.SHA256 {
			return n.Cluster.KubernetesVersion
		}
	}
	return n.Facts().KubeletVersion
}

// AwaitsReady reports whether the node's version changes and its Node was observed to be not Ready for
// a reason that the upgrade does not remove.
func AwaitsReady(n *topology.Node) bool {
	return n.Upgrades() && n.Cluster.Up.Raises && n.IsControlPlane() && n.NodeCondition() != state.NodeUnknown && n.NodeCondition() != state.NodeReady && !KubeletAheadOfAPI(n) && !apiUnavailable(n)
}

// apiUnavailable reports whether the API server beside a kubelet, or etcd beside that, is stopped or
// does not run as its manifest says. The kubelet reports to this API server, which is also asked
// whether the Node is Ready: both recover with the static pods.
func apiUnavailable(n *topology.Node) bool {
	return slices.ContainsFunc(n.StaticPods(), func(component string) bool {
		if component != "etcd" && component != "kube-apiserver" {
			return false
		}
		at := podCondition(n, component)
		return !n.Report.Files[topology.Manifest(component)].Exists || at == podDoubted || at == podOutdated
	})
}

// KubeletAheadOfAPI reports whether the installed kubelet is newer than the API server beside it, is
// active, and has stopped reporting, as after a reboot of the host: some kubelets cannot work with an
// older API server. The upgrade of the control plane brings it back.
func KubeletAheadOfAPI(n *topology.Node) bool {
	kubelet, installed := skew.ParseRelease(n.Facts().KubeletVersion)
	api, known := ManifestVersion(n, "kube-apiserver")
	return installed && known && OfMinor(kubelet).Compare(OfMinor(api)) > 0 &&
		n.Report.Units[topology.KubeletUnit].Active == "active" && n.NodeCondition() == state.NodeSilent
}

// LastKubelet returns the running version of a kubelet. While the API does not answer, or has no Node
// of the kubelet, it is the recorded one.
func LastKubelet(n *topology.Node) string {
	it := n.Cluster.Fleet.RecordedItems.Find(topology.ItemAddress(n.Target, topology.KubeletStartPhase, "unit", topology.KubeletUnit))
	if n.Cluster.Report != nil && !Unregistered(n) || it == nil {
		return n.RunningKubelet()
	}
	return it.Attributes.Get("version").AsString()
}

// VersionNote returns the version of the cluster, or how it changes.
func VersionNote(c *topology.Cluster) string {
	if c.Up == nil || !c.Up.Raises {
		return c.KubernetesVersion
	}
	versions := []string{c.Up.Oldest.String()}
	for _, hop := range c.Up.Hops {
		versions = append(versions, hop.String())
	}
	return strings.Join(versions, " → ")
}

// manifestHash is PodHash of the manifest on the host.
func manifestHash(n *topology.Node, component string) string {
	return PodHash(n, component, n.Report.Files[topology.Manifest(component)].Content)
}

// PodHash returns the hash by which the kubelet knows a static pod. The API shows a kubelet's version
// as of its last report: a kubelet that was replaced since may run already, and computes another hash,
// so that both are returned. While the API does not answer, the recorded version is used.
func PodHash(n *topology.Node, component string, content []byte) string {
	in := n.Input()
	in.RunningKubelet = LastKubelet(n)
	hash := kubeadm.ComponentHash(in, component, content)
	if in.RunningKubelet = ComingKubelet(n); in.RunningKubelet == "" {
		return hash
	}
	if other := kubeadm.ComponentHash(in, component, content); other != hash && other != "" && hash != "" {
		return hash + " " + other
	}
	return hash
}

// Unregistered reports whether a kubelet runs and its Node is missing, as after a user has deleted it.
// A kubelet creates its Node only at its start.
func Unregistered(n *topology.Node) bool {
	return n.Report != nil && n.NodeCondition() == state.NodeMissing && !n.Cluster.Founding && !n.Joins() && n.Report.Units[topology.KubeletUnit].Active == "active"
}

// changesItem reports whether the item is among the changes.
func changesItem(w topology.PhaseWork, a state.Address) bool {
	for _, c := range w.Changes {
		if c.Address == a {
			return true
		}
	}
	return false
}

// beforeDisruption returns the steps before the static pods of a control plane are touched in an
// upgrade: the images of its host, and the verification of the previous control plane.
func beforeDisruption(n *topology.Node) []state.Address {
	if !n.Upgrades() {
		return nil
	}
	needs := slices.Concat(StepsBeforeUpgrade(n.Cluster), afterWaypoints(n.Cluster), ImagesOf(n.Cluster, n.Target))
	if before := NodeBefore(n.Cluster.InTurn(), n, 1); before != nil {
		needs = append(needs, topology.StepAddress(before.Target, topology.WaitControlPlanePhase))
	}
	return needs
}

// StepsBeforeUpgrade returns the steps before an upgrade first touches etcd or a control plane:
// departing control planes are gone by then. Where only kubelets change their version, RestartWindow
// orders the steps as for any change.
func StepsBeforeUpgrade(c *topology.Cluster) []state.Address {
	if !c.Up.Raises {
		return nil
	}
	var needs []state.Address
	for _, l := range c.Fleet.Departures() {
		if l.Cluster == c && l.Role == string(config.ControlPlane) {
			needs = append(needs, topology.StepAddress(l.Target, topology.ResetPhase))
		}
	}
	return needs
}

// NodeBefore returns the node that many places before another one, or nil.
func NodeBefore(nodes []*topology.Node, n *topology.Node, places int) *topology.Node {
	if i := slices.Index(nodes, n); i >= places {
		return nodes[i-places]
	}
	return nil
}

// ImagesOf returns the steps that bring images to a host.
func ImagesOf(c *topology.Cluster, t state.Target) []state.Address {
	out := []state.Address{topology.StepAddress(t, topology.ImagesPhase)}
	for _, w := range c.Up.Way {
		out = append(out, w.Step(t, topology.ImagesPhase))
	}
	return out
}

// afterWaypoints returns the steps after which all control planes have the last intermediate version.
func afterWaypoints(c *topology.Cluster) []state.Address {
	if len(c.Up.Way) == 0 {
		return nil
	}
	return c.Up.Way[len(c.Up.Way)-1].AllProved()
}
