package export

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// GitHub shows ten annotations of each level per step of a workflow, and truncates long ones.
const (
	maxAnnotations      = 10
	maxAnnotationLength = 4000
)

// annotation is a workflow command of GitHub: what a line of the configuration changes, or what
// happens to resources as a whole.
type annotation struct {
	// level is notice, warning or error.
	level  string
	title  string
	origin state.Source
	// of are the resources that it is about.
	of    []string
	lines []string
}

// annotations prints a plan as annotations of a workflow. Each changed item is in one, at the line
// of the configuration that changes it. Warnings, destroyed and replaced resources, drift and
// targets that could not be observed are warnings; refusals of policies are errors; the rest are
// notices. The last annotation of a level counts those that GitHub would not show.
func annotations(w io.Writer, plan *planner.Plan, o ui.Options) error {
	r := outline.NewReview(plan, o)
	all := collectAnnotations(r)
	p := ui.NewPage(ui.Options{Width: ui.Endless})
	p.Line("::notice title=kubewright::" + commandText(r.Headline()+" Digest "+r.Short()+"."))
	for _, level := range []string{"error", "warning", "notice"} {
		var of []*annotation
		for _, a := range all.list {
			if a.level == level {
				of = append(of, a)
			}
		}
		room := maxAnnotations
		if level == "notice" {
			room-- // the first line of all counts
		}
		if n := len(of); n > room {
			left := &annotation{level: level, title: "kubewright: " + ui.Plural(n-room+1, "more annotation")}
			lines := 0
			for _, a := range of[room-1:] {
				lines += len(a.lines)
			}
			left.lines = []string{"GitHub shows " + strconv.Itoa(maxAnnotations) + " of a kind. " + ui.Plural(lines, "line") + " left out; kubewright show prints all of the plan."}
			of = append(of[:room-1:room-1], left)
		}
		for _, a := range of {
			p.Line(a.command())
		}
	}
	return p.Flush(w)
}

// annotationList collects annotations, one per line of the configuration or per verdict.
type annotationList struct {
	list  []*annotation
	place map[annotationKey]*annotation
}

type annotationKey struct{ level, title, origin string }

// add adds lines about a resource.
func (a *annotationList) add(level, title string, origin state.Source, of string, lines ...string) {
	k := annotationKey{level, title, origin.String()}
	x := a.place[k]
	if x == nil {
		x = &annotation{level: level, title: title, origin: origin}
		a.place[k] = x
		a.list = append(a.list, x)
	}
	if !slices.Contains(x.of, of) {
		x.of = append(x.of, of)
	}
	for _, line := range lines {
		if line != "" {
			x.lines = append(x.lines, line)
		}
	}
}

// collectAnnotations returns all annotations, the most severe first.
func collectAnnotations(r *outline.Review) *annotationList {
	a := &annotationList{place: map[annotationKey]*annotation{}}
	for _, d := range outline.Warnings(r.Plan) {
		a.add("warning", d.Summary, d.Subject, "", warningLines(d)...)
	}
	for _, u := range r.Withheld {
		a.add("warning", "could not be observed", state.Source{}, u.Target.String(), u.Reason, u.Remedy)
	}
	for _, x := range outline.WithheldGroups(r.Plan) {
		a.add("warning", "withheld", state.Source{}, x.Address, append(x.What, x.Why)...)
	}
	for _, f := range r.Policies {
		level := "error"
		if f.Overridden {
			level = "warning"
		}
		a.add(level, "policy "+f.Policy, f.Source, f.Rule, outline.PolicyNote(f))
	}
	for _, x := range r.Resources {
		a.resource(x)
	}
	for _, d := range r.Drift {
		a.add("warning", planner.ReasonDrift+", and left so", originOf(d.Change), d.Address.Target.String(), itemLines(d)...)
	}
	return a
}

// warningLines returns the lines of a warning without its excerpt, since the annotation is
// shown at the line. Long lines are cut, so that GitHub shows a part of each.
func warningLines(d *diag.Diagnostic) []string {
	var out []string
	if d.Address != "" {
		out = append(out, "with "+d.Address)
	}
	for line := range strings.SplitSeq(ui.CleanText(d.Detail), "\n") {
		out = append(out, cut(line, maxAnnotationLength/2))
	}
	return out
}

// resource adds the changes of an updated resource at the lines of the configuration that make
// them, and everything about another one in one annotation.
func (a *annotationList) resource(x outline.ReviewedResource) {
	level, of := "notice", x.Target.String()
	if x.Rank() == 0 {
		level = "warning"
	}
	whole := []string{}
	if x.Reason != "" {
		whole = append(whole, of+": "+x.Reason)
	}
	for _, p := range x.Phases {
		if p.Effect != "" || len(p.Items) == 0 {
			whole = append(whole, string(p.Action)+" "+p.ID.String()+": "+p.Effect)
		}
		for _, it := range p.Items {
			outside, it := splitOutside(it)
			if outside.Mends() {
				a.add("warning", planner.ReasonDrift+", and corrected", originOf(outside.Change), of, itemLines(outside)...)
			}
			origin := originOf(it.Change)
			switch {
			case outside.Mends() && len(it.Attributes) == 0:
			case x.Action == planner.Update && origin.File != "":
				a.add(level, "changes", origin, of, itemLines(it)...)
			default:
				whole = append(whole, itemLines(it)...)
			}
		}
	}
	a.add(level, x.Verdict, state.Source{}, of, whole...)
}

// splitOutside splits an item into changes made outside and changes that the configuration makes.
func splitOutside(it outline.ReviewedItem) (outside, configured outline.ReviewedItem) {
	outside, configured = it, it
	if it.Reason == planner.ReasonDrift {
		configured.Attributes = nil
		return outside, configured
	}
	isOutside := func(a planner.AttributeChange) bool { return a.Outside }
	isConfigured := func(a planner.AttributeChange) bool { return !a.Outside }
	outside.Attributes = slices.DeleteFunc(slices.Clone(it.Attributes), isConfigured)
	configured.Attributes = slices.DeleteFunc(slices.Clone(it.Attributes), isOutside)
	return outside, configured
}

// itemLines returns an item, its action, and its values.
func itemLines(it outline.ReviewedItem) []string {
	out := []string{string(it.Action) + " " + it.Address.String()}
	if it.Action == planner.Update || len(it.Attributes) <= 3 {
		for _, a := range it.Attributes {
			out = append(out, "  "+a.Path+": "+beforeAfter(a))
		}
	}
	return out
}

// beforeAfter returns a change on one line.
func beforeAfter(a planner.AttributeChange) string {
	secret := a.Before.Kind() == state.KindSensitive || a.After.Kind() == state.KindSensitive
	if secret && !a.Before.IsNull() && !a.After.IsNull() {
		return ui.SecretChange(a.Before, a.After)
	}
	return ui.Inline(ui.ShortDigest(a.Before)) + " -> " + ui.Inline(ui.ShortDigest(a.After))
}

// command returns the annotation as a workflow command.
func (a *annotation) command() string {
	var b strings.Builder
	title := a.title
	switch n := len(a.of); {
	case n == 1:
		title = a.of[0] + " " + title
	case n > 1:
		title = a.of[0] + " and " + strconv.Itoa(n-1) + " more: " + title
	}
	if a.title == "changes" {
		title = a.origin.String() + " changes " + strings.TrimSuffix(strings.TrimSuffix(title, "changes"), ": ")
	}
	b.WriteString("::" + a.level + " title=" + commandProperty(strings.TrimSpace(title)))
	if a.origin.File != "" {
		b.WriteString(",file=" + commandProperty(a.origin.File) + ",line=" + strconv.Itoa(a.origin.Line))
	}
	b.WriteString("::")
	size := 0
	for i, line := range a.lines {
		text := commandText(line)
		if size += len(text); size > maxAnnotationLength {
			b.WriteString("%0A" + ui.Plural(len(a.lines)-i, "more line") + " left out")
			break
		}
		if i > 0 {
			b.WriteString("%0A")
		}
		b.WriteString(text)
	}
	return b.String()
}

// commandText returns text for a workflow command, escaped so that it does not end the command.
func commandText(s string) string {
	return strings.ReplaceAll(ui.Clean(s), "%", "%25")
}

// commandProperty returns text for a property of a workflow command.
func commandProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandText(s))
}
