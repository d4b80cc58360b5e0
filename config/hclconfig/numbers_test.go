package hclconfig_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/hclconfig"
)

// numberRange is a part of the error for each.
const numberRange = "it must be finite, its size at most 1e4932"

// TestNumberOutOfRangeIsAnError checks that an infinite number, or one with an absurd number of digits,
// is an error where it is made, immediately, and not a panic or a minute later.
func TestNumberOutOfRangeIsAnError(t *testing.T) {
	t.Parallel()
	for _, x := range []string{
		"log(0, 2)", "pow(2, 999999999999)", "-pow(2, 999999999999)", `yamldecode(".inf")`, `yamldecode("a: [-.inf]")`, `yamldecode("1e9999999")`,
		"1e9999999", "-1e9999999", "1e-9999999", "1e999999999999999", `jsondecode("1e9999999")`, `jsondecode("[{\"a\": 1e-9999999}]")`, `tonumber("1e9999999")`,
		`"a${1e9999999}"`, `"${log(0, 2)}"`, `"a${tonumber("1e9999999")}"`, `templatestring("${"$"}{1e9999999}", {})`, `{ a = [sensitive(log(0, 2))] }`, `max(1, log(0, 2))`,
		`tonumber("Inf")`, "1e4000 * 1e4000", "1" + strings.Repeat("0", 5000), `file(1e9999999)`, `abs("1e9999999")`, `sum(["1e9999999"])`,
	} {
		for _, form := range []string{"output \"x\" {\n  sensitive = true\n  value = %s\n}\n", "locals {\n  x = %s\n}\noutput \"x\" {\n  value = local.x\n}\n"} {
			main := base + fmt.Sprintf(form, x)
			_, diags := hclconfig.Load(hclconfig.Options{FS: folder("main.hcl", main)})
			if len(diags) != 1 || diags[0].Subject.File != "main.hcl" || !strings.Contains(main[lineStart(main, diags[0].Subject.Line):], x[:1]) {
				t.Errorf("%.50s: %q", x, lines(diags))
				continue
			}
			if said := diags[0].Summary + diags[0].Detail; !strings.Contains(said, "out of range") {
				t.Errorf("%.50s: %s", x, said)
			}
		}
	}
	for x, want := range map[string]string{
		"1e9999999":       "main.hcl:11: error: Number out of range: This number cannot be used: it must be finite, its size at most 1e4932 and, unless it is 0, at least 1e-4932.",
		"1e4000 * 1e4000": "main.hcl:11: error: Number out of range: A number in the value of this expression cannot be used: it must be finite, its size at most 1e4932 and, unless it is 0, at least 1e-4932.",
	} {
		_, diags := hclconfig.Load(hclconfig.Options{FS: folder("main.hcl", base+"output \"x\" {\n  value = "+x+"\n}\n")})
		if got := strings.Join(lines(diags), "\n"); got != want {
			t.Errorf("%s: %s, want %s", x, got, want)
		}
	}
	arg := "cluster \"c\" {\n  kubernetes_version = \"1.36.3\"\n  kubelet {\n    config = { maxPods = %s }\n  }\n}\n"
	for name, text := range map[string]string{
		"main.hcl":      fmt.Sprintf(arg, "log(0, 2)"),
		"main.hcl.json": `{"output": {"x": {"value": 1e9999999}}}`,
		"t.hcl.json":    `{"output": {"x": {"value": "a${1e9999999}"}}}`,
	} {
		_, diags := hclconfig.Load(hclconfig.Options{FS: folder(name, text)})
		if len(diags) == 0 || !strings.Contains(diags[len(diags)-1].Detail, numberRange) || diags[len(diags)-1].Subject.File != name {
			t.Errorf("%s: %q", name, lines(diags))
		}
	}
}

// lineStart returns the offset of a line.
func lineStart(text string, line int) int {
	at := 0
	for range line - 1 {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return at
}

// TestVariableOutOfRangeIsAnError checks the same for a value from outside, whose text is not quoted.
func TestVariableOutOfRangeIsAnError(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"number", "list(number)\n sensitive = true"} {
		main := base + "variable \"n\" {\n  type = " + typ + "\n}\n"
		given := "1e9999999"
		if typ != "number" {
			given = `["1e9999999"]`
		}
		for name, o := range map[string]hclconfig.Options{
			"option": {FS: folder("main.hcl", main), Vars: []hclconfig.VarArg{{Assignment: "n=" + given}}},
			"file":   {FS: folder("main.hcl", main, "kubewright.kwvars", "n = "+given)},
			"JSON":   {FS: folder("main.hcl", main, "kubewright.kwvars.json", `{"n": `+given+`}`)},
		} {
			_, diags := hclconfig.Load(o)
			if len(diags) != 1 || diags[0].Subject.File == "" || !strings.Contains(diags[0].Summary+diags[0].Detail, "out of range") || strings.Contains(diags[0].Detail, "999") {
				t.Errorf("%s of %s: %q", name, typ, lines(diags))
			}
		}
	}
}

// TestNumbersInRangeAreAccepted checks that large and small numbers are accepted.
func TestNumbersInRangeAreAccepted(t *testing.T) {
	t.Parallel()
	for x, want := range map[string]string{
		"1e400": "1" + strings.Repeat("0", 400), "1e-3": "0.001", "pow(2, 10)": "1024", `tonumber("0")`: "0", "log(16, 2)": "4",
		`yamldecode("1.5")`: "1.5", `jsondecode("-2")`: "-2", "max(1, 2)": "2", `try(log(0, 2), 3)`: "3",
	} {
		c, diags := hclconfig.Load(hclconfig.Options{FS: folder("main.hcl", base+"output \"x\" {\n  value = "+x+"\n}\n")})
		if len(diags) > 0 {
			t.Errorf("%s: %q", x, lines(diags))
		} else if got := output(t, c, "x"); got != want {
			t.Errorf("%s: %s, want %s", x, got, want)
		}
	}
}
