package export

import (
	"cmp"
	"encoding/xml"
	"io"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// junitReport is JUnit XML as CI services show it: a suite per resource, a case per changed item,
// or per step that changes none. What the plan changes passes, with the difference as its output,
// since a reviewer asked for it. Drift fails, and a target that could not be observed is an error,
// so that a nightly plan shows drift as a red test. A warning passes with its text: it needs
// judgement, not a fix.
type junitReport struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	File      string        `xml:"file,attr,omitempty"`
	Line      int           `xml:"line,attr,omitempty"`
	Failure   *junitProblem `xml:"failure"`
	Error     *junitProblem `xml:"error"`
	Output    string        `xml:"system-out,omitempty"`
}

type junitProblem struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func junit(w io.Writer, plan *planner.Plan, o ui.Options) error {
	r := outline.NewReview(plan, o)
	report := junitReport{Name: "kubewright plan"}
	for _, x := range r.Resources {
		report.add(suiteOf(x))
	}
	if len(r.Drift) > 0 {
		s := junitSuite{Name: "changed outside of kubewright"}
		for _, d := range r.Drift {
			c := itemCase(d)
			c.Failure = &junitProblem{Type: "drift", Message: "changed outside of kubewright; the plan does not correct it", Text: c.Output}
			c.Output = ""
			s.add(c)
		}
		report.add(s)
	}
	if len(r.Policies) > 0 {
		s := junitSuite{Name: "policies"}
		for _, f := range r.Policies {
			c := junitCase{Name: ui.Clean(f.Rule), ClassName: ui.Clean(f.Policy), Output: outline.PolicyNote(f)}
			if !f.Overridden {
				c.Failure, c.Output = &junitProblem{Type: "policy", Message: outline.PolicyNote(f)}, ""
			}
			s.add(c)
		}
		report.add(s)
	}
	if list := outline.Warnings(r.Plan); len(list) > 0 {
		s := junitSuite{Name: "warnings"}
		for _, d := range list {
			s.add(junitCase{
				Name: ui.Clean(d.Summary), ClassName: cmp.Or(ui.Clean(d.Address), "kubewright"),
				File: ui.Clean(d.Subject.File), Line: d.Subject.Line, Output: strings.Join(ui.FindingText(d, ui.Endless), "\n"),
			})
		}
		report.add(s)
	}
	if len(r.Withheld) > 0 {
		s := junitSuite{Name: "not observed"}
		for _, u := range r.Withheld {
			s.add(junitCase{
				Name: ui.Clean(u.Target.String()), ClassName: ui.Clean(u.Target.String()),
				Error: &junitProblem{Type: "unreachable", Message: ui.Clean(u.Reason), Text: ui.Clean(u.Remedy)},
			})
		}
		report.add(s)
	}
	if len(report.Suites) == 0 { // a report without a test counts as a broken one
		s := junitSuite{Name: "kubewright"}
		s.add(junitCase{Name: "plan", ClassName: "kubewright", Output: r.Headline()})
		report.add(s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *junitReport) add(s junitSuite) {
	r.Tests, r.Failures, r.Errors = r.Tests+s.Tests, r.Failures+s.Failures, r.Errors+s.Errors
	r.Suites = append(r.Suites, s)
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

func suiteOf(x outline.ReviewedResource) junitSuite {
	s := junitSuite{Name: ui.Clean(x.Target.String()), Properties: []junitProperty{{"action", string(x.Action)}, {"verdict", x.Verdict}}}
	if x.Reason != "" {
		s.Properties = append(s.Properties, junitProperty{"reason", x.Reason})
	}
	for _, text := range x.Impacts {
		s.Properties = append(s.Properties, junitProperty{"impact", text})
	}
	for _, p := range x.Phases {
		for _, it := range p.Items {
			c := itemCase(it)
			if it.Mends() {
				c.Failure = &junitProblem{Type: "drift", Message: planner.ReasonDrift + "; the plan corrects it", Text: c.Output}
				c.Output = ""
			}
			s.add(c)
		}
		if len(p.Items) == 0 {
			s.add(junitCase{Name: string(p.Action) + " " + ui.Clean(p.ID.String()), ClassName: s.Name, Output: p.Effect})
		}
	}
	if len(s.Cases) == 0 {
		s.add(junitCase{Name: string(x.Action) + " " + s.Name, ClassName: s.Name, Output: x.Verdict})
	}
	return s
}

// itemCase returns a case that is named after the action and the item.
func itemCase(it outline.ReviewedItem) junitCase {
	origin := originOf(it.Change)
	return junitCase{
		Name: string(it.Action) + " " + ui.Clean(it.Address.String()), ClassName: ui.Clean(it.Address.Target.String()),
		File: ui.Clean(origin.File), Line: origin.Line, Output: strings.Join(diffText(it.Lines()), "\n"),
	}
}

// originOf returns the first line of the configuration that a change comes from.
func originOf(c planner.Change) state.Source {
	for _, a := range c.Attributes {
		if a.Origin.File != "" {
			return a.Origin
		}
	}
	return state.Source{}
}
