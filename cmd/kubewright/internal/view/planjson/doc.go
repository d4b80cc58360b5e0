// Package planjson is a plan, and its outputs, as JSON for programs. The schema is
// docs/plan.schema.json.
//
// It may not shorten anything: a reader that wants less leaves it out itself.
package planjson
