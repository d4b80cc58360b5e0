package etcd

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/topology"
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
const snapshotImpact = "fetches a snapshot of etcd and verifies it; changes nothing"

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

// SnapshotBefore puts a step into the draft that brings a snapshot of the
// cluster's etcd to the operator, and has the steps wait for it. The step
// changes nothing, so that it counts for nothing. It is asked for after the
// edges of the steps are drafted, and as often as there is something to add; a
// waypoint tells apart those of a plan that takes several. what is the risk, for
// the sentence of the plan: "a member leaves".
func SnapshotBefore(b *topology.Builder, c *topology.Cluster, waypoint, what string, risky ...state.Address) {
	if c.Etcd.External != nil || c.Founding || c.Report == nil || len(risky) == 0 {
		return
	}
	id := topology.StepAddress(c.Target, topology.SnapshotPhase)
	id.Waypoint = waypoint
	if !slices.ContainsFunc(b.Draft.Steps, func(s planner.Step) bool { return s.ID == id }) {
		b.Draft.Remarks = append(b.Draft.Remarks, planner.Remark{Step: id, Text: "a snapshot is fetched to this machine and verified before " + what + "."})
		b.Draft.Serves[id] = true
		b.Draft.Steps = append(b.Draft.Steps, planner.Step{
			ID: id, Phase: topology.SnapshotPhase, Target: c.Target, Action: planner.NoOp, Via: c.Primary, Impact: snapshotImpact,
			Operations: planner.Operations{planner.SnapshotEtcd{Cluster: c.Label, MaxAge: snapshotAge, Keep: SnapshotsKept, Quota: EtcdQuota(c.Etcd.Args)}},
		})
	}
	for _, r := range risky {
		b.Draft.Edges[r] = append(slices.Clone(b.Draft.Edges[r]), id)
	}
}

// SnapshotBeforeLeaving has a control plane that is a member of etcd leave
// after a snapshot: it is fetched before anything is done to the node.
func SnapshotBeforeLeaving(b *topology.Builder, l topology.Departure, reset planner.Step) {
	if l.Cluster != nil && slices.ContainsFunc(reset.Operations, removesMember) {
		SnapshotBefore(b, l.Cluster, "", "a member is removed", topology.StepAddress(l.Target, topology.DrainPhase), reset.ID)
	}
}

// SnapshotBeforeRotating has a rotation begin after a snapshot. Once something of it was
// done there is none any more: the stages behind, and the applies that go on with it,
// rest on that of the beginning. It waits for the proofs of control planes that the first
// stage waits for. A CA that has ended is replaced at once without one,
// since nobody answers who could send it.
func SnapshotBeforeRotating(b *topology.Builder, c *topology.Cluster, proofs []state.Address) {
	begins := c.Keys.Acts() && !c.Keys.Begun
	what := "a service account key is rotated"
	if slices.ContainsFunc(c.Rotating, func(r *topology.CARotation) bool { return !r.Begun }) {
		begins, what = true, "a CA is rotated"
	}
	if first := c.Stages[0]; begins {
		SnapshotBefore(b, c, "", what, first.Step(PrimaryFirst(first.Cluster())[0].Target, topology.CertsPhase))
		b.Draft.Edges[topology.StepAddress(c.Target, topology.SnapshotPhase)] = proofs
	}
}

func removesMember(op planner.Operation) bool {
	_, ok := op.(planner.RemoveEtcdMember)
	return ok
}

func RestoredFrom(n *topology.Node) string { return topology.RestoredFrom(n.Report) }

// HoldsRestored reports whether the data of the node's member is the one that was made of
// the snapshot with the digest.
func HoldsRestored(n *topology.Node, sha256 string) bool {
	return sha256 != "" && strings.TrimSpace(string(n.Report.Files[observe.RestoredData(n)].Content)) == sha256
}
