package main

import (
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// planSchema is the documented schema of a plan.
var planSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	return jsonschema.NewCompiler().Compile(filepath.Join(examples, "..", "docs", "plan.schema.json"))
})

// followsSchema checks that stdout is a plan as programs are told it is.
func followsSchema(ts *testscript.TestScript, _ bool, _ []string) {
	schema, err := planSchema()
	ts.Check(err)
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(ts.ReadFile("stdout")))
	ts.Check(err)
	ts.Check(schema.Validate(doc))
}
