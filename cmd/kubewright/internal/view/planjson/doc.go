// Package planjson is a plan, and its outputs, as JSON for programs. The schema is
// docs/plan.schema.json.
//
// It shortens nothing: a reader that wants less omits it itself.
package planjson
