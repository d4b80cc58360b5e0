package topology

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/state"
)

// Upgrade is how the versions of a cluster that runs come to the wanted one. It
// is found from what is observed alone, so that an upgrade that was cut short
// goes on from where it stands: manifests say which version a control plane is
// to run, the API which version a kubelet runs, and a node's annotation that it
// was cordoned for this.
//
// The order is kubeadm's: images on all hosts; then the control planes, one at a
// time and each proved before the next; the configuration in the cluster behind
// the first of them; then the kubelets of the control planes, one at a time, and
// those of the workers, each node drained first; the addons last.
type Upgrade struct {
	// newest is the newest API server's version, want the wanted one. oldest is that
	// of the oldest component: a controller manager may have been left behind.
	Oldest, Newest, Want skew.Release
	// Raises reports whether the version of a control plane's component changes.
	Raises bool
	// Begun reports whether some component has the wanted version already.
	Begun bool
	// Hops are the versions that control planes go through, the wanted one last;
	// err says why there is no way. way are the hops but the last.
	Hops []skew.Release
	Err  error
	Way  []*Waypoint
	// Turns are the versions that kubelets of other versions get, by node.
	Turns map[state.Target]string
	// Batches are cluster.paced, once that was asked for.
	Batches []Batch
}

// ControlPlaneVersions are the components by whose images a control plane's version is told.
var ControlPlaneVersions = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// Waypoint is a version that the control planes of a cluster go through on
// their way to the wanted one: the same configuration with that version. Kubelets
// do not stop there, as they may be three minor versions older; neither do the
// configuration in the cluster and the addons.
type Waypoint struct {
	Version string
	// View is the cluster's, with the version; place is its place in there.
	View  *Fleet
	Place int
	// Items are wanted there, addressed with the waypoint.
	Items []state.Item
	// Missing is why a static pod is not there, of nodes that are no newcomers; empty
	// where an apply was cut short when the pod was stopped.
	Missing string
}

// Cluster returns the cluster as it is configured there.
func (w *Waypoint) Cluster() *Cluster { return w.View.Clusters[w.Place] }

// Step returns the address of a phase on a target there.
func (w *Waypoint) Step(t state.Target, phase string) state.Address {
	id := StepAddress(t, phase)
	id.Waypoint = w.Version
	return id
}

// Proved returns the steps after which a control plane has the waypoint's version, and one
// that failed before is proved to run.
func (w *Waypoint) Proved(n *Node) []state.Address {
	return []state.Address{w.Step(n.Target, EtcdPhase), w.Step(n.Target, ControlPlanePhase), w.Step(n.Target, WaitControlPlanePhase)}
}

// AllProved returns the steps after which all control planes have it.
func (w *Waypoint) AllProved() []state.Address {
	var out []state.Address
	for _, n := range w.Cluster().ControlPlanes() {
		out = append(out, w.Proved(n)...)
	}
	return out
}

// Batch is workers that take their turns in an upgrade, so many at once. The
// next batch begins when all of them are well, and after the pause.
type Batch struct {
	Pool   *config.Pool
	Canary bool
	Nodes  []*Node
	Lanes  int
}
