package hclconfig_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
)

// canary is a secret that appears in many forms in the errors of functions.
const canary = "Ann:C4nary-9f2b"

// leaks reports whether a text has a part of the canary.
func leaks(said string) bool {
	return strings.Contains(strings.ToLower(said), "c4nary") || strings.Contains(said, "QzRuYXJ5") || strings.Contains(strings.ToLower(said), "yran4c")
}

// findings returns the full text of findings, with their excerpts.
func findings(o hclconfig.Options, diags diag.Diagnostics, files ...string) string {
	var b strings.Builder
	for _, d := range diags {
		fmt.Fprintln(&b, d, d.Values)
		s := d.Excerpt(func(name string) []byte {
			for i := 0; i < len(files); i += 2 {
				if files[i] == name {
					return hclconfig.Cover(o, name, []byte(files[i+1]))
				}
			}
			return nil
		})
		if s != nil {
			fmt.Fprintln(&b, s.Context, s.Code, s.Values)
		}
	}
	return b.String()
}

// TestFunctionErrorsWithholdSecrets checks that errors of functions about a value derived from a secret do not show
// it, in cut, decoded or escaped form either, and that they name the function that failed.
func TestFunctionErrorsWithholdSecrets(t *testing.T) {
	t.Parallel()
	made := []string{
		`lower(var.s)`, `split(":", var.s)[1]`, `base64decode(base64encode(var.s))`, `local.part`, `local.list[1]`, `local.object.part`,
		`"<${var.s}>"`, `strrev(var.s)`, `jsondecode(jsonencode(var.s))`, `title(var.s)`, `substr(var.s, 4, 8)`, `replace(var.s, ":", "/")`,
		`(true ? var.s : "x")`, `join("", [for x in split(":", var.s) : x])`, `sensitive("C4nary-9f2b")`, `var.lines`, `local.hidden["a"]`,
	}
	failing := map[string][]string{
		"tonumber": {`tonumber(%s)`}, "tobool": {`tobool(%s)`}, "base64decode": {`base64decode("%%${%s}")`}, "file": {`file(%s)`},
		"filebase64": {`filebase64(%s)`}, "file_age": {`file_age(%s)`}, "templatefile": {`templatefile(%s, {})`, `templatefile("t.tpl", { (%s) = 1 })`},
		"templatestring": {`templatestring("%%%%{ if ${%s}", {})`}, "yamldecode": {`yamldecode("*${%s}")`}, "jsondecode": {`jsondecode("[${%s}")`},
		"timeadd": {`timeadd(%s, "1h")`, `timeadd("2006-01-02T15:04:05Z", %s)`}, "timecmp": {`timecmp(%s, "2006-01-02T15:04:05Z")`},
		"formatdate": {`formatdate("YYYY", %s)`}, "uuidv5": {`uuidv5(%s, "x")`}, "cidrhost": {`cidrhost(%s, 1)`}, "parseint": {`parseint(%s, 3)`},
		"regex": {`regex("(${%s}", "x")`}, "format": {`format("%%d", %s)`}, "cidrsubnet": {`cidrsubnet(%s, 1, 1)`}, "fileset": {`fileset("../${%s}", "*")`},
	}
	for name, calls := range failing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, call := range calls {
				for _, value := range made {
					x := fmt.Sprintf(call, value)
					diags := withSecret(t, canary, x)
					if len(diags) != 1 || !strings.HasPrefix(diags[0].Detail, "The function "+name+" failed. The reason is not shown, for it can quote what is sensitive here: ") {
						t.Errorf("%s: %q", x, lines(diags))
					}
				}
			}
		})
	}
	for _, x := range []string{
		`[for x in split(":", var.s) : tonumber(x)]`, `{ for x in [var.s, var.s] : lower(x) => 1 }`, `[for x in split(":", var.s) : [for y in [x] : tonumber(lower(y))]]`,
		`split(":", var.s)[*].part`, `try(tonumber(lower(var.s)))`, `{ a = 1 }[lower(var.s)]`, `lower(var.s) + 1`, `lower(var.s) ? 1 : 2`, `local.object.nothing`,
		`[for x in split(":", var.s) : x.part]`, `one([for x in split(":", var.s) : file(x)])`, `[for k, v in { (var.s) = 1 } : file(k)]`,
	} {
		if diags := withSecret(t, canary, x); len(diags) == 0 {
			t.Errorf("%s: no finding", x)
		}
	}
}

// TestWithheldErrorNamesSensitiveValues checks that the error says what failed, which sensitive values it uses,
// and how to find out why.
func TestWithheldErrorNamesSensitiveValues(t *testing.T) {
	t.Parallel()
	for x, want := range map[string]string{
		`tonumber(lower(var.s))`: "The function tonumber failed. The reason is not shown, for it can quote what is sensitive here: var.s. See whether that has the value you mean; " +
			"to read the reason, evaluate the same expression in kubewright console with a value that is no secret.",
		`{ for x in [var.s, var.s] : x => 1 }`: "This expression failed. The reason is not shown, for it can quote what is sensitive here: var.s, x. See whether that has the value you mean; " +
			"to read the reason, evaluate the same expression in kubewright console with a value that is no secret.",
	} {
		if diags := withSecret(t, canary, x); len(diags) != 1 || diags[0].Detail != want {
			t.Errorf("%s: %q, want %q", x, lines(diags), want)
		}
	}
	_, diags := hclconfig.Load(hclconfig.Options{FS: folder("main.hcl", base+"variable \"d\" {\n  sensitive = true\n}\n", "kubewright.kwvars", `d = "pw%{C4nary}"`)})
	if want := "What is wrong stands in a value that may be a secret, so it is not quoted. A text is written in quotes, and in it a $ or a % before { twice."; len(diags) != 1 || diags[0].Detail != want {
		t.Errorf("%q, want %q", lines(diags), want)
	}
}

// TestFindingsWithoutValueKeepText checks that findings whose text has no value in it keep their text.
func TestFindingsWithoutValueKeepText(t *testing.T) {
	t.Parallel()
	for x, want := range map[string]string{
		`[var.s, lower()]`: "Not enough function arguments", `lower(var.s, 1)`: "Too many function arguments",
		`[var.s, (null)[0]]`: "Attempt to index null value", `[var.s, (null).a]`: "Attempt to get attribute from null value",
		`[var.s, tolist(null)[*]]`: "Splat of null value", `[for x in null : var.s]`: "Iteration over null value",
		`[for x in 1 : var.s]`: "Iteration over non-iterable value", `"${var.s}${[]}"`: "Invalid template interpolation value",
	} {
		if diags := withSecret(t, canary, x); len(diags) != 1 || diags[0].Summary != want || strings.Contains(diags[0].Detail, "not shown") {
			t.Errorf("%s: %q, want %q", x, lines(diags), want)
		}
	}
}

// withSecret loads a configuration with an output, and checks that no finding has its secret.
func withSecret(t *testing.T, secret, x string) diag.Diagnostics {
	t.Helper()
	main := base + "variable \"s\" {\n  sensitive = true\n}\nvariable \"lines\" {\n  sensitive = true\n  default = \"first\\nC4nary-9f2b\\n\"\n}\n" +
		"locals {\n  list = split(\":\", var.s)\n  part = local.list[1]\n  object = { part = local.part, plain = 1 }\n  hidden = { for k in [\"a\"] : k => local.part }\n}\n" +
		"output \"x\" {\n  sensitive = true\n  value = " + x + "\n}\n"
	o := hclconfig.Options{FS: folder("main.hcl", main, "t.tpl", "${x}"), Env: []string{"KUBEWRIGHT_VAR_s=" + secret}}
	_, diags := hclconfig.Load(o)
	if said := findings(o, diags, "main.hcl", main); leaks(said) {
		t.Errorf("%s: the secret is in\n%s", x, said)
	}
	return diags
}

// TestShortSecretIsWithheld checks that a secret of two characters is not shown either.
func TestShortSecretIsWithheld(t *testing.T) {
	t.Parallel()
	main := base + "variable \"s\" {\n  sensitive = true\n}\noutput \"x\" {\n  sensitive = true\n  value = tonumber(var.s)\n}\n"
	_, diags := hclconfig.Load(hclconfig.Options{FS: folder("main.hcl", main), Env: []string{"KUBEWRIGHT_VAR_s=zq"}})
	if len(diags) != 1 || strings.Contains(diags[0].String(), "zq") || strings.Join(diags[0].Values, "") != "var.s has a sensitive value" {
		t.Errorf("%q", lines(diags))
	}
}

// TestUnrelatedErrorsKeepReason checks that an error that has nothing to do with a secret keeps its reason,
// even beside one.
func TestUnrelatedErrorsKeepReason(t *testing.T) {
	t.Parallel()
	for x, want := range map[string]string{
		`"${var.s}${tonumber("abc")}"`:       `cannot convert "abc" to number`,
		`tonumber("abc")`:                    `cannot convert "abc" to number`,
		`[var.s, file("nothing")]`:           `there is no file "nothing"`,
		`nofunc(var.s)`:                      `There is no function named "nofunc".`,
		`var.s.part`:                         `Can't access attributes on a primitive-typed value (string).`,
		`[for x in ["abc"] : tonumber(x)]`:   `cannot convert "abc" to number`,
		`lower(var.s, 1)`:                    `Function "lower" expects only 1 argument(s).`,
		`local.object.plain + tonumber("b")`: `cannot convert "b" to number`,
	} {
		if diags := withSecret(t, canary, x); len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s: %q, want %q", x, lines(diags), want)
		}
	}
}

// TestValuesFileErrorsWithholdValues checks that errors in a file of values do not quote its values.
func TestValuesFileErrorsWithholdValues(t *testing.T) {
	t.Parallel()
	main := base + "variable \"d\" {\n  sensitive = true\n}\nvariable \"l\" {\n  sensitive = true\n  type = map(number)\n  default = {}\n}\nvariable \"open\" {\n  default = 1\n}\n"
	for _, text := range []string{
		`d = "pw%{C4nary}"`, `d = "pw%{C4nary"`, `d = "pw${C4nary}"`, `d: "C4nary"`, `d = nofunc("C4nary")`, `d "C4nary"`, `d == "C4nary"`, `d = C4nary`, `d = "C4nary`,
		`d = "\C4nary"`, `C4nary`, "d =\nC4nary\n", "d = C4nary-9f2b==\n", `d = C4nary::f()`, `d = "a" "C4nary"`, `d = [1, C4nary`, `d = { C4nary = 1, C4nary = 2, "x }`,
		`d "C4nary" {`, `d = <<EOT
C4nary`, "open = 1\nC4nary\n", `d = 'C4nary'`, `l = { C4nary = "x" }`, `d = upper("C4nary") # C4nary`, "d = \"x\" C4nary # C4nary", "-----BEGIN KEY-----\nC4nary\nC4nary=\n",
		`d = "${"C4nary"[0]}"`, `d = "C4nary" + 1`, `d = {}["C4nary"]`, `d = [for x in ["C4nary"] : x.y]`, `d = { for x in ["C4nary", "C4nary"] : x => 1 }`,
	} {
		checkValues(t, main, "kubewright.kwvars", text)
	}
	for _, text := range []string{
		`{"d": C4nary}`, `{"d" "C4nary"}`, `{"d" = "C4nary"}`, `{d: "C4nary"}`, `{"d": "C4nary}`, `{"d": ["C4nary"}`, `{"d": 'C4nary'}`,
		`{"l": {"C4nary": "x"}}`, `["C4nary"]`, `"C4nary"`, `{"d": "x" "C4nary"}`, `{"d": {"open": "C4nary", "a" 1}}`, `{"d": "C4n\ary"}`,
	} {
		checkValues(t, main, "kubewright.kwvars.json", text)
	}
	for _, text := range []string{`["${C4nary}"]`, `{ a = "${C4nary::f()}" }`, `{ C4nary = "x" }`, `C4nary(1)`, `{}["C4nary"]`} {
		o := hclconfig.Options{FS: folder("main.hcl", main), Env: []string{"KUBEWRIGHT_VAR_l=" + text, "KUBEWRIGHT_VAR_d=x"}}
		_, diags := hclconfig.Load(o)
		if said := findings(o, diags, "main.hcl", main); !diags.HasErrors() || leaks(said) {
			t.Errorf("%s:\n%s", text, said)
		}
	}
}

// checkValues checks that no finding about a file of values, under any name, has the canary.
func checkValues(t *testing.T, main, name, text string) {
	t.Helper()
	fsys := folder("main.hcl", main, name, text)
	named := hclconfig.VarArg{File: strings.Replace(name, "kubewright.kwvars", "secrets.txt", 1)}
	for from, o := range map[string]hclconfig.Options{
		name:       {FS: fsys},
		named.File: {FS: folder("main.hcl", main), Vars: []hclconfig.VarArg{named}, ReadFile: func(string) ([]byte, error) { return []byte(text), nil }},
	} {
		_, diags := hclconfig.Load(o)
		said := findings(o, diags, "main.hcl", main, from, text)
		if !diags.HasErrors() || leaks(said) {
			t.Errorf("%s: %s:\n%s", from, text, said)
		}
	}
	if _, diags := hclconfig.Format(name, []byte(text)); strings.HasSuffix(name, ".kwvars") && leaks(findings(hclconfig.Options{}, diags, name, text)) {
		t.Errorf("format: %s: %q", text, lines(diags))
	}
}
