package export_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/export"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/jsonlines"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// jsonPlan is the part of a JSON plan besides addresses and actions.
type jsonPlan struct {
	Resources []jsonResource `json:"resource_changes"`
	Drift     []jsonItem     `json:"resource_drift"`
	Quorum    []string       `json:"quorum"`
	Policies  []jsonPolicy   `json:"policies"`
	Warnings  []diag.JSON    `json:"diagnostics"`
}

type jsonResource struct {
	Address string     `json:"address"`
	Reason  string     `json:"reason"`
	Word    string     `json:"action_reason"`
	Impact  []string   `json:"impact"`
	Items   []jsonItem `json:"items"`
	Change  struct {
		Actions []string `json:"actions"`
	} `json:"change"`
}

type jsonItem struct {
	Address    string          `json:"address"`
	Reason     string          `json:"reason"`
	Actions    []string        `json:"actions"`
	Attributes []jsonAttribute `json:"attributes"`
}

type jsonAttribute struct {
	Path      string `json:"path"`
	Before    any    `json:"before"`
	After     any    `json:"after"`
	Unknown   bool   `json:"after_unknown"`
	Sensitive bool   `json:"sensitive"`
}

type jsonPolicy struct {
	Policy     string `json:"policy"`
	Rule       string `json:"rule"`
	Message    string `json:"message"`
	Overridden bool   `json:"overridden"`
}

// requested reports whether the reason of a resource is a request of the user.
func (r jsonResource) requested() bool { return r.Reason == planner.ReasonRequested }

// TestAllFormatsGiveTheSameReasons reads from every form what it says about each change: path, before and
// after, the reason, the effect of a step, quorum, policies and warnings. JSON has everything
// in the plan; every other form shows a part of that, and gives no other reason.
func TestAllFormatsGiveTheSameReasons(t *testing.T) {
	for name, fixture := range viewtest.Plans {
		plan := fixture()
		var told jsonPlan
		if err := json.Unmarshal([]byte(planAs(t, plan, "json")), &told); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			told.asPlanned(t, plan)
			told.asLines(t, plan)
			told.asHTML(t, planAs(t, plan, "html"))
			told.asJUnit(t, planAs(t, plan, "junit"))
			told.asMarkdown(t, planAs(t, plan, "markdown"))
			told.asText(t, viewtest.Render(t, plan, ui.Options{Width: 1000, Full: true}))
			told.warned(t, plan)
		})
	}
}

// asPlanned checks that every attribute of every change is as in the plan.
func (p jsonPlan) asPlanned(t *testing.T, plan *planner.Plan) {
	got := map[string]jsonItem{}
	for _, r := range p.Resources {
		if plan.Destroy && r.Word != "" {
			t.Errorf("JSON has for %s the reason %q in a destroy", r.Address, r.Word)
		}
		for _, it := range r.Items {
			got[it.Address] = it
		}
	}
	if len(got) != len(plan.Changes) {
		t.Errorf("JSON has %d items, the plan %d", len(got), len(plan.Changes))
	}
	for _, c := range plan.Changes {
		it := got[c.Address.String()]
		if it.Reason != c.Reason {
			t.Errorf("JSON has for %s %q, the plan %q", c.Address, it.Reason, c.Reason)
		}
		want := []jsonAttribute(nil)
		for _, a := range c.Attributes {
			want = append(want, jsonAttribute{a.Path, plainly(a.Before), plainly(a.After), a.After.IsPending(), a.Before.HasSensitive() || a.After.HasSensitive()})
		}
		if !reflect.DeepEqual(it.Attributes, want) {
			t.Errorf("JSON has for %s\n%v\nthe plan\n%v", c.Address, it.Attributes, want)
		}
	}
	if !slices.Equal(p.Quorum, plan.Quorum) {
		t.Errorf("JSON has quorum %q, the plan %q", p.Quorum, plan.Quorum)
	}
	policies := []jsonPolicy(nil)
	for _, f := range plan.Policies {
		policies = append(policies, jsonPolicy{f.Policy, f.Rule, f.Message, f.Overridden})
	}
	if !slices.Equal(p.Policies, policies) {
		t.Errorf("JSON has the policies %v, the plan %v", p.Policies, policies)
	}
}

// asLines checks that the line of a changed resource has the reason of the document.
func (p jsonPlan) asLines(t *testing.T, plan *planner.Plan) {
	var b bytes.Buffer
	if err := jsonlines.New(&b, time.Now).Plan(plan, ui.Options{}); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for line := range strings.Lines(b.String()) {
		var l struct {
			Type   string
			Change struct {
				Action, Reason string
				Resource       struct{ Addr string }
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Type == "planned_change" && l.Change.Action != "import" {
			reasons[l.Change.Resource.Addr] = l.Change.Reason
		}
	}
	for _, r := range p.Resources {
		if reason, changes := reasons[r.Address]; changes != (r.Change.Actions[0] != "no-op") || reason != r.Reason {
			t.Errorf("a line has for %s %q, JSON %q", r.Address, reason, r.Reason)
		}
	}
}

// plainly returns a value as JSON has it; a secret or an unknown value is null.
func plainly(v state.Value) any {
	if v.HasSensitive() || v.IsPending() {
		return nil
	}
	value := v.Go()
	if v.Kind() == state.KindArgs {
		list := []any{}
		for _, a := range v.AsArgs() {
			list = append(list, map[string]any{"name": a.Name, "value": a.Of().Go()})
		}
		value = list
	}
	b, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}

var (
	pageResources = regexp.MustCompile(`(?s)<details class="resource [^"]*" data-address="([^"]*)"[^>]*>\n<summary>(.*?)</summary>`)
	pageItems     = regexp.MustCompile(`(?s)<details class="item" data-address="([^"]*)"[^>]*>\n<summary>(.*?)</summary>\n<pre>(.*?)</pre>`)
	pageWhy       = regexp.MustCompile(`<span class="why">(.*?)</span>`)
	pageSays      = regexp.MustCompile(`<details class="phase" id="[^"]*" data-address="([^"]*)".*\n<summary>.*<span class="says">(.*?)</span>`)
	pageLoses     = regexp.MustCompile(`(?s)<details class="resource [^"]*" data-address="([^"]*)"[^>]*>\n<summary>[^\n]*</summary>\n<ul class="loses">(.*?)</ul>`)
	pageLoss      = regexp.MustCompile(`<li>(.*?)</li>`)
	pageNotes     = regexp.MustCompile(`<dt>(.*?)</dt><dd>(.*?)</dd>`)
	tags          = regexp.MustCompile(`<[^>]*>`)
)

// first returns the text that an expression matches, without markup; empty without a match.
func first(find *regexp.Regexp, in string) string {
	if m := find.FindStringSubmatch(in); m != nil {
		return html.UnescapeString(m[1])
	}
	return ""
}

func (p jsonPlan) asHTML(t *testing.T, text string) {
	drift := htmlDrift.FindString(text)
	changes := htmlDrift.ReplaceAllString(text, "")
	why, heads := map[string]string{}, map[string]string{}
	for _, m := range pageResources.FindAllStringSubmatch(changes, -1) {
		address := html.UnescapeString(m[1])
		why[address], heads[address] = withoutOrigin(first(pageWhy, m[2])), m[2]
	}
	says := map[string][]string{}
	for _, m := range pageSays.FindAllStringSubmatch(changes, -1) {
		step, err := state.ParseAddress(html.UnescapeString(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		says[step.Target.String()] = append(says[step.Target.String()], html.UnescapeString(m[2]))
	}
	for _, m := range pageLoses.FindAllStringSubmatch(changes, -1) {
		for _, loss := range pageLoss.FindAllStringSubmatch(m[2], -1) {
			says[html.UnescapeString(m[1])] = append(says[html.UnescapeString(m[1])], html.UnescapeString(loss[1]))
		}
	}
	for _, r := range p.Resources {
		if _, shown := heads[r.Address]; !shown {
			continue // an unchanged one
		}
		if r.requested() {
			if !strings.Contains(heads[r.Address], r.Reason) {
				t.Errorf("HTML lacks for %s %q", r.Address, r.Reason)
			}
		} else if why[r.Address] != r.Reason {
			t.Errorf("HTML has for %s %q, JSON %q", r.Address, why[r.Address], r.Reason)
		}
		for _, text := range r.Impact {
			if !slices.Contains(says[r.Address], text) {
				t.Errorf("HTML lacks for %s %q", r.Address, text)
			}
		}
	}
	items := pageItemsOf(changes)
	for _, it := range p.items() {
		items.say(t, "HTML", it)
	}
	outside := pageItemsOf(drift)
	for _, it := range p.Drift {
		if _, left := outside[it.Address]; left { // the others are corrected, and shown as corrected
			outside.say(t, "HTML", it)
		}
	}
	notes := map[string][]string{}
	for _, m := range pageNotes.FindAllStringSubmatch(text, -1) {
		notes[m[1]] = append(notes[m[1]], html.UnescapeString(m[2]))
	}
	p.noted(t, "HTML", notes)
}

// shownItem is an item of a page.
type shownItem struct {
	reason string
	lines  []string
}

type shownItems map[string]shownItem

func pageItemsOf(text string) shownItems {
	out := shownItems{}
	for _, m := range pageItems.FindAllStringSubmatch(text, -1) {
		lines := strings.Split(html.UnescapeString(tags.ReplaceAllString(m[3], "")), "\n")
		out[html.UnescapeString(m[1])] = shownItem{first(pageWhy, m[2]), lines}
	}
	return out
}

// say checks that an item has this reason, and lines with all of these values.
func (s shownItems) say(t *testing.T, form string, it jsonItem) {
	shown, ok := s[it.Address]
	if !ok || shown.reason != it.Reason {
		t.Errorf("%s has for %s %q, JSON %q", form, it.Address, shown.reason, it.Reason)
	}
	it.among(t, form, shown.lines)
}

// items returns all changed items.
func (p jsonPlan) items() []jsonItem {
	var out []jsonItem
	for _, r := range p.Resources {
		out = append(out, r.Items...)
	}
	return out
}

// noted checks that quorum and policies are in the notes of a form, and no others.
func (p jsonPlan) noted(t *testing.T, form string, notes map[string][]string) {
	if !slices.Equal(notes["etcd"], p.Quorum) {
		t.Errorf("%s has quorum %q, JSON %q", form, notes["etcd"], p.Quorum)
	}
	if len(notes["Policy"]) != len(p.Policies) {
		t.Errorf("%s has %d policies, JSON %d", form, len(notes["Policy"]), len(p.Policies))
		return
	}
	for i, f := range p.Policies {
		if text := notes["Policy"][i]; text != f.text() {
			t.Errorf("%s has %q, JSON %q", form, text, f.text())
		}
	}
}

func (f jsonPolicy) text() string {
	verb := "refuses"
	if f.Overridden {
		verb = "is overridden, and would refuse"
	}
	return fmt.Sprintf("%q %s (%s): %s.", f.Policy, verb, f.Rule, f.Message)
}

// withoutOrigin returns a reason without the origin of a resource, which has its own JSON
// fields.
func withoutOrigin(why string) string {
	parts := slices.DeleteFunc(strings.Split(why, "; "), func(s string) bool {
		return strings.HasPrefix(s, "imported from ") || strings.HasPrefix(s, "moved from ")
	})
	return strings.Join(parts, "; ")
}

func (p jsonPlan) asJUnit(t *testing.T, text string) {
	doc := readJUnit(t, text)
	reasons, impacts, lines, policies := map[string]string{}, map[string][]string{}, map[string][]string{}, []string{}
	for _, s := range doc.Suites {
		for _, x := range s.Properties {
			switch x.Name {
			case "reason":
				reasons[s.Name] = withoutOrigin(x.Value)
			case "impact":
				impacts[s.Name] = append(impacts[s.Name], x.Value)
			case "verdict":
				reasons[s.Name] = ""
			}
		}
		for _, c := range s.Cases {
			if s.Name == "policies" {
				policies = append(policies, c.Output+c.Failure.Message)
			} else if len(s.Properties) > 0 {
				lines[c.Name] = strings.Split(c.Output+c.Failure.Text, "\n")
			}
		}
	}
	for _, r := range p.Resources {
		got, shown := reasons[r.Address]
		if !shown {
			continue // an unchanged one
		}
		if !r.requested() && got != r.Reason {
			t.Errorf("JUnit has for %s %q, JSON %q", r.Address, got, r.Reason)
		}
		if !slices.Equal(impacts[r.Address], r.Impact) {
			t.Errorf("JUnit has for %s the impact %q, JSON %q", r.Address, impacts[r.Address], r.Impact)
		}
		for _, it := range r.Items {
			action := it.Actions[0]
			if len(it.Actions) > 1 {
				action = string(planner.Replace)
			}
			it.among(t, "JUnit", lines[action+" "+it.Address])
		}
	}
	var want []string
	for _, f := range p.Policies {
		want = append(want, f.text())
	}
	if !slices.Equal(policies, want) && len(policies)+len(want) > 0 {
		t.Errorf("JUnit has the policies %q, JSON %q", policies, want)
	}
}

// asMarkdown checks that the table has the reasons and the effects of steps, and the details
// the values of what they show: the first of the nodes that change alike, and a part of new
// items.
func (p jsonPlan) asMarkdown(t *testing.T, text string) {
	rows, notes := map[string]string{}, map[string][]string{}
	for line := range strings.Lines(text) {
		line = fromMarkdown(strings.TrimSuffix(line, "\n"))
		if m := regexp.MustCompile(`^\| (?:\S+) \| (.*?\S) (?:[^|]* )?\| (.*) \|$`).FindStringSubmatch(line); m != nil {
			rows[m[1]] = withoutOrigin(m[2])
		}
		if m := regexp.MustCompile(`^- \*\*(\w+)\*\*: (.*)$`).FindStringSubmatch(line); m != nil {
			notes[m[1]] = append(notes[m[1]], m[2])
		}
	}
	p.noted(t, "Markdown", notes)
	details := map[string][]string{}
	for _, m := range regexp.MustCompile("(?s)<details><summary><code>(.*?)</code> .*?```diff\n(.*?)```").FindAllStringSubmatch(text, -1) {
		details[html.UnescapeString(m[1])] = strings.Split(m[2], "\n")
	}
	for _, r := range p.Resources {
		row, shown := rows[r.Address]
		if !shown {
			continue // an unchanged one; another test checks that the table has all others
		}
		want := r.Impact
		if r.Reason != "" && !r.requested() {
			want = append([]string{r.Reason}, want...)
		}
		if row != strings.Join(want, "; ") {
			t.Errorf("Markdown has for %s %q, JSON %q", r.Address, row, strings.Join(want, "; "))
		}
		lines := details[r.Address]
		for _, it := range r.Items {
			if lines != nil && it.Actions[0] == string(planner.Update) {
				it.among(t, "Markdown", lines)
			}
		}
	}
}

// fromMarkdown returns a line without code marks.
func fromMarkdown(line string) string {
	return html.UnescapeString(strings.NewReplacer("`", "", "<code>", "", "</code>", "").Replace(line))
}

// asText checks that the full plan on the terminal gives each resource's reason and effect,
// each value of each item, and below them quorum and policies.
func (p jsonPlan) asText(t *testing.T, text string) {
	blocks := map[string]string{}
	for block := range strings.SplitSeq(text, "\n\n") {
		if head, ok := strings.CutPrefix(block, "  # "); ok {
			for _, r := range p.Resources {
				if strings.HasPrefix(head, r.Address+" ") {
					blocks[r.Address] = block
				}
			}
		}
	}
	every := map[string]bool{}
	for _, r := range p.Resources {
		every[r.Reason] = true
	}
	delete(every, "")
	for _, r := range p.Resources {
		block, shown := blocks[r.Address]
		if !shown {
			continue // an unchanged one
		}
		var comments []string
		for line := range strings.Lines(block) {
			if !strings.HasPrefix(line, "  # ") {
				break
			}
			comments = append(comments, line)
		}
		head := strings.Join(comments, "")
		for reason := range maps.Keys(every) {
			if strings.Contains(head, reason) != (reason == r.Reason) {
				t.Errorf("the text has for %s\n%sJSON %q", r.Address, head, r.Reason)
			}
		}
		for _, impact := range r.Impact {
			if !strings.Contains(block, impact) {
				t.Errorf("the text lacks for %s the impact %q", r.Address, impact)
			}
		}
		for _, it := range r.Items {
			it.among(t, "text", strings.Split(block, "\n"))
		}
	}
	for _, sentence := range p.Quorum {
		if !strings.Contains(text, "\netcd: "+sentence+"\n") {
			t.Errorf("the text lacks the note on etcd %q", sentence)
		}
	}
	refused, passed, _ := strings.Cut(text, "Note: overridden with -override-policy")
	for _, f := range p.Policies {
		part := refused
		if f.Overridden {
			part = passed
		}
		if !strings.Contains(part, fmt.Sprintf("policy %q", f.Policy)) || !regexp.MustCompile(`(?m)^  `+f.Rule+`  \S+\n    `+regexp.QuoteMeta(f.Message)+`$`).MatchString(part) {
			t.Errorf("the text lacks %s", f.text())
		}
	}
}

// warned checks that every form has each warning in full.
func (p jsonPlan) warned(t *testing.T, plan *planner.Plan) {
	if !reflect.DeepEqual(p.Warnings, plan.Diagnostics) {
		t.Errorf("JSON has the warnings %v, the plan %v", p.Warnings, plan.Diagnostics)
	}
	words := func(text string) string {
		text = strings.NewReplacer("%0A", " ", "%25", "%", "&#39;", "'", "&#34;", `"`, "\n>", " ", "&#xA;", " ").Replace(text)
		return strings.Join(strings.Fields(text), " ")
	}
	for _, format := range export.PlanFormats() {
		text := planAs(t, plan, format)
		if format == "json" {
			continue
		}
		for _, w := range p.Warnings {
			for _, said := range []string{w.Summary, w.Detail} {
				if !strings.Contains(words(text), words(said)) {
					t.Errorf("%s lacks %q", format, said)
				}
			}
		}
	}
}

// among checks that the lines of a form show each attribute with its values.
func (it jsonItem) among(t *testing.T, form string, lines []string) {
	for _, a := range it.Attributes {
		for _, want := range a.shown() {
			if !slices.ContainsFunc(lines, want.MatchString) {
				t.Errorf("%s of %s has no line %s for %s: %v -> %v\n%s", form, it.Address, want, a.Path, a.Before, a.After, strings.Join(lines, "\n"))
			}
		}
	}
}

// shown returns patterns of the lines of an attribute: one with its name and both values, or,
// for a composite value, one for each part that only one side has.
func (a jsonAttribute) shown() []*regexp.Regexp {
	path := state.SplitPath(a.Path)
	name := `^\W*"?` + regexp.QuoteMeta(path[len(path)-1]) + `"?\s+= `
	switch {
	case a.Sensitive:
		return []*regexp.Regexp{regexp.MustCompile(name + `.*\(sensitive value\)`)}
	case a.Unknown:
		return []*regexp.Regexp{regexp.MustCompile(name + `.*\(known after apply\)`)}
	case !whole(a.Before) || !whole(a.After):
		var out []*regexp.Regexp
		before, after := parts(a.Before), parts(a.After)
		for part := range before {
			if !after[part] {
				out = append(out, regexp.MustCompile(regexp.QuoteMeta(part)))
			}
		}
		for part := range after {
			if !before[part] {
				out = append(out, regexp.MustCompile(regexp.QuoteMeta(part)))
			}
		}
		return out
	case a.Before == nil:
		return []*regexp.Regexp{regexp.MustCompile(name + literal(a.After))}
	case a.After == nil:
		return []*regexp.Regexp{regexp.MustCompile(name + literal(a.Before))}
	}
	return []*regexp.Regexp{regexp.MustCompile(name + literal(a.Before) + ` -> ` + literal(a.After))}
}

// whole reports whether a value fits on one line.
func whole(v any) bool {
	switch x := v.(type) {
	case string:
		return !strings.Contains(x, "\n")
	case map[string]any, []any:
		return false
	}
	return true
}

// parts returns the scalars of a value, and the lines of its texts, as they are shown.
func parts(v any) map[string]bool {
	out := map[string]bool{}
	switch x := v.(type) {
	case nil:
	case map[string]any:
		for _, e := range x {
			maps.Copy(out, parts(e))
		}
	case []any:
		for _, e := range x {
			maps.Copy(out, parts(e))
		}
	case string:
		for line := range strings.Lines(x) {
			out[ui.Clean(strings.TrimSuffix(line, "\n"))] = true
		}
	default:
		out[fmt.Sprint(x)] = true
	}
	return out
}

// literal matches a scalar as a plan shows it: a digest by its beginning.
func literal(v any) string {
	s, ok := v.(string)
	if !ok {
		return regexp.QuoteMeta(fmt.Sprint(v))
	}
	if short := regexp.MustCompile(`^(sha256:)?[0-9a-f]{12}`).FindString(s); len(s) >= 64 && short != "" {
		return `"` + short
	}
	return `"` + regexp.QuoteMeta(s) + `"`
}
