package viewtest

import (
	"os"
	"path/filepath"
	"testing"

	jsonschema "github.com/santhosh-tekuri/jsonschema/v6"
)

// PlanSchema returns the documented schema. Readers have to accept unknown fields; with strict,
// for tests, unknown fields are errors.
func PlanSchema(t *testing.T, strict bool) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "..", "..", "docs", "plan.schema.json"))
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

// closeObjects forbids properties that the schema does not describe.
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
