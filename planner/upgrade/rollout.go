package upgrade

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Whatever restarts the kubelet, the container runtime or a unit of a running node is rolled out: control
// planes one at a time, then the workers in the batches of their pools, each proved before the next.
// One phase is finished on all nodes before the next one begins, so that a failure stops the rest.

// The phases whose steps restart a kubelet, a container runtime or a unit, in their order. Static pods
// restart between the two lists.
var (
	phasesBeforePods = []string{topology.PreparePhase, topology.InstallPhase, topology.HostFilesPhase}
	phasesAfterPods  = []string{topology.KubeconfigPhase, topology.KubeletStartPhase, topology.WaitBootstrapPhase, topology.FinalizePhase}
)

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

// beforePods reports whether the phase comes before those of the static pods, which then restart after
// the workers' runtimes, not beside them.
func (r *rollout) beforePods() bool {
	begins := r.phase == topology.KubeletStartPhase && r.c.StartsVerifying()
	return (slices.Contains(phasesBeforePods, r.phase) || begins) && r.waypoint == ""
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
	for _, phase := range phasesBeforePods {
		of(phase, "")
	}
	if c.StartsVerifying() {
		of(topology.KubeletStartPhase, "") // before API servers, for which the other phases may wait
	}
	for _, phase := range phasesAfterPods {
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
	all := rollouts(c, b.Draft.Steps)
	var before []state.Address
	if c.Report != nil { // users' units: a failing control plane may need its own, and does not make them wait
		before = all[0].order(b, nil, nil)
		all = all[1:]
	}
	mended, before := mendFirst(b, all, before)
	for _, r := range all {
		switch {
		case r.waypoint != "", c.Report == nil:
			r.order(b, nil, nil) // the stages wait for one another
		default:
			before = r.order(b, before, mended)
		}
	}
}

// mendFirst takes unhealthy control planes out of the rollouts, and makes them take their turns in all
// phases before other nodes, where one is failing and something restarts before static pods do: other
// nodes wait until the failing one is proved to run (staticpod.MendFirst), and its static pods would wait
// for them. It returns these control planes, and the steps after which all have had their turns.
func mendFirst(b *topology.Builder, all []*rollout, before []state.Address) (mended []*topology.Node, last []state.Address) {
	restarts := func(r *rollout) bool { return r.beforePods() && len(r.planes)+len(r.workers) > 0 }
	if !slices.ContainsFunc(all, restarts) || len(staticpod.FailingControlPlanes(all[0].c)) == 0 {
		return nil, before
	}
	last = before
	for _, r := range all {
		if r.waypoint != "" || r.c.Report == nil {
			continue
		}
		for _, n := range r.planes {
			if !n.Unhealthy() {
				continue
			}
			r.prove(b, n, nil)
			b.InTurn(r.step(n), last...)
			last = []state.Address{r.step(n)}
			if !slices.Contains(mended, n) {
				mended = append(mended, n)
			}
		}
		r.planes = slices.DeleteFunc(r.planes, (*topology.Node).Unhealthy)
	}
	return mended, last
}

// order makes the nodes take their turns after other steps, and returns the steps after which all of
// them have had theirs. The static pods of mended nodes do not wait for them.
func (r *rollout) order(b *topology.Builder, before []state.Address, mended []*topology.Node) []state.Address {
	c, last := r.c, before
	turning := r.phase == topology.KubeletStartPhase && r.waypoint == "" && c.Up != nil
	if turning {
		last = slices.Concat(last, kubeletSteps(kubelet.KubeletsToUpgrade(c, config.ControlPlane)))
	}
	for _, n := range r.planes {
		r.prove(b, n, nil)
		b.InTurn(r.step(n), last...)
		last = []state.Address{r.step(n)}
	}
	if turning {
		for _, n := range kubelet.KubeletsToUpgrade(c, config.Worker) {
			b.InTurn(topology.StepAddress(n.Target, topology.DrainPhase), last...)
		}
		last = slices.Concat(last, kubeletSteps(kubelet.KubeletsToUpgrade(c, config.Worker)))
	}
	if len(r.workers) > 0 {
		last = r.orderWorkers(b, last)
	}
	if r.beforePods() {
		for _, n := range c.ControlPlanes() {
			for _, phase := range []string{topology.EtcdPhase, topology.ControlPlanePhase} {
				if !n.Joins() && !slices.Contains(mended, n) {
					b.InTurn(topology.StepAddress(n.Target, phase), last...)
				}
			}
		}
	}
	return last
}

// orderWorkers makes the workers take their turns in batches, and returns the steps of the last batch.
func (r *rollout) orderWorkers(b *topology.Builder, last []state.Address) []state.Address {
	c := r.c
	switch {
	case c.Report == nil: // the API is down anyway, and certificates of workers may have expired as well
		last = nil
	case !r.beforePods() && r.waypoint == "":
		for _, n := range c.ControlPlanes() {
			if !n.Joins() {
				last = append(slices.Clone(last), topology.StepAddress(n.Target, topology.EtcdPhase), topology.StepAddress(n.Target, topology.ControlPlanePhase))
			}
		}
	}
	batches := r.batches()
	for i, batch := range batches {
		at := r.pause(i)
		b.InTurn(at, last...)
		if i > 0 {
			addPause(b, at, pauseAfter(c, &batches[i-1]))
		} else if nodes, left := r.resting(); len(nodes) > 0 {
			addPause(b, at, pauseOfEarlier(c, nodes, left))
		}
		last = nil
		for _, n := range batch.Nodes {
			r.drainBeside(b, n, batch.Lanes)
			r.prove(b, n, batchBefore(batches, i))
			b.After(r.step(n), at)
			if o := staticpod.NodeBefore(batch.Nodes, n, batch.Lanes); o != nil {
				b.InTurn(r.step(n), r.step(o))
			}
			last = append(last, r.step(n))
		}
	}
	return last
}

// drainBeside permits as many drains at once as workers of a batch may be down, where the step of a worker
// drains it.
func (r *rollout) drainBeside(b *topology.Builder, n *topology.Node, lanes int) {
	limit := r.c.Limit("drain")
	if slices.ContainsFunc(b.Draft.Steps, func(s planner.Step) bool { return s.ID == r.step(n) && slices.Contains(s.Limits, limit) }) {
		b.Draft.Limits[limit] = max(b.Draft.Limits[limit], lanes)
	}
}

// batches returns the batches of the workers.
func (r *rollout) batches() []topology.Batch {
	return kubelet.Batches(r.c, r.workers, func(*topology.Node) bool { return false })
}

// Rollouts returns a sentence for each phase that restarts kubelets or container runtimes of several
// nodes in a plan. The stages of a rotation have their own.
func Rollouts(c *topology.Cluster, p *planner.Plan) []string {
	var out []string
	if c.Founding || c.Fleet.Destroy {
		return nil
	}
	for _, r := range rollouts(c, p.Steps) {
		if r.waypoint != "" || len(r.planes)+len(r.workers) < 2 {
			continue
		}
		var parts []string
		switch len(r.planes) {
		case 0:
		case 1:
			parts = append(parts, topology.ShortName(r.planes[0].Target))
		default:
			parts = append(parts, "control planes one at a time")
		}
		switch len(r.workers) {
		case 0:
			parts[len(parts)-1] += "."
		case 1:
			parts = append(parts, topology.ShortName(r.workers[0].Target)+".")
		default:
			parts = append(parts, workersLine(c, r.batches()))
		}
		out = append(out, r.phase+": "+strings.Join(parts, "; "))
	}
	return out
}

// batchBefore returns the batch at an index if another one follows, and so the pause.
func batchBefore(batches []topology.Batch, i int) *topology.Batch {
	if i+1 < len(batches) {
		return &batches[i]
	}
	return nil
}

// prove makes the step of a node prove that the node works again. The step of a worker is refused while
// more workers are unavailable than may be, unless they already were when the plan was made. If a pause
// follows, the node remembers when it begins.
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
	// A node that is not Ready may be waiting for a later step, such as the addon of its pod network.
	if n.NodeCondition() == state.NodeReady && !slices.ContainsFunc(s.Operations, ready) {
		s.Operations = append(s.Operations, pki.ReadyWait(n)...)
	}
	if s.Via == (state.Target{}) {
		s.Via = c.Primary
	}
	switch {
	case n.IsControlPlane() && r.waypoint == "" && r.phase == topology.KubeletStartPhase: // what mends static pods comes before
		s.Operations = append(s.Operations, staticpod.HealthWaits(n, n.StaticPods()...)...)
	case !n.IsControlPlane() && len(tooManyDown(c, r.workers)) == 0: // otherwise one goes at a time: no pod has to leave
		s.Gates = append(s.Gates, drain.TurnGates(n)...)
	}
	if limit := c.Limit("control-plane-disruption"); n.IsControlPlane() && r.phase != topology.PreparePhase && !slices.Contains(s.Limits, limit) {
		s.Limits = append(slices.Clone(s.Limits), limit)
	}
	if paused != nil && paused.Pool.Pause > 0 {
		s.Operations = append(s.Operations, planner.Cordon{Node: n.NodeName, Undo: true, For: drain.ForUpgrade, Remember: staticpod.ComingKubelet(n)})
	}
}

// resting returns the workers whose pause an interrupted apply has left: the last one of each pool.
func (r *rollout) resting() ([]*topology.Node, map[*topology.Node]time.Duration) {
	var out []*topology.Node
	pauses := map[*topology.Node]time.Duration{}
	pools := drain.Pools(r.c)
	members := drain.Members(r.c, pools)
	for _, p := range pools {
		var last *topology.Node
		for _, n := range members[p] {
			if r.c.Report != nil && n.Report != nil && !slices.Contains(r.workers, n) && letInAt(n) != "" && (last == nil || letInAt(n) > letInAt(last)) {
				last = n
			}
		}
		if last == nil {
			continue
		}
		if at, err := time.Parse(time.RFC3339, letInAt(last)); err == nil && at.Add(p.Pause).After(r.c.Fleet.ObservedAt) {
			out, pauses[last] = append(out, last), p.Pause
		}
	}
	return out, pauses
}

// addPause adds a step between batches.
func addPause(b *topology.Builder, id state.Address, s planner.Step) {
	s.ID, s.Phase, s.Target, s.Action = id, id.Phase, id.Target, planner.NoOp
	b.Draft.Steps = append(b.Draft.Steps, s)
}

// pauseOfEarlier returns the step that waits for the rest of pauses.
func pauseOfEarlier(c *topology.Cluster, nodes []*topology.Node, left map[*topology.Node]time.Duration) planner.Step {
	s := pauseStep(c, nodes, left)
	s.Impact = "waits for the rest of the pause in which an earlier apply was interrupted"
	return s
}

// pauseAfter returns the step after a batch, which waits for its nodes and for the pause.
func pauseAfter(c *topology.Cluster, batch *topology.Batch) planner.Step {
	s := pauseStep(c, batch.Nodes, pausesOf(batch))
	until := "until " + drain.Names(batch.Nodes) + " is Ready"
	if len(batch.Nodes) > 1 {
		until = "until " + drain.Names(batch.Nodes) + " are Ready"
	}
	s.Impact = "waits " + until
	if p := batch.Pool.Pause; p > 0 {
		s.Impact = fmt.Sprintf("waits %s, and %s", topology.Brief(p), until)
	}
	return s
}

func kubeletSteps(nodes []*topology.Node) []state.Address {
	var out []state.Address
	for _, n := range nodes {
		out = append(out, topology.StepAddress(n.Target, topology.KubeletStartPhase))
	}
	return out
}
