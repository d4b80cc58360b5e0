package listing

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// BackupList is the backups of a cluster.
type BackupList struct {
	Cluster string `json:"cluster"`
	// Target is the folder on hosts, or the address of the bucket.
	Target string `json:"target"`
	// PeriodSeconds is the time from one backup to the next.
	PeriodSeconds int64        `json:"period_seconds"`
	Backups       []BackupFile `json:"backups"`
	// Overdue reports whether the last one is older than twice the period.
	Overdue bool `json:"overdue"`
	// Failure says why the last attempt failed, FailedAt when, and FailedOn where.
	Failure  string    `json:"failure,omitempty"`
	FailedAt time.Time `json:"failed_at,omitzero"`
	FailedOn string    `json:"failed_on,omitempty"`
	// NotObserved are control planes whose backups are not known.
	NotObserved []string `json:"not_observed,omitempty"`
}

// BackupFile is one backup.
type BackupFile struct {
	Name       string    `json:"name"`
	Taken      time.Time `json:"taken"`
	AgeSeconds int64     `json:"age_seconds"`
	// Size is in bytes, SHA256 of the encrypted file.
	Size       int64    `json:"size"`
	SHA256     string   `json:"sha256"`
	Holds      []string `json:"holds"`
	Kubernetes string   `json:"kubernetes_version"`
	Revision   int64    `json:"revision"`
	Recipients []string `json:"recipients"`
	// MadeBy is schedule or plan, Before what the plan had it made for, as in "a member is removed".
	MadeBy string   `json:"made_by"`
	Before string   `json:"before,omitempty"`
	Nodes  []string `json:"nodes"`
	// Missing reports whether the file is gone from the folder.
	Missing bool `json:"missing,omitempty"`
}

// Backups prints the backups of a cluster as a table, the newest first.
func Backups(w io.Writer, b BackupList, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line(p.Bold(ui.Clean(state.ClusterTarget(b.Cluster).String())), ": ", ui.Plural(len(b.Backups), "backup"), " in ", ui.Clean(b.Target))
	if len(b.Backups) > 0 {
		p.Line()
		rows := ui.Table{{"BACKUP", "AGE", "SIZE", "SHA256", "HOLDS", "REVISION", "MADE", "ON"}}
		for _, f := range b.Backups {
			holds := strings.Join(f.Holds, ", ")
			if f.Missing {
				holds = "gone from the folder"
			}
			rows = append(rows, []string{
				ui.Clean(f.Name), ago(time.Duration(f.AgeSeconds) * time.Second), mebibytes(f.Size), f.SHA256[:12], ui.Clean(holds),
				strconv.FormatInt(f.Revision, 10), f.made(), ui.Clean(strings.Join(f.Nodes, ", ")),
			})
		}
		p.Table(rows, "")
	}
	if len(b.NotObserved) > 0 {
		p.Line()
		p.Prose("Not observed, and perhaps with others: " + ui.Clean(strings.Join(b.NotObserved, ", ")) + ".")
	}
	return p.Flush(w)
}

// What made a backup.
const (
	MadeBySchedule = "schedule"
	MadeByPlan     = "plan"
)

// made says when the backup was made: on schedule, or before what a plan did.
func (f BackupFile) made() string {
	if f.MadeBy == MadeByPlan {
		return "before " + ui.Clean(f.Before)
	}
	return "on schedule"
}

// BackupsJSON is Backups for programs.
func BackupsJSON(w io.Writer, b BackupList) error {
	return ui.WriteJSON(w, struct {
		FormatVersion string `json:"format_version"`
		BackupList
	}{ui.JSONVersion, b})
}
