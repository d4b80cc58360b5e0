package maintenance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Defragment plans the defragmentation of every etcd member of a cluster: one after the other, the
// leader last. Under the NOSPACE alarm etcd is compacted first, and the alarm is disarmed at the
// end. A snapshot is taken first; options may skip that phase.
func Defragment(v *topology.Fleet, header planner.Plan, options planner.Options, label string) (topology.Result, diag.Diagnostics) {
	v, diags := pipeline.LeaveOutWorkers(v, "changes control planes only")
	v, situated := pipeline.Situate(v)
	diags = append(diags, situated...)
	c, more := careFor(v, label)
	if diags = append(diags, more...); diags.HasErrors() {
		return topology.Result{}, diags
	}
	d := planner.Draft{Edges: map[state.Address][]state.Address{}, Serves: map[state.Address]bool{}, Limits: map[string]int{c.Limit("etcd-membership"): 1}}
	d.Resources = []planner.ResourceChange{{Target: c.Target, Action: planner.Update, Note: "Kubernetes " + c.KubernetesVersion}}
	members := slices.Clone(c.Report.Members)
	slices.SortStableFunc(members, func(a, b state.EtcdMember) int {
		if a.Leader != b.Leader {
			return cmp.Compare(objects.RankOf(a.Leader), objects.RankOf(b.Leader))
		}
		return cmp.Compare(a.Name, b.Name)
	})
	var last []state.Address
	if full(members) {
		s := compactStep(c)
		d.Steps, last = append(d.Steps, s), []state.Address{s.ID}
	}
	for _, m := range members {
		s, ok := defragmentStep(c, m)
		if !ok {
			diags = append(diags, leftAlone(c, m))
			continue
		}
		d.Steps, d.Edges[s.ID], last = append(d.Steps, s), last, []state.Address{s.ID}
		d.Resources = append(d.Resources, planner.ResourceChange{Target: s.Target, Action: planner.Update, Note: c.Node(s.Target).Address + ", " + string(c.Node(s.Target).Role)})
	}
	if full(c.Report.Members) {
		s := planner.Step{
			ID: topology.StepAddress(c.Target, topology.DefragmentPhase), Phase: topology.DefragmentPhase, Target: c.Target, Action: planner.Update, Via: c.Primary,
			Impact: "disarms the alarm for lack of space, so that etcd accepts writes again", Operations: planner.Operations{planner.DisarmEtcd{Alarm: quorum.AlarmNoSpace}},
		}
		d.Steps, d.Edges[s.ID] = append(d.Steps, s), last
	}
	if len(d.Steps) > 0 {
		b := topology.Builder{Draft: &d}
		etcd.SnapshotBefore(&b, c, "", "members are defragmented", d.Steps[0].ID)
	}
	pipeline.Describe(c.Fleet, d.Resources)
	if len(members) > 1 {
		d.Quorum = []string{fmt.Sprintf("%d members, of which one at a time does not answer for some seconds.", len(members))}
	} else {
		d.Quorum = []string{"1 member, without which the API does not answer for some seconds."}
	}
	p, err := planner.Assemble(header, nil, nil, d, planner.Options{SkipPhases: options.SkipPhases})
	if err != nil {
		return topology.Result{}, append(diags, pipeline.UnsoundPlan(err))
	}
	for i := range p.Steps {
		if n := c.Node(p.Steps[i].Target); n != nil {
			if d := etcd.RefuseDown(n, &p.Steps[i], c.Voters()); d != nil {
				return topology.Result{}, append(diags, d)
			}
		}
	}
	return topology.Result{Plan: p, Fleet: v, Desired: &state.Snapshot{}, Observed: &state.Snapshot{}}, diags
}

// compactStep makes etcd drop old revisions. API servers do that every five minutes, but not under
// the alarm: they coordinate by a write, which etcd refuses.
func compactStep(c *topology.Cluster) planner.Step {
	return planner.Step{
		ID: topology.StepAddress(c.Target, topology.CompactPhase), Phase: topology.CompactPhase, Target: c.Target, Action: planner.Update, Via: c.Primary,
		Impact:     "drops deleted and overwritten revisions, which no API server can under the alarm; watches of clients start again",
		Operations: planner.Operations{planner.CompactEtcd{}},
	}
}

func full(members []state.EtcdMember) bool { return quorum.HasAlarm(members, quorum.AlarmNoSpace) }

// careFor returns a cluster with a stacked etcd that answers and has no CORRUPT alarm.
func careFor(v *topology.Fleet, label string) (*topology.Cluster, diag.Diagnostics) {
	i := slices.IndexFunc(v.Clusters, func(c *topology.Cluster) bool { return c.Label == label })
	if i < 0 {
		return nil, diag.Diagnostics{unknownCluster(v, label)}
	}
	c := v.Clusters[i]
	switch {
	case c.Etcd.External != nil:
		return nil, RefuseExternalEtcd(c.Cluster)
	case c.Report == nil || len(c.Report.Members) == 0:
		why := ReasonOrUnknown(v.ClusterErrors[label])
		if c.Report != nil {
			why = etcd.EtcdUnobserved(c)
		}
		return nil, diag.Diagnostics{diag.Errorf("Etcd does not answer", "The etcd members of cluster %q are unknown: %s. "+
			"Bring etcd back (systemctl status kubelet and crictl ps on a control plane show what is missing), and run the same command again.", label, why).At(c.Source).For(c.Target)}
	case quorum.HasAlarm(c.Report.Members, quorum.AlarmCorrupt):
		return nil, diag.Diagnostics{diag.Errorf(etcd.Alarmed, "Cluster %q: %s\n\nNo member is defragmented until it is settled which data is right: a member does not answer meanwhile.",
			c.Label, quorum.Alarmed(c.Report.Members)).At(c.Source).For(c.Target)}
	}
	return c, nil
}

// unknownCluster refuses a label that no cluster of the configuration has.
func unknownCluster(v *topology.Fleet, label string) *diag.Diagnostic {
	var labels []string
	for _, c := range v.Clusters {
		labels = append(labels, c.Label)
	}
	return diag.Errorf("Unknown cluster", "The configuration has no cluster %q. It has %s.", label, cmp.Or(strings.Join(labels, ", "), "none"))
}

// RefuseExternalEtcd refuses to maintain an external etcd.
func RefuseExternalEtcd(c *config.Cluster) diag.Diagnostics {
	return diag.Diagnostics{diag.Errorf("Etcd is external", "The etcd of cluster %q is external: its operator maintains it.", c.Label).At(c.Source).For(state.ClusterTarget(c.Label))}
}

// defragmentStep returns the step of a member; false if it is on no node of the configuration.
func defragmentStep(c *topology.Cluster, m state.EtcdMember) (planner.Step, bool) {
	for _, n := range c.ControlPlanes() {
		if !slices.Contains(m.PeerURLs, n.PeerURL()) {
			continue
		}
		return planner.Step{
			ID: topology.StepAddress(n.Target, topology.DefragmentPhase), Phase: topology.DefragmentPhase, Target: n.Target, Action: planner.Update, Via: c.Primary,
			Limits: []string{c.Limit("etcd-membership")}, Gates: []string{planner.QuorumGate},
			Impact: fmt.Sprintf("%s on the disk, of which %s are in use", mebibytes(m.DBSize), mebibytes(m.DBInUse)),
			Operations: planner.Operations{
				planner.DefragmentEtcd{Name: m.Name, PeerURL: n.PeerURL(), Timeout: c.Timeouts.EtcdAPICall},
			},
		}, true
	}
	return planner.Step{}, false
}

// leftAlone warns of a member on an unknown host.
func leftAlone(c *topology.Cluster, m state.EtcdMember) *diag.Diagnostic {
	return diag.Warningf("Etcd member is skipped", "Member %s (%s, %s) is on no control plane of the configuration, so that its database is not defragmented. "+
		"If it belongs to the cluster, defragment it where it runs (etcdctl defrag); if its host is gone, remove it (etcdctl member remove %s).",
		cmp.Or(m.Name, "without a name"), m.ID, strings.Join(m.PeerURLs, ", "), m.ID).At(c.Source).For(c.Target)
}

// mebibytes formats a size in bytes.
func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
