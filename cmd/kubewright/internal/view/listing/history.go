package listing

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// Running is the outcome of an apply whose run holds the state's lock.
const Running state.Outcome = "running"

// Applied is an apply of the history, for people and programs.
type Applied struct {
	Time time.Time `json:"time"`
	// Ended is when its last step ended; zero if that is not recorded.
	Ended time.Time `json:"ended,omitzero"`
	// Seconds is the time between the two.
	Seconds float64 `json:"seconds,omitempty"`
	Run     string  `json:"run"`
	Who     string  `json:"who,omitempty"`
	// Operation is empty in entries of versions that did not record it.
	Operation string `json:"operation,omitempty"`
	// Plan is the digest of the plan.
	Plan   string `json:"plan,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Counts is nil where the resources were not recorded.
	Counts *Counts `json:"resources,omitempty"`
	Steps  int     `json:"steps"`
	// Done is nil where it was not recorded.
	Done        *int          `json:"done,omitempty"`
	Failed      int           `json:"failed,omitempty"`
	Restricted  bool          `json:"restricted,omitempty"`
	Outcome     state.Outcome `json:"outcome"`
	ToolVersion string        `json:"kubewright_version,omitempty"`
}

// Counts are the numbers of resources in a plan.
type Counts struct {
	Add     int `json:"add"`
	Change  int `json:"change"`
	Destroy int `json:"destroy"`
}

// Applies returns the history of a state, the newest apply first, and of these at most the given
// number; 0 stands for all. holder is the ID of the run that holds the lock.
func Applies(st *state.State, most int, holder string) []Applied {
	out := []Applied{}
	if st == nil {
		return out
	}
	for _, a := range slices.Backward(st.Applies) {
		if most > 0 && len(out) == most {
			break
		}
		out = append(out, applied(a, holder))
	}
	return out
}

func applied(a state.Apply, holder string) Applied {
	h := Applied{
		Time: a.Time.UTC(), Run: a.Run, Who: a.Who, Operation: a.Job.Operation, Plan: a.Plan, Commit: a.Job.Commit,
		Steps: a.Steps, Failed: a.Failed, Restricted: a.Job.Restricted, Outcome: a.Outcome(), ToolVersion: a.Job.ToolVersion,
	}
	if a.Unfinished && a.Run != "" && a.Run == holder {
		h.Outcome = Running
	}
	if !a.Ended.IsZero() {
		h.Ended, h.Seconds = a.Ended.UTC(), a.Ended.Sub(a.Time).Seconds()
	}
	if a.Job != (state.Job{}) {
		h.Counts, h.Done = &Counts{a.Job.Add, a.Job.Change, a.Job.Destroy}, &a.Done
	}
	return h
}

// History prints applies as a table, the newest first. A narrow terminal leaves out columns, first
// the version of kubewright.
func History(w io.Writer, applies []Applied, o ui.Options) error {
	p := ui.NewPage(o)
	if len(applies) == 0 {
		p.Prose("The state has no apply: nothing was applied yet, or the state was recovered or imported.")
		return p.Flush(w)
	}
	historyTable(p, applies, o.Width, "")
	return p.Flush(w)
}

// historyTable prints the table; a width of 0 has room for all columns.
func historyTable(p *ui.Page, applies []Applied, width int, indent string) {
	rows := ui.Table{{"TIME", "WHO", "OPERATION", "PLAN", "RESOURCES", "STEPS", "TOOK", "OUTCOME", "KUBEWRIGHT"}}
	for _, a := range applies {
		rows = append(rows, []string{
			minute(a.Time), orDash(ui.Clean(a.Who)), orDash(ui.Clean(a.Operation)), orDash(shortDigest(a.Plan)),
			countsText(a.Counts), stepsText(a), tookText(a), outcomeText(a), orDash(ui.Clean(a.ToolVersion)),
		})
	}
	if width > 0 {
		width -= len(indent)
	}
	columns := rows.Fitting(width, historyOptional)
	for i, row := range rows {
		text := rows.Line(row, columns)
		if i == 0 {
			text = p.Bold(text)
		} else if applies[i-1].Outcome != state.OutcomeCompleted {
			text = p.Yellow(text)
		}
		p.Line(indent, text)
	}
}

// historyOptional are the columns that a narrow terminal leaves out, in this order: version, steps,
// duration, resources, digest.
var historyOptional = []int{8, 5, 6, 4, 3}

// HistoryJSON is History for programs.
func HistoryJSON(w io.Writer, st *state.State, applies []Applied) error {
	return ui.WriteJSON(w, struct {
		FormatVersion string    `json:"format_version"`
		Lineage       string    `json:"lineage"`
		Serial        int64     `json:"serial"`
		Applies       []Applied `json:"applies"`
	}{ui.JSONVersion, st.Lineage, st.Serial, applies})
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// shortDigest is as much of a digest as -approve needs.
func shortDigest(digest string) string { return ui.Clean(digest[:min(16, len(digest))]) }

func countsText(c *Counts) string {
	if c == nil {
		return "-"
	}
	return fmt.Sprintf("+%d ~%d -%d", c.Add, c.Change, c.Destroy)
}

func stepsText(a Applied) string {
	if a.Done == nil || a.Steps == 0 {
		return numberOrDash(int64(a.Steps))
	}
	return fmt.Sprintf("%d of %d", *a.Done, a.Steps)
}

func tookText(a Applied) string {
	if a.Ended.IsZero() || a.Steps == 0 {
		return "-"
	}
	return ui.Duration(time.Duration(a.Seconds * float64(time.Second)))
}

func outcomeText(a Applied) string {
	text := string(cmp.Or(a.Outcome, "-"))
	if a.Failed > 0 {
		text += ": " + ui.Plural(a.Failed, "step")
	}
	return strings.TrimSpace(text)
}
