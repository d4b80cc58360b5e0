package backups

import (
	"cmp"
	"context"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner/etcd"
)

// List prints the backups of a cluster.
func List(ctx context.Context, a *workspace.Workspace, o session.Options, args []string) error {
	s, err := session.OpenToPrint(ctx, a, o)
	if err != nil {
		return err
	}
	defer s.Close()
	c, which := session.ArgumentCluster(s.Config, args)
	if which == nil && c.Backup == nil {
		which = diag.Errorf("Cluster has no backups", "Cluster %q has no backup block, so that its control planes take no backups. Write one:\n\n"+
			"  backup {\n    recipients = [\"age1…\"]\n    folder     = \"/var/backups/kubewright\"\n  }\n\nOr take a snapshot of etcd to this machine: kubewright etcd snapshot", c.Label).At(c.Source)
	}
	if which != nil {
		return console.Failure(diag.Diagnostics{which})
	}
	s.Hosts.Keep(func(m *hosts.Member) bool { return m.Plane && m.Cluster == c.Label })
	v := s.Observe(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	b, now := etcd.BackupsOf(v, c), s.Hosts.World.Clock().Now()
	list := backupList(b, c, now)
	if list.Overdue {
		a.Print(diag.Diagnostics{diag.Warningf(etcd.BackupOverdue, "%s", b.OverdueText(c.Label, now))})
	}
	if o.JSON {
		return listing.BackupsJSON(a.Stdout, list)
	}
	return listing.Backups(a.Stdout, list, a.Options())
}

// backupList returns the backups of a cluster for output.
func backupList(b etcd.Backups, c *config.Cluster, now time.Time) listing.BackupList {
	out := listing.BackupList{
		Cluster: c.Label, Target: cmp.Or(c.Backup.Folder, c.Backup.Bucket), PeriodSeconds: int64(c.Backup.Period / time.Second), Backups: []listing.BackupFile{},
		Overdue: b.Overdue(c.Backup.Period, now), Failure: b.Failed.Error, FailedAt: b.Failed.Time,
	}
	if out.Failure != "" {
		out.FailedOn = b.Host.String()
	}
	for _, t := range b.Silent {
		out.NotObserved = append(out.NotObserved, t.String())
	}
	for _, f := range b.List {
		row := listing.BackupFile{
			Name: f.Name, Taken: f.Manifest.Time.UTC(), AgeSeconds: int64(max(0, now.Sub(f.Manifest.Time)) / time.Second), Size: f.Size, SHA256: f.SHA256,
			Holds: f.Manifest.Holds(), Kubernetes: f.Manifest.Kubernetes, Revision: f.Manifest.Revision, Recipients: f.Manifest.Recipients, Missing: f.Missing,
			MadeBy: listing.MadeBySchedule, Before: f.Manifest.Before,
		}
		if row.Before != "" {
			row.MadeBy = listing.MadeByPlan
		}
		for _, t := range f.Hosts {
			row.Nodes = append(row.Nodes, t.String())
		}
		out.Backups = append(out.Backups, row)
	}
	return out
}
