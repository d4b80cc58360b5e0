package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/apply"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/backups"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flagvalue"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/snapshots"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

func etcdRestoreCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var by apply.Approval
	var fromBackup, on string
	var over, rehearse bool
	cmd := &cobra.Command{
		Use: "restore [FILE]" + clusterArg, Short: "Rebuild the etcd of a cluster from a snapshot, or the cluster from a backup", Args: takes(0, 2),
		Long: "restore shows a plan, asks for the cluster's name, and rebuilds etcd from a snapshot: API servers and\n" +
			"what is left of etcd are stopped and its data is set aside, one control plane gets the snapshot, and\n" +
			"the others join it. What came after the snapshot is lost. It is refused while a quorum answers, unless\n" +
			"-force is given: then a snapshot of now is saved first, and its path is printed.\n" +
			"With -from-backup in place of FILE, a cluster whose control planes are all lost is brought back on blank\n" +
			"hosts from a backup, which is decrypted with -age-identity: its CAs and keys, and etcd.\n" +
			"With -rehearse as well nothing is restored: a host brings the backup back in an etcd of its own, which nothing\n" +
			"reaches, counts its keys by resource, has one Secret decrypted with the keys of the backup, and removes it.\n" +
			"After any failure the remedy is the same command again; when it is done, run kubewright apply.",
		Example: "  kubewright etcd restore kubewright.snapshots/prod-20260302T090000Z-r4711-cdf818194e3a8c32.db\n" +
			"  kubewright etcd restore -from-backup=prod-20260302T000000Z-cp1.tar.age -age-identity=backup.key\n" +
			"  kubewright etcd restore -rehearse -from-backup=prod-20260302T000000Z-cp1.tar.age -age-identity=backup.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			if rehearse && fromBackup == "" || on != "" && !rehearse {
				return console.Misuse("kubewright etcd restore", errors.New("-rehearse is for a backup, which -from-backup=FILE names, and -on=NODE is for -rehearse"))
			}
			if fromBackup != "" && over {
				return console.Misuse("kubewright etcd restore", errors.New("-"+commandline.Force+" is for a snapshot: a backup is brought back on blank hosts only"))
			}
			if rehearse {
				return backups.Rehearse(cmd.Context(), a, o, fromBackup, on, args)
			}
			if fromBackup != "" {
				return backups.Restore(cmd.Context(), a, o, by, fromBackup, args)
			}
			if len(args) == 0 {
				return console.Misuse("kubewright etcd restore", errors.New("name the file of a snapshot, or a backup with -from-backup=FILE"))
			}
			file, digest, end, err := backups.OpenSnapshot(a, a.Named(args[0]))
			defer end()
			if err != nil {
				return fmt.Errorf("cannot restore from %s: %w", args[0], err)
			}
			return apply.CarryOut(cmd.Context(), a, o, by, "etcd restore", func(s *session.Session) {
				s.Sending, s.Leaseless = filepath.Dir(file), true
				s.Command = "etcd restore " + map[bool]string{true: "-" + commandline.Force + " "}[over] + state.ShellWords(args...)
				s.Planner = restoring(cmd.Context(), s, maintenance.EtcdRestore{Artifact: filepath.Base(file), SHA256: digest.SHA256, Over: over}, args[1:])
			})
		},
	}
	careFlags(&o, cmd)
	lockFlag(&o, cmd.Flags())
	o.OverrideFlag(cmd.Flags())
	cmd.Flags().StringArrayVar(&o.Forget, commandline.ForgetUnreachable, nil, "proceed without the control plane with this `address`, whose block is gone and whose host is gone for good (repeatable)")
	cmd.Flags().Var((*flagvalue.FileName)(&fromBackup), "from-backup", "bring the cluster back on blank hosts from this backup, a `file` that a backup block has made")
	cmd.Flags().BoolVar(&rehearse, "rehearse", false, "bring the backup back for a moment beside everything that runs, and say what it holds")
	cmd.Flags().StringVar(&on, "on", "", "rehearse on this `node`, by address or name (default a control plane of the cluster, one whose etcd does not lead)")
	cmd.Flags().BoolVar(&over, commandline.Force, false, "restore also where etcd works, after a snapshot of now")
	approvalFlags(&by, cmd)
	return cmd
}

// restoring plans a restore, once it is known whether etcd answers.
func restoring(ctx context.Context, s *session.Session, r maintenance.EtcdRestore, args []string) session.PlanFunc {
	return func(v *topology.Fleet, header planner.Plan, _ planner.Options) (topology.Result, diag.Diagnostics) {
		c, which := session.ArgumentCluster(v.Config, args)
		if which != nil {
			return topology.Result{}, diag.Diagnostics{which}
		}
		r.Cluster = c.Label
		s.Typed, s.Observed = r.Cluster, v
		other := otherSnapshot(s, r)
		if other.HasErrors() {
			return topology.Result{}, other
		}
		var err error
		if r.Answers, err = apply.PlanRun(s).EtcdAnswers(ctx, r); err != nil {
			return topology.Result{}, diag.Diagnostics{diag.Errorf("Cannot tell whether etcd answers",
				"Nothing is restored over a cluster that may work: %v. Nothing was changed. Fix what keeps etcd from being asked there, and run the same command again.", err)}
		}
		s.Restores = r
		result, diags := maintenance.Restore(v, header, r)
		return result, append(other, diags...)
	}
}

// otherSnapshot refuses a snapshot of another cluster, judged by its file name: the content of
// that cluster would replace this one's. A file name without that information is accepted.
func otherSnapshot(s *session.Session, r maintenance.EtcdRestore) diag.Diagnostics {
	name, told := snapshots.ParseName(r.Artifact)
	its := ""
	if s.Recorded != nil && s.Recorded.Clusters[r.Cluster] != nil {
		its = s.Recorded.Clusters[r.Cluster].EtcdClusterID
	}
	switch {
	case !told || its == "" && name.Cluster == r.Cluster || name.EtcdID == its:
		return nil
	case name.Cluster == r.Cluster:
		return diag.Diagnostics{diag.Warningf("Snapshot is of another etcd", "%s was taken of the etcd %s, and the state knows that of cluster %q as %s. It may be of before an earlier restore, which makes another one of it; "+
			"or of another cluster of that name, which would then stand in this one's place.", r.Artifact, name.EtcdID, r.Cluster, its)}
	}
	return diag.Diagnostics{diag.Errorf("Snapshot is of another cluster", "%s was taken of cluster %q, whose etcd was %s: as its name says. Restored into cluster %q it would put everything of that one in the place of what is here. "+
		"Nothing was changed. Take a snapshot of this cluster; %s. If the cluster had that name before, give the file a name that begins with %s-, and run the same command again.",
		r.Artifact, name.Cluster, name.EtcdID, r.Cluster, snapshotsOf(s, r.Cluster), r.Cluster)}
}

// snapshotsOf lists the local snapshots of a cluster.
func snapshotsOf(s *session.Session, cluster string) string {
	files, err := snapshots.List(s.Store.Snapshots, cluster)
	folder := filepath.Base(s.Store.Snapshots)
	if err != nil || len(files) == 0 {
		return "there is none in " + folder
	}
	return "the latest one here is " + filepath.Join(folder, files[0].String())
}
