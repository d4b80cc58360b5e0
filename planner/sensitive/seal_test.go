package sensitive

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// secretTree draws a tree with some secret leaves, and its counterpart with other secrets.
func secretTree(t *rapid.T, depth int) (v, swapped state.Value) {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case kind == 0 && depth > 0:
		m, n := map[string]state.Value{}, map[string]state.Value{}
		for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c.d", "name"}), 0, 3, rapid.ID[string]).Draw(t, "keys") {
			m[k], n[k] = secretTree(t, depth-1)
		}
		return state.Map(m), state.Map(n)
	case kind == 1 && depth > 0:
		var l, m []state.Value
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			x, y := secretTree(t, depth-1)
			l, m = append(l, x), append(m, y)
		}
		return state.List(l...), state.List(m...)
	case kind == 2 && depth > 0:
		var a, b []state.Arg
		for range rapid.IntRange(0, 3).Draw(t, "arguments") {
			name := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name")
			s, o := leafText(t)
			a, b = append(a, state.Arg{Name: name, Value: s}), append(b, state.Arg{Name: name, Value: o})
		}
		return state.Args(a), state.Args(b)
	}
	s, o := leafText(t)
	return state.String(s), state.String(o)
}

func leafText(t *rapid.T) (text, swapped string) {
	if rapid.Bool().Draw(t, "secret") {
		n := rapid.StringMatching(`[0-9]{1,3}`).Draw(t, "digits")
		return "SECRET" + n, "TFDSFU" + n
	}
	s := rapid.SampledFrom([]string{"", "open", "7"}).Draw(t, "open")
	return s, s
}

func text(t *rapid.T, v state.Value) string {
	b, err := v.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSealHidesSecretsProperty checks that sealed values show no secret, that an observed value equal to the
// desired one equals the sealed one after it is covered, and that a covered value of another shape
// shows no secret either.
func TestSealHidesSecretsProperty(t *testing.T) {
	t.Parallel()
	v := &topology.Fleet{Request: topology.Request{Key: state.NewKey("key")}}
	s := sealer{key: v.Key}
	rapid.Check(t, func(t *rapid.T) {
		want, swapped := secretTree(t, 3)
		sealed := s.differing("", want, swapped)
		if got := text(t, sealed); strings.Contains(got, "SECRET") {
			t.Fatalf("the sealed value shows a secret: %s", got)
		}
		if sealed.HasSensitive() != strings.Contains(text(t, want), "SECRET") {
			t.Fatalf("sealed is %s of %s", text(t, sealed), text(t, want))
		}
		seen := covered(v, want, []state.Value{sealed})
		if got := text(t, seen); strings.Contains(got, "SECRET") || !seen.Equal(sealed) {
			t.Fatalf("covered is %s, want %s", got, text(t, sealed))
		}
		if !sealed.HasSensitive() {
			return
		}
		if got := text(t, covered(v, state.String(text(t, want)), []state.Value{sealed})); strings.Contains(got, "SECRET") {
			t.Fatalf("a covered value of another shape shows a secret: %s", got)
		}
	})
}

// TestElementsWithTheSameNameAreCovered checks that a secret is covered in the second of two elements
// with the same name.
func TestElementsWithTheSameNameAreCovered(t *testing.T) {
	t.Parallel()
	v := &topology.Fleet{Request: topology.Request{Key: state.NewKey("key")}}
	element := func(value state.Value) state.Value {
		return state.Map(map[string]state.Value{"name": state.String("7"), "a": value})
	}
	plain := state.Map(map[string]state.Value{"name": state.String("7")})
	like := state.List(plain, element(state.SensitiveValue("config:#a", "f")))
	got, err := covered(v, state.List(plain, element(state.String("SECRET"))), []state.Value{like}).MarshalJSON()
	if err != nil || strings.Contains(string(got), "SECRET") {
		t.Errorf("covered is %s, %v", got, err)
	}
}
