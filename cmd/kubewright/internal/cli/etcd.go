package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/apply"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flagvalue"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/engine"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

func etcdCommand(a *workspace.Workspace) *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "etcd", Short: "Look after the etcd of a cluster: members, snapshots, space",
		Long: "These commands reach etcd through a control plane, over SSH: no port of it has to be open to you, and no\n" +
			"API server has to work. status, snapshot and defragment are for a cluster that lives, restore is for one\n" +
			"that has lost its quorum for good.",
		Example: "  kubewright etcd status\n  kubewright etcd snapshot\n  kubewright etcd defragment prod",
	})
	cmd.AddCommand(etcdStatusCommand(a), etcdSnapshotCommand(a), etcdBackupsCommand(a), etcdDefragmentCommand(a), etcdRestoreCommand(a))
	return cmd
}

const clusterArg = " [CLUSTER]"

func etcdStatusCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	cmd := &cobra.Command{
		Use: "status" + clusterArg, Short: "Show the members of etcd, their health, size and alarms", Args: takes(0, 1),
		Long: "status asks etcd itself, through a control plane, and works without an API server: which members there\n" +
			"are, who leads, whether each is healthy, how large its database is and how much of that is in use, and\n" +
			"alarms. Without a quorum it shows what each member that answers holds, and ends with an error. Nothing\n" +
			"is changed.",
		Example: "  kubewright etcd status\n  kubewright etcd status prod -json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withEtcd(cmd.Context(), a, o, args, func(ctx context.Context, e etcdOf) error {
				members, id, err := e.members(ctx)
				if err != nil && members == nil {
					return err
				}
				show := func() error { return listing.EtcdStatus(a.Stdout, e.cluster, id, members, a.Options()) }
				if o.JSON {
					show = func() error { return listing.EtcdStatusJSON(a.Stdout, e.cluster, id, members) }
				}
				return cmp.Or(show(), err)
			})
		},
	}
	careFlags(&o, cmd)
	return cmd
}

func etcdSnapshotCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var out string
	cmd := &cobra.Command{
		Use: "snapshot" + clusterArg, Short: "Fetch a snapshot of etcd to this machine, and verify it", Args: takes(0, 1),
		Long: "snapshot streams what etcd holds from a member that does not lead, through a control plane, into a\n" +
			"file of this machine, and verifies it by the hash that etcd sends behind it. It works without an API\n" +
			"server. Without a quorum the snapshot is of the member whose data is newest among those that answer, and\n" +
			"may lack the last writes. Nothing is changed in the cluster. The file holds every Secret of the cluster:\n" +
			"keep it safe.",
		Example: "  kubewright etcd snapshot\n  kubewright etcd snapshot prod -out=/backup/prod.db -json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.CheckOverwrite("out", out); err != nil {
				return err
			}
			return withEtcd(cmd.Context(), a, o, args, func(ctx context.Context, e etcdOf) error {
				op := planner.SnapshotEtcd{Cluster: e.cluster, Keep: etcd.SnapshotsKept, Quota: e.quota}
				path := out
				if path != "" {
					path = a.Named(path)
				}
				s, err := e.performer.FetchSnapshot(ctx, e.via, op, path)
				if err != nil {
					return err
				}
				file := listing.EtcdSnapshotFile{
					Cluster: e.cluster, Path: s.Path, Member: s.Member, EtcdID: s.EtcdID,
					Revision: s.Revision, Taken: s.Taken.UTC(), Size: s.Size, SHA256: s.SHA256, WithoutQuorum: s.Local,
				}
				if s.Local {
					a.Print(diag.Diagnostics{e.localSnapshot(s)})
				}
				if o.JSON {
					return listing.EtcdSnapshotJSON(a.Stdout, file)
				}
				return listing.EtcdSnapshot(a.Stdout, file, a.Options())
			})
		},
	}
	careFlags(&o, cmd)
	cmd.Flags().Var((*flagvalue.FileName)(&out), "out", "write to this `file` (default one in kubewright.snapshots beside the state)")
	return cmd
}

func etcdDefragmentCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var by apply.Approval
	cmd := &cobra.Command{
		Use: "defragment" + clusterArg, Short: "Have etcd give back the space that it does not use, one member at a time", Args: takes(0, 1),
		Long: "defragment shows a plan, asks, and has one member after the other give back what its database does\n" +
			"not use, the leader last, each only while all others answer. A member does not answer meanwhile.\n" +
			"A snapshot is fetched before. Under an alarm for lack of space etcd is compacted first, and the alarm\n" +
			"disarmed when all are done.",
		Example: "  kubewright etcd defragment\n  kubewright etcd defragment prod -auto-approve\n  kubewright etcd defragment -approve=3a2816c5be94cc61",
		RunE: func(cmd *cobra.Command, args []string) error {
			make := func(v *topology.Fleet, header planner.Plan, options planner.Options) (topology.Result, diag.Diagnostics) {
				c, which := session.ArgumentCluster(v.Config, args)
				if which != nil {
					return topology.Result{}, diag.Diagnostics{which}
				}
				return maintenance.Defragment(v, header, options, c.Label)
			}
			return apply.CarryOut(cmd.Context(), a, o, by, "etcd defragment", func(s *session.Session) {
				s.Planner, s.Command = make, strings.TrimSpace("etcd defragment "+state.ShellWords(args...))
			})
		},
	}
	careFlags(&o, cmd)
	lockFlag(&o, cmd.Flags())
	o.OverrideFlag(cmd.Flags())
	approvalFlags(&by, cmd)
	cmd.Flags().StringArrayVar(&o.SkipPhases, "skip-phase", nil, "leave out this `phase`: etcd-snapshot")
	return cmd
}

// careFlags adds the flags of the commands that maintain etcd.
func careFlags(o *session.Options, cmd *cobra.Command) {
	variableFlags(o, cmd.Flags())
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	o.Parallelism = 1
}

// etcdOf is the reachable etcd of a cluster.
type etcdOf struct {
	cluster string
	// via is a control plane that answers.
	via       state.Target
	performer *providers.Performer
	// quota is the maximum size of its database in bytes; 0 if the configuration does not say.
	quota int64
}

// members returns the members of etcd. Without a quorum they are as the answering members list
// them, with an error that says so.
func (e etcdOf) members(ctx context.Context) ([]state.EtcdMember, string, error) {
	members, id, err := engine.MembersThrough(ctx, e.performer, e.via)
	if !providers.Silent(err) {
		return members, id, err
	}
	alone := e.performer.ThroughEtcd(ctx, e.via, func(ctx context.Context, e providers.Etcd) (err error) {
		members, id, err = e.LocalMembers(ctx)
		return err
	})
	if alone != nil {
		return nil, "", err
	}
	return members, id, console.Failure(diag.Diagnostics{e.withoutQuorum(members)})
}

// withoutQuorum says what an etcd without a quorum cannot do, and the ways out.
func (e etcdOf) withoutQuorum(members []state.EtcdMember) *diag.Diagnostic {
	voters, answer := 0, 0
	for _, m := range members {
		if !m.Learner {
			voters++
			answer += min(1, int(m.Revision))
		}
	}
	return diag.Errorf("Etcd has no quorum", "Of the etcd of cluster %q %d of %d voters can be asked, %d have to agree, and there is no leader: nothing is written, and no API server works. "+
		"Bring the others back with the data that they had, and it continues by itself.\n\n"+
		"If that cannot be, take a snapshot, which is of the newest data above, and rebuild etcd from it:\n\n  kubewright etcd snapshot %s\n  kubewright etcd restore FILE %[5]s",
		e.cluster, answer, voters, voters/2+1, state.ShellWord(e.cluster))
}

// localSnapshot warns about what a snapshot of a single member may lack.
func (e etcdOf) localSnapshot(s providers.Snapshot) *diag.Diagnostic {
	return diag.Warningf("Snapshot was taken without a quorum", "The etcd of cluster %q has no leader. What member %s holds is the newest data among the members that answer; "+
		"it may lack the last writes, which the others have agreed on. Where members come back with their data, theirs is to be preferred. No older snapshot was removed.", e.cluster, s.Member)
}

// withEtcd observes the control planes of a cluster, and calls do with its etcd through one
// that answers. It does not need the API.
func withEtcd(ctx context.Context, a *workspace.Workspace, o session.Options, args []string, do func(context.Context, etcdOf) error) error {
	s, err := session.OpenToPrint(ctx, a, o)
	if err != nil {
		return err
	}
	defer s.Close()
	c, which := session.ArgumentCluster(s.Config, args)
	if which != nil {
		return console.Failure(diag.Diagnostics{which})
	}
	if c.Etcd.External != nil {
		return console.Failure(maintenance.RefuseExternalEtcd(c))
	}
	label := c.Label
	s.Hosts.Keep(func(m *hosts.Member) bool { return m.Plane && m.Cluster == label })
	s.Observed = s.Observe(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	var why []string
	for _, m := range s.Hosts.Members {
		switch u, dark := s.Observed.Unobserved[m.Target]; {
		case dark:
			why = append(why, fmt.Sprintf("  %s: %s", m.Target, u.Reason))
		case s.Observed.CA(m.Target) == "":
			why = append(why, fmt.Sprintf("  %s: no control plane was set up there yet", m.Target))
		case s.Observed.OtherEtcd(label, m.Target):
			why = append(why, fmt.Sprintf("  %s: its etcd is %s, and the cluster's is %s: one that came back without its data has founded one of its own", m.Target, s.Observed.Etcds[m.Target].ClusterID, s.Observed.EtcdID(label)))
		default:
			run := apply.PlanRun(s)
			p := run.NewPerformer()
			p.Others = func(t state.Target) []state.Target {
				return slices.DeleteFunc(run.Others(t), func(o state.Target) bool { return s.Observed.OtherEtcd(label, o) })
			}
			defer p.Close()
			err := do(ctx, etcdOf{label, m.Target, p, etcd.EtcdQuota(c.Etcd.Args)})
			if providers.Silent(err) {
				err = console.EtcdSilent(err)
			}
			a.Print(etcd.AstrayEtcds(s.Observed, label))
			return errors.Join(err, s.Hosts.World.Save())
		}
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("Etcd cannot be asked", "Etcd is asked through a control plane of cluster %q, and none can be used:\n\n%s", label, strings.Join(why, "\n"))})
}
