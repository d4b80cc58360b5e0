// Package diag is how kubewright reports that something is wrong with a configuration, a host
// or a plan: as a list of findings, each with the position in the user's own text, what is
// wrong there, why, and what to do.
//
// A summary is a constant sentence without user data, so that findings of the same kind have
// equal summaries. Everything specific is in the detail. The package does not know terminals:
// cmd/kubewright/internal/view/ui prints.
package diag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/state"
)

// Severity says whether a finding stops the command.
type Severity string

// The severities.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is one finding.
type Diagnostic struct {
	Severity Severity
	// Summary is a constant, short, without user data and without a full stop.
	Summary string
	// Detail is in full sentences: what is wrong here, why, what to do. Lines that begin with a
	// space are preformatted and never wrapped. Remedies stand in it as marks until Spell.
	Detail string
	// Remedies are the commands that the detail names, once they are spelled.
	Remedies []Remedy
	// Address is the target or item that the finding is about, if there is one.
	Address string
	// Subject is the offending text, underlined on the screen.
	Subject state.Source
	// Context is the block around the subject; its first line is quoted.
	Context state.Source
	// Snippet replaces the text that would be read from the file of Subject, for text that is
	// in no file: the value of a -var option.
	Snippet *Snippet
	// Values describe the variables of the subject: "var.pods is 3". They contain no sensitive
	// value.
	Values []string
}

// Remedy is a command of a finding, as data and as the user types it.
type Remedy struct {
	remedy.Remedy
	Command string `json:"command"`
}

// Errorf makes an error; the format and its arguments are the detail. Among the arguments may be
// remedies.
func Errorf(summary, format string, args ...any) *Diagnostic {
	return &Diagnostic{Severity: Error, Summary: summary, Detail: string(remedy.Textf(format, args...))}
}

// Warningf makes a warning; the format and its arguments are the detail.
func Warningf(summary, format string, args ...any) *Diagnostic {
	return &Diagnostic{Severity: Warning, Summary: summary, Detail: string(remedy.Textf(format, args...))}
}

// Add adds sentences to the detail.
func (d *Diagnostic) Add(format string, args ...any) {
	d.Detail += string(remedy.Textf(format, args...))
}

// Spell writes commands in place of the remedies in the details, and lists them.
func (ds Diagnostics) Spell(line func(remedy.Remedy) string) {
	for _, d := range ds {
		text, found := remedy.Spell(d.Detail, line)
		d.Detail = text
		for _, r := range found {
			if command := line(r); r.Action != "" && !slices.ContainsFunc(d.Remedies, func(other Remedy) bool { return other.Command == command }) {
				d.Remedies = append(d.Remedies, Remedy{r, command})
			}
		}
	}
}

// At sets the offending text and returns the finding.
func (d *Diagnostic) At(subject state.Source) *Diagnostic { d.Subject = subject; return d }

// In sets the block around the offending text and returns the finding.
func (d *Diagnostic) In(context state.Source) *Diagnostic { d.Context = context; return d }

// For sets the target or address that the finding is about and returns it.
func (d *Diagnostic) For(address fmt.Stringer) *Diagnostic { d.Address = address.String(); return d }

// With adds descriptions of the subject's variables and returns the finding.
func (d *Diagnostic) With(values ...string) *Diagnostic {
	d.Values = append(d.Values, values...)
	return d
}

// String returns the finding on one line, for logs and tests:
// cluster.hcl:12: error: Unsupported argument: …
func (d *Diagnostic) String() string {
	var parts []string
	if s := d.Subject.String(); s != "" {
		parts = append(parts, s)
	}
	parts = append(parts, string(d.Severity), d.Summary)
	if d.Detail != "" {
		parts = append(parts, strings.Join(strings.Fields(d.Detail), " "))
	}
	return strings.Join(parts, ": ")
}

// Diagnostics is a list of findings. The nil list is usable.
type Diagnostics []*Diagnostic

// Append adds findings.
func (ds *Diagnostics) Append(more ...*Diagnostic) { *ds = append(*ds, more...) }

// HasErrors reports whether a finding stops the command.
func (ds Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(ds, func(d *Diagnostic) bool { return d.Severity == Error })
}

// Errors returns the findings that stop the command.
func (ds Diagnostics) Errors() Diagnostics { return ds.only(Error) }

// Warnings returns the findings that do not stop it.
func (ds Diagnostics) Warnings() Diagnostics { return ds.only(Warning) }

func (ds Diagnostics) only(s Severity) Diagnostics {
	var out Diagnostics
	for _, d := range ds {
		if d.Severity == s {
			out = append(out, d)
		}
	}
	return out
}

// Sort orders warnings before errors, so that the errors are read last, and each by file and
// position. Findings without a position follow in the order in which they were made.
func (ds Diagnostics) Sort() {
	slices.SortStableFunc(ds, func(a, b *Diagnostic) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			compareFiles(a.Subject.File, b.Subject.File),
			cmp.Compare(a.Subject.Line, b.Subject.Line),
			cmp.Compare(a.Subject.Column, b.Subject.Column),
		)
	})
}

func rank(d *Diagnostic) int {
	if d.Severity == Warning {
		return 0
	}
	return 1
}

// compareFiles orders the empty name last.
func compareFiles(a, b string) int {
	if (a == "") != (b == "") {
		return cmp.Compare(b, a)
	}
	return cmp.Compare(a, b)
}

// Err returns the list as an error, or nil if no finding stops the command. From returns the
// list from that error, warnings included.
func (ds Diagnostics) Err() error {
	if !ds.HasErrors() {
		return nil
	}
	return &listError{ds}
}

// listError carries a list through functions that return an error.
type listError struct{ list Diagnostics }

// Error returns the first finding and how many follow.
func (e *listError) Error() string {
	errs := e.list.Errors()
	if len(errs) == 1 {
		return errs[0].String()
	}
	return fmt.Sprintf("%s (and %d more errors)", errs[0], len(errs)-1)
}

// From returns the findings in an error: the list that Err wrapped, or one finding with the
// given summary and the error's text. A nil error has none.
func From(err error, summary string) Diagnostics {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*listError](err); ok {
		return e.list
	}
	return Diagnostics{{Severity: Error, Summary: summary, Detail: err.Error()}}
}
