package phases

import (
	"slices"
	"strconv"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Snapshots before risk: a step that takes a member out of etcd, puts another etcd
// there, or begins to rotate a CA or key waits for one, and so does a defragmentation.
const (
	// SnapshotsKept is how many snapshots of a cluster stay with the operator.
	SnapshotsKept = 10
	// snapshotAge is how old one may be to count as taken before a step. A plan
	// that was interrupted goes on with the one that it began with.
	snapshotAge = 15 * time.Minute
)

// snapshotImpact is what the plan says of such a step.
const snapshotImpact = "fetches a snapshot of etcd and verifies it; nothing is changed"

// EtcdQuota returns how large etcd's arguments let a database become, in bytes; 0 where they
// do not say it. A negative quota, which is none, counts as the largest that etcd advises.
func EtcdQuota(args []config.Arg) int64 {
	var quota int64
	for _, a := range args {
		if n, err := strconv.ParseInt(a.Value, 10, 64); a.Name == "quota-backend-bytes" && err == nil {
			quota = n
		}
	}
	if quota < 0 {
		return 8 << 30
	}
	return quota
}

// snapshotBefore puts a step into the draft that brings a snapshot of the
// cluster's etcd to the operator, and has the steps wait for it. The step
// changes nothing, so that it counts for nothing. It is asked for after the
// edges of the steps are drafted, and as often as there is something to add; a
// waypoint tells apart those of a plan that takes several. what is the risk, for
// the sentence of the plan: "a member leaves".
func (b *builder) snapshotBefore(c *cluster, waypoint, what string, risky ...state.Address) {
	if c.Etcd.External != nil || c.founding || c.report == nil || len(risky) == 0 {
		return
	}
	id := step(c.target, snapshotPhase)
	id.Waypoint = waypoint
	if !slices.ContainsFunc(b.draft.Steps, func(s planner.Step) bool { return s.ID == id }) {
		b.draft.Remarks = append(b.draft.Remarks, planner.Remark{Step: id, Text: "a snapshot is fetched to this machine and verified before " + what + "."})
		b.draft.Serves[id] = true
		b.draft.Steps = append(b.draft.Steps, planner.Step{
			ID: id, Phase: snapshotPhase, Target: c.target, Action: planner.NoOp, Via: c.seat, Impact: snapshotImpact,
			Operations: planner.Operations{planner.SnapshotEtcd{Cluster: c.Label, MaxAge: snapshotAge, Keep: SnapshotsKept, Quota: EtcdQuota(c.Etcd.Args)}},
		})
	}
	for _, r := range risky {
		b.draft.Edges[r] = append(slices.Clone(b.draft.Edges[r]), id)
	}
}

// snapshotBeforeLeaving has a control plane that is a member of etcd leave
// after a snapshot: it is fetched before anything is done to the node.
func (b *builder) snapshotBeforeLeaving(l leaver, reset planner.Step) {
	if l.cluster != nil && slices.ContainsFunc(reset.Operations, removesMember) {
		b.snapshotBefore(l.cluster, "", "a member leaves", step(l.target, drainPhase), reset.ID)
	}
}

// snapshotBeforeRotating has a rotation begin after a snapshot. Once something of it was
// done there is none any more: the stages behind, and the applies that go on with it,
// rest on that of the beginning. It waits for the proofs of control planes that the first
// stage waits for. A CA that has ended is replaced at once without one,
// since nobody answers who could send it.
func (b *builder) snapshotBeforeRotating(c *cluster, proofs []state.Address) {
	begins := c.keys.acts() && !c.keys.begun
	what := "a service account key is rotated"
	if slices.ContainsFunc(c.rotating, func(r *rotation) bool { return !r.begun }) {
		begins, what = true, "a CA is rotated"
	}
	if first := c.stages[0]; begins {
		b.snapshotBefore(c, "", what, first.step(first.cluster().inOrder()[0].target, certsPhase))
		b.draft.Edges[step(c.target, snapshotPhase)] = proofs
	}
}

func removesMember(op planner.Operation) bool {
	_, ok := op.(planner.RemoveEtcdMember)
	return ok
}
