package view

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/state"
)

// EtcdSnapshotFile is a snapshot of etcd that was fetched, and verified.
type EtcdSnapshotFile struct {
	Cluster  string    `json:"cluster"`
	Path     string    `json:"path"`
	Member   string    `json:"member"`
	EtcdID   string    `json:"etcd_cluster_id"`
	Revision int64     `json:"revision"`
	Taken    time.Time `json:"taken"`
	// Size is in bytes, SHA256 that of the whole file in hex.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// WithoutQuorum reports whether the snapshot holds the data of one member, which may lack the last writes.
	WithoutQuorum bool `json:"without_quorum,omitempty"`
}

// EtcdSnapshot tells of a snapshot that was fetched.
func EtcdSnapshot(w io.Writer, s EtcdSnapshotFile, o Options) error {
	p := newPage(o)
	p.line(p.boldGreen("Snapshot fetched and verified."))
	p.line()
	p.line("  file      ", Clean(s.Path))
	p.line("  of        ", Clean(state.ClusterTarget(s.Cluster).String()), ", member ", Clean(s.Member), ", revision ", fmt.Sprint(s.Revision))
	p.line("  size      ", mebibytes(s.Size))
	p.line("  sha256    ", s.SHA256)
	p.line()
	p.prose("It holds every Secret of the cluster: keep it where you would keep the cluster's keys.")
	return p.flush(w)
}

// EtcdSnapshotJSON is EtcdSnapshot for programs.
func EtcdSnapshotJSON(w io.Writer, s EtcdSnapshotFile) error { return WriteJSON(w, s) }

// EtcdStatus prints the members of an etcd as a table, and its alarms below.
func EtcdStatus(w io.Writer, cluster, id string, members []state.EtcdMember, o Options) error {
	p := newPage(o)
	p.line(p.bold(Clean(state.ClusterTarget(cluster).String())), ": etcd ", Clean(id), ", ", quorumOf(members))
	p.line()
	held := slices.ContainsFunc(members, func(m state.EtcdMember) bool { return m.Revision > 0 })
	last := "IN USE"
	if held { // without a quorum whose data is newest matters more
		last = "REVISION"
	}
	rows := [][]string{{"MEMBER", "ID", "ROLE", "STATE", "VERSION", "DATABASE", last, "ALARMS"}}
	members = slices.SortedStableFunc(slices.Values(members), func(a, b state.EtcdMember) int { return strings.Compare(a.Name, b.Name) })
	for _, m := range members {
		figure := sizeOrDash(m.DBInUse)
		if held {
			figure = numberOrDash(m.Revision)
		}
		rows = append(rows, []string{
			memberName(m), Clean(m.ID), memberRole(m), memberState(m), orDash(Clean(m.Version)),
			sizeOrDash(m.DBSize), figure, orDash(Clean(strings.Join(m.Alarms, ", "))),
		})
	}
	p.table(rows)
	if text := quorum.Alarmed(members); text != "" {
		p.line()
		p.prose(p.bold(p.yellow("Warning: ")) + strings.ToUpper(text[:1]) + Clean(text[1:]))
	}
	return p.flush(w)
}

// EtcdStatusJSON is EtcdStatus for programs.
func EtcdStatusJSON(w io.Writer, cluster, id string, members []state.EtcdMember) error {
	return WriteJSON(w, struct {
		Cluster string             `json:"cluster"`
		EtcdID  string             `json:"etcd_cluster_id"`
		Members []state.EtcdMember `json:"members"`
	}{cluster, id, members})
}

// table prints columns under one another, two blanks apart.
func (p *page) table(rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(fill(cell, widths[i]) + "  ")
		}
		p.line(strings.TrimRight(b.String(), " "))
	}
}

func quorumOf(members []state.EtcdMember) string {
	voters, healthy := state.Voters(members)
	return fmt.Sprintf("%d of %s healthy, quorum is %d", healthy, plural(voters, "voter"), voters/2+1)
}

func memberName(m state.EtcdMember) string {
	if m.Name == "" {
		return "(not started)"
	}
	return Clean(m.Name)
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
