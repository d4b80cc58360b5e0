package export

import (
	"cmp"
	"io"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/testreport"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// junit prints a plan as CI services show tests: a suite per resource, a case per changed item, or per
// step that changes none. What the plan changes passes, with the difference as its output, since a
// reviewer asked for it. Drift fails, and a target that could not be observed is an error, so that a
// nightly plan shows drift as a red test. A warning passes with its text: it needs judgement, not a
// fix.
func junit(w io.Writer, plan *planner.Plan, o ui.Options) error {
	r := outline.NewReview(plan, o)
	report := testreport.Report{Name: "kubewright plan"}
	for _, x := range r.Resources {
		report.Add(suiteOf(x))
	}
	if len(r.Drift) > 0 {
		s := testreport.Suite{Name: "changed outside of kubewright"}
		for _, d := range r.Drift {
			c := itemCase(d)
			c.Failure = &testreport.Problem{Type: "drift", Message: "changed outside of kubewright; the plan does not correct it", Text: c.Output}
			c.Output = ""
			s.Add(c)
		}
		report.Add(s)
	}
	if len(r.Policies) > 0 {
		s := testreport.Suite{Name: "policies"}
		for _, f := range r.Policies {
			c := testreport.Case{Name: ui.Clean(f.Rule), ClassName: ui.Clean(f.Policy), Output: outline.PolicyNote(f)}
			if !f.Overridden {
				c.Failure, c.Output = &testreport.Problem{Type: "policy", Message: outline.PolicyNote(f)}, ""
			}
			s.Add(c)
		}
		report.Add(s)
	}
	if list := outline.Warnings(r.Plan); len(list) > 0 {
		s := testreport.Suite{Name: "warnings"}
		for _, d := range list {
			s.Add(testreport.Case{
				Name: ui.Clean(d.Summary), ClassName: cmp.Or(ui.Clean(d.Address), "kubewright"),
				File: ui.Clean(d.Subject.File), Line: d.Subject.Line, Output: strings.Join(ui.FindingText(d, ui.Endless), "\n"),
			})
		}
		report.Add(s)
	}
	if len(r.Withheld) > 0 {
		s := testreport.Suite{Name: "not observed"}
		for _, u := range r.Withheld {
			s.Add(testreport.Case{
				Name: ui.Clean(u.Target.String()), ClassName: ui.Clean(u.Target.String()),
				Error: &testreport.Problem{Type: "unreachable", Message: ui.Clean(u.Reason), Text: ui.Clean(u.Remedy)},
			})
		}
		report.Add(s)
	}
	if list := outline.WithheldGroups(r.Plan); len(list) > 0 {
		s := testreport.Suite{Name: "withheld"}
		for _, x := range list {
			s.Add(testreport.Case{Name: x.Address, ClassName: x.Address, Error: &testreport.Problem{Type: "withheld", Message: x.Why, Text: strings.Join(x.What, "\n")}})
		}
		report.Add(s)
	}
	if len(report.Suites) == 0 { // a report without a test counts as a broken one
		s := testreport.Suite{Name: "kubewright"}
		s.Add(testreport.Case{Name: "plan", ClassName: "kubewright", Output: r.Headline()})
		report.Add(s)
	}
	return report.Write(w)
}

func suiteOf(x outline.ReviewedResource) testreport.Suite {
	s := testreport.Suite{Name: ui.Clean(x.Target.String()), Properties: []testreport.Property{{Name: "action", Value: string(x.Action)}, {Name: "verdict", Value: x.Verdict}}}
	if x.Reason != "" {
		s.Properties = append(s.Properties, testreport.Property{Name: "reason", Value: x.Reason})
	}
	for _, text := range x.Impacts {
		s.Properties = append(s.Properties, testreport.Property{Name: "impact", Value: text})
	}
	for _, p := range x.Phases {
		for _, it := range p.Items {
			c := itemCase(it)
			if it.Mends() {
				c.Failure = &testreport.Problem{Type: "drift", Message: planner.ReasonDrift + "; the plan corrects it", Text: c.Output}
				c.Output = ""
			}
			s.Add(c)
		}
		if len(p.Items) == 0 {
			s.Add(testreport.Case{Name: string(p.Action) + " " + ui.Clean(p.ID.String()), ClassName: s.Name, Output: p.Effect})
		}
	}
	if len(s.Cases) == 0 {
		s.Add(testreport.Case{Name: string(x.Action) + " " + s.Name, ClassName: s.Name, Output: x.Verdict})
	}
	return s
}

// itemCase returns a case that is named after the action and the item.
func itemCase(it outline.ReviewedItem) testreport.Case {
	origin := originOf(it.Change)
	return testreport.Case{
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
