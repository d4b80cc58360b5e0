package ui

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/config/diag"
)

// Diagnostics prints findings, each with its source text, and their number when there are several.
// Equal warnings about several places share one paragraph, unless Options.Full is set; warnings
// that share only the summary do not, since they may be about different things. Source returns the
// text of a file, or nil.
func Diagnostics(w io.Writer, list diag.Diagnostics, o Options, source func(file string) []byte) error {
	p := NewPage(o)
	list = append(diag.Diagnostics{}, list...)
	list.Sort()
	if o.CompactWarnings && !list.HasErrors() && len(list) > 0 {
		p.compactWarnings(list)
		return p.Flush(w)
	}
	for _, places := range collapsed(list, o.Full) {
		p.diagnostic(places[0], source, len(places)-1)
	}
	if len(list) > 1 {
		p.Line(count(list))
	}
	if !list.HasErrors() && (len(list) > 1 || p.Color && len(list) > 0) {
		p.Line() // separates it from what the command prints next
	}
	return p.Flush(w)
}

// collapsed groups findings: equal warnings together, unless each is to be by itself, and every
// other finding alone.
func collapsed(list diag.Diagnostics, each bool) []diag.Diagnostics {
	type said struct{ summary, detail string }
	var out []diag.Diagnostics
	first := map[said]int{}
	for _, d := range list {
		if d.Severity == diag.Warning && !each {
			what := said{d.Summary, d.Detail}
			if i, again := first[what]; again {
				out[i] = append(out[i], d)
				continue
			}
			first[what] = len(out)
		}
		out = append(out, diag.Diagnostics{d})
	}
	return out
}

// count returns the number of findings in words: 2 errors and 1 warning.
func count(list diag.Diagnostics) string {
	var parts []string
	if n := len(list.Errors()); n > 0 {
		parts = append(parts, Plural(n, "error"))
	}
	if n := len(list.Warnings()); n > 0 {
		parts = append(parts, Plural(n, "warning"))
	}
	return strings.Join(parts, " and ") + "."
}

// compactWarnings lists summaries alone.
func (p *Page) compactWarnings(list diag.Diagnostics) {
	p.Line(p.Bold(p.Yellow("Warnings:")))
	p.Line()
	first := map[string]*diag.Diagnostic{}
	times := map[string]int{}
	var order []string
	for _, d := range list {
		if first[d.Summary] == nil {
			first[d.Summary] = d
			order = append(order, d.Summary)
		}
		times[d.Summary]++
	}
	for _, summary := range order {
		p.Line("- ", Clean(summary))
		d := first[summary]
		if d.Subject.File == "" {
			continue
		}
		more := ""
		if times[summary] > 1 {
			more = " (and " + strconv.Itoa(times[summary]-1) + " more)"
		}
		p.Line("  on ", Clean(d.Subject.File), " line ", strconv.Itoa(d.Subject.Line), more)
	}
	p.Line()
}

// diagnostic prints one finding in a frame, or without one if there is no colour.
func (p *Page) diagnostic(d *diag.Diagnostic, source func(string) []byte, more int) {
	rule, title := p.Red, p.BoldRed("Error: ")
	if d.Severity == diag.Warning {
		rule, title = p.Yellow, p.Bold(p.Yellow("Warning: "))
	}
	width := p.FramedWidth()
	body := strings.Split(title+p.Bold(Wrap(Clean(d.Summary), width, "")), "\n")
	if more := p.finding(d, source, width, rule); len(more) > 0 {
		body = append(append(body, ""), more...)
	}
	if more > 0 {
		body = append(body, "", "(and "+Plural(more, "more similar warning")+" elsewhere)")
	}
	p.Framed(rule, body)
	if !p.Color {
		p.Line()
	}
}

// finding returns the text below the summary, line by line: the place, and what is wrong.
func (p *Page) finding(d *diag.Diagnostic, source func(string) []byte, width int, rule func(string) string) []string {
	var lines []string
	excerpt := p.excerpt(d, source, rule)
	if d.Address != "" {
		comma := ","
		if len(excerpt) == 0 {
			comma = ""
		}
		lines = append(lines, "  with "+Clean(d.Address)+comma)
	}
	lines = append(lines, excerpt...)
	if len(lines) > 0 && d.Detail != "" {
		lines = append(lines, "")
	}
	if d.Detail != "" {
		detail := CleanText(d.Detail)
		if !p.Full {
			detail = WithRanges(detail)
		}
		lines = append(lines, strings.Split(Wrap(detail, width, ""), "\n")...)
	}
	return lines
}

// excerpt returns the place of a finding: file and line, the source text with the offending part
// underlined, and the values of its variables.
func (p *Page) excerpt(d *diag.Diagnostic, source func(string) []byte, rule func(string) string) []string {
	s := d.Excerpt(source)
	var where string
	if d.Subject.File != "" {
		where = "  on " + Clean(d.Subject.File) + " line " + strconv.Itoa(d.Subject.Line)
	}
	if s == nil {
		if where == "" {
			return p.values(d.Values)
		}
		return append([]string{where}, p.values(d.Values)...)
	}
	switch {
	case s.Context != "" && where == "":
		where = "  in " + Clean(s.Context)
	case s.Context != "":
		where += ", in " + Clean(s.Context)
	}
	var lines []string
	if where != "" {
		lines = append(lines, where+":")
	}
	return append(append(lines, p.code(s, rule)...), p.values(s.Values)...)
}

// maxExcerpt is the number of lines of source that are shown.
const maxExcerpt = 6

// code returns the lines of an excerpt with their numbers, and carets below the highlighted part.
func (p *Page) code(s *diag.Snippet, rule func(string) string) []string {
	var out []string
	offset := 0
	lines := strings.Split(s.Code, "\n")
	last := strconv.Itoa(s.StartLine + min(len(lines), maxExcerpt) - 1)
	for i, line := range lines {
		if i == maxExcerpt {
			return append(out, "  "+strings.Repeat(" ", len(last))+"  …")
		}
		number := strconv.Itoa(s.StartLine + i)
		head := "  " + strings.Repeat(" ", len(last)-len(number)) + number + ": "
		from, to := s.HighlightStart-offset, s.HighlightEnd-offset
		offset += len(line) + 1
		line, from, to = clip(line, from, to)
		out = append(out, head+CleanText(strings.TrimSuffix(line, "\r")))
		if from, to := part(line, from, to); to > from && (len(lines) == 1 || to-from > 1) {
			before, marked := CleanText(line[:from]), CleanText(line[from:to])
			out = append(out, strings.Repeat(" ", len(head)+ansi.StringWidth(before))+rule(strings.Repeat("^", max(1, ansi.StringWidth(marked)))))
		}
	}
	return out
}

// maxSourceLine is the number of bytes that are shown of a line of source, which a program may
// have written, or which is not text at all.
const maxSourceLine = 400

// clip cuts a very long line down to the surroundings of the highlighted part, and moves the
// highlight along.
func clip(line string, from, to int) (string, int, int) {
	if len(line) <= maxSourceLine {
		return line, from, to
	}
	start := 0
	if from > maxSourceLine/2 && from < len(line) {
		start = from - maxSourceLine/4
	}
	for start > 0 && !utf8.RuneStart(line[start]) {
		start--
	}
	end := min(len(line), start+maxSourceLine)
	for end < len(line) && !utf8.RuneStart(line[end]) {
		end--
	}
	text, moved := line[start:end], start
	if start > 0 {
		text, moved = "…"+text, start-len("…")
	}
	if end < len(line) {
		text += "…"
	}
	return text, from - moved, min(to-moved, len(text))
}

// part cuts a highlighted range down to a line, without its indentation.
func part(line string, from, to int) (int, int) {
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	return max(from, indent), min(to, len(strings.TrimRight(line, " \t\r")))
}

// values returns the values of the variables in the highlighted part.
func (p *Page) values(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	out := []string{p.Dim("    ├────────────────")}
	for _, v := range values {
		out = append(out, p.Dim("    │ ")+Clean(v))
	}
	return out
}

// FindingText returns a finding below its summary as the terminal shows it, line by line. With a
// width of Endless the reader wraps it.
func FindingText(d *diag.Diagnostic, width int) []string {
	p := NewPage(Options{Width: width})
	return p.finding(d, nil, width, p.Yellow)
}
