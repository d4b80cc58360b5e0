package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"
)

// planSchema is the documented schema of a plan. The tests of planjson check that the schema is
// valid, with a package that knows the meta-schema: that package compiles it at each start, and
// this test program starts hundreds of processes.
var planSchema = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	text, err := os.ReadFile(filepath.Join(examples, "..", "docs", "plan.schema.json"))
	if err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	return schema.Resolve(nil)
})

// followsSchema checks that stdout is a plan that conforms to the documented schema.
func followsSchema(ts *testscript.TestScript, _ bool, _ []string) {
	schema, err := planSchema()
	ts.Check(err)
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	ts.Check(schema.Validate(doc))
}
