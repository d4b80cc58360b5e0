package diag

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kubewright/kubewright/state"
)

// Snippet is source text with the part that a finding is about.
type Snippet struct {
	// Context is the first line of the block around, such as node "cp"; empty if there is none.
	Context string `json:"context,omitempty"`
	// Code is whole lines, without the last line break.
	Code      string `json:"code"`
	StartLine int    `json:"start_line"`
	// The highlighted part of Code, in bytes.
	HighlightStart int `json:"highlight_start_offset"`
	HighlightEnd   int `json:"highlight_end_offset"`
	// Values are statements about the variables of the highlighted part.
	Values []string `json:"values,omitempty"`
}

// JSON is a finding in the form of -json, which Terraform's users parse.
type JSON struct {
	Severity Severity `json:"severity"`
	Summary  string   `json:"summary"`
	Detail   string   `json:"detail,omitempty"`
	Address  string   `json:"address,omitempty"`
	Range    *Range   `json:"range,omitempty"`
	Snippet  *Snippet `json:"snippet,omitempty"`
	Remedies []Remedy `json:"remedies,omitempty"`
}

// Range is a part of a file.
type Range struct {
	Filename string `json:"filename"`
	Start    Pos    `json:"start"`
	End      Pos    `json:"end"`
}

// Pos is a position in a file. Lines and columns count from 1, bytes from 0.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// JSON converts the finding. source returns the text of a file, nil if it is not at hand;
// source itself may be nil.
func (d *Diagnostic) JSON(source func(file string) []byte) JSON {
	j := JSON{Severity: d.Severity, Summary: d.Summary, Detail: d.Detail, Address: d.Address, Snippet: d.Excerpt(source), Remedies: d.Remedies}
	if s := d.Subject; s.File != "" {
		j.Range = &Range{
			Filename: s.File,
			Start:    Pos{s.Line, s.Column, s.StartByte},
			End:      Pos{s.EndLine, s.EndColumn, s.EndByte},
		}
	}
	return j
}

// Diagnostic converts it back. The excerpt is the saved one, with its values.
func (j JSON) Diagnostic() *Diagnostic {
	d := &Diagnostic{Severity: j.Severity, Summary: j.Summary, Detail: j.Detail, Address: j.Address, Remedies: j.Remedies}
	if r := j.Range; r != nil {
		d.Subject = state.Source{
			File: r.Filename, Line: r.Start.Line, Column: r.Start.Column, StartByte: r.Start.Byte,
			EndLine: r.End.Line, EndColumn: r.End.Column, EndByte: r.End.Byte,
		}
	}
	if s := j.Snippet; s != nil && s.fits() {
		d.Snippet = s
	}
	return d
}

// fits reports whether the highlighted part is inside the code: the file that a finding is read
// from is not trusted.
func (s *Snippet) fits() bool {
	return s.StartLine > 0 && 0 <= s.HighlightStart && s.HighlightStart <= s.HighlightEnd && s.HighlightEnd <= len(s.Code)
}

// JSON converts the findings, in order; the list is never nil, since JSON would show null.
func (ds Diagnostics) JSON(source func(file string) []byte) []JSON {
	sorted := slices.Clone(ds)
	sorted.Sort()
	out := make([]JSON, 0, len(sorted))
	for _, d := range sorted {
		out = append(out, d.JSON(source))
	}
	return out
}

// Excerpt returns the subject's lines of its file; nil if there is no text.
func (d *Diagnostic) Excerpt(source func(file string) []byte) *Snippet {
	if d.Snippet != nil {
		s := *d.Snippet
		s.Values = append(s.Values[:len(s.Values):len(s.Values)], d.Values...)
		return &s
	}
	if d.Subject.File == "" || d.Subject.Line < 1 || source == nil {
		return nil
	}
	text := source(d.Subject.File)
	start, ok := lineOffset(text, d.Subject.Line)
	if !ok {
		return nil
	}
	end := start
	for range max(d.Subject.EndLine, d.Subject.Line) - d.Subject.Line + 1 {
		end = lineEnd(text, end) + 1
	}
	code := strings.TrimSuffix(string(text[start:min(end-1, len(text))]), "\r")
	from, to := highlight(d.Subject, code, start)
	code, from, to = uncovered(code, from, to)
	context, _, _ := uncovered(d.contextLine(text), 0, 0)
	return &Snippet{
		Context: context, Code: code, StartLine: d.Subject.Line,
		HighlightStart: from, HighlightEnd: to, Values: d.Values,
	}
}

// Covered replaces, in the text of a file, each byte that must not be shown.
const Covered = '\x00'

// hidden is shown in place of covered bytes.
const hidden = "(sensitive value)"

// uncovered replaces covered bytes by words, without revealing their number, and moves the
// highlighted range along.
func uncovered(code string, from, to int) (string, int, int) {
	if strings.IndexByte(code, Covered) < 0 {
		return code, from, to
	}
	var b strings.Builder
	newFrom, newTo := -1, -1
	for i := range len(code) + 1 {
		again := i < len(code) && i > 0 && code[i] == Covered && code[i-1] == Covered
		if i >= from && newFrom < 0 && !again {
			newFrom = b.Len()
		}
		if i >= to && newTo < 0 && !again {
			newTo = b.Len()
		}
		switch {
		case i == len(code) || again:
		case code[i] == Covered:
			b.WriteString(hidden)
		default:
			b.WriteByte(code[i])
		}
	}
	return b.String(), newFrom, newTo
}

// contextLine returns the header of the block around the subject, if that begins on an earlier
// line of the same file.
func (d *Diagnostic) contextLine(text []byte) string {
	if d.Context.File != d.Subject.File || d.Context.Line < 1 || d.Context.Line >= d.Subject.Line {
		return ""
	}
	start, ok := lineOffset(text, d.Context.Line)
	end, below := lineOffset(text, d.Subject.Line)
	if !ok || !below {
		return ""
	}
	line := string(text[start:lineEnd(text, start)])
	header, rest, opens := strings.Cut(line, "{")
	if !opens || strings.Contains(rest, "}") || closes(string(text[start+len(line):end]), indentation(line)) {
		return "" // the subject is elsewhere: in a block that applies to several
	}
	return strings.TrimSuffix(strings.TrimSpace(header), ":") // as in JSON
}

// closes reports whether a block ends in these lines: one of them begins with a brace that is
// indented no deeper than the block's header.
func closes(lines string, deep int) bool {
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "}") && indentation(line) <= deep {
			return true
		}
	}
	return false
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// highlight returns the range of the subject within its lines: by bytes if they fit, else by
// column, else everything except the indentation.
func highlight(s state.Source, code string, start int) (from, to int) {
	from, to = s.StartByte-start, s.EndByte-start
	if s.EndByte > 0 && from >= 0 && from < len(code) && to > from && to <= len(code) {
		return from, to
	}
	from, to = len(code)-len(strings.TrimLeft(code, " \t")), len(code)
	if s.Column > 1 && utf8.RuneCountInString(code) >= s.Column {
		from = runeOffset(code, s.Column-1)
	}
	if s.EndLine == s.Line && s.EndColumn > s.Column && utf8.RuneCountInString(code) >= s.EndColumn-1 {
		to = runeOffset(code, s.EndColumn-1)
	}
	return from, max(from, to)
}

// runeOffset returns the byte offset of the rune with that index.
func runeOffset(s string, index int) int {
	for offset := range s {
		if index == 0 {
			return offset
		}
		index--
	}
	return len(s)
}

// lineOffset returns the offset of a line; lines count from 1.
func lineOffset(text []byte, line int) (int, bool) {
	offset := 0
	for range line - 1 {
		i := bytes.IndexByte(text[min(offset, len(text)):], '\n')
		if i < 0 {
			return 0, false
		}
		offset += i + 1
	}
	return offset, offset < len(text)
}

// lineEnd returns the end of the line that begins at the offset, without its line break.
func lineEnd(text []byte, offset int) int {
	offset = min(offset, len(text))
	if i := bytes.IndexByte(text[offset:], '\n'); i >= 0 {
		return offset + i
	}
	return len(text)
}
