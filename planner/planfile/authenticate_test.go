package planfile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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

// resealed returns a file with other content and a matching checksum, as anyone with write access
// can make it.
func resealed(t *testing.T, file map[string]any) []byte {
	t.Helper()
	if saved, there := file["saved"]; there {
		b, err := json.Marshal(saved)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		file["sha256"], file["saved"] = hex.EncodeToString(sum[:]), json.RawMessage(b)
	}
	b, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// authenticated returns a JSON tree with the authentication code of a key; the order of its fields
// differs from the written file.
func authenticated(t *testing.T, file map[string]any, key state.Key) {
	t.Helper()
	saved, err := json.Marshal(file["saved"])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(saved)
	content, err := json.Marshal(struct {
		FormatVersion any             `json:"format_version"`
		ToolVersion   any             `json:"kubewright_version"`
		SHA256        string          `json:"sha256"`
		Saved         json.RawMessage `json:"saved"`
	}{file["format_version"], file["kubewright_version"], hex.EncodeToString(sum[:]), saved})
	if err != nil {
		t.Fatal(err)
	}
	file["mac"] = hex.EncodeToString(key.MAC("saved plan", content))
}

// others returns other possible values of a field.
func others(v any) []any {
	switch v := v.(type) {
	case bool:
		return []any{!v, nil}
	case float64:
		return []any{v + 1, 0.0, nil}
	case string:
		return []any{v + "x", "", nil}
	case []any:
		return []any{append(slices.Clone(v), v...), []any{}, nil}
	case map[string]any:
		return []any{map[string]any{}, nil}
	}
	return []any{"x"}
}

// changed calls do for each way to flip, empty, remove or add a value in a JSON tree.
func changed(tree any, path string, do func(path string)) {
	switch tree := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			was, at := tree[name], path+"."+name
			for _, other := range others(was) {
				if !reflect.DeepEqual(other, was) {
					tree[name] = other
					do(fmt.Sprintf("%s = %v", at, other))
				}
			}
			delete(tree, name)
			do(at + " removed")
			tree[name] = was
			changed(was, at, do)
		}
	case []any:
		for i, was := range tree {
			at := fmt.Sprintf("%s[%d]", path, i)
			for _, other := range others(was) {
				if !reflect.DeepEqual(other, was) {
					tree[i] = other
					do(fmt.Sprintf("%s = %v", at, other))
				}
			}
			tree[i] = was
			changed(was, at, do)
		}
	}
}

// absent calls do with each field of a struct that its JSON tree does not have.
func absent(t *testing.T, of reflect.Type, tree map[string]any, do func(name string)) {
	t.Helper()
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if _, there := tree[name]; there || name == "-" || name == "" {
			continue
		}
		value := map[reflect.Kind]any{reflect.Bool: true, reflect.String: "x", reflect.Slice: []any{}, reflect.Map: map[string]any{}}[of.Field(i).Type.Kind()]
		if list, is := value.([]any); is && of.Field(i).Type.Elem().Kind() == reflect.String {
			value = append(list, "x")
		}
		tree[name] = value
		do(name + " added")
		delete(tree, name)
	}
}

// TestAuthenticateRefusesChangedPlan checks, for each value that is flipped, emptied, removed or added with a
// matching checksum, that the file is refused or not authentic.
func TestAuthenticateRefusesChangedPlan(t *testing.T) {
	t.Parallel()
	key := state.NewKey("k")
	path := filepath.Join(t.TempDir(), "a.kwplan")
	p := plan(t)
	p.Targets, p.Excluded, p.OverriddenPolicies = []string{"certs"}, []string{"node.w"}, []string{"calm"}
	file := planfile.File{Key: key, Plan: p, AllowUnreachable: true, GivenAgain: []string{"var=a=…"}, PriorOutputs: map[string]state.Value{"o": state.String("x")}, Parallelism: 3}
	if err := planfile.Write(path, file, nil); err != nil {
		t.Fatal(err)
	}
	written := must(t)(os.ReadFile(path))
	authentic := func(b []byte, key state.Key) error {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := planfile.Read(path, nil)
		if err != nil {
			return err
		}
		return read.Authenticate(key)
	}
	if err := authentic(written, key); err != nil {
		t.Fatalf("the file as it was written: %v", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(written, &tree); err != nil {
		t.Fatal(err)
	}
	authenticated(t, tree, key)
	if err := authentic(resealed(t, maps.Clone(tree)), key); err != nil {
		t.Fatalf("the same content in another order, with its code: %v", err)
	}
	saved := tree["saved"].(map[string]any)
	tried := 0
	check := func(what string) {
		t.Helper()
		tried++
		whole := maps.Clone(tree)
		if !strings.HasPrefix(what, ".sha256") && authentic(resealed(t, whole), key) == nil {
			t.Errorf("%s: the file is accepted as authentic", what)
		}
	}
	changed(tree, "", check)
	absent(t, reflect.TypeFor[planfile.File](), saved, check)
	absent(t, reflect.TypeFor[planner.Plan](), saved["plan"].(map[string]any), check)
	for _, step := range saved["plan"].(map[string]any)["steps"].([]any) {
		absent(t, reflect.TypeFor[planner.Step](), step.(map[string]any), check)
	}
	if tried < 200 {
		t.Errorf("only %d changes were tried", tried)
	}
}

// TestAuthenticateErrorsNameReason checks that the error says why a file is not authentic.
func TestAuthenticateErrorsNameReason(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	saved := func(key state.Key, edit func(string) string) planfile.File {
		t.Helper()
		path := filepath.Join(dir, "a.kwplan")
		if err := planfile.Write(path, planfile.File{Key: key, Plan: plan(t)}, nil); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(edit(string(must(t)(os.ReadFile(path))))), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := planfile.Read(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	as := func(s string) string { return s }
	key, none := state.NewKey("k"), state.Key{}
	earlier := func(s string) string { return strings.Replace(s, `"format_version":2`, `"format_version":1`, 1) }
	for name, tt := range map[string]struct {
		file planfile.File
		key  state.Key
		want error
	}{
		"its key":                     {saved(key, as), key, nil},
		"another key":                 {saved(state.NewKey("l"), as), key, planfile.ErrOtherMAC},
		"a key that is not there":     {saved(key, as), none, planfile.ErrOtherMAC},
		"no code":                     {saved(none, as), key, planfile.ErrNoMAC},
		"no code and no key":          {saved(none, as), none, planfile.ErrNoMAC},
		"an earlier format":           {saved(none, earlier), key, planfile.ErrEarlierFormat},
		"an earlier format with code": {saved(key, earlier), key, planfile.ErrEarlierFormat},
	} {
		if err := tt.file.Authenticate(tt.key); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
	}
}
