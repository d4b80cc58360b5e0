package hclconfig_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state"
)

// TestCycleIsReportedOnce checks that a cycle is reported once, with its whole path.
func TestCycleIsReportedOnce(t *testing.T) {
	t.Parallel()
	_, diags := load("main.hcl", `
locals {
  host = node.n["a"].address
}
cluster "c" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "${local.host}:6443"
}
node "n" {
  for_each = { a = 1 }
  cluster  = cluster.c
  role     = "control-plane"
  address  = cluster.c.control_plane_endpoint
}`)
	if len(diags) != 1 || diags[0].Summary != "Cycle in the configuration" {
		t.Fatalf("got %v", diags)
	}
	for _, step := range []string{
		"cluster.c.control_plane_endpoint (main.hcl:7)", "→ local.host (main.hcl:3)",
		`→ node.n["a"].address (main.hcl:13)`, "→ cluster.c.control_plane_endpoint (main.hcl:7)",
	} {
		if !strings.Contains(diags[0].Detail, step) {
			t.Errorf("the path lacks %q:\n%s", step, diags[0].Detail)
		}
	}
}

// TestEvaluationIsLazy checks that an attribute depends only on what its value needs, not on everything
// that its expression could reach.
func TestEvaluationIsLazy(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, sans, label string }{
		{"for", `[for n in node.n : n.address]`, `join(",", cluster.c.api_server.cert_sans)`},
		{"for with condition", `[for n in node.n : n.address if n.role == "control-plane"]`, `join(",", cluster.c.api_server.cert_sans)`},
		{"splat", `values(node.n)[*].address`, `join(",", cluster.c.api_server.cert_sans)`},
		{"key", `[node.n["a"].address]`, `join(",", cluster.c.api_server.cert_sans)`},
		{"computed key", `[node.n[local.key].address]`, `join(",", cluster.c.api_server.cert_sans)`},
		{"keys", `[for k in keys(node.n) : node.n[k].address]`, `join(",", cluster.c.api_server.cert_sans)`},
		{"whole type", `flatten([for set in node : [for n in set : n.address]])`, `join(",", cluster.c.api_server.cert_sans)`},
		{"local between", `local.addresses`, `join(",", cluster.c.api_server.cert_sans)`},
		{"conditional", `[length(node.n) > 1 ? node.n["a"].labels.x : node.n["a"].address]`, `join(",", cluster.c.api_server.cert_sans)`},
		{"try", `[try(node.n["b"].address, node.n["a"].address)]`, `join(",", cluster.c.api_server.cert_sans)`},
		{"whole cluster", `[node.n["a"].address]`, `[for c in cluster : join(",", c.api_server.cert_sans)][0]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, diags := load("main.hcl", fmt.Sprintf(`
locals {
  key       = "a"
  addresses = [for n in node.n : n.address]
}
cluster "c" {
  kubernetes_version = "1.36.3"
  api_server {
    cert_sans = %s
  }
}
node "n" {
  for_each = { a = "192.0.2.1" }
  cluster  = cluster.c
  role     = "control-plane"
  address  = each.value
  labels   = { x = %s }
}`, tt.sans, tt.label))
			if tt.name == "conditional" || tt.name == "try" {
				checkEager(t, diags)
				return
			}
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			if got := c.Nodes[0].Labels["x"]; got != "192.0.2.1" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// checkEager checks that what an expression names in full is evaluated, and must exist, even in
// a branch that is not taken.
func checkEager(t *testing.T, diags diag.Diagnostics) {
	t.Helper()
	if len(diags) != 1 {
		t.Fatalf("got %v", diags)
	}
	if s := diags[0].Summary; s != "Cycle in the configuration" && s != "Reference to undeclared node" {
		t.Errorf("got %s", diags[0])
	}
}

// TestNativeAndJSONGiveTheSameModel checks that the native and the JSON form give the same model.
func TestNativeAndJSONGiveTheSameModel(t *testing.T) {
	t.Parallel()
	native, diags := load("main.hcl", `
variable "v" {
  type    = string
  default = "1.36.3"
}
cluster "c" {
  kubernetes_version = var.v
  network {
    pod_subnet = "10.244.0.0/16"
  }
  api_server {
    arg "audit-log-maxage" { value = 30 }
    arg "v" { value = "2" }
    arg "v" { value = "4" }
  }
  kubelet {
    config = { maxPods = 200, evictionHard = { "memory.available" = "5%" } }
  }
  addon "ns" {
    manifest = yamlencode({ apiVersion = "v1", kind = "Namespace", metadata = { name = "n" } })
  }
}
node "cp" {
  for_each = { a = "192.0.2.1" }
  cluster  = cluster.c
  role     = "control-plane"
  address  = each.value
  lifecycle {
    prevent_destroy = true
    ignore_changes  = [labels, "kubelet.config.maxPods", annotations["example.com/x"]]
  }
  dynamic "taint" {
    for_each = ["x"]
    labels   = [taint.value]
    content {
      effect = "NoSchedule"
    }
  }
}
check "ok" {
  assert {
    condition     = length(node.cp) == 1
    error_message = "Not one."
  }
}
moved {
  from = node.old
  to   = node.cp["a"]
}
removed {
  from        = node.gone["x"]
  unreachable = true
}
connection {
  type = "sim"
}
output "o" {
  value = node.cp["a"].address
}`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	json, diags := hclconfig.Load(hclconfig.Options{Dir: filepath.Join("testdata", "valid", "json")})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	keys := func(m map[string]state.Source) map[string]bool {
		out := map[string]bool{}
		for k := range m {
			out[k] = true
		}
		return out
	}
	for k := range keys(native.Clusters[0].Origins) {
		if json.Clusters[0].Origins[k].IsZero() {
			t.Errorf("no position of %s in JSON", k)
		}
	}
	got, want := noPlaces(string(modelJSON(t, json))), noPlaces(string(modelJSON(t, native)))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// noPlaces removes the line numbers from a model.
func noPlaces(model string) string {
	var out []string
	for line := range strings.Lines(model) {
		if i := strings.Index(line, `"main.hcl`); i >= 0 {
			line = line[:i] + "\n"
		}
		out = append(out, line)
	}
	return strings.Join(out, "")
}

// TestOriginKeys checks the keys under which phases look positions up.
func TestOriginKeys(t *testing.T) {
	t.Parallel()
	c, diags := load("main.hcl", `cluster "c" {
  kubernetes_version = "1.36.3"
  api_server {
    arg "audit-log-maxage" {
      value = "30"
    }
  }
  kubelet {
    config = {
      maxPods      = 20
      evictionHard = { "memory.available" = "5%" }
    }
  }
  kube_proxy {
    config = merge({ mode = "nftables" }, {
      conntrack = { min = 1 }
    })
  }
}
node "n" {
  cluster = cluster.c
  role    = "control-plane"
  address = "192.0.2.1"
  labels = merge({
    a = "1"
  }, {})
  annotations = {
    "example.com/a" = "1"
  }
}`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	for path, line := range map[string]int{
		"kubernetes_version": 2, `api_server.arg["audit-log-maxage"]`: 5, "api_server": 3, "api_server.cert_sans": 3,
		"kubelet.config.maxPods": 10, `kubelet.config.evictionHard["memory.available"]`: 11, "kubelet.config.failSwapOn": 9,
		"network.pod_subnet": 0,
	} {
		if got := c.Clusters[0].Origins.Of(path); got.Line != line {
			t.Errorf("%s: got line %d, want %d", path, got.Line, line)
		}
	}
	// Values that are not written out key by key have keys as well.
	for _, path := range []string{"kube_proxy.config.mode", "kube_proxy.config.conntrack.min"} {
		if got, ok := c.Clusters[0].Origins[path]; !ok || got.Line != 15 {
			t.Errorf("%s: got %v, want line 15", path, got)
		}
	}
	for path, line := range map[string]int{"labels.a": 24, `annotations["example.com/a"]`: 28, "name": 0} {
		if got := c.Nodes[0].Origins.Of(path); got.Line != line {
			t.Errorf("%s: got line %d, want %d", path, got.Line, line)
		}
	}
}

// TestFunctionsReadOnlyTheFolder checks that functions read nothing outside of the folder.
func TestFunctionsReadOnlyTheFolder(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []string{`file("link")`, fmt.Sprintf("file(%q)", outside), `file("../secret")`, `file("a/../../secret")`, `file("~/secret")`, `templatefile("link", {})`, `filebase64("link")`, `file("fifo")`, `file("dir")`} {
		dir := t.TempDir()
		if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "dir"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := makePipe(filepath.Join(dir, "fifo")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "main.hcl"), []byte(base+"output \"o\" {\n  value = "+x+"\n}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, diags := hclconfig.Load(hclconfig.Options{Dir: dir})
		if !diags.HasErrors() || c != nil && strings.Contains(output(t, c, "o"), "secret") {
			t.Errorf("%s was read: %v", x, diags)
		}
	}
}

// TestDigestCoversConfiguration checks that the digest changes with everything that the configuration depends on.
func TestDigestCoversConfiguration(t *testing.T) {
	t.Parallel()
	text := base + `
variable "v" {
  default = 1
}
output "f" {
  value = [file("f"), fileexists("g"), fileset(".", "*.txt")]
}`
	digest := func(o hclconfig.Options, files ...string) string {
		o.FS = folder(append([]string{"main.hcl", text, "f", "1"}, files...)...)
		c, diags := hclconfig.Load(o)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		return c.Digest
	}
	first := digest(hclconfig.Options{})
	if again := digest(hclconfig.Options{}, "unrelated", "x"); again != first || len(first) != 64 {
		t.Errorf("got %s, then %s", first, again)
	}
	// The path of a file of variables, and what else it has, do not matter.
	of := func(file, text string) string {
		return digest(hclconfig.Options{Vars: []hclconfig.VarArg{{File: file}}, ReadFile: func(string) ([]byte, error) { return []byte(text), nil }})
	}
	if here, there := of("/builds/1/prod.kwvars", "v = 3"), of("/builds/2/prod.kwvars", "# size\nv = 3"); here != there {
		t.Errorf("the same values in another folder: %s, then %s", here, there)
	}
	seen := map[string]bool{first: true}
	for i, d := range []string{
		of("x.kwvars", "v = 4"),
		digest(hclconfig.Options{Vars: []hclconfig.VarArg{{Assignment: "v=2"}}}),
		digest(hclconfig.Options{}, "f", "2"), digest(hclconfig.Options{}, "g", ""),
		digest(hclconfig.Options{}, "a.txt", ""), digest(hclconfig.Options{}, "other.hcl", ""),
	} {
		if seen[d] {
			t.Errorf("change %d did not change the digest", i)
		}
		seen[d] = true
	}
}

// TestFewLinesCannotExhaustProcess checks that a few lines cannot exhaust the process.
func TestFewLinesCannotExhaustProcess(t *testing.T) {
	t.Parallel()
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), i-1)
	}
	deep := func(open, shut string, n int) string { return strings.Repeat(open, n) + strings.Repeat(shut, n) }
	for name, text := range map[string]string{
		"aliases":        `yamldecode(file("bomb.yaml"))`,
		"deep JSON":      `jsondecode(file("deep.json"))`,
		"deep YAML":      `yamldecode(file("deep.json"))`,
		"deep template":  `templatefile("deep.tpl", {})`,
		"brackets":       deep("[", "]", 5_000),
		"parentheses":    deep("(", ")", 5_000),
		"templates":      deep("\"${", "}\"", 5_000),
		"negations":      strings.Repeat("!", 5_000) + "true",
		"minuses":        strings.Repeat("-", 5_000) + "1",
		"conditionals":   strings.Repeat("true ? 1 : ", 5_000) + "1",
		"sums":           strings.Repeat("1+", 20_000) + "1",
		"indexes":        "local.x" + strings.Repeat("[local.y]", 5_000),
		"splats":         "local.x" + strings.Repeat("[*]", 5_000),
		"calls":          strings.Repeat("f(", 5_000),
		"template loops": "\"" + strings.Repeat("%{if true}", 5_000) + "\"",
	} {
		_, diags := load("main.hcl", base+"output \"o\" {\n  value = "+text+"\n}\n",
			"bomb.yaml", bomb.String(), "deep.json", deep("[", "]", 9000), "deep.tpl", deep("${[", "]}", 5000))
		if !diags.HasErrors() {
			t.Errorf("%s: no error", name)
		}
	}
	for name, text := range map[string]string{
		"arrays": deep("[", "]", 5_000), "objects": strings.Repeat(`{"a":`, 5_000), "broken": strings.Repeat(`[x`, 5_000),
		"template": `{"output": {"o": {"value": "${` + deep("(", ")", 5000) + `}"}}}`,
	} {
		want := "main.hcl.json:1: error: Nested too deeply: Objects and arrays can be nested 200 deep."
		if name == "template" {
			want = "main.hcl.json:1: error: Nested too deeply: Brackets, templates and operators can be nested 200 deep, and an expression can have 10000 operators."
		}
		if _, diags := load("main.hcl.json", text); said(diags) != want {
			t.Errorf("JSON %s: %v", name, diags)
		}
	}
}

// TestUnknownFunctionNamesNearest checks that the nearest function is named, always the same one, so that a
// mistake inside a loop is one finding.
func TestUnknownFunctionNamesNearest(t *testing.T) {
	t.Parallel()
	for range 20 {
		_, diags := load("main.hcl", base+"output \"o\" {\n  value = [for x in [\"A\", \"B\", \"C\"] : lowr(x)]\n}\n")
		if len(diags) != 1 || diags[0].Detail != `There is no function named "lowr". Did you mean "lower"?` {
			t.Fatalf("got %v", diags)
		}
	}
}

// TestLinkOutOfFolderIsNotFollowed checks that a link out of the folder is not followed, and that the error says
// why.
func TestLinkOutOfFolderIsNotFollowed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "config")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../shared.hcl", filepath.Join(dir, "shared.hcl")); err != nil {
		t.Skip(err)
	}
	_, diags := hclconfig.Load(hclconfig.Options{Dir: dir})
	if len(diags) != 1 || diags[0].Detail != "shared.hcl: it is a link that leads out of the configuration folder, and nothing outside is read. Put a copy in the place of the link; values of variables can come from elsewhere with -var-file. "+
		"Each file whose name ends in .hcl or .hcl.json is read: correct it, or give it another name." {
		t.Fatalf("got %v", diags)
	}
}

// TestFunctionResults checks some functions of each kind; most are the library's.
func TestFunctionResults(t *testing.T) {
	t.Parallel()
	fsys := folder("f.txt", "text", "t.tpl", "%{ for n in names ~}\n${upper(n)}\n%{ endfor ~}", "d/e/x.yaml", "a: 1", "d/y.yaml", "")
	tests := []struct{ x, want string }{
		{`length("äb")`, "2"},
		{`length({ a = 1 })`, "1"},
		{`length([])`, "0"},
		{`sum([1, 2.5])`, "3.5"},
		{`coalesce("", null, "x")`, `"x"`},
		{`one([])`, "null"},
		{`one(["a"])`, `"a"`},
		{`index(["a", "b"], "b")`, "1"},
		{`alltrue([])`, "true"},
		{`anytrue([false, true])`, "true"},
		{`startswith("abc", "ab")`, "true"},
		{`endswith("abc", "ab")`, "false"},
		{`strcontains("abc", "b")`, "true"},
		{`replace("a-b", "/[a-z]/", "x")`, `"x-x"`},
		{`replace("a.b", ".", "x")`, `"axb"`},
		{`matchkeys(["a", "b"], ["1", "2"], ["2"])`, `["b"]`},
		{`transpose({ a = ["x", "y"], b = ["x"] })`, `{"x":["a","b"],"y":["a"]}`},
		{`timecmp("2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z")`, "-1"},
		{`timeadd("2020-01-01T00:00:00Z", "1h")`, `"2020-01-01T01:00:00Z"`},
		{`cidrhost("10.0.0.0/8", -2)`, `"10.255.255.254"`},
		{`cidrsubnet("10.0.0.0/8", 8, 2)`, `"10.2.0.0/16"`},
		{`cidrnetmask("10.0.0.0/8")`, `"255.0.0.0"`},
		{`cidrsubnets("10.0.0.0/8", 8, 4)`, `["10.0.0.0/16","10.16.0.0/12"]`},
		{`file("f.txt")`, `"text"`},
		{`file("./f.txt")`, `"text"`},
		{`file("${path.module}/f.txt")`, `"text"`},
		{`filebase64("f.txt")`, `"dGV4dA=="`},
		{`templatefile("t.tpl", { names = ["a", "b"] })`, `"A\nB\n"`},
		{`templatestring("[$${x}]", { x = 1 })`, `"[1]"`},
		{`fileexists("f.txt")`, "true"},
		{`fileexists("d")`, "false"},
		{`fileset("d", "**/*.yaml")`, `["e/x.yaml","y.yaml"]`},
		{`fileset(".", "*.txt")`, `["f.txt"]`},
		{`yamldecode(file("d/e/x.yaml")).a`, "1"},
		{`jsonencode({ a = [1] })`, `"{\"a\":[1]}"`},
		{`base64decode("dGV4dA==")`, `"text"`},
		{`try(jsondecode("{}").a, 2)`, "2"},
		{`can(jsondecode("{"))`, "false"},
		{`tolist(toset(["a"]))`, `["a"]`},
		{`tonumber("1")`, "1"},
		{`basename("a/b")`, `"b"`},
		{`dirname("a/b")`, `"a"`},
		{`md5("")`, `"d41d8cd98f00b204e9800998ecf8427e"`},
		{`issensitive(sensitive(1))`, "true"},
		{`uuidv5("dns", "example.com")`, `"cfbff0d1-9375-5685-968c-48ce8b15ae17"`},
		{`merge({ a = 1 }, { b = 2 })`, `{"a":1,"b":2}`},
		{`18446744073709551615`, "18446744073709551615"},
		{`0.1`, "0.1"},
		{`1e3`, "1000"},
	}
	for _, tt := range tests {
		files := folder("main.hcl", base+"output \"o\" {\n  value = "+tt.x+"\n}\n")
		for name, f := range fsys {
			files[name] = f
		}
		c, diags := hclconfig.Load(hclconfig.Options{FS: files})
		if len(diags) > 0 {
			t.Errorf("%s: %v", tt.x, diags)
			continue
		}
		if got := output(t, c, "o"); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.x, got, tt.want)
		}
	}
}

// TestFindingDescribesVariables checks that a finding describes the variables of the expression.
func TestFindingDescribesVariables(t *testing.T) {
	t.Parallel()
	_, diags := load("main.hcl", base+`
variable "s" {
  default   = "x"
  sensitive = true
}
locals {
  list = ["a", "b"]
  name = "c"
}
output "o" {
  value = local.list[local.name] + var.s
}`)
	if len(diags) == 0 {
		t.Fatal("no findings")
	}
	got := strings.Join(diags[0].Values, "; ")
	if !strings.Contains(got, "local.list is tuple with 2 elements") || !strings.Contains(got, `local.name is "c"`) {
		t.Errorf("got %q", got)
	}
	_, diags = load("main.hcl", consoleConfig+`
check "password" {
  assert {
    condition     = length(var.password) > 99 && node.n["a"].name != ""
    error_message = "It is short."
  }
}`)
	if got := strings.Join(diags[0].Values, "; "); got != `node.n["a"].name is known only after an apply; var.password has a sensitive value` {
		t.Errorf("got %q", got)
	}
}

// TestFunctionsRefuseInvalidArguments checks the errors of functions for invalid arguments.
func TestFunctionsRefuseInvalidArguments(t *testing.T) {
	t.Parallel()
	fsys := folder("bin", "\xff\xfe", "d/y.yaml", "", "big", strings.Repeat("x", 16<<20+1), "deep.json", strings.Repeat("[", 300)+strings.Repeat("]", 300),
		"deep.tpl", "${"+strings.Repeat("(", 300)+"1"+strings.Repeat(")", 300)+"}", "stars.yaml", "a: ["+strings.Repeat("*", 10_001))
	for i := range 10_001 {
		fsys[fmt.Sprintf("many/%d.txt", i)] = &fstest.MapFile{}
	}
	for x, want := range map[string]string{
		`jsondecode(file("deep.json"))`:  "the text is nested more than 200 deep.",
		`yamldecode(file("deep.json"))`:  "the text is nested more than 200 deep.",
		`yamldecode(file("stars.yaml"))`: "the text holds more than 10000 asterisks, and what they may stand for is too much.",
		`templatefile("deep.tpl", {})`:   "the template is nested too deeply. Brackets, templates and operators can be nested 200 deep, and an expression can have 10000 operators.",
		`fileset("many", "*.txt")`:       "more than 10000 files match.",
		`length(1)`:                      "a string, list, map, set, tuple or object is required",
		`index(["a"], "c")`:              "the list has no such element",
		`file("bin")`:                    `"bin" is no text in UTF-8; use filebase64 for other files`,
		`file("d")`:                      "is a directory, not a regular file",
		`filesha256("big")`:              "it is larger than 16 MiB",
		`file("nothing")`:                `there is no file "nothing" below the configuration folder`,
		`file("../nothing")`:             `"../nothing" lies outside the configuration folder`,
		`cidrhost("10/8", 1)`:            "cidrhost",
	} {
		fsys["main.hcl"] = &fstest.MapFile{Data: []byte("output \"o\" {\n  value = " + x + "\n}\n")}
		_, diags := hclconfig.Load(hclconfig.Options{FS: fsys})
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) || diags[0].Subject.Line != 2 {
			t.Errorf("%s: %v, want %q", x, diags, want)
		}
	}
}

// TestOutputOfHostNameIsPending checks that an output made of a host's name is pending, also through a
// local, and gets its value from the recorded names, and a new one when those change.
func TestOutputOfHostNameIsPending(t *testing.T) {
	t.Parallel()
	c, diags := load("main.hcl", consoleConfig+`
locals { first = upper(node.n["a"].name) }
output "all" { value = { for k, n in node.n : k => n.name } }
output "first" { value = "it is ${local.first}" }
output "plain" { value = 1 }`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	values := func(outputs []*config.Output) map[string]state.Value {
		out := map[string]state.Value{}
		for _, o := range outputs {
			out[o.Name] = o.Value
		}
		return out
	}
	if got := values(c.Outputs); !got["all"].IsPending() || !got["first"].IsPending() || !got["plain"].Equal(state.Int(1)) {
		t.Fatalf("got %v", got)
	}
	a, b := state.NodeKeyTarget("n", "a"), state.NodeKeyTarget("n", "b")
	for _, first := range []string{"host-a", "other"} {
		got := values(c.Applied(config.Known{Names: map[state.Target]string{a: first}}))
		if !got["all"].IsPending() || !got["first"].Equal(state.String("it is "+strings.ToUpper(first))) {
			t.Errorf("with one name: got %v", got)
		}
		got = values(c.Applied(config.Known{Names: map[state.Target]string{a: first, b: "host-b"}}))
		if want := state.Map(map[string]state.Value{"a": state.String(first), "b": state.String("host-b")}); !got["all"].Equal(want) || !got["plain"].Equal(state.Int(1)) {
			t.Errorf("with all names: got %v", got)
		}
	}
	if got := values(c.Applied(config.Known{})); !got["first"].IsPending() {
		t.Errorf("without names: got %v", got)
	}
	if c, _ := load("main.hcl", consoleConfig); c.Applied != nil {
		t.Error("no output depends on a node name, and Applied is set")
	}
}
