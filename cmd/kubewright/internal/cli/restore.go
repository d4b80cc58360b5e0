package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/snapshots"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

func (a *workspace) etcdRestoreCommand() *cobra.Command {
	var o planOptions
	var by approval
	cmd := &cobra.Command{
		Use: "restore FILE" + clusterArg, Short: "Make the etcd of a cluster anew from a snapshot, when it has lost its quorum for good", Args: takes(1, 2),
		Long: "restore shows a plan, asks for the cluster's name, and makes etcd anew from a snapshot: API servers and\n" +
			"what is left of etcd are stopped and its data is set aside, one control plane gets the snapshot, and\n" +
			"the others join it. What came after the snapshot is lost. It is refused while a quorum answers.\n" +
			"After any failure the remedy is the same command again; when it is done, run kubewright apply.",
		Example: "  kubewright etcd restore kubewright.snapshots/prod-20260302T090000Z-r4711-cdf818194e3a8c32.db",
		RunE: func(cmd *cobra.Command, args []string) error {
			file := a.named(args[0])
			digest, err := snapshots.Verify(file)
			if err != nil {
				return fmt.Errorf("cannot restore from %s: %w", args[0], err)
			}
			return a.carryOut(cmd.Context(), o, by, "etcd restore", func(s *session) {
				s.sending, s.leaseless = filepath.Dir(file), true
				s.command = "etcd restore " + state.ShellWords(args...)
				s.planner = s.restoring(cmd.Context(), maintenance.EtcdRestore{Artifact: filepath.Base(file), SHA256: digest.SHA256}, args[1:])
			})
		},
	}
	o.careFlags(cmd)
	o.lockFlag(cmd.Flags())
	o.overrideFlag(cmd.Flags())
	cmd.Flags().StringArrayVar(&o.forget, topology.ForgetUnreachableFlag, nil, "go on without the control plane with this `address`, whose block is gone and whose host is gone for good (repeatable)")
	by.flags(cmd)
	return cmd
}

// restoring plans a restore, once it is known whether etcd answers.
func (s *session) restoring(ctx context.Context, r maintenance.EtcdRestore, args []string) planFunc {
	return func(v *topology.Fleet, header planner.Plan, _ planner.Options) (topology.Result, diag.Diagnostics) {
		c, which := chosenCluster(v.Config, first(args), byArgument)
		if which != nil {
			return topology.Result{}, diag.Diagnostics{which}
		}
		r.Cluster = c.Label
		s.typed, s.view = r.Cluster, v
		other := s.otherSnapshot(r)
		if other.HasErrors() {
			return topology.Result{}, other
		}
		var err error
		if r.Answers, err = s.planRun().etcdAnswers(ctx, r); err != nil {
			return topology.Result{}, diag.Diagnostics{diag.Errorf("Cannot tell whether etcd answers",
				"Nothing is restored over a cluster that may work: %v. Nothing was changed. Put right what keeps etcd from being asked there, and run the same command again.", err)}
		}
		s.restores = r
		result, diags := maintenance.Restore(v, header, r)
		return result, append(other, diags...)
	}
}

// otherSnapshot refuses a snapshot that was taken of another cluster, as its name tells:
// everything of that one would stand in this one's place. Of one whose name tells
// nothing nobody knows.
func (s *session) otherSnapshot(r maintenance.EtcdRestore) diag.Diagnostics {
	name, told := snapshots.ParseName(r.Artifact)
	its := ""
	if s.recorded != nil && s.recorded.Clusters[r.Cluster] != nil {
		its = s.recorded.Clusters[r.Cluster].EtcdClusterID
	}
	switch {
	case !told || its == "" && name.Cluster == r.Cluster || name.EtcdID == its:
		return nil
	case name.Cluster == r.Cluster:
		return diag.Diagnostics{diag.Warningf("Snapshot is of another etcd", "%s was taken of the etcd %s, and the state knows that of cluster %q as %s. It may be of before an earlier restore, which makes another one of it; "+
			"or of another cluster of that name, which would then stand in this one's place.", r.Artifact, name.EtcdID, r.Cluster, its)}
	}
	return diag.Diagnostics{diag.Errorf("Snapshot is of another cluster", "%s was taken of cluster %q, whose etcd was %s: its name tells that. Restored into cluster %q it would put everything of that one in the place of what is here. "+
		"Nothing was changed. Take a snapshot of this cluster; %s. If the cluster had that name before, give the file a name that begins with %s-, and run the same command again.",
		r.Artifact, name.Cluster, name.EtcdID, r.Cluster, s.snapshotsOf(r.Cluster), r.Cluster)}
}

// snapshotsOf says which snapshots of a cluster are here.
func (s *session) snapshotsOf(cluster string) string {
	files, err := snapshots.List(s.store.Snapshots, cluster)
	folder := filepath.Base(s.store.Snapshots)
	if err != nil || len(files) == 0 {
		return "there is none in " + folder
	}
	return "the latest one here is " + filepath.Join(folder, files[0].String())
}

// How often etcd is asked before it counts as silent: an election takes a few seconds.
const (
	askedTimes = 3
	askedEvery = 5 * time.Second
)

// etcdAnswers asks every control plane whether a quorum of the cluster's etcd
// answers there, and again after a while. It fails when that cannot be told.
func (run *planRun) etcdAnswers(ctx context.Context, r maintenance.EtcdRestore) ([]state.EtcdMember, error) {
	p := run.newPerformer()
	p.Others = nil // each is asked itself
	defer p.Close()
	for i := range askedTimes {
		if i > 0 {
			if err := run.fleet.world.Clock().Sleep(ctx, askedEvery); err != nil {
				return nil, err
			}
		}
		for _, n := range run.config.NodesOf(r.Cluster, config.ControlPlane) {
			if run.view.CA(n.Target) == "" || slices.Contains(run.view.ForeignEtcds(r.Cluster), n.Target) {
				continue
			}
			members, id, err := membersThrough(ctx, p, n.Target)
			if err == nil && !run.isItsEtcd(r, n.Target, id) {
				continue
			}
			if err == nil {
				return members, nil
			}
			if !providers.Silent(err) {
				return nil, fmt.Errorf("%s: %w", n.Target, err)
			}
		}
	}
	return nil, nil
}

// silenceGate asks every control plane once more, right before one is stopped.
func (run *planRun) silenceGate(ctx context.Context) error {
	members, err := run.etcdAnswers(ctx, run.restores)
	if err != nil {
		return fmt.Errorf("refused: it cannot be told whether etcd answers by now, and nothing is restored over a cluster that may work: %w", err)
	}
	if members == nil {
		return nil
	}
	return fmt.Errorf("refused: since the plan was made the etcd of cluster %q has come back: a quorum of its members answers (%s). Nothing is restored over a cluster that works. "+
		"What this restore has stopped already, if anything, kubewright apply starts again", run.restores.Cluster, maintenance.MembersNamed(members))
}

func membersThrough(ctx context.Context, p *providers.Performer, t state.Target) (members []state.EtcdMember, id string, err error) {
	err = p.ThroughEtcd(ctx, t, func(ctx context.Context, e providers.Etcd) error {
		members, id, err = e.Members(ctx)
		return err
	})
	return members, id, err
}

// isItsEtcd tells the etcd of a cluster, or the one that this restore has made,
// from one that a first member has founded by itself when it came back with an
// empty disk: that has nothing of the cluster in it.
func (run *planRun) isItsEtcd(r maintenance.EtcdRestore, t state.Target, id string) bool {
	if run.recorded == nil || run.recorded.Clusters[r.Cluster] == nil || run.recorded.Clusters[r.Cluster].EtcdClusterID == "" {
		return true
	}
	return id == run.recorded.Clusters[r.Cluster].EtcdClusterID || topology.RestoredFrom(run.view.Reports[t]) == r.SHA256
}
