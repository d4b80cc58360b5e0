package hclconfig

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig/sourcetext"
)

// bomb is a configuration of a few lines that describes too much.
type bomb struct {
	name string
	// value is the value of local.bomb, in line 8; files are further files.
	value string
	files []string
	// want is the summary of the error.
	want string
	// memory reports whether it would quickly take much memory.
	memory bool
}

// doubled returns locals each of which is twice the previous one.
func doubled(format string) []string {
	var b strings.Builder
	b.WriteString("locals {\n  d0 = \"xxxxxxxxxxxxxxxx\"\n")
	for i := range 40 {
		fmt.Fprintf(&b, "  d%d = "+format+"\n", i+1, i, i)
	}
	return []string{"doubled.hcl", b.String() + "}\n"}
}

const (
	textTooLong  = "Text too long"
	tooLarge     = "Value too large"
	tooMuchMade  = "Expression too large"
	tooExpensive = "Evaluation too expensive"
)

var bombs = []bomb{
	{memory: true, name: "doubled lists", files: doubled(`[local.d%d, local.d%d]`), want: tooLarge},
	{memory: true, name: "doubled text", files: doubled(`"${local.d%d}${local.d%d}"`), want: textTooLong},
	{name: "doubled objects", files: doubled(`{ a = local.d%d, b = local.d%d }`), want: textTooLong},
	{name: "doubled by concat", files: doubled(`concat(flatten([local.d%d]), flatten([local.d%d]))`), want: tooExpensive},
	{name: "doubled by flatten", files: doubled(`flatten([local.d%d, local.d%d])`), want: textTooLong},
	{name: "doubled by join", files: doubled(`join("", [local.d%d, local.d%d])`), want: textTooLong},
	{name: "doubled by format", files: doubled(`format("%%s%%s", local.d%d, local.d%d)`), want: textTooLong},
	{name: "doubled JSON", files: doubled(`jsonencode([local.d%d, local.d%d])`), want: textTooLong},
	{name: "doubled YAML", files: doubled(`yamlencode([local.d%d, local.d%d])`), want: textTooLong},
	{name: "doubled base64", files: doubled(`base64encode("${local.d%d}${local.d%d}")`), want: textTooLong},
	{name: "doubled escapes", files: doubled(`urlencode("ä${local.d%d}${local.d%d}")`), want: textTooLong},
	{memory: true, name: "for", value: `[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a]]]`, want: tooMuchMade},
	{name: "for without values", value: `[for a in range(1000) : 1 if length([for b in range(1000) : 1 if length([for c in range(1000) : 1 if false]) > 0]) > 0]`, want: tooMuchMade},
	{name: "for of nothing", value: `[for a in local.many : 1 if length([for b in local.many : 1 if length([for c in local.many[0] : 1 if false]) > 0]) > 0]`, want: tooExpensive},
	{name: "for of keys", value: `{ for a in range(1000) : a => { for b in range(1000) : b => { for c in range(1000) : c => 1 } } }`, want: tooMuchMade},
	{name: "for in groups", value: `{ for a in range(1000) : "x" => [for b in range(1000) : [for c in range(1000) : c]]... }`, want: tooMuchMade},
	{name: "for of nothing but errors", value: `[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c.x]]]`, want: tooExpensive},
	{name: "for inside of try", value: `try([for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a]]], 1)`, want: tooMuchMade},
	{name: "for inside of can", value: `can([for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a]]])`, want: tooMuchMade},
	{name: "template", value: `"%{for a in range(1000)}%{for b in range(1000)}%{for c in range(1000)}x%{endfor}%{endfor}%{endfor}"`, want: tooMuchMade},
	{name: "long template", value: `"%{for a in range(1000)}${local.mib}%{endfor}"`, want: tooMuchMade},
	{
		name: "templatefile", value: `templatefile("x.tpl", { l = range(1000) })`, want: tooMuchMade,
		files: []string{"x.tpl", "\n%{for a in l}%{for b in l}%{for c in l}x%{endfor}%{endfor}%{endfor}"},
	},
	{name: "templatestring", value: `templatestring("%%{for a in l}%%{for b in l}%%{for c in l}x%%{endfor}%%{endfor}%%{endfor}", { l = range(1000) })`, want: tooMuchMade},
	{
		name: "splat", value: `[for a in range(1000) : local.thousand[*].x]`, want: tooMuchMade,
		files: []string{"thousand.hcl", "locals {\n  thousand = [for a in range(1000) : { x = a }]\n}\n"},
	},
	{memory: true, name: "setproduct", value: `setproduct(range(1000), range(1000), range(1000))`, want: tooLarge},
	{name: "setproduct of many", value: `setproduct([for a in range(1000) : ["a", "b"]]...)`, want: tooLarge},
	{memory: true, name: "replace", value: `replace(local.mib, "a", local.mib)`, want: textTooLong},
	{name: "replace nothing", value: `replace(local.mib, "", local.mib)`, want: textTooLong},
	{name: "replace an expression", value: `replace(local.mib, "/a/", local.mib)`, want: textTooLong},
	{name: "replace by what matched", value: `replace(local.mib, "/a+/", join("", [for i in range(1000) : "$0"]))`, want: textTooLong},
	{memory: true, name: "indent", value: `indent(1000000000, "a\nb")`, want: textTooLong},
	{name: "indent many lines", value: `indent(1000, replace(local.mib, "a", "\n"))`, want: textTooLong},
	{memory: true, name: "width", value: `format("%1000000000d", 1)`, want: textTooLong},
	{name: "precision", value: `format("%.1000000000f", 1)`, want: textTooLong},
	{name: "format", value: `format(join("", [for i in range(1000) : "%[1]s"]), local.mib)`, want: textTooLong},
	{name: "formatlist", value: `formatlist("%s%s", range(1000), local.mib)`, want: textTooLong},
	{memory: true, name: "formatlist width", value: `formatlist("%1000000d", range(1000))`, want: textTooLong},
	{name: "join", value: `join(local.mib, range(1000))`, want: textTooLong},
	{memory: true, name: "split", value: `split("", "${local.mib}${local.mib}")`, want: tooLarge},
	{memory: true, name: "regexall", value: `regexall("", "${local.mib}${local.mib}")`, want: tooLarge},
	{name: "regexall groups", value: `regexall("(a)(a)(a)(a)", "${local.mib}${local.mib}")`, want: tooLarge},
	{name: "regex", value: `regex("(a{0,900}b{0,900}){0,1}x$", "${local.mib}${local.mib}${local.mib}${local.mib}")`, want: tooExpensive},
	{name: "matchkeys", value: `matchkeys(range(1000), [for a in range(1000) : a], flatten([local.many]))`, want: tooExpensive},
	{name: "zipmap", value: `[for a in range(1000) : zipmap([for b in range(1000) : "k${b}"], range(1000))]`, want: tooMuchMade},
	{name: "merge", value: `merge([for a in range(1000) : { for b in range(1000) : "${a}-${b}-x" => [a, b] }]...)`, want: tooMuchMade},
	{memory: true, name: "jsondecode", value: `jsondecode("[${replace(local.mib, "a", "1,1,1,")}1]")`, want: tooLarge},
	{name: "csvdecode", value: `csvdecode("a,b,c\n${replace(local.mib, "a", ",,\n")}")`, want: tooLarge},
	{
		name: "aliases", value: `yamldecode(file("aliases.yaml"))`, want: tooLarge,
		files: []string{"aliases.yaml", "a: &a [" + strings.Repeat("x,", 119) + "x]\nb: &b [" + strings.Repeat("*a,", 90) + "*a]\n"},
	},
	{name: "comparisons", value: `[for a in range(1000) : 1 if local.many == local.many]`, want: tooExpensive},
	{name: "conditionals", value: `[for a in range(1000) : a > 1 ? local.many : local.many][0]`, want: tooExpensive},
	{name: "arguments", value: `[for a in range(1000) : length(local.many)]`, want: tooExpensive},
	{name: "hashes", value: `[for a in range(1000) : [for b in range(10) : sha512(local.mib)]]`, want: tooExpensive},
	{name: "types", value: `tolist(flatten([range(1000), split("", substr(local.mib, 0, 2000))]))`, want: tooExpensive},
	{name: "types of a conditional", value: `true ? flatten([local.some, "x"]) : flatten(["x", local.some, "y"])`, want: tooExpensive},
	{name: "try inside of try", value: strings.Repeat("try(", 40) + "1/0" + strings.Repeat(")", 40), want: tooExpensive},
	{name: "deep value", want: "Nested too deeply", files: []string{"deep.hcl", chain(300, "[local.c%d]")}},
	{name: "chain", want: "Nested too deeply", files: []string{"chain.hcl", chain(1_500, "local.c%d")}},
}

// chain returns locals each of which depends on the previous one, the last one first.
func chain(n int, format string) string {
	var b strings.Builder
	b.WriteString("locals {\n")
	for i := n; i > 0; i-- {
		fmt.Fprintf(&b, "  c%d = "+format+"\n", i, i-1)
	}
	return b.String() + "  c0 = 1\n}\n"
}

// ground is the configuration around the bombs.
const ground = `cluster "c" {
  kubernetes_version = "1.36.3"
}
locals {
  mib  = file("mib")
  some = [for a in range(2) : range(1000)]
  many = [for a in range(9) : range(1000)]
  bomb = BOMB
}
node "n" {
  cluster = cluster.c
  role    = "control-plane"
  address = "192.0.2.1"
}
output "o" {
  value = local.BOMB
}
`

// loadWithin loads files by name with the given limits.
func loadWithin(max limits, files ...string) diag.Diagnostics {
	fsys := fstest.MapFS{"mib": {Data: []byte(strings.Repeat("a", max.text/8))}}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	l, _, diags := newLoader(Options{FS: fsys})
	if diags.HasErrors() {
		return diags
	}
	l.eval.meter.max = max
	l.load()
	l.eval.diags.Sort()
	return l.eval.diags
}

// configuration returns the text of a bomb, and the position of its error.
func (b bomb) configuration() (files []string, file string, line int) {
	value, last := b.value, "local.bomb"
	file, line = "main.hcl", 8
	if b.name == "templatefile" {
		file, line = "x.tpl", 2
	}
	if value == "" {
		value, file, line, last = "1", b.files[0], 0, "local.d40"
		if strings.HasPrefix(b.files[1], "locals {\n  c") {
			last = "local." + strings.Fields(b.files[1])[2] // the first is the last of the chain
		}
	}
	text := strings.NewReplacer("= BOMB", "= "+value, "local.BOMB", "length(jsonencode("+last+"))").Replace(ground)
	return append([]string{"main.hcl", text}, b.files...), file, line
}

// aHundredth are limits that are reached quickly.
var aHundredth = limits{
	text: 80_000, elements: 10_000, made: 30_000, textMade: 640_000, kept: 40_000, textKept: 2_560_000, steps: 1_000_000,
}

// TestEvaluationLimits checks that each bomb ends at a limit, at the expression that exceeds it.
func TestEvaluationLimits(t *testing.T) {
	t.Parallel()
	for _, b := range bombs {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			files, file, line := b.configuration()
			checkLimit(t, loadWithin(aHundredth, files...), b.want, file, line)
		})
	}
}

// TestEvaluationMemoryIsLimited checks that with the usual limits no bomb takes more memory than a large
// configuration does. It is not parallel, since it measures the memory of the process.
func TestEvaluationMemoryIsLimited(t *testing.T) {
	for _, b := range bombs {
		if !b.memory {
			continue
		}
		files, _, _ := b.configuration()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		diags := loadWithin(usualLimits, files...)
		runtime.ReadMemStats(&after)
		if !diags.HasErrors() {
			t.Errorf("%s: no error", b.name)
		}
		if grown := (int64(after.HeapSys) - int64(before.HeapSys)) >> 20; grown > 1<<10 {
			t.Errorf("%s: the heap grew by %d MiB", b.name, grown)
		}
	}
}

func checkLimit(t *testing.T, diags diag.Diagnostics, summary, file string, line int) {
	t.Helper()
	if len(diags) != 1 {
		t.Errorf("want one error, got %d: %.2000s", len(diags), fmt.Sprint(diags))
		return
	}
	d := diags[0]
	if d.Summary != summary {
		t.Errorf("got %q, want %q", d.Summary, summary)
	}
	if !strings.Contains(d.Detail, "limit") || !strings.Contains(d.Detail, "xpression") && summary != "Nested too deeply" {
		t.Errorf("the detail names no expression and limit: %s", d.Detail)
	}
	if d.Subject.File != file || line != 0 && d.Subject.Line != line || d.Subject.EndByte <= d.Subject.StartByte {
		t.Errorf("it is at %+v, want %s:%d", d.Subject, file, line)
	}
}

// TestLimitsApplyToEveryPart checks that the limits apply to every part of a configuration that is
// evaluated.
func TestLimitsApplyToEveryPart(t *testing.T) {
	t.Parallel()
	const (
		list  = "[0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9]"
		loops = "[for a in " + list + " : [for b in " + list + " : [for c in " + list + " : [for d in " + list + " : a]]]]"
		text  = "length(jsonencode(" + loops + "))"
	)
	cluster := func(inside string) string {
		return "cluster \"c\" {\n  kubernetes_version = \"1.36.3\"\n" + inside + "\n}\nnode \"n\" {\n  cluster = cluster.c\n  role = \"control-plane\"\n  address = \"192.0.2.1\"\n}\n"
	}
	for name, config := range map[string]string{
		"attribute":          cluster("control_plane_endpoint = " + text),
		"nested block":       cluster("kubelet {\n  config = { maxPods = " + text + " }\n}"),
		"key of an object":   cluster("kubelet {\n  config = { (" + text + ") = 1 }\n}"),
		"dynamic":            cluster("dynamic \"taint\" {\n  for_each = " + loops + "\n  content {}\n}\ndynamic \"addon\" {\n  for_each = " + loops + "\n  labels = [addon.key]\n  content {\n    manifest = \"\"\n  }\n}"),
		"precondition":       cluster("lifecycle {\n  precondition {\n    condition = " + text + " > 1\n    error_message = \"x\"\n  }\n}"),
		"for_each":           cluster("") + "node \"m\" {\n  for_each = " + loops + "\n}",
		"default":            cluster("") + "variable \"x\" {\n  default = " + loops + "\n}",
		"sensitive":          cluster("") + "variable \"x\" {\n  default = 1\n  sensitive = " + loops + "\n}",
		"optional attribute": cluster("") + "variable \"x\" {\n  type = object({ a = optional(any, " + loops + ") })\n  default = {}\n}",
		"validation":         cluster("") + "variable \"x\" {\n  default = 1\n  validation {\n    condition = var.x + " + text + " > 1\n    error_message = \"x\"\n  }\n}",
		"output":             cluster("") + "output \"o\" {\n  value = " + loops + "\n}",
		"check":              cluster("") + "check \"c\" {\n  assert {\n    condition = " + text + " > 1\n    error_message = \"x\"\n  }\n}",
		"policy":             cluster("") + "policy \"p\" {\n  max_destroys = " + text + "\n}",
		"backend":            "kubewright {\n  backend \"http\" {\n    address = " + loops + "\n  }\n}\n" + cluster(""),
	} {
		ended := func(d *diag.Diagnostic) bool {
			return (d.Summary == tooMuchMade || d.Summary == tooLarge || d.Summary == tooExpensive) && d.Subject.File == "main.hcl" && d.Subject.EndByte > d.Subject.StartByte
		}
		if diags := loadWithin(aHundredth, "main.hcl", config); !slices.ContainsFunc(diags, ended) {
			t.Errorf("%s: %.1000s", name, fmt.Sprint(diags))
		}
	}
}

// TestLimitsInJSON checks that the limits apply to templates in JSON texts, too.
func TestLimitsInJSON(t *testing.T) {
	t.Parallel()
	const text = `{
  "cluster": {"c": {"kubernetes_version": "1.36.3"}},
  "node": {"n": {"cluster": "cluster.c", "role": "control-plane", "address": "192.0.2.1"}},
  "locals": {"x": [{"a": 1},
    {"EXPRESSION": "${local.y}", "b": "EXPRESSION"}], "y": 1}
}`
	for _, x := range []string{
		"${[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : a]]]}",
		"%{for a in range(1000)}%{for b in range(1000)}%{for c in range(1000)}x%{endfor}%{endfor}%{endfor}",
	} {
		for _, in := range []string{strings.Replace(text, "EXPRESSION", "k", 1), strings.Replace(strings.Replace(text, "EXPRESSION", "\x00", 1), "EXPRESSION", "v", 1)} {
			in = strings.NewReplacer("EXPRESSION", x, "\x00", x).Replace(in)
			checkLimit(t, loadWithin(aHundredth, "main.hcl.json", in), tooMuchMade, "main.hcl.json", 5)
		}
	}
}

// TestLargeJSONIsLimited checks that JSON is limited by its tokens, as TestFileLimitErrorsNameRemedy checks for
// native syntax.
func TestLargeJSONIsLimited(t *testing.T) {
	t.Parallel()
	words := `{"locals": {"x": [` + strings.Repeat("1,", sourcetext.MaxTokens) + "1]}}"
	if diags := loadWithin(usualLimits, "main.hcl.json", words); len(diags) != 1 || diags[0].Summary != sourcetext.TooManyTokens {
		t.Errorf("%.1000s", fmt.Sprint(diags))
	}
}

// TestLargeConfigurationIsWithinLimits checks that an ordinary large configuration is far from the limits.
func TestLargeConfigurationIsWithinLimits(t *testing.T) {
	t.Parallel()
	l, _, diags := newLoader(Options{FS: fstest.MapFS{"main.hcl": {Data: []byte(`
cluster "c" {
  kubernetes_version = "1.36.3"
}
locals {
  shared = { for i in range(20) : "example.com/l${i}" => "v${i}" }
  nodes  = merge([for j in range(3) : { for i in range(100) : "n${j}-${i}" => { address = "10.${j}.0.${i + 1}", pool = "p${i % 7}" } }]...)
  hosts  = join(" ", [for k, n in local.nodes : "${n.address}=${k}"])
}
node "n" {
  for_each = local.nodes
  cluster  = cluster.c
  role     = each.key == "n0-0" ? "control-plane" : "worker"
  address  = each.value.address
  name     = each.key
  labels   = merge(local.shared, { "example.com/pool" = lookup(local.nodes, each.key, { address = "", pool = "" }).pool })
  kubelet {
    config = { maxPods = 110 + length(each.key), evictionHard = { "memory.available" = "100Mi" } }
    arg "v" { value = "${length(each.key) > 3 ? 2 : 3}" }
  }
}`)}}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	c := l.load()
	if l.eval.diags.HasErrors() || len(c.Nodes) != 300 {
		t.Fatal(l.eval.diags)
	}
	m := l.eval.meter
	if m.steps > usualLimits.steps/33 || m.kept > usualLimits.kept/66 {
		t.Errorf("300 nodes take %d steps, and their values have %d elements", m.steps, m.kept)
	}
}
