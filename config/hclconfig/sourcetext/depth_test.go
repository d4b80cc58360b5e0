package sourcetext

import (
	"strings"
	"testing"
)

// TestTextsThatAreTooMuchAreRefused shows what is refused, by file and text.
func TestTextsThatAreTooMuchAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, text, want string }{
		{"plain", "a.hcl", "x = [1, 2, -3]\n", ""},
		{"brackets", "a.hcl", "x = " + strings.Repeat("[", 250) + strings.Repeat("]", 250), "Nested too deeply"},
		{"prefixes", "a.hcl", "x = " + strings.Repeat("!", 250) + "true\n", "Nested too deeply"},
		{"templates", "a.hcl", `x = "` + strings.Repeat("%{if true}", 250) + strings.Repeat("%{endif}", 250) + `"`, "Nested too deeply"},
		{"operators", "a.hcl", "x = 1" + strings.Repeat(" + 1", 10_001) + "\n", "Nested too deeply"},
		{"a huge number", "a.hcl", "x = 1e99999\n", OutOfRange},
		{"many digits", "a.hcl", "x = " + strings.Repeat("9", 5_000) + "\n", OutOfRange},
		{"objects", "a.hcl.json", strings.Repeat(`{"a":`, 250) + "1" + strings.Repeat("}", 250), "Nested too deeply"},
		{"broken JSON", "a.hcl.json", "x" + strings.Repeat("[", 250), "Nested too deeply"},
		{"a template in JSON", "a.hcl.json", `{"x": "${` + strings.Repeat("[", 250) + `"}`, "Nested too deeply"},
		{"a huge number in JSON", "a.hcl.json", `{"x": 1e99999}`, OutOfRange},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			said := ""
			if d := Check([]byte(c.text), c.file); d != nil {
				said = d.Summary
			}
			if said != c.want {
				t.Errorf("says %q, want %q", said, c.want)
			}
		})
	}
}
