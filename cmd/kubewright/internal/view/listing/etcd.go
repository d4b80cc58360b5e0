package listing

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// EtcdSnapshotFile is a snapshot of etcd that was fetched and verified.
type EtcdSnapshotFile struct {
	Cluster  string    `json:"cluster"`
	Path     string    `json:"path"`
	Member   string    `json:"member"`
	EtcdID   string    `json:"etcd_cluster_id"`
	Revision int64     `json:"revision"`
	Taken    time.Time `json:"taken"`
	// Size is in bytes, SHA256 the hex checksum of the whole file.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// WithoutQuorum reports whether the snapshot holds the data of one member, which may lack
	// the latest writes.
	WithoutQuorum bool `json:"without_quorum,omitempty"`
}

// EtcdSnapshot prints a snapshot that was fetched.
func EtcdSnapshot(w io.Writer, s EtcdSnapshotFile, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line(p.BoldGreen("Snapshot fetched and verified."))
	p.Line()
	p.Line("  file      ", ui.Clean(s.Path))
	p.Line("  of        ", ui.Clean(state.ClusterTarget(s.Cluster).String()), ", member ", ui.Clean(s.Member), ", revision ", fmt.Sprint(s.Revision))
	p.Line("  size      ", mebibytes(s.Size))
	p.Line("  sha256    ", s.SHA256)
	p.Line()
	p.Prose("It holds every Secret of the cluster: keep it where you would keep the cluster's keys.")
	return p.Flush(w)
}

// EtcdSnapshotJSON is EtcdSnapshot for programs.
func EtcdSnapshotJSON(w io.Writer, s EtcdSnapshotFile) error {
	return ui.WriteJSON(w, struct {
		FormatVersion string `json:"format_version"`
		EtcdSnapshotFile
	}{ui.JSONVersion, s})
}

// EtcdStatus prints the members of an etcd cluster as a table, and its alarms below.
func EtcdStatus(w io.Writer, cluster, id string, members []state.EtcdMember, o ui.Options) error {
	p := ui.NewPage(o)
	p.Line(p.Bold(ui.Clean(state.ClusterTarget(cluster).String())), ": etcd ", ui.Clean(id), ", ", quorumOf(members))
	p.Line()
	held := slices.ContainsFunc(members, func(m state.EtcdMember) bool { return m.Revision > 0 })
	last := "IN USE"
	if held { // without a quorum, which data is newest matters more
		last = "REVISION"
	}
	rows := ui.Table{{"MEMBER", "ID", "ROLE", "STATE", "VERSION", "DATABASE", last, "ALARMS"}}
	members = slices.SortedStableFunc(slices.Values(members), func(a, b state.EtcdMember) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range members {
		figure := sizeOrDash(m.DBInUse)
		if held {
			figure = numberOrDash(m.Revision)
		}
		rows = append(rows, []string{
			memberName(m), ui.Clean(m.ID), memberRole(m), memberState(m), orDash(ui.Clean(m.Version)),
			sizeOrDash(m.DBSize), figure, orDash(ui.Clean(strings.Join(m.Alarms, ", "))),
		})
	}
	p.Table(rows, "")
	if text := commandline.Text(quorum.Alarmed(members)); text != "" {
		p.Line()
		p.Prose(p.Bold(p.Yellow("Warning: ")) + strings.ToUpper(text[:1]) + ui.Clean(text[1:]))
	}
	return p.Flush(w)
}

// EtcdStatusJSON is EtcdStatus for programs.
func EtcdStatusJSON(w io.Writer, cluster, id string, members []state.EtcdMember) error {
	return ui.WriteJSON(w, struct {
		FormatVersion string             `json:"format_version"`
		Cluster       string             `json:"cluster"`
		EtcdID        string             `json:"etcd_cluster_id"`
		Members       []state.EtcdMember `json:"members"`
	}{ui.JSONVersion, cluster, id, members})
}

func quorumOf(members []state.EtcdMember) string {
	voters, healthy := state.Voters(members)
	return fmt.Sprintf("%d of %s healthy, quorum is %d", healthy, ui.Plural(voters, "voter"), voters/2+1)
}

func memberName(m state.EtcdMember) string {
	if m.Name == "" {
		return "(not started)"
	}
	return ui.Clean(m.Name)
}

func memberRole(m state.EtcdMember) string {
	switch {
	case m.Learner:
		return "learner"
	case m.Leader:
		return "leader"
	}
	return "voter"
}

func memberState(m state.EtcdMember) string {
	switch {
	case m.Healthy:
		return "healthy"
	case m.Revision > 0:
		return "no leader"
	}
	return "does not answer"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func sizeOrDash(bytes int64) string {
	if bytes == 0 {
		return "-"
	}
	return mebibytes(bytes)
}

func numberOrDash(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

func mebibytes(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
