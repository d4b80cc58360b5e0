package export

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/blocks"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/diffview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/schedule"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// markdownLimit limits a plan in Markdown, in bytes. GitHub accepts comments of 65,536
// characters; the rest is for what a workflow puts around the plan.
const markdownLimit = 65000

// markdown prints a plan for a pull request: the summary, the notes, a table of the resources, the
// most severe first, and below it the changes, folded. What does not fit is counted.
func markdown(w io.Writer, plan *planner.Plan, o ui.Options) error {
	r := outline.NewReview(plan, o)
	m := &markdownPage{room: markdownLimit}
	m.head(r)
	m.table(r)
	m.drift(r)
	m.details(r)
	m.order(r)
	m.foot(r)
	_, err := io.WriteString(w, m.String())
	return err
}

// markdownPage collects Markdown up to a length.
type markdownPage struct {
	strings.Builder
	room int
}

// markdownReserve is kept free for the sentences about the omitted parts.
const markdownReserve = 1500

// fits writes a part that may be left out, and reports whether there was room.
func (m *markdownPage) fits(part string) bool {
	if m.Len()+len(part) > m.room-markdownReserve {
		return false
	}
	m.WriteString(part)
	return true
}

func (m *markdownPage) head(r *outline.Review) {
	m.WriteString("### kubewright: " + mdText(strings.TrimSuffix(r.Headline(), ".")) + "\n\n")
	var lines []string
	if n := lossNote(r); n != "" {
		m.fits("> [!CAUTION]\n> " + n + "\n\n")
	}
	m.warnings(outline.Warnings(r.Plan))
	for i, u := range r.Withheld {
		if i == maxWithheld {
			lines = append(lines, "- and "+strconv.Itoa(len(r.Withheld)-i)+" more that could not be observed\n")
			break
		}
		line := "- **Not observed**, and left alone: " + mdCode(u.Target.String()) + ": " + mdText(bounded(u.Reason))
		if u.Remedy != "" {
			line += ". " + mdText(bounded(u.Remedy))
		}
		lines = append(lines, line+"\n")
	}
	for _, x := range outline.WithheldGroups(r.Plan) {
		lines = append(lines, "- **Withheld**: "+mdCode(x.Address)+": "+mdText(bounded(strings.Join(append(x.What, x.Why), "; ")))+"\n")
	}
	for _, n := range r.Notes() {
		lines = append(lines, "- **"+n[0]+"**: "+mdText(bounded(n[1]))+"\n")
	}
	if text := r.CorrectedDrift(); text != "" {
		lines = append(lines, "- **Drift**: "+mdText(text)+"\n")
	}
	for _, line := range lines {
		m.fits(line)
	}
	if len(lines) > 0 {
		m.WriteString("\n")
	}
}

// warnings quotes each warning as on the terminal, up to a third of the room; the others by their
// summaries.
func (m *markdownPage) warnings(list diag.Diagnostics) {
	for i, d := range list {
		text := quoted("[!WARNING]", "**"+mdText(d.Summary)+"**", fenced("", ui.FindingText(d, proseWidth)))
		if m.Len()+len(text) > m.room/3 {
			left := list[i:]
			m.fits("- **" + ui.Plural(len(left), "more warning") + "**: " + mdText(bounded(outline.Summaries(left))) + ". `kubewright show` prints all of them.\n\n")
			return
		}
		m.WriteString(text)
	}
}

// quoted returns a quotation of paragraphs, or of blocks of lines.
func quoted(parts ...string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.Join(parts, "\n"), "\n") {
		b.WriteString(strings.TrimRight("> "+line, " ") + "\n")
	}
	return b.String() + "\n"
}

// fenced returns a block of code with a fence that its lines do not contain.
func fenced(language string, lines []string) string {
	fence := strings.Repeat("`", max(3, longestRun(lines)+1))
	return fence + language + "\n" + strings.Join(lines, "\n") + "\n" + fence
}

// maxWithheld is the number of targets that are named.
const maxWithheld = 20

// lossNote returns the resources that are destroyed or replaced; empty for none.
func lossNote(r *outline.Review) string {
	var names []string
	for _, x := range r.Resources {
		if x.Rank() == 0 {
			names = append(names, mdCode(x.Target.String()))
		}
	}
	if len(names) == 0 {
		return ""
	}
	n := len(names)
	if n > maxWithheld {
		names = append(names[:maxWithheld], "and "+strconv.Itoa(n-maxWithheld)+" more")
	}
	return "**Destroyed or replaced**: " + ui.CommaList(names)
}

// bounded returns a sentence from outside, cut to a length that its place allows.
func bounded(s string) string { return cut(s, maxSentence) }

// cut returns text of at most so many characters.
func cut(s string, most int) string {
	r := []rune(ui.Clean(s))
	if len(r) <= most {
		return string(r)
	}
	return string(r[:most]) + "…"
}

const maxSentence = 400

func (m *markdownPage) table(r *outline.Review) {
	if len(r.Resources) == 0 {
		return
	}
	m.WriteString("| action | what | why and what it means |\n|---|---|---|\n")
	groups := alikeRows(r.Resources)
	for i, g := range groups {
		why, named := g.why, make([]string, len(g.of))
		for k, x := range g.of {
			named[k] = x.Target.String()
		}
		what := mdCode(named[0])
		if note := outline.NoteOf(g.of[0].ResourceChange); note != "" {
			what += " " + mdText(note)
		}
		if len(named) > 1 {
			what += "; the same for " + ui.Plural(len(named)-1, "node") + ": " + mdCode(bounded(ui.CommaList(ui.Ranges(named[1:]))))
		}
		// A table of everything leaves no room for how: half is enough.
		row := "| " + g.of[0].Word() + " | " + what + " | " + why + " |\n"
		if m.Len()+len(row) > m.room/2 {
			left := left(groups[i:])
			m.WriteString("\n" + ui.Plural(len(left), "more resource") + " left out of this table: " + outline.ActionCounts(left) + ".\n")
			break
		}
		m.WriteString(row)
	}
	m.WriteString("\n")
}

// rows are the rows of nodes for which a table says the same.
type rows struct {
	of  []outline.ReviewedResource
	why string
}

// minAlike is the number of nodes that forms outside of the terminal show as one: fewer are easier
// to read by themselves.
const minAlike = 4

// alikeRows joins consecutive nodes of one block for which the table says the same up to names
// and addresses.
func alikeRows(resources []outline.ReviewedResource) []rows {
	var out []rows
	for i := 0; i < len(resources); {
		x := resources[i]
		g := rows{[]outline.ReviewedResource{x}, whyOf(x)}
		for _, next := range resources[i+1:] {
			same := next.Target.Type == state.TypeNode && next.Target.Keyed && next.Target.Name == x.Target.Name && next.Word() == x.Word()
			if !same || whyOf(next) != g.why || roleOf(next) != roleOf(x) {
				break
			}
			g.of = append(g.of, next)
		}
		if len(g.of) < minAlike {
			g.of = g.of[:1]
		}
		i += len(g.of)
		out = append(out, g)
	}
	return out
}

// whyOf returns why something happens to a resource, and what that means.
func whyOf(x outline.ReviewedResource) string {
	var why []string
	for _, s := range append([]string{x.Reason}, x.Impacts...) {
		if s != "" {
			why = append(why, mdText(bounded(s)))
		}
	}
	return strings.Join(why, "; ")
}

// roleOf returns the note of a node without its address.
func roleOf(x outline.ReviewedResource) string {
	note := outline.NoteOf(x.ResourceChange)
	return note[strings.LastIndex(note, ",")+1:]
}

func left(groups []rows) []outline.ReviewedResource {
	var out []outline.ReviewedResource
	for _, g := range groups {
		out = append(out, g.of...)
	}
	return out
}

func (m *markdownPage) drift(r *outline.Review) {
	if len(r.Drift) == 0 {
		return
	}
	m.WriteString("**Changed outside of kubewright, and not corrected by this plan**: " + ui.Plural(len(r.Drift), "item") + "\n\n")
	var lines []string
	for _, d := range r.Drift {
		lines = append(lines, diffText([]diffview.LaidLine{{Sym: ui.Unchanged, Text: ui.Clean(d.Address.Step().String())}})...)
		lines = append(lines, diffText(d.Lines())...)
	}
	m.folded(ui.Plural(len(r.Drift), "item"), lines)
	m.WriteString("\n")
}

// details prints the changes as on the terminal: nodes that change in the same way are printed
// once.
func (m *markdownPage) details(r *outline.Review) {
	p := blocks.NewPrinter(ui.Options{Width: ui.Endless})
	nodes, repeating := blocks.SplitRepeating(p.Resources(r.Plan), false)
	groups := p.Fold(nodes)
	rank := map[string]int{}
	for _, x := range r.Resources {
		rank[x.Target.String()] = x.Rank()
	}
	slices.SortStableFunc(groups, func(a, b []blocks.Resource) int {
		return cmp.Compare(rank[a[0].Target.String()], rank[b[0].Target.String()])
	})
	seen := blocks.NewShownItems()
	for i, g := range groups {
		first := p.Elide(g[0], seen)
		title := "<code>" + mdEntities(g[0].Target.String()) + "</code> " + mdText(outline.Verdict(g[0].ResourceChange))
		if others := p.Others(g[1:]); len(others) > 0 {
			title += ", and the same for " + mdEntities(bounded(ui.NodeRanges(others)))
		}
		if !m.folded(title, diffText(p.Layout([]diffview.Entry{first.Entry}, 0))) {
			var left []outline.ReviewedResource
			for _, rest := range groups[i:] {
				for _, x := range rest {
					left = append(left, outline.ReviewedResource{ResourceChange: x.ResourceChange})
				}
			}
			m.WriteString("\n**Cut here for GitHub's limit.** The changes of " + ui.Plural(len(left), "resource") + " are not shown, or not to their end: " +
				outline.ActionCounts(left) + ". `kubewright show` prints all of the plan.\n")
			return
		}
	}
	for _, s := range repeating {
		m.fits("\n" + mdText(s) + ".\n")
	}
}

// order prints the order of the steps as on the terminal.
func (m *markdownPage) order(r *outline.Review) {
	p := ui.NewPage(ui.Options{Width: 110})
	schedule.Print(p, r.Plan)
	if len(r.Steps) > 1 && m.room-m.Len() > 2*markdownReserve {
		m.folded("Order of "+ui.Plural(len(r.Steps), "step"), strings.Split(strings.TrimSuffix(p.String(), "\n"), "\n"))
	}
}

// folded writes lines below a title that opens on a click. Lines that do not fit are counted at
// their place; it reports whether all did.
func (m *markdownPage) folded(title string, lines []string) bool {
	head := "<details><summary>" + title + "</summary>\n\n"
	fence := strings.Repeat("`", max(3, longestRun(lines)+1))
	tail := fence + "\n\n</details>\n"
	room := m.room - markdownReserve - m.Len() - len(head) - len(tail) - len(fence) - len("diff\n")
	if room < 200 {
		return false
	}
	var b strings.Builder
	all := true
	for i, line := range lines {
		if b.Len()+len(line)+1 > room-100 {
			b.WriteString("# " + ui.Plural(len(lines)-i, "more line") + " left out\n")
			all = false
			break
		}
		b.WriteString(line + "\n")
	}
	m.WriteString(head + fence + "diff\n" + b.String() + tail)
	return all
}

func (m *markdownPage) foot(r *outline.Review) {
	if r.NothingToDo() {
		return
	}
	how := "; " + mdCode(r.Command)
	switch {
	case r.Command == "":
		how = ""
	case len(how) > maxCommand:
		how = "; the command that `kubewright plan` ends with"
	}
	if how != "" {
		how += " carries out this plan and no other"
	}
	m.WriteString("\n<sub>Plan " + mdCode(r.Short()) + how + ". In the diffs `+` is created, `!` changed, `-` destroyed.</sub>\n")
}

// maxCommand is the length up to which a command is shown: a part of it would be another one.
const maxCommand = 1000

// diffText returns lines with the symbol in the first column, where GitHub's colours need it.
func diffText(lines []diffview.LaidLine) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		mark := string(l.Sym)
		switch l.Sym {
		case ui.Changed:
			mark = "!"
		case ui.Replaced:
			mark = "-"
		case ui.Forgotten:
			mark = " "
		}
		out[i] = strings.TrimRight(mark+" "+strings.Repeat("    ", l.Depth)+l.Text, " ")
	}
	return out
}

// longestRun returns the length of the longest run of backquotes.
func longestRun(lines []string) int {
	longest, run := 0, 0
	for _, line := range lines {
		run = 0
		for _, c := range line {
			if c != '`' {
				run = 0
				continue
			}
			run++
			longest = max(longest, run)
		}
	}
	return longest
}

// mdCode returns text as code, whatever it contains.
func mdCode(s string) string {
	s = ui.Clean(s)
	if s == "" || strings.ContainsAny(s, "`|\\") || strings.TrimSpace(s) != s {
		return "<code>" + mdEntities(s) + "</code>"
	}
	return "`" + s + "`"
}

// mdEntities returns text in which nothing is markup, neither of Markdown nor of HTML, nor a link.
// GitHub finds mentions in it all the same, but not within code.
func mdEntities(s string) string {
	var b strings.Builder
	for _, r := range ui.Clean(s) {
		if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) && !strings.ContainsRune(",;-", r) {
			b.WriteString("&#" + strconv.Itoa(int(r)) + ";")
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// mdText returns prose that may contain names from outside. Prose in which GitHub would find a
// link, a mention, a reference or a formula is shown as code.
func mdText(s string) string {
	s = ui.Clean(s)
	if strings.ContainsAny(s, "`@#$\\") || strings.Contains(s, "://") || strings.Contains(strings.ToLower(s), "www.") {
		return mdCode(s)
	}
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("*_[]<>&|~!{}^", r) {
			b.WriteString("&#" + strconv.Itoa(int(r)) + ";")
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// proseWidth is the width of prose in a form whose reader does not wrap code.
const proseWidth = 90
