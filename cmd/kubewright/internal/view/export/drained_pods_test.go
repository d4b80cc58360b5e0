package export_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/rationale"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	jsonschema "github.com/santhosh-tekuri/jsonschema/v6"
)

// TestDrainedPodsAreShortenedOnTerminal checks that a drain of many pods names a few of them on the terminal, and all
// of them with -full, with -explain and in JSON.
func TestDrainedPodsAreShortenedOnTerminal(t *testing.T) {
	var m viewtest.Maker
	viewtest.RemoveWorker(&m, viewtest.W22)
	drain := &m.Steps[0]
	for i := range planner.PodsNamed + 1 {
		drain.Pods = append(drain.Pods, planner.DrainedPod{Name: fmt.Sprintf("shop/web-%d", i), Note: "ReplicaSet"})
	}
	text := func(full bool) string {
		var b bytes.Buffer
		if err := planview.Print(&b, &m.Plan, ui.Options{Full: full}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	var why bytes.Buffer
	if err := rationale.Explain(&why, &m.Plan, drain.ID, ui.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, pod := range drain.Pods {
		for form, said := range map[string]string{"with -full": text(true), "with -explain": why.String()} {
			if strings.Count(said, pod.Name+" (ReplicaSet)\n") != 1 {
				t.Errorf("%s is not named %s:\n%s", pod.Name, form, said)
			}
		}
		if strings.Contains(text(false), pod.Name) {
			t.Errorf("%s is named without -full", pod.Name)
		}
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(planAs(t, &m.Plan, "json")))
	if err != nil {
		t.Fatal(err)
	}
	if err := viewtest.PlanSchema(t, true).Validate(doc); err != nil {
		t.Error(err)
	}
	pods := doc.(map[string]any)["steps"].([]any)[0].(map[string]any)["pods"].([]any)
	if got := pods[len(pods)-1].(map[string]any)["name"]; len(pods) != len(drain.Pods) || got != "shop/web-8" {
		t.Errorf("JSON has the pods %v", pods)
	}
	// Pods named in the sentence are not listed again.
	drain.Pods = drain.Pods[:planner.PodsNamed]
	if said := text(true); strings.Contains(said, "shop/web-0") {
		t.Errorf("pods named in the sentence are listed again:\n%s", said)
	}
}
