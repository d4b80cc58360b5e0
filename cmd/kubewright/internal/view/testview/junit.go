package testview

import (
	"io"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/testreport"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
)

// JUnit prints results as JUnit XML: a suite per file, a case per run.
func JUnit(w io.Writer, files []File, source func(file string) []byte) error {
	report := testreport.Report{Name: "kubewright test"}
	for _, f := range files {
		s := testreport.Suite{Name: ui.Clean(f.Name)}
		for _, r := range f.Runs {
			c := testreport.Case{Name: ui.Clean(r.Name), ClassName: s.Name, File: s.Name, Line: r.Line, Time: strconv.FormatFloat(r.Took.Seconds(), 'f', 3, 64)}
			switch r.Status {
			case Fail:
				c.Failure = problem("failure", r.Findings, source)
			case Error:
				c.Error = problem("error", r.Findings, source)
			case Skip:
				c.Skipped = &testreport.Problem{Message: "a run before it failed with an error"}
			}
			s.Add(c)
		}
		report.Add(s)
	}
	return report.Write(w)
}

// problem returns why a run did not pass: the titles of its findings, and all that they say.
func problem(kind string, list diag.Diagnostics, source func(file string) []byte) *testreport.Problem {
	var titles []string
	for _, d := range list {
		titles = append(titles, ui.Clean(d.Summary))
	}
	var text strings.Builder
	_ = ui.Diagnostics(&text, list, ui.Options{}, source) // a Builder fails at nothing
	return &testreport.Problem{Type: kind, Message: strings.Join(titles, "; "), Text: text.String()}
}
