package blocks

import (
	"testing"
)

// TestLongestNameIsFoundAsWholeWord checks that the longest of nested names is found, and only as a whole word.
func TestLongestNameIsFoundAsWholeWord(t *testing.T) {
	t.Parallel()
	w := newWords([]string{"cp1", "cp10", `node.cp["cp1"]`, "10.0.0.1", "", "ärger"})
	for line, want := range map[string]string{
		"":                               "",
		"cp1, cp10 and cp100":            "X, X and cp100",
		`after node.cp["cp1"], then cp1`: "after X, then X",
		"xcp1 cp1x cp1":                  "xcp1 cp1x X",
		"10.0.0.1 10.0.0.11 110.0.0.1":   "X 10.0.0.11 110.0.0.1",
		"ärger, Überärger":               "X, Überärger",
		"cp1cp1":                         "cp1cp1",
	} {
		if got := w.replace(line, "X"); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
