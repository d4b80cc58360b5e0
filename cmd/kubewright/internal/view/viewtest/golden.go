package viewtest

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Golden compares got with a file of testdata; UPDATE=1 rewrites the file.
func Golden(t *testing.T, name, got string) {
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

// Visible makes escape sequences readable in a golden file.
func Visible(s string) string { return strings.ReplaceAll(s, "\x1b", "␛") }

// Plans are the fixtures by name.
var Plans = map[string]func() *planner.Plan{
	"create": CreatePlan, "update": UpdatePlan, "example": ExamplePlan, "drift": DriftPlan,
	"empty": EmptyPlan, "destroy": DestroyPlan, "replace": replacePlan, "upgrade": UpgradePlan, "import": ImportPlan,
}

// Load returns the fixture as a saved plan holds it.
func Load(t *testing.T, name string) *planner.Plan {
	t.Helper()
	b, err := json.MarshalIndent(Plans[name](), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var p planner.Plan
	if err := json.Unmarshal(b, &p); err != nil {
		t.Fatal(err)
	}
	return &p
}

// Render returns a plan as the terminal shows it.
func Render(t *testing.T, plan *planner.Plan, o ui.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := planview.Print(&b, plan, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Recorded returns the recorded values beside these plans.
func Recorded() ui.Recorded {
	return ui.Recorded{Durations: Durations(), Outputs: map[string]state.Value{"old": state.Int(1)}}
}

// Durations returns the step durations of an earlier apply, without those of images.
func Durations() map[string]float64 {
	return map[string]float64{
		"prepare/create": 1.2, "certs/create": 2, "kubeconfig/create": 1, "etcd/create": 9.5, "control-plane/create": 12,
		"kubelet-start/create": 2.5, "kubelet-wait-bootstrap/create": 4, "control-plane/update": 14, "kubelet-start/update": 3,
		"drain/delete": 31, "reset/delete": 6, "upload-config/update": 0.5,
	}
}

// Printed collects what a function prints.
func Printed(t *testing.T, print func(w io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
