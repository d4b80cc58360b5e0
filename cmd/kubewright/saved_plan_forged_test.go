package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
)

// object is a JSON object.
type object = map[string]any

// readTree reads a saved plan.
func readTree(t *testing.T, path string) object {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out object
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// marshal encodes a document as JSON.
func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checksum returns the digest that any user with write access to the file can compute.
func checksum(t *testing.T, file object) string {
	t.Helper()
	sum := sha256.Sum256(marshal(t, file["saved"]))
	return hex.EncodeToString(sum[:])
}

// authenticationCode returns the code of a saved plan, which takes the state's key to compute.
func authenticationCode(t *testing.T, file object, key state.Key) string {
	t.Helper()
	return hex.EncodeToString(key.MAC("saved plan", marshal(t, struct {
		FormatVersion any    `json:"format_version"`
		ToolVersion   any    `json:"kubewright_version"`
		SHA256        string `json:"sha256"`
		Saved         any    `json:"saved"`
	}{file["format_version"], file["kubewright_version"], checksum(t, file), file["saved"]})))
}

// writeTree writes a saved plan with a matching checksum.
func writeTree(t *testing.T, path string, file object) {
	t.Helper()
	whole := maps.Clone(file)
	whole["sha256"] = checksum(t, file)
	b := marshal(t, whole)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// fields returns the JSON names of a struct's fields, each with a valid value.
func fields(of reflect.Type) object {
	out := object{}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		switch kind := of.Field(i).Type; {
		case kind.Kind() == reflect.Bool:
			out[name] = true
		case kind.Kind() == reflect.String:
			out[name] = "x"
		case kind.Kind() == reflect.Int, kind.Kind() == reflect.Int64:
			out[name] = 7
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.String:
			out[name] = []string{"calm"}
		case kind.Kind() == reflect.Slice:
			out[name] = []any{}
		default:
			out[name] = object{}
		}
	}
	return out
}

// TestApplyRefusesForgedPlan checks that a saved plan is refused, and nothing is changed, when any of its
// fields is flipped, emptied, removed or added and the checksum is recomputed, also with the
// flags that the file would ask for.
func TestApplyRefusesForgedPlan(t *testing.T) {
	t.Parallel()
	f := changedFolder(t)
	f.replace(t, "connection {", "policy \"calm\" {\n  max_destroys = 0\n}\n\nconnection {")
	f.must(t, "plan", "-exclude=node.cp[\"cp3\"]", "-out=plan.kwplan")
	path := filepath.Join(string(f), "plan.kwplan")
	file := readTree(t, path)
	file["mac"] = authenticationCode(t, file, keyOf(t, f)) // of what is in another order now
	before, world := stateOf(t, f), listing(t, f)
	tried := 0
	refused := func(what string) {
		t.Helper()
		tried++
		writeTree(t, path, file)
		for _, flags := range [][]string{nil, {"-allow-unreachable", "-override-policy=calm", "-auto-approve"}} {
			code, out := f.run(slices.Concat([]string{"apply"}, flags, []string{"plan.kwplan"})...)
			words := strings.Join(strings.Fields(out), " ")
			known := slices.ContainsFunc([]string{"Saved plan is not authentic", "Saved plan is stale", "Cannot read the saved plan", "Command line not understood", "Command failed -target says what"}, func(s string) bool {
				return strings.Contains(words, "Error: "+s)
			})
			if code != 1 || !known {
				t.Errorf("%s, apply %v: exit code %d\n%s", what, flags, code, out)
			}
		}
	}
	for _, part := range []struct {
		name string
		tree object
		all  object
	}{
		{"file", file, object{"mac": "x", "kubewright_version": "9"}},
		{"saved", file["saved"].(object), fields(reflect.TypeFor[planfile.File]())},
		{"plan", file["saved"].(object)["plan"].(object), fields(reflect.TypeFor[planner.Plan]())},
		{"step", file["saved"].(object)["plan"].(object)["steps"].([]any)[0].(object), fields(reflect.TypeFor[planner.Step]())},
		{"change", file["saved"].(object)["plan"].(object)["changes"].([]any)[0].(object), fields(reflect.TypeFor[planner.Change]())},
	} {
		for name, value := range part.all {
			was, there := part.tree[name]
			empty := reflect.Zero(reflect.TypeOf(value)).Interface()
			if there {
				empty = reflect.Zero(reflect.TypeOf(was)).Interface()
				delete(part.tree, name)
				refused(part.name + ": without " + name)
			}
			for _, other := range []any{value, empty, nil} {
				part.tree[name] = other
				refused(part.name + ": another " + name)
			}
			if delete(part.tree, name); there {
				part.tree[name] = was
			}
		}
	}
	if stateOf(t, f) != before || listing(t, f) != world {
		t.Error("the refused plan changed something")
	}
	if tried < 150 {
		t.Errorf("only %d modifications were tried", tried)
	}
	writeTree(t, path, file)
	if code, out := f.run("apply", "plan.kwplan"); code != 0 {
		t.Errorf("the unmodified file: exit code %d\n%s", code, out)
	}
}
