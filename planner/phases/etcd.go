package phases

import (
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// etcd runs the stacked etcd member: the first one founds the cluster, further
// ones are added as learners and promoted once they have caught up.
var etcd = phase{
	name: etcdPhase,
	nodeItems: func(n *node) []state.Item {
		if !n.isControlPlane() || n.cluster.Etcd.External != nil {
			return nil
		}
		it := n.fileItem(etcdPhase, state.KindStaticPod, manifest("etcd"), "0600", func(n *node) []byte { return must(n.etcdManifest(n.input())) })
		n.podOrigins(&it, "etcd", n.etcdManifest)
		return []state.Item{it, {
			Address: item(n.target, etcdPhase, "member", n.peerURL()), Kind: state.KindEtcdMember, Attributes: attributes("voter", true),
		}}
	},
	nodeStep: etcdStep,
	nodeNeeds: func(n *node) []state.Address {
		if n.joining() {
			return []state.Address{step(n.target, kubeletStartPhase), step(n.target, certsPhase)}
		}
		return append(n.beforeDisruption(), step(n.target, certsPhase), step(n.target, imagesPhase))
	},
}

// etcdFolder is where etcd keeps its data on the node, empty where no etcd of ours runs.
func (n *node) etcdFolder() string {
	if !n.isControlPlane() || n.cluster.Etcd.External != nil {
		return ""
	}
	return n.cluster.Etcd.DataDir
}

// etcdData is there once an etcd member has started on the host.
func (n *node) etcdData() string { return n.cluster.Etcd.DataDir + "/member" }

func manifest(component string) string { return "/etc/kubernetes/manifests/" + component + ".yaml" }

// etcdManifest is the pod as it should be. One who joins gets a placeholder,
// since who else is a member is known only then.
func (n *node) etcdManifest(in kubeadm.Input) ([]byte, error) {
	switch {
	case n.isFounder():
		return kubeadm.EtcdPod(in, "", false)
	case n.report != nil && n.report.Files[n.etcdData()].Exists && !n.cluster.restoring:
		// A member that has run finds the others in its data. It is named alone, as
		// by kubeadm's upgrade, and may not found anything should its data be gone.
		return kubeadm.EtcdPod(in, "", true)
	}
	return kubeadm.EtcdPod(in, planner.InitialClusterPlaceholder, true)
}

func etcdStep(n *node, w work) planner.Step {
	c := n.cluster
	switch {
	case !w.empty() && !w.concerns(state.KindStaticPod) && !n.uncounted():
		return n.promoteStep()
	case !w.create() && (w.empty() || !n.uncounted()):
		return podStep(n, w, etcdPhase)
	}
	if n.isFounder() {
		return planner.Step{Operations: append([]planner.Operation{folder("/etc/kubernetes/manifests", "0700"), folder(c.Etcd.DataDir, "0700")}, fileOperations(w)...)}
	}
	return planner.Step{
		Via: c.seat, Limits: c.memberLimits(), Gates: []string{planner.QuorumGate},
		Impact:     "adds an etcd member as a learner, which does not count for quorum until it is promoted",
		Operations: n.joinEtcd(w.etcdManifest(n)),
	}
}

// uncounted tells that etcd answers and counts no member of the node that has run, and
// that its host holds no data of one: whatever the state remembers, it has to be added.
func (n *node) uncounted() bool {
	c := n.cluster
	return c.Etcd.External == nil && !n.isFounder() && n.report != nil && c.tellsMembers() &&
		!n.report.Files[n.etcdData()].Exists && n.counted() == ""
}

// outlived tells that the host has the pod of a member that etcd does not count any more,
// as where its leaving was cut short. The kubelet must not find it: who was the first
// member would found an etcd by it, and any other wait for members of then.
func (n *node) outlived() bool {
	return n.joins() && n.uncounted() && n.report.Files[manifest("etcd")].Exists
}

// enters tells that nothing of a control plane runs here yet that could be restarted,
// whatever the state remembers: it joins.
func (n *node) enters() bool {
	return n.joining() && n.report.Units[kubeletUnit].Active != "active" ||
		n.uncounted() && !n.report.Files[manifest("kube-apiserver")].Exists
}

// joinEtcd adds the node's member as a learner, starts it, and promotes it.
func (n *node) joinEtcd(pod planner.Content) planner.Operations {
	c := n.cluster
	return planner.Operations{
		folder("/etc/kubernetes/manifests", "0700"), folder(c.Etcd.DataDir, "0700"),
		planner.AddEtcdMember{Name: n.name, PeerURL: n.peerURL()},
		planner.RenderEtcdManifest{Path: manifest("etcd"), Manifest: pod, Mode: "0600", Owner: root},
		planner.Wait{For: planner.WaitEtcdStarted, Name: n.name, Timeout: c.Timeouts.EtcdAPICall},
		planner.PromoteEtcdMember{PeerURL: n.peerURL(), Timeout: c.Timeouts.EtcdAPICall},
	}
}

// etcdManifest is the manifest of one who joins, as a plan holds it.
func (w work) etcdManifest(n *node) planner.Content {
	it := w.desired.Find(item(n.target, etcdPhase, "file", manifest("etcd")))
	content, _ := inlined(it, it.Content)
	return content
}

// promoteStep finishes what an earlier apply began: the member runs and is not
// a voter yet.
func (n *node) promoteStep() planner.Step {
	c := n.cluster
	if n.isFounder() {
		return planner.Step{}
	}
	return planner.Step{
		Via: c.seat, Limits: c.memberLimits(), Gates: []string{planner.QuorumGate},
		Operations: []planner.Operation{
			planner.AddEtcdMember{Name: n.name, PeerURL: n.peerURL()},
			planner.Wait{For: planner.WaitEtcdStarted, Name: n.name, Timeout: c.Timeouts.EtcdAPICall},
			planner.PromoteEtcdMember{PeerURL: n.peerURL(), Timeout: c.Timeouts.EtcdAPICall},
		},
	}
}

func (n *node) peerURL() string { return kubeadm.PeerURL(n.AdvertiseAddress()) }

// memberLimits are those of a step that changes etcd's membership. A gate looks
// before its step only, so that no other member may restart during the step:
// both would be let through, and together they could take the quorum.
func (c *cluster) memberLimits() []string {
	return []string{c.limit("etcd-membership"), c.limit("control-plane-disruption")}
}

// limit is the name of a limit of this cluster.
func (c *cluster) limit(name string) string { return c.target.String() + "/" + name }

func bracket(ip string) string {
	if strings.Contains(ip, ":") {
		return "[" + ip + "]"
	}
	return ip
}

// withoutArgs drops arguments that are not compared.
func withoutArgs(v state.Value, names ...string) state.Value {
	m := map[string]state.Value{}
	for k, e := range v.AsMap() {
		m[k] = e
	}
	var args []state.Arg
	for _, a := range m["args"].AsArgs() {
		keep := true
		for _, name := range names {
			keep = keep && a.Name != name
		}
		if keep {
			args = append(args, a)
		}
	}
	m["args"] = state.Args(args)
	return state.Map(m)
}

// must unwraps a rendering of a configuration that was validated before.
func must(b []byte, err error) []byte {
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return b
}
