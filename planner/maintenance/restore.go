package maintenance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// EtcdRestore is a snapshot from which a cluster's etcd is restored.
type EtcdRestore struct {
	// Cluster is the label of the cluster.
	Cluster string
	// Artifact is the file's name in its folder, SHA256 its digest.
	Artifact, SHA256 string
	// Folder is the folder of that file where it is not the one of the artifacts.
	Folder string
	// Answers are the members of an etcd that answers a linearizable read; nil for none.
	Answers []state.EtcdMember
	// Over restores also where etcd works.
	Over bool
}

// overWorking reports whether the restore replaces an etcd that works.
func (r EtcdRestore) overWorking() bool { return r.Over && r.Answers != nil }

// The waypoints of a restore. The observation shows the progress: the mark on the first control
// plane means that the data is restored, and the members show which nodes have joined.
const (
	restoreStop  = "stop"
	restoreData  = "data"
	restoreStart = "start"
	restoreJoin  = "join"
	RestoreDone  = "done"
)

// Restore plans to restore a cluster's etcd from a snapshot: the API servers and the remaining etcd
// members are stopped everywhere and their data is set aside, one control plane gets the snapshot
// as a cluster of one member, and the others join it. While a quorum answers it is refused, unless it
// is asked for: then a snapshot is taken first. An interrupted restore continues.
func Restore(v *topology.Fleet, header planner.Plan, r EtcdRestore) (topology.Result, diag.Diagnostics) {
	v, diags := pipeline.LeaveOutWorkers(topology.WithRestore(v), "changes control planes only")
	v, situated := pipeline.Situate(v)
	diags = append(diags, situated...)
	c, more := clusterToRestore(v, r)
	if diags = append(diags, more...); diags.HasErrors() {
		return topology.Result{}, diags
	}
	// The manifest of the first one names only itself, as when a cluster is bootstrapped. The data
	// of the others is set aside, so that they join without data.
	v = v.WithSituations(func(o *topology.Cluster) topology.Situation {
		if o == c {
			return c.WithPrimary(restorable(c)[0].Target, true).WithRestoring()
		}
		return o.Situation
	})
	c = v.ClusterOf(c.Target)
	planes := restorable(c)
	first := planes[0]
	r.Over = r.Over && etcd.RestoredFrom(first) != r.SHA256 // once begun, it is the restored etcd that answers
	b := restore{cluster: c, from: r, controlPlanes: planes, draft: planner.Draft{
		Edges: map[state.Address][]state.Address{}, Limits: map[string]int{c.Limit("etcd-membership"): 1},
	}}
	desired := pipeline.Desired(v)
	b.desired = desired
	if etcd.RestoredFrom(first) != r.SHA256 {
		b.stop()
		if diags = append(diags, whatIsLost(c, r)); r.overWorking() {
			diags = append(diags, whatStops(c, r))
		}
	}
	b.start()
	for _, n := range planes {
		b.draft.Resources = append(b.draft.Resources, planner.ResourceChange{Target: n.Target, Action: planner.Update, Note: n.Address + ", " + string(n.Role)})
	}
	pipeline.Describe(v, b.draft.Resources)
	b.draft.Quorum = []string{restoredMembers(len(planes))}
	header.ForgetUnreachable = pipeline.Strings(v.ForgetUnreachable)
	p, err := planner.Assemble(header, nil, nil, b.draft, planner.Options{})
	if err != nil {
		return topology.Result{}, append(diags, pipeline.UnsoundPlan(err))
	}
	return topology.Result{Plan: p, Fleet: v, Desired: desired, Observed: &state.Snapshot{}}, diags
}

// restoredMembers returns the sentence about the members after a restore.
func restoredMembers(count int) string {
	if count == 1 {
		return "1 member of the snapshot, quorum 1."
	}
	return fmt.Sprintf("1 member of the snapshot, then %d added one at a time as learners; %d members, quorum %d.", count-1, count, count/2+1)
}

// clusterToRestore returns the cluster, or why it must not be restored.
func clusterToRestore(v *topology.Fleet, r EtcdRestore) (*topology.Cluster, diag.Diagnostics) {
	i := slices.IndexFunc(v.Clusters, func(c *topology.Cluster) bool { return c.Label == r.Cluster })
	if i < 0 {
		return nil, diag.Diagnostics{unknownCluster(v, r.Cluster)}
	}
	c := v.Clusters[i]
	planes := restorable(c)
	switch {
	case c.Etcd.External != nil:
		return nil, RefuseExternalEtcd(c.Cluster)
	case len(planes) == 0:
		return nil, refuseNowhere(c)
	case etcd.RestoredFrom(planes[0]) == r.SHA256 && !etcd.HoldsRestored(planes[0], r.SHA256):
		return nil, diag.Diagnostics{refuseLostAgain(planes[0], r)}
	case r.Answers != nil && !r.Over && etcd.RestoredFrom(planes[0]) != r.SHA256:
		return nil, diag.Diagnostics{diag.Errorf("Restore refused: etcd has quorum", "The etcd of cluster %q answers: a quorum of its members is there (%s). "+
			"A restore does not overwrite a cluster that works. %sIf the whole cluster is to return to the snapshot, give %s: a snapshot of now is taken first. "+
			"To return some objects to an earlier state, delete or change them.",
			c.Label, MembersNamed(r.Answers), etcd.AstrayText(c), remedy.Overwrite).At(c.Source).For(c.Target)}
	}
	if diags := refuseNotStopped(c); diags.HasErrors() {
		return nil, diags
	}
	return c, nil
}

// refuseNowhere refuses a cluster whose control planes have all lost the files that a snapshot does
// not contain. Control planes that were not observed are not covered: pipeline.Situate refuses
// those of the configuration, and refuseUnconfigured those of the state.
func refuseNowhere(c *topology.Cluster) diag.Diagnostics {
	if slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool { return n.Report == nil }) {
		return nil
	}
	if d := refuseUnconfigured(c); d != nil {
		return diag.Diagnostics{d}
	}
	return diag.Diagnostics{diag.Errorf("Nothing to restore into", "No control plane of cluster %q holds both its CA (%s/ca.crt) and %s any more, "+
		"and a snapshot holds neither: the nodes would not trust a new API server. Restore the files from a backup of a control plane's /etc/kubernetes; "+
		"without them the cluster has to be destroyed and created again.", c.Label, c.Certificates.Dir, topology.AdminConf).At(c.Source).For(c.Target)}
}

// MembersNamed lists etcd members by name.
func MembersNamed(members []state.EtcdMember) string {
	var out []string
	for _, m := range members {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// restorable returns the control planes that a restore stops and that join the restored etcd. The
// one on which a restore has begun comes first, then those with data of a member: another one may
// be a host that has never joined.
func restorable(c *topology.Cluster) []*topology.Node {
	var out []*topology.Node
	for _, n := range c.ControlPlanes() {
		if n.Report != nil && len(lackedToRestore(n)) == 0 {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b *topology.Node) int {
		return cmp.Or(
			objects.RankOf(etcd.RestoredFrom(a) == "")-objects.RankOf(etcd.RestoredFrom(b) == ""),
			objects.RankOf(!a.Report.Files[a.EtcdData()].Exists)-objects.RankOf(!b.Report.Files[b.EtcdData()].Exists),
		)
	})
	return out
}

// lackedToRestore returns the missing files that a snapshot does not contain and without which a
// control plane cannot take part in a restore.
func lackedToRestore(n *topology.Node) []string {
	var out []string
	if n.Cluster.Fleet.CA(n.Target) == "" {
		out = append(out, n.Cluster.CAFile())
	}
	if !n.Report.Files[topology.AdminConf].Exists {
		out = append(out, topology.AdminConf)
	}
	return out
}

// refuseLostAgain refuses to continue a restore whose restored data was lost: that would start an
// empty etcd.
func refuseLostAgain(n *topology.Node, r EtcdRestore) *diag.Diagnostic {
	holds := "it is gone"
	if n.Report.Files[n.EtcdData()].Exists {
		holds = "other data is there now: etcd has started with empty data, or the data was replaced by hand"
	}
	return diag.Errorf("Restored data is lost", "A restore of %s into cluster %q was interrupted, and %s (%s) had its data, but %s (%s). "+
		"To continue would lose what was restored. First check that no other control plane holds it: "+
		"those that had joined may be a quorum (%s). If none does, start the restore again: delete %s on that host, and run the same command again.",
		r.Artifact, n.Cluster.Label, n.Target, n.Address, holds, n.EtcdData(), remedy.Members, planner.RestoredMark).At(n.Source).For(n.Target)
}

func whatIsLost(c *topology.Cluster, r EtcdRestore) *diag.Diagnostic {
	return diag.Warningf("Changes after the snapshot are lost", "Cluster %q returns to what it was when %s was taken: objects created since are gone, "+
		"those deleted since are back, and running containers are reconciled with that. What the members hold now is kept on the hosts, beside the new data, as %s.", c.Label, r.Artifact, r.aside()).At(c.Source).For(c.Target)
}

// whatStops says what a restore over a working etcd stops. Its members answer until then.
func whatStops(c *topology.Cluster, r EtcdRestore) *diag.Diagnostic {
	return diag.Warningf("Etcd works and is replaced", "The etcd of cluster %q answers: a quorum of its members is there (%s). All of them are stopped, and their data is replaced by that of %s: until the restore is done the API does not answer. "+
		"A snapshot of now is saved on this machine first, and nothing is stopped without it.", c.Label, MembersNamed(r.Answers), r.Artifact).At(c.Source).For(c.Target)
}

// aside returns the new name of existing data that is set aside.
func (r EtcdRestore) aside() string { return "member.before-" + topology.Short(r.SHA256) }

// restore drafts the steps.
type restore struct {
	cluster       *topology.Cluster
	from          EtcdRestore
	controlPlanes []*topology.Node
	desired       *state.Snapshot
	draft         planner.Draft
}

func (b *restore) add(n *topology.Node, waypoint string, s planner.Step, needs ...state.Address) state.Address {
	s.ID = topology.StepAddress(n.Target, topology.RestorePhase)
	s.ID.Waypoint = waypoint
	s.Phase, s.Target, s.Action = topology.RestorePhase, n.Target, planner.Update
	b.draft.Steps = append(b.draft.Steps, s)
	b.draft.Edges[s.ID] = needs
	return s.ID
}

func (b *restore) at(n *topology.Node, waypoint string) state.Address {
	id := topology.StepAddress(n.Target, topology.RestorePhase)
	id.Waypoint = waypoint
	return id
}

// stop stops every API server and member, and restores the data on the first control plane. Since
// the plan was made, an approval may have taken long and members may have come back: each host is
// stopped only while etcd still has no quorum. An etcd that works is stopped after a snapshot.
func (b *restore) stop() {
	c, first := b.cluster, b.controlPlanes[0]
	var stopped []state.Address
	gates := []string{planner.SilenceGate}
	if b.from.overWorking() {
		gates = nil
	}
	for _, n := range b.controlPlanes {
		ops := planner.Operations{planner.RemovePath{Path: topology.Manifest("kube-apiserver")}, planner.RemovePath{Path: topology.Manifest("etcd")}}
		if n != first {
			ops = append(ops, planner.SetAsideEtcd{DataDir: c.Etcd.DataDir, As: b.from.aside()})
		}
		stopped = append(stopped, b.add(n, restoreStop, planner.Step{
			Gates: gates, Impact: "stops the API server and etcd here; the data of etcd is set aside", Operations: ops,
		}))
	}
	if b.from.overWorking() {
		// All snapshots are kept: the one that is restored may be the oldest.
		etcd.AddSnapshot(&topology.Builder{Draft: &b.draft}, c, "", "etcd is stopped", 0, stopped...)
	}
	b.add(first, restoreData, planner.Step{
		Impact: "creates etcd's data from " + b.from.Artifact,
		Operations: host.WithinEtcdFolder(first, planner.RestoreEtcd{
			Artifact: b.from.Artifact, SHA256: b.from.SHA256, DataDir: c.Etcd.DataDir, As: b.from.aside(),
			Name: first.NodeName, PeerURL: first.PeerURL(), Image: kubeadm.EtcdImage(first.Input()), Socket: first.RuntimeSocket(),
		}),
	}, stopped...)
}

// start starts the new member, makes the others join one after the other, and ends the restore.
func (b *restore) start() {
	c, first := b.cluster, b.controlPlanes[0]
	ops := planner.Operations{
		b.file(first, topology.EtcdPhase, "etcd"),
		planner.Wait{For: planner.WaitEtcdStarted, Name: first.NodeName, Timeout: c.Timeouts.EtcdAPICall},
		b.file(first, topology.ControlPlanePhase, "kube-apiserver"),
		planner.Wait{For: planner.WaitAPI, Timeout: c.Timeouts.ControlPlaneComponentHealthCheck},
	}
	last := b.add(first, restoreStart, planner.Step{Via: first.Target, Impact: "starts etcd with one member, and the API server", Operations: ops}, b.at(first, restoreData))
	for _, n := range b.controlPlanes[1:] {
		last = b.add(n, restoreJoin, b.join(n), last)
	}
	b.add(first, RestoreDone, planner.Step{
		Impact: "completes the restore", Operations: planner.Operations{planner.RemovePath{Path: planner.RestoredMark}, planner.RemovePath{Path: observe.RestoredData(first)}},
	}, last)
}

func (b *restore) join(n *topology.Node) planner.Step {
	s := planner.Step{Via: b.controlPlanes[0].Target, Impact: "joins etcd and starts the API server"}
	if b.from.overWorking() || quorum.ConditionOf(b.from.Answers, n.PeerURL()) < quorum.VoterDown { // no voter of the new etcd yet
		s.Limits, s.Gates = []string{b.cluster.Limit("etcd-membership")}, []string{planner.QuorumGate}
		s.Operations = staticpod.JoinEtcd(n, staticpod.EtcdManifest(topology.PhaseWork{Desired: b.desired}, n))
	}
	s.Operations = append(s.Operations, b.file(n, topology.ControlPlanePhase, "kube-apiserver"))
	s.Operations = append(s.Operations, staticpod.HealthWaits(n, "kube-apiserver")...)
	return s
}

// file writes a static pod as configured.
func (b *restore) file(n *topology.Node, phase, component string) planner.Operation {
	return host.WriteFile(b.desired.Find(topology.ItemAddress(n.Target, phase, "file", topology.Manifest(component))))
}

// ReasonOrUnknown returns why the API does not answer, or else the usual reason.
func ReasonOrUnknown(reason string) string {
	if reason == "" {
		return "no control plane has an administrator's kubeconfig (" + topology.AdminConf + ")"
	}
	return reason
}
