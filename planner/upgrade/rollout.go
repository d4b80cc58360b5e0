package upgrade

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Whatever restarts the kubelet or the container runtime of a running node is rolled out: control
// planes one at a time, then the workers in the batches of their pools, each proved before the next.
// One phase is finished on all nodes before the next one begins, so that a failure stops the rest.

// restartingPhases are the phases whose steps restart a kubelet or a container runtime, in their order.
var restartingPhases = []string{topology.InstallPhase, topology.KubeconfigPhase, topology.KubeletStartPhase, topology.WaitBootstrapPhase, topology.FinalizePhase}

// rollout is the work of one phase, or of one phase in a stage of a rotation, on the nodes of a cluster.
// Nodes whose kubelets get another version are not among its nodes: OrderUpgrade orders them.
type rollout struct {
	c               *topology.Cluster
	phase, waypoint string
	planes, workers []*topology.Node
}

func (r *rollout) step(n *topology.Node) state.Address {
	id := topology.StepAddress(n.Target, r.phase)
	id.Waypoint = r.waypoint
	return id
}

// pause returns the address of the step before the batch at an index. It may have no work.
func (r *rollout) pause(i int) state.Address {
	id := topology.StepAddress(r.c.Target, topology.PausePhase)
	id.Waypoint = r.phase + "-" + strconv.Itoa(i)
	if r.waypoint != "" {
		id.Waypoint = r.waypoint + "-" + id.Waypoint
	}
	return id
}

// rollouts returns the rollouts of a cluster in the order in which they run.
func rollouts(c *topology.Cluster, steps []planner.Step) []*rollout {
	var out []*rollout
	of := func(phase, waypoint string) *rollout {
		i := slices.IndexFunc(out, func(r *rollout) bool { return r.phase == phase && r.waypoint == waypoint })
		if i < 0 {
			i, out = len(out), append(out, &rollout{c: c, phase: phase, waypoint: waypoint})
		}
		return out[i]
	}
	for _, phase := range restartingPhases {
		of(phase, "")
	}
	turn := slices.Concat(c.InTurn(), slices.DeleteFunc(slices.Clone(c.Nodes), (*topology.Node).IsControlPlane))
	for i := range steps {
		s := &steps[i]
		n := c.Node(s.Target)
		if n == nil || !slices.Contains(turn, n) || n.Joins() || !s.Restarts() || c.Fleet.Replaces(n.Target) || s.ID.Waypoint == "" && upgrades(n, s.Phase) {
			continue
		}
		r := of(s.Phase, s.ID.Waypoint)
		if n.IsControlPlane() {
			r.planes = append(r.planes, n)
		} else {
			r.workers = append(r.workers, n)
		}
	}
	for _, r := range out {
		for _, list := range [][]*topology.Node{r.planes, r.workers} {
			slices.SortFunc(list, func(a, b *topology.Node) int { return slices.Index(turn, a) - slices.Index(turn, b) })
		}
	}
	return out
}

// upgrades reports whether a step of the phase is a part of the upgrade of the node's kubelet.
func upgrades(n *topology.Node, phase string) bool {
	return n.Upgrades() && (pki.KubeletChanges(n) || drain.Cordoned(n)) && (phase == topology.InstallPhase || phase == topology.KubeletStartPhase)
}

// RollOut orders the steps that restart kubelets and container runtimes of a running cluster.
func RollOut(b *topology.Builder, c *topology.Cluster) {
	if c.Founding || c.Fleet.Destroy {
		return
	}
	var before []state.Address
	for _, r := range rollouts(c, b.Draft.Steps) {
		if r.waypoint != "" {
			r.order(b, nil) // the stages wait for one another
		} else {
			before = r.order(b, before)
		}
	}
}

// order makes the nodes take their turns after other steps, and returns the steps after which all of
// them have had theirs.
func (r *rollout) order(b *topology.Builder, before []state.Address) []state.Address {
	c, last := r.c, before
	turning := r.phase == topology.KubeletStartPhase && r.waypoint == "" && c.Up != nil
	if turning {
		last = slices.Concat(last, kubeletSteps(kubelet.KubeletsToUpgrade(c, config.ControlPlane)))
	}
	for _, n := range r.planes {
		r.prove(b, n, nil)
		after(b, r.step(n), last...)
		last = []state.Address{r.step(n)}
	}
	if turning {
		for _, n := range kubelet.KubeletsToUpgrade(c, config.Worker) {
			after(b, topology.StepAddress(n.Target, topology.DrainPhase), last...)
		}
		last = slices.Concat(last, kubeletSteps(kubelet.KubeletsToUpgrade(c, config.Worker)))
	}
	if len(r.workers) > 0 {
		last = r.orderWorkers(b, last)
	}
	if r.phase == topology.InstallPhase && r.waypoint == "" {
		for _, n := range c.ControlPlanes() { // their static pods restart after the workers' runtimes, not beside them
			for _, phase := range []string{topology.EtcdPhase, topology.ControlPlanePhase} {
				if !n.Joins() {
					after(b, topology.StepAddress(n.Target, phase), last...)
				}
			}
		}
	}
	return last
}

// orderWorkers does that for the workers.
func (r *rollout) orderWorkers(b *topology.Builder, last []state.Address) []state.Address {
	c := r.c
	if r.phase != topology.InstallPhase && r.waypoint == "" {
		for _, n := range c.ControlPlanes() {
			if !n.Joins() {
				last = append(slices.Clone(last), topology.StepAddress(n.Target, topology.EtcdPhase), topology.StepAddress(n.Target, topology.ControlPlanePhase))
			}
		}
	}
	batches := r.batches()
	for i, batch := range batches {
		at := r.pause(i)
		after(b, at, last...)
		if i > 0 {
			addPause(b, at, c, &batches[i-1])
		}
		last = nil
		for _, n := range batch.Nodes {
			r.prove(b, n, batchBefore(batches, i))
			b.After(r.step(n), at)
			if o := staticpod.NodeBefore(batch.Nodes, n, batch.Lanes); o != nil {
				after(b, r.step(n), r.step(o))
			}
			last = append(last, r.step(n))
		}
	}
	return last
}

// batches returns the batches of the workers.
func (r *rollout) batches() []topology.Batch {
	return kubelet.Batches(r.c, r.workers, func(*topology.Node) bool { return false })
}

// batchBefore returns the batch at an index if another one follows, and so the pause.
func batchBefore(batches []topology.Batch, i int) *topology.Batch {
	if i+1 < len(batches) {
		return &batches[i]
	}
	return nil
}

// prove makes the step of a node prove that the node works again, and refuse to take a worker down
// while too many are. If a pause follows, the node remembers when it begins.
func (r *rollout) prove(b *topology.Builder, n *topology.Node, paused *topology.Batch) {
	i := slices.IndexFunc(b.Draft.Steps, func(s planner.Step) bool { return s.ID == r.step(n) })
	s, c := &b.Draft.Steps[i], r.c
	if c.Report == nil {
		return
	}
	ready := func(op planner.Operation) bool {
		w, ok := op.(planner.Wait)
		return ok && w.For == planner.WaitNodeReady
	}
	if !slices.ContainsFunc(s.Operations, ready) {
		s.Operations = append(s.Operations, pki.ReadyWait(n)...)
	}
	if s.Via == (state.Target{}) {
		s.Via = c.Primary
	}
	switch {
	case !n.IsControlPlane():
		s.Gates = append(s.Gates, drain.TurnGates(n)...)
	case r.waypoint == "" && !n.Unhealthy():
		s.Operations = append(s.Operations, staticpod.HealthWaits(n, n.StaticPods()...)...)
	}
	if limit := c.Limit("control-plane-disruption"); n.IsControlPlane() && !slices.Contains(s.Limits, limit) {
		s.Limits = append(slices.Clone(s.Limits), limit)
	}
	if paused != nil && paused.Pool.Pause > 0 {
		s.Operations = append(s.Operations, planner.Cordon{Node: n.NodeName, Undo: true, For: drain.ForUpgrade, Remember: staticpod.ComingKubelet(n)})
	}
}

// addPause adds the step after a batch, which waits for the batch's nodes and for the pause.
func addPause(b *topology.Builder, id state.Address, c *topology.Cluster, batch *topology.Batch) {
	s := pauseAfter(c, batch)
	s.ID, s.Phase, s.Target = id, id.Phase, id.Target
	b.Draft.Steps = append(b.Draft.Steps, s)
}

// pauseAfter returns the step after a batch.
func pauseAfter(c *topology.Cluster, batch *topology.Batch) planner.Step {
	s := pauseStep(c, batch.Nodes, pausesOf(batch))
	s.Action, s.Impact = planner.NoOp, fmt.Sprintf("waits until %s is Ready", drain.Names(batch.Nodes))
	if p := batch.Pool.Pause; p > 0 {
		s.Impact = fmt.Sprintf("waits %s, and until %s is Ready", topology.Brief(p), drain.Names(batch.Nodes))
	}
	return s
}

// after makes a step come after others, in a partial plan after those that are in it.
func after(b *topology.Builder, id state.Address, others ...state.Address) {
	b.Draft.Turns[id] = append(slices.Clone(b.Draft.Turns[id]), others...)
}

func kubeletSteps(nodes []*topology.Node) []state.Address {
	var out []state.Address
	for _, n := range nodes {
		out = append(out, topology.StepAddress(n.Target, topology.KubeletStartPhase))
	}
	return out
}
