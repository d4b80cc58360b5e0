package etcd

import (
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A cluster that is destroyed as a whole loses its etcd. What it holds is saved on the operator's
// machine before the first host is reset.

// lastSnapshot says whether there is a last snapshot of an etcd, and why not.
type lastSnapshot string

const (
	// answers: a snapshot can be taken.
	answers lastSnapshot = "answers"
	// silent: etcd should hold data, and cannot be asked for it.
	silent lastSnapshot = "silent"
	// outside: the etcd is external, and is not destroyed.
	outside lastSnapshot = "outside"
	// unread: the block of the cluster is gone, so that its etcd was not observed. The apply finds out
	// whether a snapshot can be taken, before it resets a host.
	unread lastSnapshot = "unread"
	// resetting: an earlier destroy has begun to reset control planes, after its snapshot.
	resetting lastSnapshot = "resetting"
	// empty: the cluster has never run, or no host has data of etcd any more.
	empty lastSnapshot = "empty"
)

// ending is a cluster that is destroyed as a whole.
type ending struct {
	label string
	// cluster is nil when its block is gone.
	cluster *topology.Cluster
	// leaves are its nodes for which the plan does something.
	leaves []topology.Departure
}

// endings returns the clusters that are destroyed as a whole, in the order of their nodes.
func endings(v *topology.Fleet) []*ending {
	var out []*ending
	for _, l := range v.Departures() {
		if !l.Whole || !l.Acts() || l.Replaced {
			continue
		}
		i := slices.IndexFunc(out, func(e *ending) bool { return e.label == l.RecordedNode.Cluster })
		if i < 0 {
			i = len(out)
			out = append(out, &ending{label: l.RecordedNode.Cluster, cluster: l.Cluster})
		}
		out[i].leaves = append(out[i].leaves, l)
	}
	return out
}

// snapshot says whether there is a last snapshot of the cluster's etcd.
func (e *ending) snapshot() lastSnapshot {
	c := e.cluster
	switch {
	case c == nil || len(c.ControlPlanes()) == 0:
		return e.unread()
	case c.Etcd.External != nil:
		return outside
	case etcdAnswers(c):
		return answers
	case resetBegun(c):
		return resetting
	case !c.RecordedRunning() || !slices.ContainsFunc(c.ControlPlanes(), holdsData):
		return empty
	}
	return silent
}

// unread says whether there is a last snapshot of a cluster whose block is gone, by what is recorded.
func (e *ending) unread() lastSnapshot {
	switch r := e.leaves[0].Recorded.Clusters[e.label]; {
	case r == nil || r.Version == "" || e.member() == nil:
		return empty
	case r.Resetting:
		return resetting
	}
	return unread
}

// member returns a control plane for which a stacked etcd is recorded, or nil.
func (e *ending) member() *topology.Departure {
	for i, l := range e.leaves {
		if l.Role == string(config.ControlPlane) && l.Report != nil && !l.HostGone && slices.ContainsFunc(topology.RecordedItems(l.Recorded, l.Target), isEtcdManifest) {
			return &e.leaves[i]
		}
	}
	return nil
}

func isEtcdManifest(it state.Item) bool { return it.Address.ID() == topology.Manifest("etcd") }

// etcdAnswers reports whether etcd was observed, which takes a quorum.
func etcdAnswers(c *topology.Cluster) bool {
	if r := c.Fleet.ClusterReports[c.Label]; r != nil && len(r.Members) > 0 {
		return true
	}
	return len(c.Fleet.EtcdAlone[c.Label].Members) > 0
}

// resetBegun reports whether a destroy has begun to reset a control plane: then it has taken the
// snapshot, or was told not to.
func resetBegun(c *topology.Cluster) bool {
	r := c.Fleet.Recorded.Clusters[c.Label]
	return r != nil && r.Resetting
}

// holdsData reports whether a control plane may hold data of etcd.
func holdsData(n *topology.Node) bool {
	r := n.Cluster.Fleet.Reports[n.Target]
	return r == nil || r.Files[n.EtcdData()].Exists
}

// SnapshotBeforeDestroying requires a last snapshot before the hosts of a cluster are reset, and says
// so, or why there is none.
func SnapshotBeforeDestroying(b *topology.Builder, v *topology.Fleet) {
	skipped := slices.Contains(v.Skipped, topology.SnapshotPhase)
	for _, e := range endings(v) {
		var resets []state.Address
		for _, l := range e.leaves {
			resets = append(resets, topology.StepAddress(l.Target, topology.ResetPhase))
		}
		t, text := state.ClusterTarget(e.label), ""
		switch s := e.snapshot(); {
		case s == answers && !skipped:
			// No older snapshot is removed: it may have what is missing in this one.
			AddSnapshot(b, e.cluster, "", "the hosts of "+t.String()+" are reset", 0, resets...)
			continue
		case s == unread && !skipped:
			id := topology.StepAddress(t, topology.SnapshotPhase)
			addSnapshot(b, id, e.member().Target, planner.SnapshotEtcd{Cluster: e.label, MaxAge: snapshotAge}, "the hosts of "+t.String()+" are reset")
			for _, reset := range resets {
				b.After(reset, id)
			}
			continue
		case s != empty && s != outside && s != resetting:
			text = "no snapshot is taken before the hosts of " + t.String() + " are reset. What it holds is lost with them."
		case s == outside:
			text = "the external etcd of " + t.String() + " keeps its data: no snapshot is taken."
		case s == resetting:
			text = "no further snapshot is taken of " + t.String() + ": an earlier destroy has begun to reset its control planes, and its etcd does not answer any more."
		default:
			continue
		}
		b.Draft.Remarks = append(b.Draft.Remarks, planner.Remark{Step: resets[0], Text: text})
	}
}

// RefuseUnsaved refuses to destroy a cluster whose etcd should be saved before and does not answer.
func RefuseUnsaved(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	if slices.Contains(v.Skipped, topology.SnapshotPhase) {
		return nil
	}
	var diags diag.Diagnostics
	for _, e := range endings(v) {
		goes := slices.ContainsFunc(e.leaves, func(l topology.Departure) bool {
			return p.Step(topology.StepAddress(l.Target, topology.ResetPhase)) != nil
		})
		if !goes || e.snapshot() != silent {
			continue
		}
		diags = append(diags, diag.Errorf("Last snapshot cannot be taken",
			"Cluster %q: its etcd does not answer (%s), so that no snapshot of it can be taken before its hosts are reset. What it holds would be lost. "+
				"Bring back enough of its control planes. Or save the data of a single member:\n\n  %s\n\n"+
				"To destroy the cluster without a snapshot, add %s.", e.label, e.reason(), remedy.Snapshot.On(e.label), remedy.Option{Kind: remedy.SkipPhase, Value: topology.SnapshotPhase}).At(e.cluster.Source).For(e.cluster.Target))
	}
	return diags
}

// reason returns why etcd does not answer.
func (e *ending) reason() string {
	v := e.cluster.Fleet
	if r := v.ClusterReports[e.label]; r != nil && r.EtcdUnobserved != "" {
		return r.EtcdUnobserved
	}
	if text := v.ClusterErrors[e.label]; text != "" {
		return text
	}
	for _, l := range e.leaves {
		if l.Role == string(config.ControlPlane) && l.Report == nil {
			return fmt.Sprintf("%s was not observed", l.Target)
		}
	}
	return "no control plane has an administrator's kubeconfig, " + topology.AdminConf
}
