package diag_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

const text = "node \"w3\" {\n  role   = \"worker\"\n  adress = \"10.0.0.3\"\n}\n"

func source(string) []byte { return []byte(text) }

func subject() state.Source {
	start := strings.Index(text, "adress")
	return state.Source{
		File: "cluster.hcl", Line: 3, Column: 3, EndLine: 3, EndColumn: 9,
		StartByte: start, EndByte: start + len("adress"),
	}
}

func TestExcerpt(t *testing.T) {
	tests := []struct {
		name    string
		subject state.Source
		want    string
	}{
		{"by bytes", subject(), "adress"},
		{"by columns", state.Source{File: "c.hcl", Line: 3, Column: 3, EndLine: 3, EndColumn: 9}, "adress"},
		{"to the end of the line", state.Source{File: "c.hcl", Line: 3, Column: 12}, `"10.0.0.3"`},
		{"a line", state.Source{File: "c.hcl", Line: 3}, `adress = "10.0.0.3"`},
		{"several lines", state.Source{File: "c.hcl", Line: 2, EndLine: 3}, "role   = \"worker\"\n  adress = \"10.0.0.3\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := diag.Errorf("x", "y").At(tt.subject).Excerpt(source)
			if got := s.Code[s.HighlightStart:s.HighlightEnd]; got != tt.want {
				t.Errorf("highlighted %q, want %q", got, tt.want)
			}
		})
	}
	for _, line := range []int{0, 5, 99} {
		if s := diag.Errorf("x", "y").At(state.Source{File: "c.hcl", Line: line}).Excerpt(source); s != nil {
			t.Errorf("line %d: got %+v, want no excerpt", line, s)
		}
	}
}

func TestJSON(t *testing.T) {
	d := diag.Errorf("Unsupported argument", "An argument named %q is not expected here.", "adress").
		At(subject()).In(state.Source{File: "cluster.hcl", Line: 1}).For(state.NodeTarget("w3")).With("each.key is \"a\"")
	d.Context.File, d.Subject.File = "cluster.hcl", "cluster.hcl"
	b, err := json.Marshal(d.JSON(source))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"severity":"error","summary":"Unsupported argument","detail":"An argument named \"adress\" is not expected here.",` +
		`"address":"node.w3","range":{"filename":"cluster.hcl","start":{"line":3,"column":3,"byte":34},"end":{"line":3,"column":9,"byte":40}},` +
		`"snippet":{"context":"node \"w3\"","code":"  adress = \"10.0.0.3\"","start_line":3,` +
		`"highlight_start_offset":2,"highlight_end_offset":8,"values":["each.key is \"a\""]}}`
	if string(b) != want {
		t.Errorf("got\n%s\nwant\n%s", b, want)
	}
}

// TestJSONRoundTrip checks that a finding that was saved as JSON is printed as before, without its
// file.
func TestJSONRoundTrip(t *testing.T) {
	d := diag.Warningf("Unsupported argument", "An argument named %q is not expected here.", "adress").
		At(subject()).In(state.Source{File: "cluster.hcl", Line: 1}).For(state.NodeTarget("w3")).With("each.key is \"a\"")
	d.Context.File, d.Subject.File = "cluster.hcl", "cluster.hcl"
	kept := diag.Diagnostics{d}.JSON(source)
	if again := (diag.Diagnostics{kept[0].Diagnostic()}).JSON(nil); !reflect.DeepEqual(again, kept) || kept[0].Snippet == nil {
		t.Errorf("got  %+v\nwant %+v", again, kept)
	}
	// The file may have been written by an attacker.
	for _, s := range []diag.Snippet{
		{Code: "a", StartLine: 0},
		{Code: "a", StartLine: -9},
		{Code: "a", StartLine: 1, HighlightStart: -1},
		{Code: "a", StartLine: 1, HighlightEnd: 2},
		{Code: "abc", StartLine: 1, HighlightStart: 2, HighlightEnd: 1},
	} {
		if got := (diag.JSON{Snippet: &s}).Diagnostic(); got.Snippet != nil {
			t.Errorf("%+v is quoted", s)
		}
	}
}

// TestContextNamesEnclosingBlock checks that a block is named only if the subject is inside it, and not in another
// block that also applies to it.
func TestContextNamesEnclosingBlock(t *testing.T) {
	for _, tt := range []struct {
		name, text     string
		block, subject int
		want           string
	}{
		{"in it", "node \"a\" { # the first\n  taint \"x\" {\n  }\n  port = 1\n}\n", 1, 4, "node \"a\""},
		{"above it", "connection {\n  port = 1\n}\nnode \"a\" {\n}\n", 4, 2, ""},
		{"below it", "node \"a\" {\n}\nconnection {\n  port = 1\n}\n", 1, 4, ""},
		{"below one of a line", "node \"a\" { role = \"worker\" }\nconnection {\n  port = 1\n}\n", 1, 3, ""},
		{"in it, in JSON", "{\"node\": {\n  \"a\": {\n    \"port\": 1\n  }\n}}\n", 2, 3, "\"a\""},
		{"below it, in JSON", "{\"node\": {\n  \"a\": {\n    \"role\": 1\n  },\n  \"b\": {\n    \"port\": 1\n  }\n}}\n", 2, 6, ""},
	} {
		s := diag.Errorf("x", "y").At(state.Source{File: "c.hcl", Line: tt.subject}).In(state.Source{File: "c.hcl", Line: tt.block}).
			Excerpt(func(string) []byte { return []byte(tt.text) })
		if s.Context != tt.want {
			t.Errorf("%s: the context is %q, want %q", tt.name, s.Context, tt.want)
		}
	}
}

func TestErr(t *testing.T) {
	var ds diag.Diagnostics
	ds.Append(diag.Warningf("Even number of etcd members", "Use 3 instead."))
	if err := ds.Err(); err != nil {
		t.Fatalf("a warning is no error: %v", err)
	}
	ds.Append(diag.Errorf("Bad", "100% wrong", []any{}...))
	err := fmt.Errorf("cannot load: %w", ds.Err())
	if got := diag.From(err, "Other"); len(got) != 2 || got[1].Detail != "100% wrong" {
		t.Errorf("got %v", got)
	}
	if got := diag.From(errors.New("no route"), "Cannot reach host"); got[0].String() != "error: Cannot reach host: no route" {
		t.Errorf("got %v", got)
	}
}

func TestSort(t *testing.T) {
	at := func(file string, line int) state.Source { return state.Source{File: file, Line: line} }
	ds := diag.Diagnostics{
		diag.Errorf("5", ""), diag.Errorf("4", "").At(at("b.hcl", 1)), diag.Errorf("3", "").At(at("a.hcl", 9)),
		diag.Errorf("2", "").At(at("a.hcl", 2)), diag.Warningf("1", "").At(at("z.hcl", 1)),
	}
	ds.Sort()
	for i, d := range ds {
		if d.Summary != fmt.Sprint(i+1) {
			t.Errorf("place %d: got %s", i+1, d.Summary)
		}
	}
}

// TestCoveredExcerptHidesLength checks that the replacement of covered text does not reveal its length,
// and that the highlight moves along.
func TestCoveredExcerptHidesLength(t *testing.T) {
	const hidden = "(sensitive value)"
	for _, tt := range []struct{ text, subject, code, highlighted string }{
		{"a = \x00\x00\x00 + b", "b", "a = " + hidden + " + b", "b"},
		{"a = \x00\x00\x00", "\x00\x00\x00", "a = " + hidden, hidden},
		{"a = \x00\x00\x00 c", "a = \x00", "a = " + hidden + " c", "a = " + hidden},
		{"a = [\x00, \x00\x00]", "a", "a = [" + hidden + ", " + hidden + "]", "a"},
		{"\x00\x00\nb = \x00", "b", "b = " + hidden, "b"},
	} {
		start := strings.Index(tt.text, tt.subject)
		line := 1 + strings.Count(tt.text[:start], "\n")
		s := diag.Errorf("x", "y").At(state.Source{File: "c.hcl", Line: line, EndLine: line, StartByte: start, EndByte: start + len(tt.subject)}).
			Excerpt(func(string) []byte { return []byte(tt.text) })
		if s.Code != tt.code || s.Code[s.HighlightStart:s.HighlightEnd] != tt.highlighted {
			t.Errorf("%q: %q of %q", tt.text, s.Code[s.HighlightStart:s.HighlightEnd], s.Code)
		}
	}
	s := diag.Errorf("x", "y").At(state.Source{File: "c.hcl", Line: 2}).In(state.Source{File: "c.hcl", Line: 1}).
		Excerpt(func(string) []byte { return []byte("node \"\x00\x00\" {\n  a = 1\n}") })
	if s.Context != `node "`+hidden+`"` {
		t.Errorf("the context is %q", s.Context)
	}
}
