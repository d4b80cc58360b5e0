package view_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// golden compares with a file of testdata; UPDATE=1 rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; UPDATE=1 rewrites it\n got:\n%s\nwant:\n%s", path, got, want)
	}
}

// visible makes escape sequences readable in a golden file.
func visible(s string) string { return strings.ReplaceAll(s, "\x1b", "␛") }

var fixtures = map[string]func() *planner.Plan{
	"create": createPlan, "update": updatePlan, "example": examplePlan, "drift": driftPlan,
	"empty": emptyPlan, "destroy": destroyPlan, "replace": replacePlan, "upgrade": upgradePlan, "import": importPlan,
}

// load returns the fixture as a saved plan holds it.
func load(t *testing.T, name string) *planner.Plan {
	t.Helper()
	b, err := json.MarshalIndent(fixtures[name](), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, name+".plan.json", string(b)+"\n")
	var p planner.Plan
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

func TestPlan(t *testing.T) {
	for name := range fixtures {
		t.Run(name, func(t *testing.T) {
			plan := load(t, name)
			for _, width := range []int{80, 120} {
				o := view.Options{Width: width}
				if name == "create" {
					o.Recorded.Durations = lastTime()
				}
				golden(t, name+"."+map[int]string{80: "80", 120: "120"}[width]+".txt", render(t, plan, o))
			}
			golden(t, name+".color.txt", visible(render(t, plan, view.Options{Width: 80, Color: true})))
			if name == "update" || name == "create" {
				golden(t, name+".full.txt", render(t, plan, view.Options{Width: 120, Full: true}))
			}
		})
	}
}

func TestPlanOutputs(t *testing.T) {
	plan := emptyPlan()
	plan.Outputs = map[string]state.Value{"endpoint": state.String("b:6443"), "same": state.Int(1)}
	prior := map[string]state.Value{"endpoint": state.String("a:6443"), "same": state.Int(1), "gone": state.Bool(true)}
	golden(t, "outputs.txt", render(t, plan, view.Options{Recorded: view.Recorded{Outputs: prior}}))
	golden(t, "refresh-only.txt", render(t, driftPlan(), view.Options{RefreshOnly: true}))
}

// TestPlanDeterministic prints a plan often: nothing may depend on the order of a map.
func TestPlanDeterministic(t *testing.T) {
	plan := createPlan()
	want := render(t, plan, view.Options{})
	for range 20 {
		if got := render(t, plan, view.Options{}); got != want {
			t.Fatalf("two prints of one plan differ:\n%s\n%s", got, want)
		}
	}
}

func render(t *testing.T, plan *planner.Plan, o view.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := view.Plan(&b, plan, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// lastTime returns what an earlier apply says of how long steps take, but for images.
func lastTime() map[string]float64 {
	return map[string]float64{
		"prepare/create": 1.2, "certs/create": 2, "kubeconfig/create": 1, "etcd/create": 9.5, "control-plane/create": 12,
		"kubelet-start/create": 2.5, "kubelet-wait-bootstrap/create": 4, "control-plane/update": 14, "kubelet-start/update": 3,
		"drain/delete": 31, "reset/delete": 6, "upload-config/update": 0.5,
	}
}
