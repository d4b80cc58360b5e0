package topology

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Phase is one row of the table of phases. A phase that owns nothing has no items; one without work
// yields no operations.
type Phase struct {
	Name string
	// NodeItems and ClusterItems return the items of the phase on a node, or in a cluster.
	NodeItems    func(n *Node) []state.Item
	ClusterItems func(c *Cluster) []state.Item
	// NodeStep and ClusterStep choose the operations for the changes.
	NodeStep    func(n *Node, w PhaseWork) planner.Step
	ClusterStep func(c *Cluster, w PhaseWork) planner.Step
	// Retains reports whether an item that is no longer desired stays on the host and is only
	// forgotten: other software may still depend on it.
	Retains func(class string) bool
	// NodeNeeds and ClusterNeeds return the steps that come before, whether or not they have work.
	NodeNeeds    func(n *Node) []state.Address
	ClusterNeeds func(c *Cluster) []state.Address
}

// The names of the phases, as in kubeadm.
const (
	PreflightPhase        = "preflight"
	PreparePhase          = "prepare"
	InstallPhase          = "install"
	HostFilesPhase        = "host-files"
	EncryptionPhase       = "encryption"
	ImagesPhase           = "images"
	CertsPhase            = "certs"
	KubeconfigPhase       = "kubeconfig"
	EtcdPhase             = "etcd"
	ControlPlanePhase     = "control-plane"
	KubeletStartPhase     = "kubelet-start"
	WaitBootstrapPhase    = "kubelet-wait-bootstrap"
	WaitControlPlanePhase = "wait-control-plane"
	UploadConfigPhase     = "upload-config"
	UploadCertsPhase      = "upload-certs"
	MarkControlPlanePhase = "mark-control-plane"
	MarkWorkerPhase       = "mark-worker"
	TokenPhase            = "bootstrap-token"
	FinalizePhase         = "kubelet-finalize"
	AddonPhase            = "addon"
	DrainPhase            = "drain"
	CordonPhase           = "cordon"
	UncordonPhase         = "uncordon"
	PausePhase            = "upgrade-pause"
	TokenPausePhase       = "token-renewal"
	ResetPhase            = "reset"
	SnapshotPhase         = "etcd-snapshot"
	CompactPhase          = "etcd-compact"
	DefragmentPhase       = "etcd-defragment"
	RestorePhase          = "etcd-restore"
)

// The parts of the addon phase that are kubeadm's.
const (
	CoreDNSPart   = AddonPhase + "/coredns"
	KubeProxyPart = AddonPhase + "/kube-proxy"
)

// PhaseWork is the work of a phase on one target.
type PhaseWork struct {
	Changes []planner.Change
	Desired *state.Snapshot
	// Peer are the changes of any phase of the same target.
	Peer func(phase string) []planner.Change
}

// Empty reports whether nothing of the phase changes.
func (w PhaseWork) Empty() bool { return len(w.Changes) == 0 }

// Creates reports whether a phase of the same target creates an item that did not exist: a join,
// not an update.
func (w PhaseWork) Creates(phase string) bool { return w.Of(phase).Create() }

// Of returns the work of any phase on the same target.
func (w PhaseWork) Of(phase string) PhaseWork {
	return PhaseWork{Changes: w.Peer(phase), Desired: w.Desired, Peer: w.Peer}
}

// Create reports whether any item did not exist.
func (w PhaseWork) Create() bool {
	for _, c := range w.Changes {
		if c.Action == planner.Create && c.Reason == planner.ReasonNew {
			return true
		}
	}
	return false
}

// Concerns reports whether any change is of the kind.
func (w PhaseWork) Concerns(kind state.Kind) bool {
	for _, c := range w.Changes {
		if c.Kind == kind {
			return true
		}
	}
	return false
}

// Find returns the desired item of a change; nil if it is removed.
func (w PhaseWork) Find(c planner.Change) *state.Item { return w.Desired.Find(c.Address) }

func actionOf(changes []planner.Change) planner.Action {
	action := planner.Create
	for _, c := range changes {
		if c.Action != planner.Create {
			action = planner.Update
		}
	}
	return action
}

// StepAddress returns the address of the phase's step on the target.
func StepAddress(t state.Target, phase string) state.Address {
	return state.Address{Target: t, Phase: phase}
}

// ItemAddress returns the address of an item of the phase.
func ItemAddress(t state.Target, phase, class, id string) state.Address {
	return state.Address{Target: t, Phase: phase, Item: class + ":" + id}
}

// After adds an edge: a step comes after another.
func (b *Builder) After(id, need state.Address) {
	b.Draft.Edges[id] = append(slices.Clone(b.Draft.Edges[id]), need)
}

// InTurn makes a step come after others, in a partial plan after those that are in it.
func (b *Builder) InTurn(id state.Address, others ...state.Address) {
	b.Draft.Turns[id] = append(slices.Clone(b.Draft.Turns[id]), others...)
}
