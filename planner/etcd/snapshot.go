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

// Snapshots before risk: a step that removes a member from etcd, installs another etcd version, or
// begins to rotate a CA or key waits for a snapshot, and so do a defragmentation and a destroy.
const (
	// SnapshotsKept is how many snapshots of a cluster stay with the operator.
	SnapshotsKept = 10
	// snapshotAge is the maximum age of a snapshot that counts as taken before a step. A plan that
	// continues an interrupted one reuses its snapshot.
	snapshotAge = 15 * time.Minute
)

// snapshotImpact is the impact of such a step in the plan.
const snapshotImpact = "fetches a snapshot of etcd and verifies it; changes nothing"

// EtcdQuota returns the maximum database size in etcd's arguments, in bytes; 0 if they do not set
// it. A negative value disables the quota, and counts as the largest size that etcd recommends.
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

// SnapshotBefore adds a step to the draft that saves a snapshot of the cluster's etcd on the
// operator's machine, and makes the risky steps wait for it. The step changes nothing, so it is not
// counted. Call it after the edges of those steps are drafted, as often as needed; a waypoint
// distinguishes the snapshots of a plan with several. what names the risk in the plan's sentence:
// "a member is removed".
func SnapshotBefore(b *topology.Builder, c *topology.Cluster, waypoint, what string, risky ...state.Address) {
	if c.Etcd.External != nil || c.Founding || c.Report == nil || len(risky) == 0 {
		return
	}
	AddSnapshot(b, c, waypoint, what, SnapshotsKept, risky...)
}

// AddSnapshot does what SnapshotBefore does, also where the API does not answer. Where control planes take
// backups, one of them takes one before the same steps too. keep is how many snapshots of the cluster
// stay with the operator; 0 for all.
func AddSnapshot(b *topology.Builder, c *topology.Cluster, waypoint, what string, keep int, risky ...state.Address) {
	id := topology.StepAddress(c.Target, topology.SnapshotPhase)
	id.Waypoint = waypoint
	op := planner.SnapshotEtcd{Cluster: c.Label, MaxAge: snapshotAge, Keep: keep, Quota: EtcdQuota(c.Etcd.Args)}
	if c.Backup != nil {
		op.Recipients = c.Backup.Recipients
	}
	if addSnapshot(b, id, c.Primary, op, what) {
		addBackup(b, c, id, what)
	}
	for _, r := range risky {
		b.After(r, id)
		if saved := BackupStep(id); b.Draft.Serves[saved] {
			b.After(r, saved)
		}
	}
}

// addSnapshot adds the step with this ID, which fetches the snapshot through a control plane, to the
// draft, and reports whether it was not there yet.
func addSnapshot(b *topology.Builder, id state.Address, via state.Target, op planner.SnapshotEtcd, what string) bool {
	if slices.ContainsFunc(b.Draft.Steps, func(s planner.Step) bool { return s.ID == id }) {
		return false
	}
	kept := " and verified "
	if len(op.Recipients) > 0 {
		kept = ", verified, and kept encrypted to the recipients of the backup block "
	}
	b.Draft.Remarks = append(b.Draft.Remarks, planner.Remark{Step: id, Text: "a snapshot is fetched to this machine" + kept + "before " + what + "."})
	if b.Draft.Serves == nil {
		b.Draft.Serves = map[state.Address]bool{}
	}
	b.Draft.Serves[id] = true
	b.Draft.Steps = append(b.Draft.Steps, planner.Step{
		ID: id, Phase: topology.SnapshotPhase, Target: id.Target, Action: planner.NoOp, Via: via, Impact: snapshotImpact,
		Operations: planner.Operations{op},
	})
	return true
}

// SnapshotBeforeLeaving requires a snapshot before a control plane that is an etcd member is
// removed: before its drain.
func SnapshotBeforeLeaving(b *topology.Builder, l topology.Departure, reset planner.Step) {
	if l.Cluster != nil && slices.ContainsFunc(reset.Operations, removesMember) {
		SnapshotBefore(b, l.Cluster, "", "a member is removed", topology.StepAddress(l.Target, topology.DrainPhase), reset.ID)
	}
}

// SnapshotBeforeRotating requires a snapshot before a rotation begins. Once it has begun there is
// no further one: later stages, and applies that continue the rotation, rely on the first snapshot.
// It waits for the same proofs of control planes as the first stage. An expired CA is replaced
// without a snapshot, since no API server could answer.
func SnapshotBeforeRotating(b *topology.Builder, c *topology.Cluster, proofs []state.Address) {
	begins := c.Keys.Acts() && !c.Keys.Begun
	what := "a service account key is rotated"
	if slices.ContainsFunc(c.Rotating, func(r *topology.CARotation) bool { return !r.Begun }) {
		begins, what = true, "a CA is rotated"
	}
	if first := c.Stages[0]; begins {
		SnapshotBefore(b, c, "", what, first.Step(PrimaryFirst(first.Cluster())[0].Target, topology.CertsPhase))
		snapshot := topology.StepAddress(c.Target, topology.SnapshotPhase)
		b.Draft.Edges[snapshot] = proofs
		if saved := BackupStep(snapshot); b.Draft.Serves[saved] {
			b.Draft.Edges[saved] = slices.Concat(proofs, b.Draft.Edges[saved])
		}
	}
}

func removesMember(op planner.Operation) bool {
	_, ok := op.(planner.RemoveEtcdMember)
	return ok
}

func RestoredFrom(n *topology.Node) string { return topology.RestoredFrom(n.Report) }

// HoldsRestored reports whether the data of the node's member was restored from the snapshot with
// the digest.
func HoldsRestored(n *topology.Node, sha256 string) bool {
	return sha256 != "" && strings.TrimSpace(string(n.Report.Files[observe.RestoredData(n)].Content)) == sha256
}
