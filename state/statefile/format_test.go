package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/state"
)

func encoded(t testing.TB, st *state.State) []byte {
	t.Helper()
	b, err := encode(st)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFormat1RoundTrip checks that a file of format 1, as the first release wrote it, is read and written
// again byte for byte.
func TestFormat1RoundTrip(t *testing.T) {
	t.Parallel()
	const path = "testdata/format1.json"
	st := sample()
	st.Serial = 12
	got := encoded(t, st)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	back, err := decode(want)
	if err != nil || !reflect.DeepEqual(back, st) {
		t.Errorf("decode = %+v, %v", back, err)
	}
}

// TestApplyWithoutCompletionCountsAsCompleted checks that an apply of a version that did not record whether the plan was
// completed counts as completed: nothing continues it.
func TestApplyWithoutCompletionCountsAsCompleted(t *testing.T) {
	t.Parallel()
	st := sample()
	st.Applies = []state.Apply{{Run: "r1", Plan: "77ab", Who: "me", Steps: 3}}
	b := encoded(t, st)
	for _, key := range []string{"unfinished", "begun"} {
		if bytes.Contains(b, []byte(key)) {
			t.Fatalf("it differs from what such a version writes: it has %s", key)
		}
	}
	back, err := decode(b)
	if err != nil || len(back.Applies) != 1 || back.Applies[0].Unfinished || back.Applies[0].Plan != "77ab" {
		t.Errorf("decode = %+v, %v", back, err)
	}
}

// TestEveryFlippedBitIsDetected checks that no flipped bit changes the content of a file undetected.
func TestEveryFlippedBitIsDetected(t *testing.T) {
	t.Parallel()
	st := sample()
	b := encoded(t, st)
	for i := range b {
		for bit := range 8 {
			b[i] ^= 1 << bit
			got, err := decode(b)
			if err == nil && !reflect.DeepEqual(got, st) {
				t.Fatalf("bit %d of byte %d flipped (%q) is read as %+v", bit, i, b[max(0, i-10):min(len(b), i+10)], got)
			}
			if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
				t.Fatalf("bit %d of byte %d flipped: error %v", bit, i, err)
			}
			b[i] ^= 1 << bit
		}
	}
}

func TestEveryTruncationIsDetected(t *testing.T) {
	t.Parallel()
	b := encoded(t, sample())
	whole := len(bytes.TrimSpace(b))
	for n := range whole {
		if _, err := decode(b[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut after %d bytes of %d: error %v", n, whole, err)
		}
	}
	if _, err := decode(append(bytes.Clone(b), b...)); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "something follows behind the end") {
		t.Errorf("two documents in one file: error %v", err)
	}
}

// TestEncodedFileIsVerifiedWithoutParsing checks that a file of encode is verified without parsing it, with the same
// content as by parsing.
func TestEncodedFileIsVerifiedWithoutParsing(t *testing.T) {
	t.Parallel()
	b := encoded(t, sample())
	content := asWritten(b, state.FormatVersion)
	doc, err := parse(b)
	if err != nil || checkDigest(doc) != nil {
		t.Fatal(err)
	}
	if want, err := canonicalText(doc, ""); err != nil || !bytes.Equal(content, want) {
		t.Errorf("%v:\n%s\nwant\n%s", err, content, want)
	}
	if asWritten(bytes.Replace(b, []byte("\"digest\": \"sha256:"), []byte("\"digest\": \"sha256:0"), 1), state.FormatVersion) != nil {
		t.Error("the digest is not compared")
	}
	if asWritten(b, state.FormatVersion+1) != nil {
		t.Error("the format is not compared")
	}
}

// TestCompactReversesIndentation checks that compact reverses the indentation, whatever keys and texts contain.
func TestCompactReversesIndentation(t *testing.T) {
	t.Parallel()
	var list []any
	doc := map[string]any{"empty": map[string]any{}, "none": []any{}, "number": 1.5, "null": nil, "list": &list}
	for _, text := range []string{``, `": `, `a": "b`, `\`, `\": `, `\\"`, `"`, `""`, `: `, ` x `, "\n", "  \"x\": 1,\n", "\u2028", `{`, `],`} {
		doc["t"+text], doc[text] = text, map[string]any{text: []any{text, map[string]any{text: true}}}
		list = append(list, text, []any{text})
	}
	indented, err := canonicalText(doc, "  ")
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Compact(&want, indented); err != nil {
		t.Fatal(err)
	}
	if got := compact(nil, indented); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s\nwant\n%s", got, want.Bytes())
	}
}

func TestReindentedStateIsAccepted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := json.Indent(&out, encoded(t, sample()), "", "\t"); err != nil {
		t.Fatal(err)
	}
	if _, err := decode(bytes.ReplaceAll(out.Bytes(), []byte("\n"), []byte("\r\n"))); err != nil {
		t.Error(err)
	}
}

// resealed returns a changed file with a matching digest.
func resealed(t *testing.T, change func(document)) []byte {
	t.Helper()
	doc, err := parse(encoded(t, sample()))
	if err != nil {
		t.Fatal(err)
	}
	delete(doc, digestKey)
	change(doc)
	sum, err := digest(doc)
	if err != nil {
		t.Fatal(err)
	}
	doc[digestKey] = sum
	b, err := canonicalText(doc, "  ")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		b    []byte
		kind error
		want string
	}{
		"empty":        {nil, ErrDamaged, "it is empty"},
		"not JSON":     {[]byte("kubewright {}"), ErrDamaged, "it is not complete JSON, so it was cut or changed by hand"},
		"other JSON":   {[]byte("{}"), ErrDamaged, "no format_version"},
		"a list":       {[]byte("[]"), ErrDamaged, "not complete JSON"},
		"format 0":     {[]byte(`{"format_version":0}`), ErrDamaged, "no format of kubewright"},
		"format 1.5":   {[]byte(`{"format_version":1.5}`), ErrDamaged, "no format of kubewright"},
		"no digest":    {[]byte(`{"format_version":1}`), ErrDamaged, "has no digest"},
		"newer":        {[]byte(`{"format_version":2,"tool_version":"9.9.9","other":1}`), ErrNewer, "newer kubewright (9.9.9, state format 2; this one knows formats up to 1)"},
		"edited":       {bytes.Replace(encoded(t, sample()), []byte(`"cp1"`), []byte(`"cp2"`), 1), ErrDamaged, "does not fit its digest"},
		"new field":    {resealed(t, func(d document) { d["new"] = true }), ErrNewer, "holds what this kubewright does not know"},
		"no lineage":   {resealed(t, func(d document) { delete(d, "lineage") }), ErrDamaged, "its content contradicts itself: it has no lineage"},
		"null node":    {resealed(t, func(d document) { d["nodes"] = document{"node.a": nil} }), ErrDamaged, "node.a is null"},
		"null cluster": {resealed(t, func(d document) { d["clusters"] = document{"prod": nil} }), ErrDamaged, "cluster prod is null"},
		"serial":       {resealed(t, func(d document) { d["serial"] = -1 }), ErrDamaged, "serial -1 is negative"},
		"item twice": {resealed(t, func(d document) {
			items := d["items"].([]any)
			d["items"] = append(items, items[0])
		}), ErrDamaged, "twice"},
	} {
		_, err := decode(c.b)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want one with %q", name, err, c.want)
		}
	}
}

// TestFormatUpgradesRunInOrder checks that the functions run in order, one per version, each once.
func TestFormatUpgradesRunInOrder(t *testing.T) {
	t.Parallel()
	chain := []func(document) error{
		func(d document) error { d["lineage"] = d["lineage"].(string) + "-2"; return nil },
		func(d document) error { d["lineage"] = d["lineage"].(string) + "-3"; return nil },
	}
	st, err := decodeFormat(encoded(t, sample()), 3, chain)
	if err != nil || st.Lineage != "l1-2-3" || st.FormatVersion != 3 {
		t.Errorf("upgraded = %+v, %v", st, err)
	}
	chain[1] = func(document) error { return errors.New("no nodes") }
	if _, err := decodeFormat(encoded(t, sample()), 3, chain); err == nil || !strings.Contains(err.Error(), "it cannot be taken from format 2 to 3: no nodes") {
		t.Errorf("error = %v", err)
	}
	if len(upgrades) != state.FormatVersion-1 {
		t.Errorf("%d upgrades lead to format %d", len(upgrades), state.FormatVersion)
	}
}

// FuzzDecode checks that no input panics, and that every accepted input is encoded and decoded to
// the same state: the input as it is, and the input with a matching digest.
func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, sample()))
	f.Add([]byte(`{"format_version":1,"digest":"sha256:0"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, input := range [][]byte{b, redigested(b)} {
			st, err := decode(input)
			if err != nil {
				continue
			}
			if again, err := decode(encoded(t, st)); err != nil || !reflect.DeepEqual(again, st) {
				t.Fatalf("%+v → %+v, %v", st, again, err)
			}
		}
	})
}

// redigested returns a document with the digest that matches its content.
func redigested(b []byte) []byte {
	doc, err := parse(b)
	if err != nil || doc == nil {
		return nil
	}
	delete(doc, digestKey)
	if doc[digestKey], err = digest(doc); err != nil {
		return nil
	}
	out, _ := canonicalText(doc, "  ")
	return out
}

// canonicalText returns the output of canonical.
func canonicalText(doc document, indent string) ([]byte, error) {
	var b bytes.Buffer
	err := canonical(&b, doc, indent)
	return b.Bytes(), err
}
