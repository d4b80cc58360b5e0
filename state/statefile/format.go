package statefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/kubewright/kubewright/state"
)

// document is a decoded state file. Upgrades work on it, so they need no Go types of old formats.
type document = map[string]any

// upgrades convert a document from one format to the next: the function at index i converts
// format i+1 to i+2. To change the format: raise state.FormatVersion, append a function here and
// keep a file of the old format among the tests. Never change a released function.
var upgrades = []func(document) error{}

const digestKey = "digest"

// digestLine precedes a digest in a file that encode wrote: a line of its own, which no text
// value can imitate.
const digestLine = "\n  \"" + digestKey + `": "`

// encode encodes a state as a file: sorted, indented, with its digest.
func encode(st *state.State) ([]byte, error) {
	raw, err := json.Marshal(st)
	if err != nil {
		return nil, err
	}
	doc, err := parse(raw)
	if err != nil {
		return nil, err
	}
	doc[digestKey] = "" // a placeholder until the rest is encoded
	var b bytes.Buffer
	b.Grow(len(raw) * 3 / 2) // with room for the indentation
	if err := canonical(&b, doc, "  "); err != nil {
		return nil, err
	}
	before, after, _ := bytes.Cut(b.Bytes(), []byte(digestLine+`",`))
	return slices.Concat(before, []byte(digestLine+digestOf(contentOf(before, after))+`",`), after), nil
}

// digest covers the content, not the bytes: indentation and line ends do not matter, any other
// change is detected.
func digest(doc document) (string, error) {
	h := sha256.New()
	if err := canonical(h, doc, ""); err != nil {
		return "", err
	}
	return digestName(h.Sum(nil)), nil
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return digestName(sum[:])
}

func digestName(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// canonical sorts keys (as encoding/json does with maps) and keeps text readable.
func canonical(w io.Writer, doc document, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(doc)
}

func parse(b []byte) (document, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var doc document
	if err := dec.Decode(&doc); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows behind the end")
	}
	return doc, nil
}

// decode decodes a file of encode, of this format or an older one. Its errors are an *Error
// without path and remedy.
func decode(b []byte) (*state.State, error) { return decodeFormat(b, state.FormatVersion, upgrades) }

func decodeFormat(b []byte, current int64, upgrades []func(document) error) (*state.State, error) {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, damaged("it is empty", nil)
	}
	if content := asWritten(b, current); content != nil {
		return typed(content)
	}
	doc, err := parse(b)
	if err != nil {
		return nil, damaged("it is not complete JSON, so it was cut or changed by hand", err)
	}
	version, err := formatOf(doc)
	if err != nil {
		return nil, err
	}
	if version > current {
		return nil, &Error{Kind: ErrNewer, Problem: fmt.Sprintf(
			"it was written by a newer kubewright (%v, state format %d; this one knows formats up to %d)", doc["tool_version"], version, current)}
	}
	if err := checkDigest(doc); err != nil {
		return nil, err
	}
	for v := version; v < current; v++ {
		if err := upgrades[v-1](doc); err != nil {
			return nil, damaged(fmt.Sprintf("it cannot be taken from format %d to %d", v, v+1), err)
		}
	}
	doc["format_version"] = current
	var content bytes.Buffer
	if err := canonical(&content, doc, ""); err != nil {
		return nil, err
	}
	return typed(content.Bytes())
}

// asWritten returns the canonical content of a file of this format that is exactly as encode
// wrote it. For any other file it returns nil: that one has to be parsed before its digest can be
// compared. With a big state this saves most of the time.
func asWritten(b []byte, format int64) []byte {
	before, rest, found := bytes.Cut(b, []byte(digestLine))
	recorded, after, ended := bytes.Cut(rest, []byte(`",`))
	if !found || !ended || !bytes.Contains(after, fmt.Appendf(nil, "\n  \"format_version\": %d,\n", format)) {
		return nil
	}
	content := contentOf(before, after)
	if digestOf(content) != string(recorded) {
		return nil
	}
	return content
}

// contentOf returns the canonical content of a file of encode, from the parts before and after
// its digest.
func contentOf(before, after []byte) []byte {
	content := make([]byte, 0, len(before)+len(after))
	return append(compact(compact(content, before), after), '\n')
}

// compact does what json.Compact does, in a third of the time, for lines that encode has
// indented: each has one key and the beginning of its value. For other text the result has a
// different digest.
func compact(out, indented []byte) []byte {
	for line := range bytes.Lines(indented) {
		line = bytes.TrimLeft(bytes.TrimSuffix(line, []byte("\n")), " ")
		if key := keyOf(line); key != nil {
			out = append(append(out, key...), ':')
			line = line[len(key)+len(": "):]
		}
		out = append(out, line...)
	}
	return out
}

// keyOf returns the quoted key at the beginning of a line; nil when there is none.
func keyOf(line []byte) []byte {
	if !bytes.HasPrefix(line, []byte(`"`)) {
		return nil
	}
	for end := 1; ; end++ {
		next := bytes.IndexByte(line[end:], '"')
		if next < 0 {
			return nil
		}
		end += next
		if escapes := end - len(bytes.TrimRight(line[:end], `\`)); escapes%2 != 0 {
			continue
		}
		if !bytes.HasPrefix(line[end+1:], []byte(": ")) {
			return nil
		}
		return line[:end+1]
	}
}

func formatOf(doc document) (int64, error) {
	number, ok := doc["format_version"].(json.Number)
	if !ok {
		return 0, damaged("it has no format_version, so it is no state file of kubewright", nil)
	}
	version, err := number.Int64()
	if err != nil || version < 1 {
		return 0, damaged(fmt.Sprintf("its format_version %s is no format of kubewright", number), nil)
	}
	return version, nil
}

// checkDigest removes the digest from the document and compares it.
func checkDigest(doc document) error {
	recorded, ok := doc[digestKey].(string)
	if !ok {
		return damaged("it has no digest, so it was changed by hand", nil)
	}
	delete(doc, digestKey)
	actual, err := digest(doc)
	if err != nil {
		return err
	}
	if actual != recorded {
		return damaged("its content does not fit its digest, so it was changed by hand or the disk lost something", nil)
	}
	return nil
}

// typed decodes checked content into a State. A field that State does not know comes from a newer
// version: dropping it would lose data of that version.
func typed(content []byte) (*state.State, error) {
	st := &state.State{}
	dec := json.NewDecoder(bytes.NewReader(content))
	dec.DisallowUnknownFields()
	if err := dec.Decode(st); err != nil {
		var by struct {
			ToolVersion any `json:"tool_version"`
		}
		_ = json.Unmarshal(content, &by)
		return nil, &Error{Kind: ErrNewer, Problem: fmt.Sprintf(
			"it holds what this kubewright does not know; %v wrote it", by.ToolVersion), Err: err}
	}
	if err := check(st); err != nil {
		return nil, damaged("its content contradicts itself", err)
	}
	return st, nil
}

// check reports a broken invariant of a state.
func check(st *state.State) error {
	if st.Lineage == "" {
		return errors.New("it has no lineage")
	}
	if st.Serial < 0 {
		return fmt.Errorf("serial %d is negative", st.Serial)
	}
	for name, c := range st.Clusters {
		if c == nil {
			return fmt.Errorf("cluster %s is null", name)
		}
	}
	for target, n := range st.Nodes {
		if n == nil {
			return fmt.Errorf("%s is null", target)
		}
	}
	return (&state.Snapshot{Items: st.Items}).Check()
}

func damaged(problem string, cause error) *Error {
	return &Error{Kind: ErrDamaged, Problem: problem, Err: cause}
}
