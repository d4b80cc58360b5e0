package view_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tfjson "github.com/hashicorp/terraform-json"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// planSchema is the documented schema. Readers have to live with fields that
// they do not know; with strict, for us, there are none.
func planSchema(t *testing.T, strict bool) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "..", "docs", "plan.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	if strict {
		closeObjects(doc)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("plan.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("plan.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// closeObjects allows no other properties than those that are described.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, open := v["additionalProperties"]; v["properties"] != nil && v["type"] != nil && !open {
			v["additionalProperties"] = false
		}
		for _, kid := range v {
			closeObjects(kid)
		}
	case []any:
		for _, kid := range v {
			closeObjects(kid)
		}
	}
}

// TestPlanSchema holds every field of every plan against the documented schema,
// and the other way around: the schema is not so wide that it says nothing.
func TestPlanSchema(t *testing.T) {
	schema, strict := planSchema(t, false), planSchema(t, true)
	for name, fixture := range fixtures {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(planAs(t, fixture(), "json")))
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
				t.Errorf("%s: the schema takes what is wrong", name)
			}
		}
	}
}

// TestTerraformReaders reads plans with the package that readers of Terraform's
// plans use: tf-summarize, for one.
func TestTerraformReaders(t *testing.T) {
	for name, fixture := range fixtures {
		var p tfjson.Plan
		if err := json.Unmarshal([]byte(planAs(t, fixture(), "json")), &p); err != nil {
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
			t.Errorf("%s: others count %d, %d, %d and we %d, %d, %d", name, add, change, destroy, a, c, d)
		}
		for _, d := range p.ResourceDrift {
			if d.Change == nil || d.Type == "" {
				t.Errorf("%s: drift of %s has no shape", name, d.Address)
			}
		}
		if old := p.OutputChanges["old"]; old == nil || !old.Actions.Delete() {
			t.Errorf("%s: the output that goes is %+v", name, old)
		}
	}
}
