package jsonlines_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/jsonlines"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/state"
)

// everyLine returns a stream with lines of every type.
func everyLine(t *testing.T) string {
	var b bytes.Buffer
	j := jsonlines.New(&b, func() time.Time { return viewtest.RunStart })
	plan := viewtest.DriftPlan()
	step := plan.Steps[0].ID
	plan.Outputs = map[string]state.Value{"endpoint": state.String("x")}
	j.Version("0.1.0")
	j.Diagnostics(viewtest.Findings()[:1], viewtest.Source)
	if err := j.Plan(plan, ui.Options{Recorded: ui.Recorded{Durations: viewtest.Durations()}}); err != nil {
		t.Fatal(err)
	}
	viewtest.Play(j, viewtest.Run())
	j.Event(executor.Event{Kind: executor.KindStarted, Time: viewtest.RunStart, Step: step, Seq: 1, Total: 1})
	j.Event(executor.Event{Kind: executor.KindHeartbeat, Time: viewtest.RunStart.Add(10 * time.Second), Step: step, Seconds: 10, Seq: 2, Total: 1})
	j.Note("a word")
	j.TestRun("prod.kwtest.hcl", "upgrade", "fail", 1.5)
	j.TestFile("prod.kwtest.hcl", "fail")
	j.TestSummary("fail", 2, 1, 0, "Failure! 2 passed, 1 failed.")
	destroyed := viewtest.DestroyPlan()
	for _, err := range []error{
		j.Complete(plan, viewtest.FinishedRun(plan)), j.Complete(destroyed, viewtest.FinishedRun(destroyed)), j.NotConverged(viewtest.UpdatePlan()), j.Incomplete(viewtest.CreatePlan(), viewtest.FailedRun(viewtest.CreatePlan()), ui.Options{}), j.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestJSONLines(t *testing.T) { viewtest.Golden(t, "lines.json", everyLine(t)) }

// TestJSONLineTypesAreDocumented checks that docs/reference/plan-formats.md has a row for every type of line that the
// code can print, and no other, and that each row names every field of such lines.
func TestJSONLineTypesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "docs", "reference", "plan-formats.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	_, section, _ := strings.Cut(string(page), "\n## JSON lines\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*) \\|$").FindAllStringSubmatch(section, -1) {
		rows[m[1]] = m[2]
	}
	source, err := os.ReadFile("stream.go")
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]bool{}
	for _, m := range regexp.MustCompile(`j\.emit\([^"]*(?:"\w+", )?"(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		types[m[1]] = true
	}
	if len(types) < 15 {
		t.Fatalf("only %d types are found", len(types))
	}
	for name := range types {
		if rows[name] == "" {
			t.Errorf("docs/reference/plan-formats.md has no row for lines of type %s", name)
		}
	}
	for name := range rows {
		if !types[name] {
			t.Errorf("docs/reference/plan-formats.md has a row for lines of type %s, which do not exist", name)
		}
	}
	var b bytes.Buffer
	if err := jsonlines.New(&b, time.Now).Plan(viewtest.ImportPlan(), ui.Options{}); err != nil {
		t.Fatal(err)
	}
	held := *viewtest.UpdatePlan()
	held.WithheldSteps = []planner.WithheldStep{{Step: held.Steps[0].ID, Action: planner.Update, Reason: "its host was not observed", Operations: []string{"restart kubelet"}}}
	if err := jsonlines.New(&b, time.Now).Plan(&held, ui.Options{}); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for line := range strings.Lines(everyLine(t) + b.String()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		name := l["type"].(string)
		shown[name] = true
		for _, field := range fieldsOf(l) {
			if row := rows[name] + common(section, field); !strings.Contains(row, "`"+field+"`") {
				t.Errorf("docs/reference/plan-formats.md does not name the field %s of lines of type %s", field, name)
			}
		}
	}
	if !maps.Equal(shown, types) {
		t.Errorf("lines of the types %v are checked, want %v", shown, types)
	}
}

// fieldsOf returns the fields of a line without those that every line has, and the nested
// fields of a hook or a change.
func fieldsOf(line map[string]any) []string {
	var out []string
	for name, value := range line {
		if strings.HasPrefix(name, "@") || name == "type" {
			continue
		}
		out = append(out, name)
		if parts, ok := value.(map[string]any); ok && (name == "hook" || name == "change" || name == "changes" || strings.HasPrefix(name, "test_")) {
			for part := range parts {
				out = append(out, name+"."+part)
			}
		}
	}
	return out
}

// common returns the text of a section outside of its table, if it names a field that many
// lines have.
func common(section, field string) string {
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "- ") && strings.Contains(line, "`"+field+"`") {
			return line
		}
	}
	return ""
}

// TestRareSentencesJsonlines checks sentences that are rarely printed.
func TestRareSentencesJsonlines(t *testing.T) {
	t.Parallel()
	lines := func(e executor.Event) func(io.Writer) error {
		return func(w io.Writer) error {
			j := jsonlines.New(w, time.Now)
			j.Event(e)
			return j.Close()
		}
	}
	viewtest.CheckSentences(t, map[string]viewtest.Sentences{
		"a step that was not begun": viewtest.Shows(lines(executor.Event{Kind: executor.KindCancelled, Step: viewtest.ID(viewtest.Cp1, "etcd")}), `/etcd: not started, because the run was stopped"`),
	})
}
