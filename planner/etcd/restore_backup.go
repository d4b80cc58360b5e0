package etcd

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// RestoreBackup adds to the draft of a cluster that is brought back from a backup the step that creates
// etcd's data from it, before etcd starts on the first control plane, and the one that ends the restore.
func RestoreBackup(b *topology.Builder, c *topology.Cluster) {
	from, n := c.Restored, c.PrimaryNode()
	if from == nil || n == nil || n.Report == nil {
		return
	}
	step := func(waypoint string, needs []state.Address, impact string, ops ...planner.Operation) state.Address {
		id := topology.StepAddress(n.Target, topology.RestorePhase)
		id.Waypoint = waypoint
		b.Draft.Steps = append(b.Draft.Steps, planner.Step{ID: id, Phase: topology.RestorePhase, Target: n.Target, Action: planner.Update, Impact: impact, Operations: ops})
		b.Draft.Edges[id] = needs
		return id
	}
	if c.Founding && !HoldsRestored(n, from.SHA256) {
		start := topology.StepAddress(n.Target, topology.EtcdPhase)
		id := step("data", slices.Clone(b.Draft.Edges[start]), "creates etcd's data from "+from.Backup,
			topology.EnsureFolder(c.Etcd.DataDir, "0700"),
			planner.RestoreEtcd{
				Artifact: from.Snapshot, SHA256: from.SHA256, DataDir: c.Etcd.DataDir, As: "member.before-" + topology.Short(from.SHA256),
				Name: n.NodeName, PeerURL: n.PeerURL(), Image: kubeadm.EtcdImage(n.Input()), Socket: n.RuntimeSocket(),
			})
		b.Draft.Edges[start] = append(slices.Clone(b.Draft.Edges[start]), id)
	}
	last := topology.StepAddress(n.Target, topology.WaitControlPlanePhase)
	step("done", []state.Address{last, topology.StepAddress(c.Target, topology.UploadConfigPhase)}, "completes the restore",
		planner.RemovePath{Path: planner.RestoredMark}, planner.RemovePath{Path: observe.RestoredData(n)})
}

// RefuseUnfinished refuses to bootstrap a cluster on a host on which a restore has begun: it would
// become an empty cluster with the CAs of the old one.
func RefuseUnfinished(c *topology.Cluster) *diag.Diagnostic {
	if !c.Founding || c.Restored != nil || c.Fleet.Destroy || c.Fleet.Restores {
		return nil
	}
	for _, n := range c.ControlPlanes() {
		if n.Report != nil && RestoredFrom(n) != "" {
			return diag.Errorf("Restore is unfinished", "On %s (%s) a restore of cluster %q from a backup has begun and is not complete. This plan would bootstrap an empty cluster there. "+
				"Run the same command again:\n\n  %s\n\nOr give the host back: %s", n.Target, n.Address, c.Label,
				remedy.Restore.On(c.Label).With(remedy.Option{Kind: remedy.Backup, Value: "FILE"}), remedy.Destroy).At(c.Source).For(n.Target)
		}
	}
	return nil
}
