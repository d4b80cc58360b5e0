package etcd

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/backup"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Backups is what the control planes of a cluster report of their backups.
type Backups struct {
	// List has the backups, the newest first.
	List []Backup
	// Failed is the last attempt that failed since the last backup, and Host where; zero if none has.
	Failed backup.Failure
	Host   state.Target
	// Since is when the settings were written, the earliest of all hosts; zero if none has them.
	Since time.Time
	// Silent are the control planes that were not observed. They may have taken newer backups.
	Silent []state.Target
}

// Backup is one backup.
type Backup struct {
	backup.Description
	// Hosts are the control planes that list it; none has put it into a folder that is not shared
	// but one.
	Hosts []state.Target
	// Missing reports whether it is in the folder of none of them any more.
	Missing bool
}

// BackupsOf returns what the observed control planes of a cluster report of its backups.
func BackupsOf(v *topology.Fleet, c *config.Cluster) Backups {
	var out Backups
	for _, n := range v.Config.NodesOf(c.Label, config.ControlPlane) {
		r := v.Reports[n.Target]
		if r == nil {
			out.Silent = append(out.Silent, n.Target)
			continue
		}
		for _, d := range backup.ParseIndex(r.Files[backup.IndexPath].Content) {
			if d.Manifest.Cluster == c.Label {
				out.add(d, n.Target, c.Backup.Folder != "" && !r.Files[path.Join(c.Backup.Folder, d.Name)].Exists)
			}
		}
		if f, failed := backup.ParseFailure(r.Files[backup.FailedPath].Content); failed && f.Time.After(out.Failed.Time) {
			out.Failed, out.Host = f, n.Target
		}
		if t := r.Files[backup.SettingsPath]; t.Exists && (out.Since.IsZero() || t.Modified.Before(out.Since)) {
			out.Since = t.Modified
		}
	}
	slices.SortStableFunc(out.List, func(a, b Backup) int { return b.Manifest.Time.Compare(a.Manifest.Time) })
	if good := out.Last(); good != nil && good.Manifest.Time.After(out.Failed.Time) {
		out.Failed, out.Host = backup.Failure{}, state.Target{}
	}
	return out
}

func (b *Backups) add(d backup.Description, host state.Target, missing bool) {
	i := slices.IndexFunc(b.List, func(o Backup) bool { return o.Name == d.Name && o.SHA256 == d.SHA256 })
	if i < 0 {
		b.List = append(b.List, Backup{Description: d, Hosts: []state.Target{host}, Missing: missing})
		return
	}
	b.List[i].Hosts = append(b.List[i].Hosts, host)
	b.List[i].Missing = b.List[i].Missing && missing
}

// Last returns the newest backup that is there; nil if there is none.
func (b Backups) Last() *Backup {
	for i := range b.List {
		if !b.List[i].Missing {
			return &b.List[i]
		}
	}
	return nil
}

// Overdue reports whether the last backup is older than twice the period: a single one that failed is
// not reported, for the next may succeed.
func (b Backups) Overdue(period time.Duration, now time.Time) bool {
	since := b.Since
	if last := b.Last(); last != nil {
		since = last.Manifest.Time
	}
	return !since.IsZero() && now.Sub(since) > 2*period
}

// BackupOverdue is the title of the warning about old backups.
const BackupOverdue = "Backup is overdue"

// OverdueBackups warns of clusters whose last backup is older than twice the schedule.
func OverdueBackups(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if c.Backup == nil || v.Destroy || v.ObservedAt.IsZero() {
			continue
		}
		b := BackupsOf(v, c.Cluster)
		if b.Overdue(c.Backup.Period, v.ObservedAt) {
			diags.Append(diag.Warningf(BackupOverdue, "%s", b.OverdueText(c.Label, v.ObservedAt)).At(c.Backup.Source).For(c.Target))
		}
	}
	return diags
}

// OverdueText says how old the last backup is, why, and what to do.
func (b Backups) OverdueText(label string, now time.Time) string {
	text := "No control plane of cluster " + label + " has taken a backup since the backup block was applied."
	if last := b.Last(); last != nil {
		text = "The last backup of cluster " + label + " is of " + last.Manifest.Time.UTC().Format("2006-01-02 15:04") + " UTC, older than twice the schedule."
	}
	if len(b.Silent) > 0 {
		var names []string
		for _, t := range b.Silent {
			names = append(names, t.String())
		}
		text += " Not observed, and perhaps with newer ones: " + strings.Join(names, ", ") + "."
	}
	if !b.Failed.Time.IsZero() {
		return text + " The last attempt, on " + b.Host.String() + " at " + b.Failed.Time.UTC().Format("2006-01-02 15:04") + " UTC, failed: " + strings.TrimSuffix(b.Failed.Error, ".") +
			". Remove the cause there, and take one now: systemctl start " + backup.Service
	}
	return text + " See why on a control plane (journalctl -u " + backup.Service + "), and take one now: systemctl start " + backup.Service
}
