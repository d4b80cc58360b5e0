package hclconfig_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state"
)

const consoleConfig = `
variable "password" {
  type      = string
  default   = "correct horse"
  sensitive = true
}
locals {
  sizes = { small = 1, large = 3 }
}
cluster "c" {
  kubernetes_version = "1.36.3"
}
node "n" {
  for_each = { a = "192.0.2.1", b = "192.0.2.2" }
  cluster  = cluster.c
  role     = each.key == "a" ? "control-plane" : "worker"
  address  = each.value
}`

// TestConsoleExpressions checks that expressions have the same values as in a file, that secrets are not
// shown, and that the name of a host is known once it is recorded.
func TestConsoleExpressions(t *testing.T) {
	t.Parallel()
	c, diags := hclconfig.NewConsole(hclconfig.Options{FS: folder("main.hcl", consoleConfig, "note.txt", "hello")},
		config.Known{Names: map[state.Target]string{state.NodeKeyTarget("n", "a"): "host-a"}})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	defer c.Close()
	for _, tt := range []struct {
		text string
		want state.Value
	}{
		{`local.sizes["large"] + 1`, state.Number("4")},
		{`[for n in node.n : n.address]`, state.List(state.String("192.0.2.1"), state.String("192.0.2.2"))},
		{`file("note.txt")`, state.String("hello")},
		{`node.n["a"].name`, state.String("host-a")},
		{`null`, state.Null()},
		{`var.password`, state.SensitiveValue("", "")},
		{`{ p = "x${var.password}", n = 1 }`, state.Map(map[string]state.Value{"p": state.SensitiveValue("", ""), "n": state.Number("1")})},
		{`nonsensitive(var.password)`, state.String("correct horse")},
		{`type(local.sizes)`, state.String("object({large=number,small=number})")},
	} {
		got, diags := c.Eval(tt.text)
		if diags.HasErrors() || !got.Equal(tt.want) {
			t.Errorf("%s: got %v, %v, want %v", tt.text, got, diags, tt.want)
		}
	}
	if got, _ := c.Eval(`["x", node.n["b"].name]`); !got.AsList()[1].IsPending() || got.AsList()[0].IsPending() {
		t.Errorf("a name that only an apply can know is %v", got)
	}
	for text, summary := range map[string]string{
		`1 +`:                           "Missing expression",
		`"open`:                         "Unterminated template string",
		`local.nope`:                    "Reference to undeclared local value",
		`node.n["c"]`:                   "Reference to undeclared node",
		`file("../secret")`:             "Invalid function argument",
		`tonumber(var.password)`:        "Invalid function argument",
		strings.Repeat("[", 10_000):     "Nested too deeply",
		`each.key`:                      `Reference to "each" in context without for_each`,
		`cluster.c.certificate_key`:     "Unsupported attribute",
		`parseint("correct horse", 10)`: "Invalid function argument",
	} {
		_, diags := c.Eval(text)
		if !diags.HasErrors() || diags[0].Summary != summary {
			t.Errorf("%.40s: got %v, want %s", text, diags, summary)
		}
		for _, d := range diags {
			checkWording(t, d)
			if strings.Contains(d.Detail, "correct horse") {
				t.Errorf("%s: a secret is in %s", text, d)
			}
			if string(c.Source(d.Subject.File)) != text {
				t.Errorf("%.40s: the source of %s is another text", text, d.Subject.File)
			}
		}
	}
	if _, diags := hclconfig.NewConsole(hclconfig.Options{FS: folder("main.hcl", `locals { a = }`)}, config.Known{}); !diags.HasErrors() {
		t.Error("a configuration that cannot be read has a console")
	}
}

// TestConsoleContinuationLines checks which expressions continue on the next line.
func TestConsoleContinuationLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1": false, "": false, "[": true, "[1,\n2": true, "[1,\n2]": false, "f(": true, "]": false,
		`"["`: false, `"open [`: false, "<<EOT": true, "<<EOT\nx": true, "<<EOT\nx\nEOT": false, "{ a = 1": true, `"${[`: true,
	} {
		if hclconfig.Incomplete(text) != want {
			t.Errorf("%q: incomplete is not %t", text, want)
		}
	}
}
