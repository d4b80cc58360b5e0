package ssh

import "testing"

// TestIncludesAreNormalised checks that no Include reaches the parser with an empty pattern,
// which it would take for the user's .ssh folder.
func TestIncludesAreNormalised(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"Include a":               "Include a",
		"Include a b":             "Include a b",
		"Include a # comment":     "Include a",
		"Include a#":              "Include a#",
		" include = a  b":         "Include a b",
		"Include a\tb":            "Include a b",
		"Include a \r":            "Include a",
		"Include a\r":             "Include a\r",
		"Include # nothing":       "Include # nothing",
		"# Include a  b":          "# Include a  b",
		"User  ann # and comment": "User  ann # and comment",
	} {
		if got := plainIncludes("Host x\n" + line + "\nPort 1"); got != "Host x\n"+want+"\nPort 1" {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
