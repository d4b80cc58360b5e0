package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// WriteJSON prints a value as one document, indented. It may be printed on a
// terminal or into the log of a CI runner: see visibleJSON.
func WriteJSON(w io.Writer, v any) error { return encodeJSON(w, v, "  ") }

// compactJSON is WriteJSON on one line.
func compactJSON(w io.Writer, v any) error { return encodeJSON(w, v, "") }

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

// visibleJSON returns a document that says the same and moves no cursor: JSON lets
// DEL, C1 controls and characters that turn the direction of writing stand in a
// string as they are (RFC 8259 §7), and a CI runner obeys a bracketCommand. None of these
// is JSON's own, so all are in strings.
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
