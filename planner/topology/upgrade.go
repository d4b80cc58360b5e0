package topology

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/state"
)

// Upgrade is the version change of a running cluster. It is derived only from the observation, so
// that an interrupted upgrade continues: manifests show which version a control plane should run,
// the API shows which version a kubelet runs, and a node's annotation shows that it was cordoned
// for the upgrade.
//
// The order is kubeadm's: images on all hosts; then the control planes, one at a time and each
// proved before the next; the configuration in the cluster after the first of them; then the
// kubelets of the control planes, one at a time, and those of the workers, each node drained first;
// the addons last.
type Upgrade struct {
	// Newest is the version of the newest API server, Want the desired version. Oldest is the
	// version of the oldest component: a controller manager may have been left behind.
	Oldest, Newest, Want skew.Release
	// Raises reports whether the version of a control plane's component changes.
	Raises bool
	// Begun reports whether any component already has the desired version.
	Begun bool
	// Hops are the versions that control planes go through, the desired one last; Err says why
	// there is no such path. Way are the waypoints of all hops except the last.
	Hops []skew.Release
	Err  error
	Way  []*Waypoint
	// Turns are the new versions of kubelets that change, by node.
	Turns map[state.Target]string
}

// WithWay returns the version change with the waypoints to the desired version.
func (u *Upgrade) WithWay(way []*Waypoint) *Upgrade {
	out := *u
	out.Way = way
	return &out
}

// ControlPlaneVersions are the components whose images show a control plane's version.
var ControlPlaneVersions = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// Waypoint is a version that the control planes of a cluster go through on the way to the desired
// one: the same configuration with that version. Kubelets skip it, as they may be three minor
// versions older, and so do the configuration in the cluster and the addons.
type Waypoint struct {
	Version string
	// Fleet is the fleet with that version; Place is the index of the cluster in it.
	Fleet *Fleet
	Place int
	// Items are the desired items at the waypoint, addressed without it.
	Items []state.Item
	// Missing is why a static pod of an existing node is missing; empty if an interrupted apply has
	// stopped it.
	Missing string
}

// Cluster returns the cluster as configured at the waypoint.
func (w *Waypoint) Cluster() *Cluster { return w.Fleet.Clusters[w.Place] }

// Step returns the address of a phase on a target at the waypoint.
func (w *Waypoint) Step(t state.Target, phase string) state.Address {
	id := StepAddress(t, phase)
	id.Waypoint = w.Version
	return id
}

// Proved returns the steps after which a control plane has the waypoint's version and, if it failed
// before, is proved to run.
func (w *Waypoint) Proved(n *Node) []state.Address {
	return []state.Address{w.Step(n.Target, EtcdPhase), w.Step(n.Target, ControlPlanePhase), w.Step(n.Target, WaitControlPlanePhase)}
}

// AllProved returns the steps after which all control planes have the version.
func (w *Waypoint) AllProved() []state.Address {
	var out []state.Address
	for _, n := range w.Cluster().ControlPlanes() {
		out = append(out, w.Proved(n)...)
	}
	return out
}

// Batch is a set of workers that are upgraded with limited parallelism. The next batch begins when
// all of them are Ready, and after the pause.
type Batch struct {
	Pool   *config.Pool
	Canary bool
	Nodes  []*Node
	Lanes  int
}
