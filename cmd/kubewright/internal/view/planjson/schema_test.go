package planjson_test

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planjson"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/viewtest"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
	jsonschema "github.com/santhosh-tekuri/jsonschema/v6"
)

// TestPlanSchema checks every field of every plan against the documented schema, and that the
// schema is not so wide that it says nothing.
func TestPlanSchema(t *testing.T) {
	schema, strict := viewtest.PlanSchema(t, false), viewtest.PlanSchema(t, true)
	for name, fixture := range viewtest.Plans {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(viewtest.Printed(t, func(w io.Writer) error {
			return planjson.Write(w, fixture(), ui.Options{Recorded: viewtest.Recorded()})
		})))
		if err != nil {
			t.Fatal(err)
		}
		if err := strict.Validate(doc); err != nil {
			t.Errorf("%s does not follow docs/plan.schema.json: %v", name, err)
		}
		plan := doc.(map[string]any)
		plan["later"] = true
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s with a field of a later version: %v", name, err)
		}
		for _, wrong := range []func(){
			func() { plan["format_version"] = "2.0" },
			func() {
				plan["resource_changes"].([]any)[0].(map[string]any)["change"].(map[string]any)["actions"] = []any{"modify"}
			},
			func() { delete(plan, "steps") },
		} {
			wrong()
			if schema.Validate(doc) == nil {
				t.Errorf("%s: the schema accepts an invalid document", name)
			}
		}
	}
}

// TestTerraformToolsReadPlan reads plans with the package that tools for Terraform's plans use, such
// as tf-summarize.
func TestTerraformToolsReadPlan(t *testing.T) {
	for name, fixture := range viewtest.Plans {
		var p tfjson.Plan
		if err := json.Unmarshal([]byte(viewtest.Printed(t, func(w io.Writer) error {
			return planjson.Write(w, fixture(), ui.Options{Recorded: viewtest.Recorded()})
		})), &p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		add, change, destroy := 0, 0, 0
		for _, r := range p.ResourceChanges {
			switch a := r.Change.Actions; {
			case a.Create():
				add++
			case a.Update():
				change++
			case a.Delete():
				destroy++
			case a.Replace():
				add, destroy = add+1, destroy+1
			}
		}
		if a, c, d := fixture().Counts(); a != add || c != change || d != destroy {
			t.Errorf("%s: got %d, %d, %d, kubewright counts %d, %d, %d", name, add, change, destroy, a, c, d)
		}
		for _, d := range p.ResourceDrift {
			if d.Change == nil || d.Type == "" {
				t.Errorf("%s: drift of %s has no shape", name, d.Address)
			}
		}
		if old := p.OutputChanges["old"]; old == nil || !old.Actions.Delete() {
			t.Errorf("%s: the removed output is %+v", name, old)
		}
	}
}

// TestTerraformFieldsKeepMeaning checks that the fields that tools for Terraform's plans read besides
// actions are there, with the same meaning.
func TestTerraformFieldsKeepMeaning(t *testing.T) {
	var m viewtest.Maker
	other := state.NodeKeyTarget("cp", "cp4")
	traits := func(role string) map[string]string { return map[string]string{"cluster": "prod", "role": role} }
	m.Resources = []planner.ResourceChange{
		{Target: viewtest.Prod, Action: planner.NoOp, After: map[string]string{"kubernetes_version": "1.36.3"}, ImportedFrom: "ssh://10.77.0.11"},
		{Target: viewtest.Cp1, Action: planner.NoOp, After: traits("control-plane")},
		{Target: viewtest.Cp2, Action: planner.Replace, Reason: planner.ReasonRequested, Before: traits("control-plane"), After: traits("control-plane")},
		{Target: viewtest.Cp3, Action: planner.Replace, Reason: "role control-plane -> worker", Before: traits("control-plane"), After: traits("worker")},
		{Target: other, Action: planner.Delete, Reason: planner.ReasonUnconfigured, Before: traits("control-plane")},
		{Target: viewtest.W21, Action: planner.Delete, Reason: planner.ReasonUnconfigured, Before: traits("worker")},
		{Target: viewtest.W22, Action: planner.Forget},
	}
	text := viewtest.Printed(t, func(w io.Writer) error { return planjson.Write(w, &m.Plan, ui.Options{Recorded: viewtest.Recorded()}) })
	var p tfjson.Plan
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	resources := map[string]*tfjson.ResourceChange{}
	for _, r := range p.ResourceChanges {
		resources[r.Address] = r
		if r.ProviderName != "github.com/kubewright/kubewright" || r.ModuleAddress != "" || r.Mode != tfjson.ManagedResourceMode {
			t.Errorf("%s is of provider %q, module %q, mode %q", r.Address, r.ProviderName, r.ModuleAddress, r.Mode)
		}
	}
	if i := resources[viewtest.Prod.String()].Change.Importing; i == nil || i.ID != "ssh://10.77.0.11" {
		t.Errorf("the cluster is imported from %v", i)
	}
	for target, want := range map[state.Target]string{viewtest.Cp1: "null", viewtest.Cp2: "null", viewtest.Cp3: `[["role"]]`, other: "null"} {
		if got, _ := json.Marshal(resources[target.String()].Change.ReplacePaths); string(got) != want {
			t.Errorf("the immutable attributes of %s are %s, want %s", target, got, want)
		}
	}
	var reasons struct {
		Resources []struct {
			Address string `json:"address"`
			Reason  string `json:"action_reason"`
		} `json:"resource_changes"`
	}
	if err := json.Unmarshal([]byte(text), &reasons); err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, r := range reasons.Resources {
		why[r.Address] = r.Reason
	}
	for target, want := range map[state.Target]string{viewtest.Cp2: "replace_by_request", viewtest.Cp3: "replace_because_cannot_update", other: "delete_because_each_key", viewtest.W21: "delete_because_no_resource_config"} {
		if got := why[target.String()]; got != want {
			t.Errorf("the reason of %s is %q, want %q", target, got, want)
		}
	}
	var left []string
	for _, r := range p.PlannedValues.RootModule.Resources {
		left = append(left, r.Address+" "+fmt.Sprint(r.AttributeValues["role"]))
	}
	if want := []string{"cluster.prod <nil>", viewtest.Cp1.String() + " control-plane", viewtest.Cp2.String() + " control-plane", viewtest.Cp3.String() + " worker"}; !slices.Equal(left, want) {
		t.Errorf("after the apply got %q, want %q", left, want)
	}
}
