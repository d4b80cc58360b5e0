package upgrade

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// tooManyDown refuses to take workers down while the maximum number is already unavailable. Those that
// are down themselves take no other one down.
func tooManyDown(c *topology.Cluster, turning []*topology.Node) diag.Diagnostics {
	var diags diag.Diagnostics
	pools := drain.Pools(c)
	members := drain.Members(c, pools)
	for _, p := range pools {
		down := kubelet.DownThroughout(members[p], turning)
		if len(down) < drain.MaxUnavailable(p.MaxUnavailable, len(members[p])) || !slices.ContainsFunc(members[p], func(n *topology.Node) bool {
			return slices.Contains(turning, n) && !n.NodeCondition().IsDown()
		}) {
			continue
		}
		of, at := "", pki.Place(c, "kubernetes_version")
		if p.Name != "" {
			of, at = fmt.Sprintf(" of pool %q", p.Name), p.Source
		}
		diags = append(diags, diag.Errorf("Workers are already unavailable", "max_unavailable = %q%s: the Node of %s is not Ready, so that no other worker may be "+
			"unavailable. kubectl describe node shows what is wrong. Bring it back, remove it from the configuration, or raise max_unavailable.", p.MaxUnavailable, of, drain.Names(down)).At(at))
	}
	return diags
}

// DrainsAtOnce returns the limit of concurrent drains: one, or in an upgrade the number of workers
// that may be down.
func DrainsAtOnce(c *topology.Cluster) int {
	most := 1
	for _, b := range kubelet.UpgradeBatches(c) {
		most = max(most, b.Lanes)
	}
	return most
}

// pause returns the address of the step between the batch before index i and that batch.
func pause(c *topology.Cluster, i int) state.Address {
	id := topology.StepAddress(c.Target, topology.PausePhase)
	id.Waypoint = "batch-" + strconv.Itoa(i)
	return id
}

// pauses adds the steps between batches to the draft.
func pauses(b *topology.Builder, c *topology.Cluster) {
	batches := kubelet.UpgradeBatches(c)
	for i := range batches {
		var s planner.Step
		var needs []state.Address
		if i == 0 {
			nodes, left := resting(c)
			s = pauseOfEarlier(c, nodes, left)
		} else {
			s, needs = pauseAfter(c, &batches[i-1]), kubeletSteps(batches[i-1].Nodes)
		}
		s.Action = planner.NoOp
		b.Add(pause(c, i), s, needs)
	}
}

// pausesOf returns the pause of a batch for each of its nodes.
func pausesOf(b *topology.Batch) map[*topology.Node]time.Duration {
	out := map[*topology.Node]time.Duration{}
	for _, n := range b.Nodes {
		out[n] = b.Pool.Pause
	}
	return out
}

// pauseStep waits until the pause after each node is over, and then until all of them are still
// Ready.
func pauseStep(c *topology.Cluster, nodes []*topology.Node, pauses map[*topology.Node]time.Duration) planner.Step {
	s := planner.Step{Via: c.Primary}
	for _, n := range nodes {
		if p := pauses[n]; p > 0 {
			s.Operations = append(s.Operations, planner.Wait{For: planner.WaitPause, Name: n.NodeName, Version: staticpod.ComingKubelet(n), Pause: p, Timeout: p + c.Timeouts.KubernetesAPICall})
		}
	}
	for _, n := range nodes {
		s.Operations = append(s.Operations, kubelet.WaitTurned(n))
	}
	return s
}

// resting returns workers that an interrupted apply has uncordoned and whose pause may still be
// running: the last one of each pool. If it has left a node cordoned, there are none: that node
// comes first.
func resting(c *topology.Cluster) ([]*topology.Node, map[*topology.Node]time.Duration) {
	pools := drain.Pools(c)
	members := drain.Members(c, pools)
	var out []*topology.Node
	pauses := map[*topology.Node]time.Duration{}
	for _, p := range pools {
		var last *topology.Node
		for _, n := range members[p] {
			if drain.Cordoned(n) {
				return nil, nil
			}
			if n.Upgrades() && !pki.KubeletChanges(n) && letInAt(n) != "" && (last == nil || letInAt(n) > letInAt(last)) {
				last = n
			}
		}
		if last != nil && p.Pause > 0 {
			out, pauses[last] = append(out, last), p.Pause
		}
	}
	return out, pauses
}

// letInAt returns the time at which the node was uncordoned with its current version, and a pause
// began, in RFC 3339 and UTC; empty if it was not.
func letInAt(n *topology.Node) string {
	at, version, _ := strings.Cut(n.Cluster.Report.Nodes[n.NodeName].Annotations[planner.LetInAnnotation], " ")
	if version != staticpod.ComingKubelet(n) {
		return ""
	}
	return at
}

// emptyPools warns of pools that select no worker, which is probably a mistake.
func emptyPools(c *topology.Cluster) diag.Diagnostics {
	var diags diag.Diagnostics
	pools := drain.Pools(c)
	members := drain.Members(c, pools)
	for _, p := range pools[:len(pools)-1] {
		if len(members[p]) == 0 {
			diags = append(diags, diag.Warningf("Pool has no workers", "Pool %q of cluster %q selects no worker that an earlier pool does not select: %s. "+
				"Workers that no pool selects come last, with max_unavailable = %q.", p.Name, c.Label, p.Selector, c.Upgrade.MaxUnavailable).At(p.Source))
		}
	}
	return diags
}

// workersLine says how many workers are taken down at once, or lists their batches.
func workersLine(c *topology.Cluster, batches []topology.Batch) string {
	if len(c.Upgrade.Pools) == 0 && len(batches) == 1 {
		return fmt.Sprintf("workers %d at a time.", min(batches[0].Lanes, len(batches[0].Nodes)))
	}
	text := "workers in batches:"
	for i, b := range batches {
		if i == drain.MostListed && len(batches) > drain.MostListed+1 {
			return text + fmt.Sprintf("\n  %d more batches", len(batches)-drain.MostListed)
		}
		text += fmt.Sprintf("\n  %d. %s", i+1, describe(&b, i+1 < len(batches) && !slices.Contains(c.Fleet.Skipped, topology.PausePhase)))
	}
	return text
}

// describe lists the batch's workers, and the pause after them if there is one.
func describe(b *topology.Batch, paused bool) string {
	var notes []string
	if b.Canary {
		notes = append(notes, "canary")
	}
	if b.Pool.Name != "" {
		notes = append(notes, "pool "+b.Pool.Name)
	}
	if b.Lanes < len(b.Nodes) {
		notes = append(notes, fmt.Sprintf("%d at a time", b.Lanes))
	}
	text := drain.Names(b.Nodes)
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, ", ") + ")"
	}
	if paused && b.Pool.Pause > 0 {
		text += ", then a pause of " + topology.Brief(b.Pool.Pause)
	}
	return text
}
