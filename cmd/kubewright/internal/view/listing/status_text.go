package listing

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// StatusText prints a status for people, each cluster in a few lines: what is as it should be is
// counted, and what is not is listed.
func StatusText(w io.Writer, s Status, o ui.Options) error {
	p := statusPage{ui.NewPage(o), s.Time}
	for _, c := range s.Clusters {
		p.cluster(c)
		p.Line()
	}
	p.state(s.State)
	if len(s.Applies) > 0 {
		p.Line()
		p.Line(p.Bold("Last applies"))
		historyTable(p.Page, s.Applies, p.tableWidth(o), "  ")
	}
	return p.Flush(w)
}

// statusPage prints a status.
type statusPage struct {
	*ui.Page
	now time.Time
}

// tableWidth is the width for the table of applies: a pipe gets the columns that fit into the usual
// width, for all of them are in the history.
func (p statusPage) tableWidth(o ui.Options) int {
	if o.Width > 0 {
		return o.Width
	}
	return ui.DefaultWidth
}

func (p statusPage) cluster(c ClusterStatus) {
	name := p.Bold(ui.Clean(state.ClusterTarget(c.Name).String()))
	switch n := len(c.Problems); {
	case n > 0:
		p.Line(name, ": ", p.BoldRed(ui.Plural(n, "problem")))
	case !c.Created:
		p.Line(name, ": not created yet")
	default:
		p.Line(name, ": ", p.BoldGreen("no problem"))
	}
	p.problems(c.Problems)
	p.row("API", c.apiText())
	p.row("Nodes", c.nodesText())
	p.row("etcd", c.Etcd.text())
	p.row("Certificates", c.Certificates.text())
	p.row("Snapshot", p.snapshotText(c.Snapshot))
	if c.Backup != nil {
		p.row("Backup", p.backupText(*c.Backup))
	}
	p.row("Differences", p.differenceLines(c.Differences)...)
}

// problemsShown is how many problems of a cluster are listed.
const problemsShown = 12

// problems lists problems, the remedy of several in a row once.
func (p statusPage) problems(list []Problem) {
	for i, problem := range list[:min(len(list), problemsShown)] {
		text := problem.Text
		if problem.Address != "" {
			text = problem.Address + ": " + text
		}
		p.Line("  ", ui.Wrap(p.Red("- ")+ui.CleanText(text), p.Width-4, "    "))
		again := i+1 < min(len(list), problemsShown) && list[i+1].Remedy == problem.Remedy
		if problem.Remedy != "" && !again {
			p.Line("    ", ui.Wrap("To do: "+ui.CleanText(problem.Remedy)+".", p.Width-4, "    "))
		}
	}
	if more := len(list) - problemsShown; more > 0 {
		p.Line("  ", p.Red("- "), fmt.Sprintf("and %d more, which -json lists", more))
	}
	if len(list) > 0 {
		p.Line()
	}
}

// label is the width of the first column.
const label = 14

// row prints a name with its lines. Lines that begin with a space are not wrapped.
func (p statusPage) row(name string, lines ...string) {
	for i, line := range lines {
		head := ui.Fill("", label)
		if i == 0 {
			head = ui.Fill(name, label)
		}
		p.Line("  ", head, ui.Wrap(line, p.Width-2, strings.Repeat(" ", label+2)))
	}
}

// apiText says whether the API answers, and with which version.
func (c ClusterStatus) apiText() string {
	text := "not created yet"
	switch a := c.API; {
	case a.Answers == nil && a.Reason != "":
		text = "unknown: " + ui.Clean(a.Reason)
	case a.Answers == nil:
	case !*a.Answers:
		text = "does not answer"
	default:
		text = "answers, Kubernetes " + ui.Clean(strings.TrimPrefix(a.Version, "v"))
		if strings.TrimPrefix(a.Version, "v") == c.Configured {
			return text + " as configured"
		}
	}
	if c.Configured != "" {
		text += "; configured is " + ui.Clean(c.Configured)
	}
	return text
}

// nodesText counts the nodes that are ready, and the versions that they run.
func (c ClusterStatus) nodesText() string {
	if !c.Created {
		return ui.Plural(len(c.Nodes), "host") + " configured"
	}
	ready, unknown := 0, 0
	for _, n := range c.Nodes {
		switch n.Ready {
		case state.NodeReady:
			ready++
		case state.NodeUnknown:
			unknown++
		}
	}
	text := fmt.Sprintf("%d of %s ready", ready, ui.Plural(len(c.Nodes), "node"))
	if unknown == len(c.Nodes) {
		text = ui.Plural(unknown, "node") + ", whether they are ready is unknown"
	}
	var cordoned []string
	for _, n := range c.Nodes {
		if n.Cordoned {
			cordoned = append(cordoned, ui.Clean(n.shownName()))
		}
	}
	if len(cordoned) > 0 {
		text += "; cordoned: " + ui.CommaList(cordoned)
	}
	if versions := versionCounts(c.Nodes, func(n NodeStatus) string { return n.APIServer }); versions != "" {
		text += "; API servers " + versions
	}
	if versions := versionCounts(c.Nodes, func(n NodeStatus) string { return n.Kubelet }); versions != "" {
		text += "; kubelets " + versions
	}
	return text
}

// shownName returns the name of a node, or its address in the configuration.
func (n NodeStatus) shownName() string {
	if n.Name != "" {
		return n.Name
	}
	return n.Address
}

// versionCounts returns the versions of components with how many have each: 1.36.3 (4), 1.35.8 (1).
func versionCounts(nodes []NodeStatus, version func(NodeStatus) string) string {
	counts := map[string]int{}
	var order []string
	for _, n := range nodes {
		v := version(n)
		if v == "" {
			continue
		}
		if counts[v] == 0 {
			order = append(order, v)
		}
		counts[v]++
	}
	slices.SortStableFunc(order, func(a, b string) int { return counts[b] - counts[a] })
	for i, v := range order {
		order[i] = fmt.Sprintf("%s (%d)", ui.Clean(v), counts[v])
	}
	return ui.CommaList(order)
}

// text sums up the members of etcd.
func (e EtcdHealth) text() string {
	switch {
	case e.External:
		return "external, not asked"
	case e.Voters == 0 && e.Reason == "":
		return "not created yet"
	case e.Voters == 0:
		return "unknown: " + ui.Clean(e.Reason)
	}
	text := quorumOf(e.Members)
	largest := int64(0)
	var alarms []string
	for _, m := range e.Members {
		largest = max(largest, m.DBSize)
		for _, a := range m.Alarms {
			alarms = append(alarms, memberName(m)+" "+ui.Clean(a))
		}
	}
	if largest > 0 {
		text += "; largest database " + mebibytes(largest)
	}
	if len(alarms) == 0 {
		return text + "; no alarm"
	}
	return text + "; alarms: " + ui.CommaList(alarms)
}

// text sums up the certificates.
func (c CertificatesStatus) text() string {
	if c.First == nil && c.Unreadable == 0 {
		return "none observed"
	}
	text := "none can be read"
	if f := c.First; f != nil {
		text = "the first to expire is " + ui.Clean(f.Path) + " on " + ui.Clean(f.shownHost()) + ", " + f.NotAfter.UTC().Format(time.DateOnly) + ", " + ui.RelativeDays(f.DaysLeft)
	}
	for _, n := range []struct {
		count int
		text  string
	}{{c.Due, "due for renewal"}, {c.Expired, "expired"}, {c.Unreadable, "unreadable"}} {
		if n.count > 0 {
			text += fmt.Sprintf("; %d %s", n.count, n.text)
		}
	}
	return text
}

func (f ExpiringCertificate) shownHost() string {
	if f.Host != "" {
		return f.Host
	}
	return f.Node
}

// snapshotText says when the last snapshot of etcd was taken.
func (p statusPage) snapshotText(s *SnapshotStatus) string {
	if s == nil {
		return "not by kubewright: etcd is external"
	}
	folder := ui.Clean(filepath.Base(s.Folder))
	switch {
	case s.Reason != "":
		return "unknown: " + ui.Clean(s.Reason)
	case s.Taken.IsZero():
		return "none in " + folder + " on this machine"
	}
	return minute(s.Taken) + ", " + ago(p.now.Sub(s.Taken)) + ", in " + folder + " on this machine"
}

// backupText says when the control planes have taken the last backup.
func (p statusPage) backupText(b BackupStatus) string {
	text := "none yet"
	if !b.Taken.IsZero() {
		text = minute(b.Taken) + ", " + ago(p.now.Sub(b.Taken))
	}
	if b.Overdue {
		text += ", overdue"
	}
	if b.Failure != "" {
		text += "; the last attempt failed"
	}
	return text
}

// ago returns how long ago something was, in the largest two units.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return ui.Plural(int(d/time.Minute), "minute") + " ago"
	}
	return ui.DaysAndHours(d) + " ago"
}

// outsideShown is how many items that were changed outside are listed.
const outsideShown = 5

// differenceLines says what differs from the configuration, and since when.
func (p statusPage) differenceLines(d Differences) []string {
	if !d.Known {
		return []string{"unknown, because no plan can be made: " + ui.Clean(strings.Join(d.Reasons, "; ")), "see more with: kubewright plan"}
	}
	var lines []string
	if n := len(d.Outside); n > 0 {
		since := "; since when is not known, for no apply of everything is recorded"
		if !d.After.IsZero() {
			since = ", after " + minute(d.After) + ", " + ago(p.now.Sub(d.After))
		}
		lines = append(lines, p.Yellow(ui.Plural(n, "item")+" changed outside of kubewright")+since)
		for _, o := range d.Outside[:min(n, outsideShown)] {
			lines = append(lines, "  "+ui.Clean(o.Address))
			if !o.Written.IsZero() {
				lines = append(lines, "    written "+minute(o.Written)+", by the clock of its host")
			}
		}
		if n > outsideShown {
			lines = append(lines, fmt.Sprintf("  and %d more", n-outsideShown))
		}
	}
	if c := d.Pending; c != nil && *c != (Counts{}) {
		lines = append(lines, fmt.Sprintf("an apply has %d to add, %d to change, %d to destroy", c.Add, c.Change, c.Destroy))
	}
	if len(lines) == 0 {
		lines = append(lines, "none")
	}
	if d.NotObserved > 0 {
		lines[0] += "; unknown where a host or the API does not answer"
	}
	return lines
}

// state prints where the state is, and who holds its lock.
func (p statusPage) state(s StateStatus) {
	place := s.Place
	if s.Local {
		place = filepath.Base(place)
	}
	text := "none yet, its place is " + ui.Clean(place)
	if s.Exists {
		text = ui.Clean(place) + ", serial " + fmt.Sprint(s.Serial)
	}
	p.Line(p.Bold("State"), ": ", text)
	switch h := s.Holder; {
	case s.Locked == nil:
		p.row("Lock", "unknown: "+ui.Clean(s.Reason))
	case !*s.Locked:
		p.row("Lock", "not held")
	case h == nil || h.Run == "":
		p.row("Lock", p.Yellow("held")+" by another kubewright")
	default:
		text := p.Yellow("held") + " by " + ui.Clean(orDash(h.Operation)) + " of " + ui.Clean(orDash(h.Who)) + " since " + minute(h.Since) + ", " + ago(p.now.Sub(h.Since)) + ", run " + ui.Clean(h.Run)
		if s.Silent {
			text += "; its last sign of life was " + ago(p.now.Sub(h.Renewed))
		}
		p.row("Lock", text)
	}
}

// StatusJSON is StatusText for programs.
func StatusJSON(w io.Writer, s Status, _ ui.Options) error {
	s.FormatVersion = ui.JSONVersion
	return ui.WriteJSON(w, s)
}
