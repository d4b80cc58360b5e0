package phases

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// phase is one row of the table. A phase that owns nothing has no items; one
// that has nothing to do yields no operations.
type phase struct {
	name string
	// items are what the phase wants on a node, or in a cluster.
	nodeItems    func(n *node) []state.Item
	clusterItems func(c *cluster) []state.Item
	// nodeStep and clusterStep choose the operations for the changes.
	nodeStep    func(n *node, w work) planner.Step
	clusterStep func(c *cluster, w work) planner.Step
	// letsGo tells that an item which nobody wants any more stays where it is and
	// is forgotten: something else may still rest on it.
	letsGo func(class string) bool
	// nodeNeeds and clusterNeeds are the steps that come before, whether they
	// have something to do or not.
	nodeNeeds    func(n *node) []state.Address
	clusterNeeds func(c *cluster) []state.Address
}

// The names of the phases, which are kubeadm's.
const (
	preflightPhase     = "preflight"
	preparePhase       = "prepare"
	installPhase       = "install"
	imagesPhase        = "images"
	certsPhase         = "certs"
	kubeconfigPhase    = "kubeconfig"
	etcdPhase          = "etcd"
	controlPlanePhase  = "control-plane"
	kubeletStartPhase  = "kubelet-start"
	waitBootstrapPhase = "kubelet-wait-bootstrap"
	waitPlanePhase     = "wait-control-plane"
	uploadConfigPhase  = "upload-config"
	uploadCertsPhase   = "upload-certs"
	markPlanePhase     = "mark-control-plane"
	markWorkerPhase    = "mark-worker"
	tokenPhase         = "bootstrap-token"
	finalizePhase      = "kubelet-finalize"
	addonPhase         = "addon"
	drainPhase         = "drain"
	pausePhase         = "upgrade-pause"
	tokenPausePhase    = "token-renewal"
	resetPhase         = "reset"
	snapshotPhase      = "etcd-snapshot"
	compactPhase       = "etcd-compact"
	defragmentPhase    = "etcd-defragment"
	restorePhase       = "etcd-restore"
)

// The parts of the addon phase that are kubeadm's.
const (
	coreDNSPart   = addonPhase + "/coredns"
	kubeProxyPart = addonPhase + "/kube-proxy"
)

// tokenCleanup is the waypoint of the step that deletes the join tokens that are left.
const tokenCleanup = "joined"

// table lists the phases in kubeadm's order, with ours where they belong.
func table() []*phase {
	return []*phase{
		&prepare, &install, &images, &certs, &kubeconfigs, &etcd, &controlPlane, &kubeletStart, &waitBootstrap,
		&waitControlPlane, &uploadConfig, &uploadCerts, &markControlPlane, &markWorker, &bootstrapToken, &kubeletFinalize, &addons,
	}
}

// letGo tells whether an item is let go of.
func letGo(a state.Address) bool {
	for _, p := range table() {
		if p.name == a.Phase {
			return p.letsGo != nil && p.letsGo(a.Class())
		}
	}
	return false
}

// anyItem is letsGo of phases that let go of all their items.
func anyItem(string) bool { return true }

// Names lists the names of all phases, in order.
func Names() []string {
	out := []string{preflightPhase}
	for _, p := range table() {
		out = append(out, p.name)
	}
	return append(out, snapshotPhase, drainPhase, pausePhase, tokenPausePhase, resetPhase)
}

// work is what a phase has to do on one target.
type work struct {
	changes []planner.Change
	desired *state.Snapshot
	// peer are the changes of any phase of the same target.
	peer func(phase string) []planner.Change
}

// empty tells that nothing of the phase changes.
func (w work) empty() bool { return len(w.changes) == 0 }

// creates tells of a phase of the same target whether it makes something that
// was not there: a join, not an update.
func (w work) creates(phase string) bool { return w.of(phase).create() }

// of is the work of any phase on the same target.
func (w work) of(phase string) work {
	return work{changes: w.peer(phase), desired: w.desired, peer: w.peer}
}

// create tells that some item was not there.
func (w work) create() bool {
	for _, c := range w.changes {
		if c.Action == planner.Create && c.Reason == planner.ReasonNew {
			return true
		}
	}
	return false
}

// concerns tells that some change is of the kind.
func (w work) concerns(kind state.Kind) bool {
	for _, c := range w.changes {
		if c.Kind == kind {
			return true
		}
	}
	return false
}

// find returns the desired item of a change; nil when it is to go.
func (w work) find(c planner.Change) *state.Item { return w.desired.Find(c.Address) }

// desired lists the items of all phases for the node.
func (n *node) desired() []state.Item {
	out := make([]state.Item, 0, 64) // about as many as a control plane has
	for _, p := range table() {
		if p.nodeItems != nil {
			out = append(out, p.nodeItems(n)...)
		}
	}
	return out
}

// desired lists the items of all phases for the cluster itself and its addons.
func (c *cluster) desired() []state.Item {
	var out []state.Item
	for _, p := range table() {
		if p.clusterItems != nil {
			out = append(out, p.clusterItems(c)...)
		}
	}
	return out
}

// desired is what the configuration and the facts ask for, with secrets sealed.
func (v *View) desired() *state.Snapshot {
	out := &state.Snapshot{}
	if v.Destroy {
		return out
	}
	twin := v.twinView()
	for i, c := range v.clusters {
		for j, n := range c.nodes {
			if n.report == nil {
				continue
			}
			items := n.desired()
			if twin != nil {
				v.seal(items, twin.itemsOf(i, j))
			}
			out.Items = append(out.Items, n.missed(items)...)
		}
		items := c.desired()
		if twin != nil {
			v.seal(items, twin.clusterItemsOf(i))
		}
		out.Items = append(out.Items, items...)
	}
	out.Sort()
	return out
}
