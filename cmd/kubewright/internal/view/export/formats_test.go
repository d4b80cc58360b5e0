package export_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/export"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// endings are the suffixes of the golden files.
var endings = map[string]string{"markdown": "md", "html": "html", "junit": "xml", "github": "github.txt"}

func planAs(t *testing.T, plan *planner.Plan, format string) string {
	t.Helper()
	var b bytes.Buffer
	o := ui.Options{Recorded: viewtest.Recorded()}
	if err := export.PlanAs(&b, plan, format, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPlanFormats(t *testing.T) {
	for _, name := range []string{"create", "update", "drift", "upgrade", "destroy", "replace", "import", "empty"} {
		for format, ending := range endings {
			if format == "html" && name != "update" {
				continue // one golden file shows the form; the others are checked by their names
			}
			viewtest.Golden(t, name+"."+ending, planAs(t, viewtest.Load(t, name), format))
		}
	}
	if err := export.CheckPlanFormat("pdf"); err == nil || !strings.Contains(err.Error(), "github, html, json, junit, markdown, text") {
		t.Errorf("an unknown format: %v", err)
	}
}

// named holds what a form says is done: "update node.cp["cp1"]", and the same for items and for
// steps without items.
type named map[string]bool

func (n named) add(action, address string) { n[action+" "+address] = true }

// planned returns what the plan itself names.
func planned(p *planner.Plan) named {
	out := named{}
	stepped := map[state.Target]bool{}
	listed := map[state.Address]bool{}
	for _, c := range p.Changes {
		out.add(string(c.Action), c.Address.String())
		listed[c.Address.Step()] = true
	}
	for _, s := range p.Steps {
		stepped[s.Target] = true
		if !listed[s.ID] {
			out.add(string(s.Action), s.ID.String())
		}
	}
	for _, r := range p.Resources {
		if r.Action != planner.NoOp || stepped[r.Target] || r.ImportedFrom != "" || !r.MovedFrom.IsZero() {
			out.add(string(r.Action), r.Target.String())
		}
	}
	return out
}

// onlyItems drops resources, for forms that name them in a sentence.
func (n named) onlyItems() named {
	out := named{}
	for line := range n {
		if strings.Contains(line, "/") {
			out[line] = true
		}
	}
	return out
}

// TestAllFormatsNameTheSameResources parses every form: each names the same resources, steps and items as the
// plan, with the same actions.
func TestAllFormatsNameTheSameResources(t *testing.T) {
	for name, fixture := range viewtest.Plans {
		if name == "empty" {
			continue
		}
		plan := fixture()
		want := planned(plan)
		for format, read := range map[string]func(*testing.T, *planner.Plan, string) named{"json": fromJSON, "html": fromHTML, "junit": fromJUnit} {
			if got := read(t, plan, planAs(t, plan, format)); !maps.Equal(got, want) {
				t.Errorf("%s as %s names other things than the plan:\n%s", name, format, difference(got, want))
			}
		}
		text := planAs(t, plan, "github")
		if name != "create" { // has more than GitHub shows: another test's case
			if strings.Contains(text, "left out") {
				t.Errorf("%s as github omits something", name)
			}
			if got := fromAnnotations(plan, text); !maps.Equal(got, want.onlyItems()) {
				t.Errorf("%s as github names other things than the plan:\n%s", name, difference(got, want.onlyItems()))
			}
		}
		checkMarkdown(t, name, plan, planAs(t, plan, "markdown"))
		sentence := regexp.MustCompile(`Plan: \d+ to add, \d+ to change, \d+ to destroy`)
		first := sentence.FindString(planAs(t, plan, "text"))
		for format := range endings {
			if text := planAs(t, plan, format); format != "junit" && !strings.Contains(text, first) {
				t.Errorf("%s as %s does not say %q", name, format, first)
			}
		}
	}
}

func difference(got, want named) string {
	var out []string
	for line := range want {
		if !got[line] {
			out = append(out, "missing  "+line)
		}
	}
	for line := range got {
		if !want[line] {
			out = append(out, "too much "+line)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func fromJSON(t *testing.T, _ *planner.Plan, text string) named {
	var doc struct {
		ResourceChanges []struct {
			Address         string
			PreviousAddress string `json:"previous_address"`
			Change          struct {
				Actions   []string
				Importing struct{ ID string }
			}
			Items []struct {
				Address string
				Actions []string
			}
		} `json:"resource_changes"`
		Steps []struct{ ID, Action string }
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	out, stepped, listed := named{}, map[string]bool{}, map[string]bool{}
	word := func(actions []string) string {
		if len(actions) == 2 {
			return "replace"
		}
		return actions[0]
	}
	for _, r := range doc.ResourceChanges {
		for _, it := range r.Items {
			out.add(word(it.Actions), it.Address)
			a, err := state.ParseAddress(it.Address)
			if err != nil {
				t.Fatal(err)
			}
			listed[a.Step().String()] = true
		}
	}
	for _, s := range doc.Steps {
		a, err := state.ParseAddress(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		stepped[a.Target.String()] = true
		if !listed[s.ID] {
			out.add(s.Action, s.ID)
		}
	}
	for _, r := range doc.ResourceChanges {
		if w := word(r.Change.Actions); w != "no-op" || stepped[r.Address] || r.Change.Importing.ID != "" || r.PreviousAddress != "" {
			out.add(w, r.Address)
		}
	}
	return out
}

var (
	htmlDetails = regexp.MustCompile(`<details class="(resource|phase|item)[^"]*"(?: id="[^"]*")? data-address="([^"]*)" data-action="([^"]*)"`)
	htmlDrift   = regexp.MustCompile(`(?s)<section id="drift">.*?</section>`)
)

func fromHTML(_ *testing.T, _ *planner.Plan, text string) named {
	out := named{}
	all := htmlDetails.FindAllStringSubmatch(htmlDrift.ReplaceAllString(text, ""), -1)
	for i, m := range all {
		if m[1] == "phase" && i+1 < len(all) && all[i+1][1] == "item" {
			continue // its items name it
		}
		out.add(m[3], html.UnescapeString(m[2]))
	}
	return out
}

// junitDoc is a JUnit report as its readers parse it.
type junitDoc struct {
	Suites []struct {
		Name       string `xml:"name,attr"`
		Properties []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"properties>property"`
		Cases []struct {
			Name    string `xml:"name,attr"`
			Output  string `xml:"system-out"`
			Failure struct {
				Message string `xml:"message,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func readJUnit(t *testing.T, text string) junitDoc {
	t.Helper()
	var doc junitDoc
	if err := xml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func fromJUnit(t *testing.T, _ *planner.Plan, text string) named {
	doc := readJUnit(t, text)
	out := named{}
	for _, s := range doc.Suites {
		if len(s.Properties) == 0 {
			continue // drift that stays, and targets that were not observed
		}
		out.add(s.Properties[0].Value, s.Name)
		for _, c := range s.Cases {
			out[c.Name] = true
		}
	}
	return out
}

// fromAnnotations reads lines that begin with an action and an address of the plan.
func fromAnnotations(plan *planner.Plan, text string) named {
	out := named{}
	all := planned(plan)
	for line := range strings.Lines(text) {
		_, message, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::")
		if strings.Contains(line, "and left so") {
			continue // drift that the plan does not touch
		}
		for part := range strings.SplitSeq(strings.ReplaceAll(strings.TrimSuffix(message, "\n"), "%0A", "\n"), "\n") {
			action, address, _ := strings.Cut(part, " ")
			address, _, _ = strings.Cut(address, ": ")
			if _, err := state.ParseAddress(address); err == nil && strings.Contains(address, "/") {
				if a, _ := state.ParseAddress(address); a.Item == "" && !all[action+" "+address] {
					continue // the effect of a step whose items are named
				}
				out.add(action, strings.ReplaceAll(address, "%25", "%"))
			}
		}
	}
	return out
}

// checkMarkdown checks that the table names each resource with its action, and that the details
// show each changed item of the first of the resources that change alike.
func checkMarkdown(t *testing.T, name string, plan *planner.Plan, text string) {
	words := map[string]string{"delete": "destroy"}
	for _, r := range plan.Resources {
		if r.ImportedFrom != "" && r.Action == planner.NoOp {
			words["no-op "+r.Target.String()] = "import"
		} else if !r.MovedFrom.IsZero() && r.Action == planner.NoOp {
			words["no-op "+r.Target.String()] = "move"
		}
	}
	for line := range planned(plan) {
		action, address, _ := strings.Cut(line, " ")
		if strings.Contains(address, "/") {
			continue
		}
		if w := cmp.Or(words[action], words[line]); w != "" {
			action = w
		}
		if !strings.Contains(text, fmt.Sprintf("| %s | `%s` ", action, address)) {
			t.Errorf("%s as markdown has no row for %s", name, line)
		}
	}
	for _, c := range plan.Changes {
		id := c.Address.ID()
		if c.Action == planner.Update && !strings.Contains(text, id[strings.LastIndex(id, "/")+1:]) {
			t.Errorf("%s as markdown does not show %s", name, c.Address)
		}
	}
}

// TestAllFormatsHaveTheSameCommand checks that every form has the same command, with the flags that the
// plan depends on; and none for a plan that a policy refuses despite any approval, or that has
// nothing to do.
func TestAllFormatsHaveTheSameCommand(t *testing.T) {
	const says = "carries out this plan and no other"
	plan := *viewtest.Plans["update"]()
	plan.Targets, plan.SkippedPhases = []string{`node.cp["cp1"]`}, []string{"addon"}
	o := ui.Options{AllowUnreachable: true, GivenAgain: []string{"chdir=prod", "var=size=…"}}
	as := func(form string) string {
		var b bytes.Buffer
		show, format := export.PlanAs, form
		if form == "graph" {
			show, format = export.Graph, "html"
		}
		if err := show(&b, &plan, format, o); err != nil {
			t.Fatal(err)
		}
		return html.UnescapeString(b.String())
	}
	forms := []string{"markdown", "html", "graph"}
	var b bytes.Buffer
	if err := planview.Saved(&b, "", &plan, o); err != nil {
		t.Fatal(err)
	}
	command := strings.TrimSpace(regexp.MustCompile(`(?m)^ +kubewright apply .*$`).FindString(b.String()))
	if want := `kubewright apply -target='node.cp["cp1"]' -skip-phase=addon -allow-unreachable -chdir=prod -var='size=…' -approve=`; !strings.HasPrefix(command, want) {
		t.Errorf("the text says %q, want %s…", command, want)
	}
	for _, form := range forms {
		if text := as(form); !strings.Contains(text, command+"` "+says) && !strings.Contains(text, command+"</code> "+says) {
			t.Errorf("%s does not say %s", form, command)
		}
	}
	applyable := func(want bool) {
		t.Helper()
		if text := as("json"); !strings.Contains(text, fmt.Sprintf(`"applyable":%t`, want)) {
			t.Errorf("JSON: applyable is not %t", want)
		}
	}
	applyable(true)
	plan.Policies = []planner.PolicyFinding{{Policy: "four-eyes", Rule: "approval", Message: "not approved"}}
	applyable(true)
	for _, form := range forms {
		if !strings.Contains(as(form), says) {
			t.Errorf("%s: a plan that only lacks an approval has no command", form)
		}
	}
	plan.Policies[0].Rule = "freeze"
	applyable(false)
	plan.Policies[0].Overridden = true
	applyable(true)
	plan.Policies[0].Overridden = false
	for _, form := range forms {
		if text := as(form); strings.Contains(text, says) || strings.Contains(text, "-approve=") {
			t.Errorf("%s: a plan that a policy refuses has a command", form)
		}
	}
	plan = planner.Plan{}
	applyable(false)
	for _, form := range forms {
		if strings.Contains(as(form), says) {
			t.Errorf("%s: a plan with nothing to do has a command", form)
		}
	}
	// The command that made the plan carries it out, with its flags.
	plan = *viewtest.Plans["update"]()
	plan.Command, plan.ForgetUnreachable = "etcd restore good.db prod", []string{"node.cp"}
	for _, form := range forms {
		if want := "kubewright etcd restore good.db prod -forget-unreachable=node.cp -allow-unreachable -chdir=prod -var='size=…' -approve="; !strings.Contains(as(form), want) {
			t.Errorf("%s does not say %s…", form, want)
		}
	}
	// A truncated command would be another one.
	plan = *viewtest.Plans["update"]()
	for i := range 100 {
		plan.Targets = append(plan.Targets, fmt.Sprintf("node.worker[%q]", fmt.Sprint(i)))
	}
	if text := as("markdown"); strings.Contains(text, "-approve=") || !strings.Contains(text, "the command that `kubewright plan` ends with "+says) {
		t.Error("markdown has a command that is too long")
	}
}

// TestAnnotationsHideSecrets checks that annotations say about a secret only what the text says:
// whether it changes.
func TestAnnotationsHideSecrets(t *testing.T) {
	var m viewtest.Maker
	target := state.NodeTarget("w")
	secret := func(fingerprint string) state.Value { return state.SensitiveValue("var.token", fingerprint) }
	m.Resources = []planner.ResourceChange{{Target: target, Action: planner.Update}}
	m.AddChange(target, "addon", "file:/x", state.KindFile, planner.Update, []planner.AttributeChange{
		{Path: "another", Before: secret("1"), After: secret("2")},
		{Path: "same", Before: secret("1"), After: secret("1")},
		{Path: "unknown", Before: secret(""), After: secret("2")},
		{Path: "was_plain", Before: state.String("x"), After: secret("2")},
		{Path: "fresh", After: secret("2")},
	})
	m.AddStep(target, "addon", planner.Update, "", nil, planner.WriteFile{Path: "/x"})
	text := planAs(t, &m.Plan, "github")
	for _, want := range []string{
		"another: (sensitive value) changed%0A", "same: (sensitive value) unchanged%0A", "unknown: (sensitive value)%0A",
		"was_plain: (sensitive value)%0A", "fresh: null -> (sensitive value)\n",
	} {
		if !strings.Contains(text, "  "+want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

// TestMarkdownFitsComment makes a plan far too large for a comment: the summary is there, the omitted
// rest is counted, and every resource is accounted for, whether they share rows of the table or not.
func TestMarkdownFitsComment(t *testing.T) {
	for _, size := range []int{3, 60, 61, 400, 401} {
		var m viewtest.Maker
		for i := range size {
			target := state.NodeKeyTarget("worker", fmt.Sprintf("w%04d", i))
			action := planner.Create
			if i%10 == 9 {
				action = planner.Delete
			}
			role := "worker"
			if size%2 == 1 {
				role += fmt.Sprint(i) // no two alike
			}
			m.Resources = append(m.Resources, planner.ResourceChange{Target: target, Action: action, Note: "10.0.0.1, " + role})
			for j := range 8 {
				m.AddChange(target, "certs", fmt.Sprintf("file:/etc/kubernetes/pki/%d-%d", i, j), state.KindFile, action, viewtest.Created("content", strings.Repeat("x", i%50+1), "mode", "0600"))
			}
			m.AddStep(target, "certs", action, "", nil, planner.WriteFile{Path: "/x"})
		}
		text := planAs(t, &m.Plan, "markdown")
		if len(text) > 65536 {
			t.Errorf("%d resources make %d characters", size, len(text))
		}
		if strings.Count(text, "<details>") != strings.Count(text, "</details>") || strings.Count(text, "```")%2 != 0 {
			t.Errorf("%d resources: a block is left open", size)
		}
		rows := strings.Count(text, "\n| create |") + strings.Count(text, "\n| destroy |")
		for _, m := range regexp.MustCompile(`; the same for (\d+) nodes: `).FindAllStringSubmatch(text, -1) {
			more, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			rows += more
		}
		if alike := strings.Contains(text, "; the same for "); alike != (size%2 == 0) {
			t.Errorf("%d resources: nodes share rows: %v", size, alike)
		}
		left := 0
		if m := regexp.MustCompile(`\n(\d+) more resources? left out of this table: `).FindStringSubmatch(text); m != nil {
			fmt.Sscan(m[1], &left)
		}
		if rows+left != size {
			t.Errorf("%d resources: %d rows and %d left out", size, rows, left)
		}
		cut := regexp.MustCompile("\\*\\*Cut here for GitHub's limit.\\*\\* The changes of \\d+ resources are not shown, or not to their end: .*`kubewright show` prints all of the plan.\n")
		if size > 61 && !cut.MatchString(text) {
			t.Errorf("%d resources are truncated silently", size)
		}
		if i, j := strings.Index(text, "\n| create |"), strings.LastIndex(text, "\n| destroy |"); i >= 0 && j > i {
			t.Errorf("%d resources: created resources come before destroyed ones", size)
		}
	}
}

// TestBatchesAreListedInOneLine checks that the list that a terminal prints below a sentence follows it
// on the same line in forms with one line per note.
func TestBatchesAreListedInOneLine(t *testing.T) {
	t.Parallel()
	plan := &planner.Plan{Upgrades: []string{"cluster.demo: 1.35.8 to 1.36.3, workers in batches:\n  1. w1 (canary), then a pause of 2s\n  2. w2, w3"}}
	for _, form := range []string{"markdown", "html"} {
		if text := planAs(t, plan, form); !strings.Contains(text, "workers in batches: 1. w1 (canary), then a pause of 2s; 2. w2, w3") {
			t.Errorf("%s:\n%s", form, text)
		}
	}
}
