package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// WriteJSON prints a value as one document, indented. Since it may go to a terminal or into the
// log of a CI runner, it is visibleJSON.
func WriteJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// WriteJSONLine is WriteJSON on one line.
func WriteJSONLine(w io.Writer, v any) error { return encodeJSON(w, v, "") }

func encodeJSON(w io.Writer, v any, indent string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, visibleJSON(b.String()))
	return err
}

// visibleJSON returns an equal document that moves no cursor. JSON allows DEL, C1 controls and
// characters that change the direction of writing in a string (RFC 8259 §7), and a CI runner obeys
// a bracketCommand. None of these is part of JSON's own syntax, so all of them are in strings.
func visibleJSON(s string) string {
	hidden := func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }
	if strings.ContainsFunc(s, hidden) {
		var b strings.Builder
		for _, r := range s {
			if !hidden(r) {
				b.WriteRune(r)
				continue
			}
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		s = b.String()
	}
	return bracketCommand.ReplaceAllString(s, `##$1\u005b`)
}

// JSONValue returns a value as JSON shows it: null if it is sensitive or unknown.
func JSONValue(v state.Value) any {
	switch v.Kind() {
	case state.KindPending, state.KindSensitive:
		return nil
	case state.KindMap:
		out := map[string]any{}
		for k, e := range v.AsMap() {
			out[k] = JSONValue(e)
		}
		return out
	case state.KindList:
		out := []any{}
		for _, e := range v.AsList() {
			out = append(out, JSONValue(e))
		}
		return out
	case state.KindArgs:
		out := []any{}
		for _, a := range v.AsArgs() {
			out = append(out, map[string]any{"name": a.Name, "value": JSONValue(a.Of())})
		}
		return out
	}
	return v.Go()
}

// JSONVersion is the version of the JSON forms: Terraform's, whose readers read these. New fields
// do not change it; a change that breaks readers increases the first number.
const JSONVersion = "1.2"

// ValidateJSON prints findings for programs, as one document.
func ValidateJSON(w io.Writer, list diag.Diagnostics, source func(file string) []byte) error {
	return WriteJSON(w, struct {
		FormatVersion string      `json:"format_version"`
		Valid         bool        `json:"valid"`
		Errors        int         `json:"error_count"`
		Warnings      int         `json:"warning_count"`
		Diagnostics   []diag.JSON `json:"diagnostics"`
	}{JSONVersion, !list.HasErrors(), len(list.Errors()), len(list.Warnings()), list.JSON(source)})
}
