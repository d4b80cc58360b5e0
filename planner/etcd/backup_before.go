package etcd

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Backups before risk: where control planes take backups, one is taken in addition to each snapshot, so that
// it is also where the backups are. A control plane runs its script for that, whichever etcd leads.

// backupWaypoint distinguishes the step that takes a backup from that of the snapshot, so that a flag which
// names their phase is about both.
const backupWaypoint = "backup"

// backupScript is the digest of the script that takes a backup before a risk. An older one cannot.
var backupScript = func() string {
	sum := sha256.Sum256([]byte(backup.Script))
	return hex.EncodeToString(sum[:])
}()

// BackupStep returns the step that takes a backup beside the snapshot of a step.
func BackupStep(snapshot state.Address) state.Address {
	snapshot.Waypoint = strings.TrimPrefix(snapshot.Waypoint+"-"+backupWaypoint, "-")
	return snapshot
}

// addBackup adds to the draft the step that takes a backup before a risk, beside the snapshot. Without a
// control plane that can take one, it says so if there should be one.
func addBackup(b *topology.Builder, c *topology.Cluster, snapshot state.Address, what string) {
	n, s := backupSource(b, c)
	if n == nil {
		if c.Backup != nil {
			b.Draft.Remarks = append(b.Draft.Remarks, planner.Remark{Step: snapshot, Text: "no backup is taken before " + what + ", only the snapshot: no control plane has the script and the settings of the backup block by then. Apply the block first to have one."})
		}
		return
	}
	id, on := BackupStep(snapshot), topology.ShortName(n.Target)
	into, last := "", ""
	if c.Backup != nil {
		into = " into " + strings.Join(slices.DeleteFunc([]string{c.Backup.Folder, c.Backup.Bucket}, func(s string) bool { return s == "" }), " and ")
	} else {
		last = ", the last one of the backup block that is removed"
	}
	b.Draft.Remarks = append(b.Draft.Remarks, planner.Remark{Step: id, Text: "a backup is taken on " + on + into + " before " + what + last + "."})
	b.Draft.Serves[id] = true
	b.Draft.Steps = append(b.Draft.Steps, planner.Step{
		ID: id, Phase: topology.SnapshotPhase, Target: c.Target, Action: planner.NoOp, Via: n.Target, Impact: "takes a backup on " + on + into + "; changes nothing else",
		Operations: planner.Operations{planner.TakeBackup{Script: backup.ScriptPath, SHA256: backupScript, Before: what, MaxAge: snapshotAge}},
	})
	b.Draft.Edges[id] = s.needs
	if s.leaves {
		if b.Draft.Turns == nil {
			b.Draft.Turns = map[state.Address][]state.Address{}
		}
		files := topology.StepAddress(n.Target, topology.HostFilesPhase)
		b.Draft.Turns[files] = append(slices.Clone(b.Draft.Turns[files]), id)
	}
}

// script says what a plan does with the script of a backup block on a control plane.
type script struct {
	// needs are the steps after which it can run. leaves reports whether the plan removes it.
	needs  []state.Address
	leaves bool
}

// backupSource returns the control plane that takes a backup before a risk, the primary if it can; nil if
// none can.
func backupSource(b *topology.Builder, c *topology.Cluster) (*topology.Node, script) {
	for _, n := range PrimaryFirst(c) {
		if s, ok := backupScriptOn(b, n); ok {
			return n, s
		}
	}
	return nil, script{}
}

// backupScriptOn returns when the script can run on a control plane; false if it cannot in this plan.
func backupScriptOn(b *topology.Builder, n *topology.Node) (script, bool) {
	if n.Report == nil || n.Joins() || n.Stopped() {
		return script{}, false
	}
	var s script
	comes, changes := false, false
	files := topology.StepAddress(n.Target, topology.HostFilesPhase)
	for _, ch := range b.Changes[files] {
		if slices.Contains(n.Cluster.Fleet.Skipped, files.Phase) || path.Dir(ch.Address.ID()) != path.Dir(backup.ScriptPath) {
			continue
		}
		changes = true
		if ch.Address.ID() == backup.ScriptPath {
			comes, s.leaves = ch.Action != planner.Delete, ch.Action == planner.Delete
		}
	}
	there := n.Report.Files[backup.ScriptPath].SHA256 == backupScript
	age, asked := n.Report.Commands["age"]
	lacks := asked && !age
	switch {
	case s.leaves:
		return s, there
	case !there && !comes, lacks && pki.KubeletChanges(n): // whose software comes after the control planes
		return s, false
	case changes && (n.Cluster.Rotates() || n.Cluster.Fleet.Replaces(n.Target)):
		return s, false // files come after a rotation, and after a replacement
	}
	if changes {
		s.needs = append(s.needs, files)
	}
	if lacks {
		s.needs = append(s.needs, topology.StepAddress(n.Target, topology.InstallPhase))
	}
	return s, true
}
