package state_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubewright/kubewright/state"
)

// drawValue draws any value, with keys that look like tags among the others.
func drawValue(t *rapid.T, depth int) state.Value {
	kinds := 7
	if depth > 0 {
		kinds = 9
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return state.Null()
	case 1:
		return state.Bool(rapid.Bool().Draw(t, "bool"))
	case 2:
		return state.Int(rapid.Int64().Draw(t, "int"))
	case 3:
		return state.String(drawText(t, "string"))
	case 4:
		return state.Args(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) state.Arg {
			return state.Arg{Name: drawText(t, "name"), Value: drawText(t, "value")}
		}), 0, 3).Draw(t, "args"))
	case 5:
		return state.PendingValue(rapid.String().Draw(t, "step"), rapid.String().Draw(t, "output"))
	case 6:
		return state.SensitiveValue(rapid.String().Draw(t, "ref"), rapid.String().Draw(t, "fingerprint"))
	case 7:
		list := make([]state.Value, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range list {
			list[i] = drawValue(t, depth-1)
		}
		return state.List(list...)
	default:
		m := map[string]state.Value{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			m[drawKey(t)] = drawValue(t, depth-1)
		}
		return state.Map(m)
	}
}

// drawText draws any bytes, as a host's file may hold them.
func drawText(t *rapid.T, name string) string {
	return rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, name)
}

func drawKey(t *rapid.T) string {
	return rapid.OneOf(rapid.SampledFrom([]string{"$args", "$pending", "$sensitive", "$map", "", "0", "a.b/c", `"`, "[x]"}), rapid.String()).Draw(t, "key")
}

func TestValueRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back state.Value
		if err := json.Unmarshal(b, &back); err != nil || !back.Equal(v) {
			t.Fatalf("%s → %v, %v", b, back.Go(), err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(b) {
			t.Fatalf("%s → %s, %v", b, again, err)
		}
	})
}

// TestValueJSONMatchesEncodingJSON checks that a value without tags is written exactly as encoding/json writes
// it.
func TestValueJSONMatchesEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		got, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(got, []byte(`{"$`)) {
			return
		}
		if want, err := json.Marshal(v.Go()); err != nil || string(got) != string(want) {
			t.Fatalf("%s, %v, want %s", got, err, want)
		}
	})
}

// TestValueDecodingIsRepeatable checks that a value is decoded the same each time, at any length, and
// that invalid JSON is refused each time and leaves the old value.
func TestValueDecodingIsRepeatable(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 1 << 10, 1 << 16} {
		want := state.Map(map[string]state.Value{"a": state.String(strings.Repeat("x", length)), "b": state.List(state.Int(int64(length)))})
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			var got state.Value
			if err := got.UnmarshalJSON(text); err != nil || !got.Equal(want) {
				t.Errorf("of %d letters: %v, %v", length, got.Go(), err)
			}
			if err := got.UnmarshalJSON(text[:len(text)-1]); err == nil || !got.Equal(want) {
				t.Errorf("of %d letters and cut: %v, %v", length, got.Go(), err)
			}
		}
	}
}

func TestValueJSON(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]state.Value{
		`null`:                           state.Null(),
		`30`:                             state.Int(30),
		`1.50`:                           state.Number("1.50"),
		`["a","b"]`:                      state.Strings("a", "b"),
		`{}`:                             state.Map(nil),
		`{"$args":[["v","2"],["v",""]]}`: state.Args([]state.Arg{{Name: "v", Value: "2"}, {Name: "v"}}),
		`{"$pending":{"output":"token","step":"cluster.prod/bootstrap-token"}}`: state.PendingValue("cluster.prod/bootstrap-token", "token"),
		`{"$sensitive":{"fingerprint":"f","ref":"config:x"}}`:                   state.SensitiveValue("config:x", "f"),
		`"gr\\xfc\\xdfe, Grüße"`:                                                state.String("gr\xfc\xdfe, Grüße"),
		`{"$args":[["v","\\xff"]]}`:                                             state.Args([]state.Arg{{Name: "v", Value: "\xff"}}),
		`{"$map":{"$args":[]}}`:                                                 state.Map(map[string]state.Value{"$args": state.List()}),
	} {
		if b, err := json.Marshal(v); err != nil || string(b) != want {
			t.Errorf("json = %s, %v, want %s", b, err, want)
		}
	}
}

func TestValueEqual(t *testing.T) {
	t.Parallel()
	equal := [][2]state.Value{
		{state.Number("1"), state.Number("1.0")},
		{state.Number("1e3"), state.Int(1000)},
		{state.List(), state.Strings()},
		{state.SensitiveValue("a", "f"), state.SensitiveValue("b", "f")},
	}
	for _, pair := range equal {
		if !pair[0].Equal(pair[1]) {
			t.Errorf("%v and %v differ", pair[0].Go(), pair[1].Go())
		}
	}
	different := [][2]state.Value{
		{state.Number("9007199254740993"), state.Number("9007199254740992")},
		{state.String("1"), state.Int(1)},
		{state.Null(), state.String("")},
		{state.Null(), state.Map(nil)},
		{state.Args([]state.Arg{{Name: "a"}, {Name: "b"}}), state.Args([]state.Arg{{Name: "b"}, {Name: "a"}})},
		{state.Map(map[string]state.Value{"a": state.Null()}), state.Map(map[string]state.Value{"b": state.Null()})},
		{state.PendingValue("s", "a"), state.PendingValue("s", "b")},
	}
	for _, pair := range different {
		if pair[0].Equal(pair[1]) {
			t.Errorf("%v and %v are equal", pair[0].Go(), pair[1].Go())
		}
	}
}

func TestPathRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var keys []string
		path := ""
		for range rapid.IntRange(1, 4).Draw(t, "depth") {
			keys = append(keys, drawKey(t))
			path = state.JoinPath(path, keys[len(keys)-1])
		}
		if got := state.SplitPath(path); !slices.Equal(got, keys) {
			t.Fatalf("SplitPath(%s) = %q, want %q", path, got, keys)
		}
		v := state.String("found")
		for _, k := range slices.Backward(keys) {
			v = state.Map(map[string]state.Value{k: v})
		}
		if got := v.Get(path).AsString(); got != "found" {
			t.Fatalf("Get(%s) = %q", path, got)
		}
	})
}

func TestValueGet(t *testing.T) {
	t.Parallel()
	v := state.FromGo(map[string]any{
		"metadata": map[string]any{"labels": map[string]string{"a.b/c": "x"}},
		"list":     []any{"zero", 1, true, nil},
		"args":     state.Args([]state.Arg{{Name: "v", Value: "1"}, {Name: "v", Value: "2"}}),
	})
	for path, want := range map[string]state.Value{
		``:                          v,
		`metadata.labels["a.b/c"]`:  state.String("x"),
		`metadata.labels.a`:         state.Null(),
		`list.0`:                    state.String("zero"),
		`list["1"]`:                 state.Int(1),
		`list.4`:                    state.Null(),
		`list.-1`:                   state.Null(),
		`args.v`:                    state.String("2"),
		`args.w`:                    state.Null(),
		`list.0.deeper`:             state.Null(),
		`metadata["labels"].x[oops`: state.Null(),
	} {
		if got := v.Get(path); !got.Equal(want) {
			t.Errorf("Get(%s) = %v, want %v", path, got.Go(), want.Go())
		}
	}
	if got, want := v.Leaves(), []string{"args", "list", `metadata.labels["a.b/c"]`}; !slices.Equal(got, want) {
		t.Errorf("Leaves() = %q, want %q", got, want)
	}
}

// TestLeavesCoverTheValue checks that a value can be rebuilt from its leaves.
func TestLeavesCoverTheValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		back := any(map[string]any{})
		for _, path := range v.Leaves() {
			back = put(back, state.SplitPath(path), v.Get(path))
		}
		if got := state.FromGo(back); !got.Equal(v) {
			t.Fatalf("leaves %q give %v, want %v", v.Leaves(), got.Go(), v.Go())
		}
	})
}

func put(tree any, keys []string, leaf state.Value) any {
	if len(keys) == 0 {
		return leaf
	}
	m, _ := tree.(map[string]any)
	m = maps.Clone(m)
	if m == nil {
		m = map[string]any{}
	}
	m[keys[0]] = put(m[keys[0]], keys[1:], leaf)
	return m
}

func TestFromGo(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]any{
		`1`: int32(1), `2`: int64(2), `18446744073709551615`: uint64(1<<64 - 1), `0.25`: 0.25, `3.0`: json.Number("3.0"),
		`["a"]`: []string{"a"}, `true`: true, `{"a":"b"}`: map[string]string{"a": "b"},
	} {
		if b, err := json.Marshal(state.FromGo(x)); err != nil || string(b) != want {
			t.Errorf("FromGo(%v) = %s, %v, want %s", x, b, err, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("FromGo of a channel did not panic")
		}
	}()
	state.FromGo(make(chan int))
}

// TestAccessorsReturnZeroForOtherKinds checks that each accessor returns the zero value for other kinds.
func TestAccessorsReturnZeroForOtherKinds(t *testing.T) {
	t.Parallel()
	null := state.Null()
	if !null.IsNull() || null.IsPending() || null.AsBool() || null.AsString() != "" || null.AsList() != nil || null.AsMap() != nil || null.AsArgs() != nil || null.Go() != nil {
		t.Error("null holds something")
	}
	pending, sensitive := state.PendingValue("s", "o"), state.SensitiveValue("r", "f")
	if !pending.IsPending() || pending.AsPending() != (state.Pending{Step: "s", Output: "o"}) || pending.AsString() != "" {
		t.Errorf("pending = %v", pending.Go())
	}
	if sensitive.AsSensitive() != (state.Sensitive{Ref: "r", Fingerprint: "f"}) || sensitive.IsNull() {
		t.Errorf("sensitive = %v", sensitive.Go())
	}
	m := state.FromGo(map[string]any{"b": true, "a": []any{1}})
	if !slices.Equal(m.Keys(), []string{"a", "b"}) || !m.AsMap()["b"].AsBool() || m.AsMap()["a"].AsList()[0].AsString() != "1" {
		t.Errorf("map = %v", m.Go())
	}
	if args := state.Args([]state.Arg{{Name: "v", Value: "2"}}).AsArgs(); len(args) != 1 || args[0].Value != "2" {
		t.Errorf("args = %v", args)
	}
	if got := state.DurationKey("certs", "create"); got != "certs/create" {
		t.Errorf("DurationKey = %s", got)
	}
}
