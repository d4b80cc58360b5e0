package export_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	gmhtml "github.com/yuin/goldmark/renderer/html"
	"golang.org/x/net/html"
)

// hostile are texts by which a host, an API or a file could try to escape from the place where
// they are shown. Each says pwned if it has an effect.
var hostile = []string{
	"</summary></details><script>pwned()</script>",
	"</pre></code><img src=x onerror=pwned()>",
	"\"><svg/onload=pwned()>",
	"' onmouseover='pwned()",
	"```\n# pwned\n```",
	"``` ~~~ `pwned`",
	"a | b |\n|---|\n| pwned |",
	"\\| pwned \\\\|",
	"[pwned](javascript:pwned()) ![pwned](https://evil.example/x.png) <https://evil.example>",
	"https://evil.example www.evil.example @octo/pwned octo/repo#1 $`pwned`$ $$x$$",
	"<!-- pwned", "--> ]]> <![CDATA[ pwned",
	"\n::error title=pwned::pwned\n::stop-commands::x", "%0A::warning::pwned", "a,file=/etc/passwd,line=1::pwned", "##[error]pwned",
	"##vso[task.setvariable variable=x]pwned", "x ##VSO[build.updatebuildnumber]pwned", "##teamcity[setParameter name='env.x' value='pwned']", "###octopus[setVariable name='x' value='pwned']",
	"\x1b[2J\x1b]0;pwned\x07\x9b31m", "\u202epwned\u2066", "pwned\u2028pwned\u0085", "\xff\xfe pwned", "\r\npwned", "\u009b31mpwned\x7f \U000e0001",
	"{{.Policy}} {{template \"item\" .}} &lt;script&gt;pwned()&lt;/script&gt;",
	"</script><script>pwned()</script>", "</style><style>*{display:none}", "javascript:pwned()",
	"# pwned\n\n- [ ] pwned\n\n> [!NOTE]\n> pwned", "***pwned*** ~~x~~ __y__ :tada: :pwned:",
}

// hostilePlan has a hostile text wherever a plan has one from elsewhere.
func hostilePlan(s string) *planner.Plan {
	var m viewtest.Maker
	t := state.NodeKeyTarget("worker", s)
	cluster := state.ClusterTarget("prod")
	origin := state.Source{File: s, Line: 3}
	attributes := []planner.AttributeChange{
		{Path: state.JoinPath("args", s), Before: state.String(s), After: state.String("x" + s), Origin: origin},
		{Path: state.JoinPath(s, "text"), Before: state.String("a\n" + s + "\nb"), After: state.String("a\n" + s + "!\n" + s), Origin: origin},
		{Path: "list", Before: state.FromGo([]any{s}), After: state.FromGo([]any{s, s})},
		{Path: "map", After: state.FromGo(map[string]any{s: s})},
		{Path: "password", Before: state.SensitiveValue(s, "1"), After: state.SensitiveValue(s, "2"), Origin: origin},
	}
	change := planner.Change{Address: viewtest.Address(t, "certs", "file:/x/"+s), Kind: state.KindFile, Action: planner.Update, Reason: s, Attributes: attributes}
	drift := change
	change.Cost = planner.CostNone
	drift.Address.Item = "file:/drift/" + s
	m.Resources = []planner.ResourceChange{
		{Target: t, Action: planner.Update, Note: s, Reason: s},
		{Target: cluster, Action: planner.Delete, Note: s, Reason: s},
	}
	m.Changes, m.Drift = []planner.Change{change}, []planner.Change{drift}
	m.AddStep(t, "certs", planner.Update, s, nil, planner.WriteFile{Path: s}, planner.DeleteObject{Ref: state.ObjectRef{Kind: s, Name: s}})
	m.AddStep(cluster, "reset", planner.Delete, s, []state.Address{viewtest.Address(t, "certs", "")}, planner.RemovePath{Path: s})
	m.Steps[0].Limits, m.Steps[0].Gates = []string{s}, []string{s}
	m.Quorum, m.Upgrades, m.Rotations = []string{s}, []string{s}, []string{s}
	m.Certificates = []planner.CertificateEnd{{Cluster: cluster, Node: t, Host: s, Path: s}, {Cluster: state.ClusterTarget(s), Node: t, Host: s, Path: s}}
	m.Withheld = []state.Unobserved{{Target: state.NodeKeyTarget("gone", s), Reason: s, Remedy: s}}
	m.Policies = []planner.PolicyFinding{{Policy: s, Rule: s, Message: s, Source: origin}, {Policy: s, Rule: s, Message: s, Overridden: true}}
	m.Diagnostics = diag.Diagnostics{
		(&diag.Diagnostic{Severity: diag.Warning, Summary: s, Detail: s, Address: s, Snippet: &diag.Snippet{Context: s, Code: s, StartLine: 3}}).At(origin).With(s),
	}.JSON(nil)
	m.Targets, m.Excluded, m.SkippedPhases, m.ToolVersion = []string{s}, []string{s}, []string{s}, s
	m.Outputs = map[string]state.Value{s: state.String(s)}
	return &m.Plan
}

// TestHostileTextStaysText puts each text everywhere and parses every form as its reader does: the text
// stays text, and nothing else appears than with a harmless one.
func TestHostileTextStaysText(t *testing.T) {
	harmless := hostilePlan("harmless")
	wantPage, wantComment := elements(t, planAs(t, harmless, "html")), elements(t, rendered(t, planAs(t, harmless, "markdown")))
	wantCases := strings.Count(planAs(t, harmless, "junit"), "<testcase")
	wantLines := strings.Count(planAs(t, harmless, "github"), "\n")
	for _, s := range hostile {
		plan := hostilePlan(s)
		for _, format := range []string{"text", "markdown", "html", "junit", "github", "json"} {
			text := planAs(t, plan, format)
			for _, r := range text {
				if r != '\n' && !unicode.IsPrint(r) || r == unicode.ReplacementChar && format != "json" {
					t.Errorf("%q in %s leaves %q", s, format, r)
				}
			}
		}
		checkElements(t, s, "html", elements(t, planAs(t, plan, "html")), wantPage)
		checkElements(t, s, "markdown", elements(t, rendered(t, planAs(t, plan, "markdown"))), wantComment)
		// Only a plan that no policy refuses has the command.
		free := func(s string) *planner.Plan {
			p := hostilePlan(s)
			p.Policies = nil
			return p
		}
		checkElements(t, s, "html", elements(t, planAs(t, free(s), "html")), elements(t, planAs(t, free("harmless"), "html")))
		checkElements(t, s, "markdown", elements(t, rendered(t, planAs(t, free(s), "markdown"))), elements(t, rendered(t, planAs(t, free("harmless"), "markdown"))))
		var report struct{}
		if err := xml.Unmarshal([]byte(planAs(t, plan, "junit")), &report); err != nil {
			t.Errorf("%q breaks the JUnit report: %v", s, err)
		}
		if n := strings.Count(planAs(t, plan, "junit"), "<testcase"); n != wantCases {
			t.Errorf("%q makes %d cases, want %d", s, n, wantCases)
		}
		checkCommands(t, s, planAs(t, plan, "github"), wantLines)
		if !json.Valid([]byte(planAs(t, plan, "json"))) {
			t.Errorf("%q breaks JSON", s)
		}
		checkNoCommands(t, s, planAs(t, plan, "json"))
		for _, format := range []string{"text", "markdown", "junit"} {
			checkNoCommands(t, s, planAs(t, plan, format))
		}
		for _, format := range []string{"html", "github"} { // their own lines begin with two colons
			if command := inBrackets.FindString(planAs(t, plan, format)); command != "" {
				t.Errorf("%q in %s is the command %s", s, format, command)
			}
		}
	}
}

// TestHostileLinesAreNoCommands checks that no line of a broken text is a command, wherever it is broken.
func TestHostileLinesAreNoCommands(t *testing.T) {
	texts := slices.Clone(hostile)
	for n := range 90 {
		texts = append(texts, strings.Repeat("q", n+1)+" ::error::pwned", strings.Repeat("q", n+1)+" ##vso[task.complete]pwned")
	}
	for _, s := range texts {
		for _, format := range []string{"text", "markdown", "junit"} {
			checkNoCommands(t, s, planAs(t, hostilePlan(s), format))
		}
		var b bytes.Buffer
		finding := diag.Errorf(s, "%s", s).At(state.Source{File: s, Line: 1})
		if err := ui.Diagnostics(&b, diag.Diagnostics{finding}, ui.Options{}, func(string) []byte { return []byte(s) }); err != nil {
			t.Fatal(err)
		}
		checkNoCommands(t, s, b.String())
	}
}

// inBrackets matches the commands that Azure Pipelines, TeamCity, Octopus and older GitHub
// runners obey anywhere in a line.
var inBrackets = regexp.MustCompile(`(?i)##(|vso|teamcity|octopus)\[`)

func checkNoCommands(t *testing.T, s, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || inBrackets.MatchString(line) {
			t.Errorf("%q is a command to the runner of a CI service: %s", s, line)
		}
	}
}

// checkCommands checks that each line is a command of one of two kinds, with kubewright's own
// properties.
func checkCommands(t *testing.T, s, text string, want int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) != want {
		t.Errorf("%q makes %d commands, want %d", s, len(lines), want)
	}
	for _, line := range lines {
		rest, ok := "", false
		for _, level := range []string{"notice", "warning", "error"} {
			if cut, is := strings.CutPrefix(line, "::"+level+" title="); is {
				rest, ok = cut, true
			}
		}
		properties, _, closed := strings.Cut(rest, "::")
		parts := strings.Split(properties, ",")
		if !ok || !closed || len(parts) != 1 && len(parts) != 3 || strings.Contains(properties, ":") {
			t.Errorf("%q makes the command %s", s, line)
		}
		if len(parts) == 3 && (!strings.HasPrefix(parts[1], "file=") || parts[2] != "line=3") {
			t.Errorf("%q makes the properties %q", s, parts)
		}
	}
}

// rendered returns the HTML that GitHub renders from Markdown, including raw HTML.
func rendered(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(gmhtml.WithUnsafe()))
	if err := md.Convert([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// elements lists the elements and comments of a page in order, with the names of their
// attributes. The number of lines of a text may differ.
func elements(t *testing.T, text string) []string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.CommentNode:
			out = append(out, "comment")
		case n.Type == html.ElementNode && n.Data != "span" && n.Data != "br" && n.Data != "code":
			e := n.Data
			for _, a := range n.Attr {
				e += " " + a.Key
				if a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
					e += "=" + a.Val
				}
			}
			out = append(out, e)
		}
	}
	return out
}

func checkElements(t *testing.T, s, format string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		i := 0
		for i < len(got) && i < len(want) && got[i] == want[i] {
			i++
		}
		t.Errorf("%q changes what is in %s, from element %d on:\n got %q\nwant %q", s, format, i, got[i:min(i+6, len(got))], want[i:min(i+6, len(want))])
	}
}
