package view_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// printed collects what a function prints.
func printed(t *testing.T, print func(w io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestComplete(t *testing.T) {
	got := printed(t, func(w io.Writer) error { return view.Complete(w, createPlan(), nil, view.Options{}) })
	if want := "\nApply complete! Resources: 6 added, 0 changed, 0 destroyed.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = printed(t, func(w io.Writer) error { return view.Complete(w, destroyPlan(), nil, view.Options{}) })
	if want := "\nDestroy complete! Resources: 6 destroyed.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// ran returns an outcome in which all steps ran one after another, each a second longer.
func ran(plan *planner.Plan) *executor.Outcome {
	out := &executor.Outcome{Done: len(plan.Steps)}
	for i, s := range plan.Steps {
		out.Steps = append(out.Steps, executor.StepOutcome{Step: s.ID, Status: executor.StatusDone, Start: out.Seconds, Seconds: float64(i + 1)})
		out.Seconds += float64(i + 1)
	}
	return out
}

// TestTiming: an apply ends with where the time went.
func TestTiming(t *testing.T) {
	plan := updatePlan()
	golden(t, "timing.txt", printed(t, func(w io.Writer) error { return view.Complete(w, plan, ran(plan), view.Options{Width: 100}) }))
}

// failed returns an outcome in which the founder's etcd fails.
func failed(plan *planner.Plan) *executor.Outcome {
	out := &executor.Outcome{Seconds: 40}
	var cause state.Address
	for _, s := range plan.Steps {
		o := executor.StepOutcome{Step: s.ID, Status: executor.StatusDone, Seconds: 1}
		switch {
		case s.ID == id(cp1, "etcd"):
			cause = s.ID
			o.Status, o.Seconds = executor.StatusFailed, 30
			o.Err = fmt.Errorf("operation 3 of 5 (start kubelet.service): %w", &providers.CommandError{
				Host: "10.77.0.11", Command: "start unit kubelet.service", ExitCode: 1,
				Stderr: []string{"Job for kubelet.service failed because the control process exited with error code.", "See \"systemctl status kubelet.service\" \x1b[31mfor details."},
			})
			out.Failed++
		case !cause.Target.IsZero() && s.Phase != "prepare" && s.Phase != "images" && s.ID != id(cp1, "kubeconfig"):
			o.Status, o.Cause = executor.StatusSkipped, cause
			out.Skipped++
		case s.ID == id(prod, "addon"):
			o.Status, o.Err = executor.StatusFailed, errors.New("x")
		default:
			out.Done++
		}
		out.Steps = append(out.Steps, o)
	}
	return out
}

func TestOutcome(t *testing.T) {
	plan := createPlan()
	for _, color := range []bool{false, true} {
		got := printed(t, func(w io.Writer) error {
			return view.Incomplete(w, plan, failed(plan), view.Options{Width: 80, Color: color})
		})
		name := "outcome.txt"
		if color {
			name = "outcome.color.txt"
		}
		golden(t, name, visible(got))
	}
}

func TestNotConverged(t *testing.T) {
	golden(t, "not-converged.txt", printed(t, func(w io.Writer) error { return view.NotConverged(w, updatePlan(), view.Options{}) }))
}

func TestMessages(t *testing.T) {
	var b strings.Builder
	o := view.Options{Width: 80}
	for _, print := range []func() error{
		func() error { return view.Prompt(&b, "yes", false, o) },
		func() error { return view.Cancelled(&b, false, o) },
		func() error { return view.Prompt(&b, "prod", true, o) },
		func() error { return view.Cancelled(&b, true, o) },
		func() error { return view.Saved(&b, "", updatePlan(), o) },
		func() error { return view.Saved(&b, "tfplan", updatePlan(), o) },
		func() error { return view.Valid(&b, o) },
	} {
		if err := print(); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n=====\n")
	}
	golden(t, "messages.txt", b.String())
}

// recordedState returns the state of the cluster after an apply.
func recordedState() *state.State {
	st := &state.State{
		FormatVersion: 1, Lineage: "b71e0d3c", Serial: 4, ToolVersion: "0.1.0",
		Clusters: map[string]*state.RecordedCluster{"prod": {CA: "3f9a1c", EtcdClusterID: "8e9e05c52164694d", Version: "1.36.3"}},
		Nodes:    map[state.Target]*state.RecordedNode{},
		Outputs: map[string]state.Value{
			"endpoint": state.String("api.example.com:6443"), "nodes": state.FromGo(map[string]any{"cp1": "10.77.0.11", "a b": []any{"x", 1}}),
			"password": state.SensitiveValue("config:output.password", "f00"), "text": state.String("a\nb\n"),
		},
	}
	for t, m := range machines {
		st.Nodes[t] = &state.RecordedNode{Cluster: "prod", Role: m.role, Name: m.name, Address: m.address}
	}
	st.Nodes[cp1].HostKey, st.Nodes[cp1].HopKeys = "ssh-ed25519 AAAA", map[string]string{"gate.example.com:22": "ssh-ed25519 BBBB"}
	st.Items = []state.Item{
		{Address: addr(state.AddonTarget("prod", "cni"), "addon", "object:v1/Namespace/kube-flannel"), Kind: state.KindObject, Attributes: state.Map(nil)},
		{Address: addr(prod, "upload-config", "object:v1/ConfigMap/kube-system/kubeadm-config"), Kind: state.KindObject, Attributes: state.FromGo(map[string]any{"data": map[string]any{"x": "y\nz\n"}})},
		{Address: addr(cp1, "certs", "certificate:/etc/kubernetes/pki/ca"), Kind: state.KindCertificate, Attributes: state.FromGo(map[string]any{"common_name": "kubernetes"})},
		{
			Address: addr(cp1, "control-plane", manifests+"kube-apiserver.yaml"), Kind: state.KindStaticPod,
			Attributes: state.Map(map[string]state.Value{"image": state.String("x"), "args": state.Args([]state.Arg{{Name: "v", Value: "2"}, {Name: "v", Value: "3"}})}),
		},
	}
	return st
}

func TestState(t *testing.T) {
	st := recordedState()
	o := view.Options{Width: 80}
	golden(t, "state.txt", printed(t, func(w io.Writer) error { return view.State(w, st, o) }))
	golden(t, "state.list.txt", printed(t, func(w io.Writer) error { return view.StateList(w, view.StateTargets(st)) }))
	golden(t, "state.json", printed(t, func(w io.Writer) error { return view.StateJSON(w, st) }))
	shown := func(a state.Address) string {
		return printed(t, func(w io.Writer) error {
			there, err := view.StateShow(w, st, a, o)
			if !there {
				t.Errorf("%s is said not to be recorded", a)
			}
			return err
		})
	}
	golden(t, "state.show.txt", shown(addr(cp1, "control-plane", ""))+
		shown(addr(cp1, "control-plane", manifests+"kube-apiserver.yaml").WithField("image"))+shown(state.Address{Target: cp1}))
	if there, err := view.StateShow(io.Discard, st, addr(cp2, "certs", ""), o); there || err != nil {
		t.Error("nothing is recorded there, and nobody says so")
	}
	golden(t, "outputs.list.txt", printed(t, func(w io.Writer) error { return view.OutputList(w, st.Outputs, o) })+
		printed(t, func(w io.Writer) error { return view.Outputs(w, st.Outputs, o) })+
		printed(t, func(w io.Writer) error { return view.OutputsJSON(w, st.Outputs) })+
		printed(t, func(w io.Writer) error { return view.OutputList(w, nil, o) }))
}

func TestOutput(t *testing.T) {
	tests := []struct {
		v         state.Value
		raw, json bool
		want      string
	}{
		{state.String("a\x1b"), true, false, "a\x1b"},
		{state.String("a\x1b"), false, false, "\"a\\x1b\"\n"},
		{state.String("a<b"), false, true, "\"a<b\"\n"},
		{state.Bool(true), true, false, "true"},
		{state.Int(3), true, false, "3"},
		{state.Strings("a"), true, false, ""},
		{state.SensitiveValue("r", "f"), true, false, ""},
		{state.SensitiveValue("r", "f"), false, false, ""},
		{state.SensitiveValue("r", "f"), false, true, ""},
		{state.PendingValue("r", "f"), true, false, ""},
		{state.PendingValue("r", "f"), false, true, ""},
		{state.PendingValue("r", "f"), false, false, "(known after apply)\n"},
	}
	for _, tt := range tests {
		var b bytes.Buffer
		err := view.Output(&b, tt.v, tt.raw, tt.json, view.Options{})
		if b.String() != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%v: got %q and error %v, want %q", tt.v, b.String(), err, tt.want)
		}
	}
}

func TestGraph(t *testing.T) {
	for _, format := range []string{"dot", "mermaid", "json"} {
		golden(t, "graph."+format, printed(t, func(w io.Writer) error { return view.Graph(w, examplePlan(), format, view.Options{}) }))
	}
	page := printed(t, func(w io.Writer) error { return view.Graph(w, examplePlan(), "html", view.Options{}) })
	if got, want := strings.Count(page, `<a class="step"`), len(examplePlan().Steps); got != want {
		t.Errorf("the page draws %d steps, want %d", got, want)
	}
	if strings.Contains(page, "<details") || strings.Contains(page, `href="#`) || !strings.Contains(page, "<title>kubewright graph: Plan: 0 to add, 4 to change, 1 to destroy.</title>") {
		t.Error("the page of the graph has changes, or links that lead nowhere, or another title")
	}
	page = printed(t, func(w io.Writer) error { return view.Graph(w, &planner.Plan{}, "html", view.Options{}) })
	if !strings.Contains(page, "There is no step to draw.") {
		t.Error("the page of an empty plan does not say so")
	}
	if err := view.Graph(io.Discard, examplePlan(), "svg", view.Options{}); err == nil {
		t.Error("svg is no format")
	}
}

func TestJSON(t *testing.T) {
	for _, name := range []string{"example", "replace", "drift", "empty"} {
		golden(t, name+".json", printed(t, func(w io.Writer) error {
			return view.PlanJSON(w, load(t, name), view.Options{Recorded: view.Recorded{Durations: lastTime()}})
		}))
	}
	golden(t, "validate.json", printed(t, func(w io.Writer) error { return view.ValidateJSON(w, findings(), hclSource) }))
}

// TestPlanLarge prints a plan of many nodes that are upgraded one by one.
func TestPlanLarge(t *testing.T) {
	var m maker
	m.Limits = map[string]int{"drain": 1}
	for i := range 200 {
		target := state.NodeKeyTarget("worker", fmt.Sprintf("w%03d", i))
		m.Resources = append(m.Resources, planner.ResourceChange{Target: target, Action: planner.Update})
		m.change(target, "kubelet-start", "binary:/usr/bin/kubelet", state.KindBinary, planner.Update, attrs("version", "1.35.8", "1.36.3"))
		a := m.step(target, "images", planner.Update, "", nil, planner.LoadImage{})
		b := m.step(target, "drain", planner.Update, "evicts its pods", []state.Address{a}, planner.Drain{})
		m.Steps[len(m.Steps)-1].Limits = []string{"drain"}
		m.step(target, "kubelet-start", planner.Update, "", []state.Address{b}, planner.Unit{})
		m.Steps[len(m.Steps)-1].Limits = []string{"drain"}
	}
	began := time.Now()
	got := render(t, &m.Plan, view.Options{})
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("printing took %v", d)
	}
	golden(t, "large.txt", got)
	if n := strings.Count(got, "\n"); n > 300 {
		t.Errorf("the plan is %d lines long:\n%s", n, got)
	}
}

// TestDisplayTicks: a started display shows what runs without any event.
func TestDisplayTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		d := view.NewProgress(&b, view.Options{}, false)
		stop := d.Start(time.Now)
		d.Event(executor.Event{Kind: executor.KindRun, Time: time.Now(), Total: 1})
		d.Event(executor.Event{Kind: executor.KindStarted, Time: time.Now(), Total: 1, Step: id(cp1, "etcd")})
		time.Sleep(25 * time.Second)
		d.Note("a word")
		stop()
		want := "Still applying… [10s elapsed, 0 of 1 steps] node.cp[\"cp1\"]/etcd\n" +
			"Still applying… [20s elapsed, 0 of 1 steps] node.cp[\"cp1\"]/etcd\na word\n"
		if got := b.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// everyLine has lines of every type.
func everyLine(t *testing.T) string {
	var b bytes.Buffer
	j := view.NewJSONLines(&b, func() time.Time { return start })
	plan := driftPlan()
	step := plan.Steps[0].ID
	plan.Outputs = map[string]state.Value{"endpoint": state.String("x")}
	j.Version("0.1.0")
	j.Diagnostics(findings()[:1], hclSource)
	if err := j.Plan(plan, view.Options{Recorded: view.Recorded{Durations: lastTime()}}); err != nil {
		t.Fatal(err)
	}
	play(j, story())
	j.Event(executor.Event{Kind: executor.KindStarted, Time: start, Step: step, Seq: 1, Total: 1})
	j.Event(executor.Event{Kind: executor.KindHeartbeat, Time: start.Add(10 * time.Second), Step: step, Seconds: 10, Seq: 2, Total: 1})
	j.Note("a word")
	for _, err := range []error{
		j.Complete(plan, ran(plan)), j.NotConverged(updatePlan()), j.Incomplete(createPlan(), failed(createPlan()), view.Options{}), j.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestJSONLines(t *testing.T) { golden(t, "lines.json", everyLine(t)) }

// TestLinesAreDocumented: docs/review.md has a row for every type of line that the code
// can print, and no other, and each row names every field of such lines.
func TestLinesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "review.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	_, section, _ := strings.Cut(string(page), "\n## JSON lines\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (.*) \\|$").FindAllStringSubmatch(section, -1) {
		rows[m[1]] = m[2]
	}
	source, err := os.ReadFile("jsonlines.go")
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
			t.Errorf("docs/review.md has no row for lines of type %s", name)
		}
	}
	for name := range rows {
		if !types[name] {
			t.Errorf("docs/review.md has a row for lines of type %s, which there are not", name)
		}
	}
	var b bytes.Buffer
	if err := view.NewJSONLines(&b, time.Now).Plan(importPlan(), view.Options{}); err != nil {
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
				t.Errorf("docs/review.md does not name the field %s of lines of type %s", field, name)
			}
		}
	}
	if !maps.Equal(shown, types) {
		t.Errorf("lines of the types %v are looked at, and there are %v", shown, types)
	}
}

// fieldsOf returns the fields of a line but those of every one, and below what a hook or a
// change has.
func fieldsOf(line map[string]any) []string {
	var out []string
	for name, value := range line {
		if strings.HasPrefix(name, "@") || name == "type" {
			continue
		}
		out = append(out, name)
		if parts, ok := value.(map[string]any); ok && (name == "hook" || name == "change" || name == "changes") {
			for part := range parts {
				out = append(out, name+"."+part)
			}
		}
	}
	return out
}

// common returns the text of a section outside of its table, where it names a field that many
// lines have.
func common(section, field string) string {
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "- ") && strings.Contains(line, "`"+field+"`") {
			return line
		}
	}
	return ""
}
