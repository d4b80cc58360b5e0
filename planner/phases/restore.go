package phases

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// EtcdRestore is a snapshot that a cluster's etcd is to be made of anew.
type EtcdRestore struct {
	// Cluster is the label of the cluster.
	Cluster string
	// Artifact is the file's name in its folder, SHA256 its digest.
	Artifact, SHA256 string
	// Answers are the members of an etcd that answers a linearizable read; nil for none.
	Answers []state.EtcdMember
}

// The waypoints of a restore. What is observed tells where it stands: the mark
// on the first control plane says that the data is made, and the members say
// who has joined.
const (
	restoreStop  = "stop"
	restoreData  = "data"
	restoreStart = "start"
	restoreJoin  = "join"
	restoreDone  = "done"
)

// Restore plans to make a cluster's etcd anew of a snapshot: everywhere the API
// servers and what is left of etcd are stopped and its data is set aside, one
// control plane gets the snapshot as a cluster of one member, and the others
// join that. It is refused while a quorum answers, because nothing is restored
// over a cluster that works, and goes on where it was interrupted.
func Restore(v *View, header planner.Plan, r EtcdRestore) (Result, diag.Diagnostics) {
	v.restores = true
	diags := v.leaveOutWorkers()
	v.resolve()
	diags = append(diags, v.situate()...)
	c, more := v.clusterToRestore(r)
	if diags = append(diags, more...); diags.HasErrors() {
		return Result{}, diags
	}
	planes := c.restorable()
	first := planes[0]
	// The data of the first one is that of a cluster that is being founded: its
	// manifest names it alone.
	// What another one holds is set aside, so that it joins as one without data.
	c.seat, c.founding, c.restoring = first.target, true, true
	b := restore{cluster: c, from: r, planes: planes, draft: planner.Draft{
		Edges: map[state.Address][]state.Address{}, Limits: map[string]int{c.limit("etcd-membership"): 1},
	}}
	desired := v.desired()
	b.desired = desired
	if first.restoredFrom() != r.SHA256 {
		b.stop()
		diags = append(diags, c.whatIsLost(r))
	}
	b.start()
	for _, n := range planes {
		b.draft.Resources = append(b.draft.Resources, planner.ResourceChange{Target: n.target, Action: planner.Update, Note: n.Address + ", " + string(n.Role)})
	}
	v.describe(b.draft.Resources)
	b.draft.Quorum = []string{restoredMembers(len(planes))}
	header.ForgetUnreachable = printed(v.ForgetUnreachable)
	p, err := planner.Assemble(header, nil, nil, b.draft, planner.Options{})
	if err != nil {
		return Result{}, append(diags, unsound(err))
	}
	return Result{Plan: p, Desired: desired, Observed: &state.Snapshot{}}, diags
}

// restoredMembers is the sentence about the members that a restore makes.
func restoredMembers(count int) string {
	if count == 1 {
		return "1 member of the snapshot, quorum 1."
	}
	return fmt.Sprintf("1 member of the snapshot, then %d added one at a time as learners; %d members, quorum %d.", count-1, count, count/2+1)
}

// clusterToRestore is the cluster, unless nothing may be restored over it.
func (v *View) clusterToRestore(r EtcdRestore) (*cluster, diag.Diagnostics) {
	i := slices.IndexFunc(v.clusters, func(c *cluster) bool { return c.Label == r.Cluster })
	if i < 0 {
		return nil, diag.Diagnostics{v.unknownCluster(r.Cluster)}
	}
	c := v.clusters[i]
	planes := c.restorable()
	switch {
	case c.Etcd.External != nil:
		return nil, RefuseExternalEtcd(c.Cluster)
	case len(planes) == 0:
		return nil, c.refuseNowhere()
	case planes[0].restoredFrom() == r.SHA256 && !planes[0].holdsRestored(r.SHA256):
		return nil, diag.Diagnostics{planes[0].refuseLostAgain(r)}
	case r.Answers != nil && planes[0].restoredFrom() != r.SHA256:
		return nil, diag.Diagnostics{diag.Errorf("Etcd works", "The etcd of cluster %q answers: a quorum of its members is there (%s). Nothing is restored over a cluster that works, "+
			"and nothing was changed. %sIf the cluster is to be put back to what it was, delete or change its objects; if it is to be made anew, destroy and apply it first.",
			c.Label, MembersNamed(r.Answers), c.astrayText()).At(c.Source).For(c.target)}
	}
	if diags := c.refuseNotStopped(); diags.HasErrors() {
		return nil, diags
	}
	return c, nil
}

// refuseNowhere speaks of a cluster whose control planes have all lost what a snapshot
// does not bring back. What one holds that was not looked at nobody knows: situate
// refuses those of the configuration, and refuseUnconfigured those of the state.
func (c *cluster) refuseNowhere() diag.Diagnostics {
	if slices.ContainsFunc(c.controlPlanes(), func(n *node) bool { return n.report == nil }) {
		return nil
	}
	if d := c.refuseUnconfigured(); d != nil {
		return diag.Diagnostics{d}
	}
	return diag.Diagnostics{diag.Errorf("Nothing to restore into", "No control plane of cluster %q holds both its CA (%s/ca.crt) and %s any more, and a snapshot holds neither: "+
		"the nodes would trust no new API server. Nothing was changed. Put the files back, from a backup of a control plane's /etc/kubernetes; "+
		"without them the cluster has to be destroyed and made anew.", c.Label, c.Certificates.Dir, adminConf).At(c.Source).For(c.target)}
}

// MembersNamed lists members of etcd by their names.
func MembersNamed(members []state.EtcdMember) string {
	var out []string
	for _, m := range members {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// restorable are the control planes that a restore stops, and that join what it makes. The
// one on which a restore has begun comes first, then those that hold data of a member:
// another one may be a host that never came to join.
func (c *cluster) restorable() []*node {
	var out []*node
	for _, n := range c.controlPlanes() {
		if n.report != nil && len(n.lackedToRestore()) == 0 {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b *node) int {
		return cmp.Or(
			rankOf(a.restoredFrom() == "")-rankOf(b.restoredFrom() == ""),
			rankOf(!a.report.Files[a.etcdData()].Exists)-rankOf(!b.report.Files[b.etcdData()].Exists),
		)
	})
	return out
}

// lackedToRestore are the files that a snapshot does not bring back, and without which
// a control plane is no part of a restore.
func (n *node) lackedToRestore() []string {
	var out []string
	if n.cluster.view.CA(n.target) == "" {
		out = append(out, n.cluster.caFile())
	}
	if !n.report.Files[adminConf].Exists {
		out = append(out, adminConf)
	}
	return out
}

func (n *node) restoredFrom() string { return RestoredFrom(n.report) }

// RestoredFrom is the digest of the snapshot that the etcd on a host was made of,
// while that restore goes on; empty when none does.
func RestoredFrom(r *state.Report) string {
	return strings.TrimSpace(string(r.Files[planner.RestoredMark].Content))
}

// restoredData is the file within a member's data that says of which snapshot it is.
func (n *node) restoredData() string { return n.etcdData() + "/" + planner.RestoredData }

// holdsRestored tells that the data of the node's member is the one that was made of
// the snapshot with the digest.
func (n *node) holdsRestored(sha256 string) bool {
	return sha256 != "" && strings.TrimSpace(string(n.report.Files[n.restoredData()].Content)) == sha256
}

// refuseLostAgain speaks of a restore that has begun on a node, whose data has been
// lost since. To go on would be to start an etcd with nothing in it.
func (n *node) refuseLostAgain(r EtcdRestore) *diag.Diagnostic {
	holds := "there is none any more"
	if n.report.Files[n.etcdData()].Exists {
		holds = "what is there now is not it: etcd has begun with empty data, or somebody has put other data there"
	}
	return diag.Errorf("Restored data is lost", "A restore of %s into cluster %q was cut short, and %s (%s) had its data, but %s (%s). Nothing was changed: to go on would be to go on without what was restored. "+
		"See first that no other control plane holds it: those that had joined may be a quorum (kubewright etcd status). "+
		"If none does, have the restore begin anew: delete %s on that host, and run the same command again.",
		r.Artifact, n.cluster.Label, n.target, n.Address, holds, n.etcdData(), planner.RestoredMark).At(n.Source).For(n.target)
}

func (c *cluster) whatIsLost(r EtcdRestore) *diag.Diagnostic {
	return diag.Warningf("What came after the snapshot is lost", "Cluster %q becomes what it was when %s was taken: objects made since are gone, those deleted since are back, "+
		"and containers that run are put right to that. What the members hold now is kept on the hosts, beside the new data, as %s.", c.Label, r.Artifact, r.aside()).At(c.Source).For(c.target)
}

// aside is the name that data gets which is there already.
func (r EtcdRestore) aside() string { return "member.before-" + short(r.SHA256) }

// restore drafts the steps.
type restore struct {
	cluster *cluster
	from    EtcdRestore
	planes  []*node
	desired *state.Snapshot
	draft   planner.Draft
}

func (b *restore) add(n *node, waypoint string, s planner.Step, needs ...state.Address) state.Address {
	s.ID = step(n.target, restorePhase)
	s.ID.Waypoint = waypoint
	s.Phase, s.Target, s.Action = restorePhase, n.target, planner.Update
	b.draft.Steps = append(b.draft.Steps, s)
	b.draft.Edges[s.ID] = needs
	return s.ID
}

func (b *restore) at(n *node, waypoint string) state.Address {
	id := step(n.target, restorePhase)
	id.Waypoint = waypoint
	return id
}

// stop ends every API server and member, and makes the data on the first. Somebody may
// have been asked for long since the plan was made, and members may have come back: each
// host is stopped only while etcd is silent still.
func (b *restore) stop() {
	c, first := b.cluster, b.planes[0]
	var stopped []state.Address
	for _, n := range b.planes {
		ops := planner.Operations{planner.RemovePath{Path: manifest("kube-apiserver")}, planner.RemovePath{Path: manifest("etcd")}}
		if n != first {
			ops = append(ops, planner.SetAsideEtcd{DataDir: c.Etcd.DataDir, As: b.from.aside()})
		}
		stopped = append(stopped, b.add(n, restoreStop, planner.Step{
			Gates: []string{planner.SilenceGate}, Impact: "stops the API server and etcd here; the data of etcd is set aside", Operations: ops,
		}))
	}
	b.add(first, restoreData, planner.Step{
		Impact: "makes etcd's data of " + b.from.Artifact,
		Operations: planner.Operations{planner.RestoreEtcd{
			Artifact: b.from.Artifact, SHA256: b.from.SHA256, DataDir: c.Etcd.DataDir, As: b.from.aside(),
			Name: first.name, PeerURL: first.peerURL(), Image: kubeadm.EtcdImage(first.input()), Socket: first.criSocket(),
		}},
	}, stopped...)
}

// start runs the new member, has the others join one after the other, and ends
// the restore.
func (b *restore) start() {
	c, first := b.cluster, b.planes[0]
	ops := planner.Operations{
		b.file(first, etcdPhase, "etcd"),
		planner.Wait{For: planner.WaitEtcdStarted, Name: first.name, Timeout: c.Timeouts.EtcdAPICall},
		b.file(first, controlPlanePhase, "kube-apiserver"),
		planner.Wait{For: planner.WaitAPI, Timeout: c.Timeouts.ControlPlaneComponentHealthCheck},
	}
	last := b.add(first, restoreStart, planner.Step{Via: first.target, Impact: "starts etcd with one member, and the API server", Operations: ops}, b.at(first, restoreData))
	for _, n := range b.planes[1:] {
		last = b.add(n, restoreJoin, b.join(n), last)
	}
	b.add(first, restoreDone, planner.Step{
		Impact: "ends the restore", Operations: planner.Operations{planner.RemovePath{Path: planner.RestoredMark}, planner.RemovePath{Path: first.restoredData()}},
	}, last)
}

func (b *restore) join(n *node) planner.Step {
	s := planner.Step{Via: b.planes[0].target, Impact: "joins etcd and starts the API server"}
	if !b.votes(n) {
		s.Limits, s.Gates = []string{b.cluster.limit("etcd-membership")}, []string{planner.QuorumGate}
		s.Operations = n.joinEtcd(work{desired: b.desired}.etcdManifest(n))
	}
	s.Operations = append(s.Operations, b.file(n, controlPlanePhase, "kube-apiserver"))
	s.Operations = append(s.Operations, n.healthWaits("kube-apiserver")...)
	return s
}

// votes tells that a node is a voter of the new etcd already.
func (b *restore) votes(n *node) bool {
	return slices.ContainsFunc(b.from.Answers, func(m state.EtcdMember) bool {
		return !m.Learner && slices.Contains(m.PeerURLs, n.peerURL())
	})
}

// file writes a static pod as the configuration asks for it.
func (b *restore) file(n *node, phase, component string) planner.Operation {
	return writeFile(b.desired.Find(item(n.target, phase, "file", manifest(component))))
}
