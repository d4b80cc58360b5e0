package hclconfig_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/examples"
)

// base is a configuration that tests add to.
const base = `
cluster "c" {
  kubernetes_version = "1.36.3"
}
node "n" {
  cluster = cluster.c
  role    = "control-plane"
  address = "192.0.2.1"
}
`

// output returns the value of an output as JSON.
func output(t *testing.T, c *config.Config, name string) string {
	t.Helper()
	for _, o := range c.Outputs {
		if o.Name == name {
			b, err := o.Value.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
	}
	t.Fatalf("no output %s", name)
	return ""
}

// TestVariableSourcePrecedence checks that each source of a variable takes precedence over the previous ones.
func TestVariableSourcePrecedence(t *testing.T) {
	t.Parallel()
	const declared = base + "variable \"v\" {\n  default = \"default\"\n}\noutput \"v\" {\n  value = var.v\n}\n"
	sources := []struct {
		name string
		add  func(*hclconfig.Options, map[string]string)
	}{
		{"env", func(o *hclconfig.Options, _ map[string]string) { o.Env = []string{"HOME=/", "KUBEWRIGHT_VAR_v=env"} }},
		{"kwvars", func(_ *hclconfig.Options, f map[string]string) { f["kubewright.kwvars"] = "v = \"kwvars\"" }},
		{"kwvars.json", func(_ *hclconfig.Options, f map[string]string) { f["kubewright.kwvars.json"] = `{"v": "kwvars.json"}` }},
		{"auto b", func(_ *hclconfig.Options, f map[string]string) { f["b.auto.kwvars"] = "v = \"auto b\"" }},
		{"auto c", func(_ *hclconfig.Options, f map[string]string) { f["c.auto.kwvars.json"] = `{"v": "auto c"}` }},
		{"option", func(o *hclconfig.Options, _ map[string]string) {
			o.Vars = append(o.Vars, hclconfig.VarArg{Assignment: "v=option"})
		}},
		{"file", func(o *hclconfig.Options, _ map[string]string) {
			o.Vars = append(o.Vars, hclconfig.VarArg{File: "/elsewhere/x.kwvars"})
		}},
		{"later option", func(o *hclconfig.Options, _ map[string]string) {
			o.Vars = append(o.Vars, hclconfig.VarArg{Assignment: "v=later option"})
		}},
	}
	for upto := range len(sources) + 1 {
		want := "default"
		o := hclconfig.Options{ReadFile: func(string) ([]byte, error) { return []byte("v = \"file\""), nil }}
		files := map[string]string{"main.hcl": declared, "other.kwvars": "v = \"never read\""}
		for _, s := range sources[:upto] {
			s.add(&o, files)
			want = s.name
		}
		fsys := folder()
		for name, text := range files {
			fsys[name] = folder(name, text)[name]
		}
		o.FS = fsys
		c, diags := hclconfig.Load(o)
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		if got := output(t, c, "v"); got != fmt.Sprintf("%q", want) {
			t.Errorf("with %d sources: got %s, want %q", upto, got, want)
		}
	}
}

func TestVariableValues(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, declaration, given, want, err string }{
		{"string", "type = string", "1", `"1"`, ""},
		{"number", "type = number", "1.5", `1.5`, ""},
		{"bool", "type = bool", "true", `true`, ""},
		{"no type is text", "", "[1]", `"[1]"`, ""},
		{"list", "type = list(string)", `["a", "b"]`, `["a","b"]`, ""},
		{"converted", "type = list(string)", `[1, 2]`, `["1","2"]`, ""},
		{"set", "type = set(string)", `["b", "a", "b"]`, `["a","b"]`, ""},
		{"map", "type = map(number)", `{ a = 1 }`, `{"a":1}`, ""},
		{"any", "type = any", `{ a = [1] }`, `{"a":[1]}`, ""},
		{"optional", "type = object({ a = string, b = optional(number, 3) })", `{ a = "x" }`, `{"a":"x","b":3}`, ""},
		{"empty", "type = string", "", `""`, ""},
		{"no number", "type = number", "many", "", "Invalid value for variable"},
		{"no list", "type = list(string)", "a, b", "", "Invalid value for variable"},
		{"reference", "type = list(string)", "[var.x]", "", "Invalid value for variable"},
		{"missing attribute", "type = object({ a = string })", "{}", "", "Invalid value for variable"},
		{"null for the default", "type = list(string)\nnullable = false\ndefault = [\"d\"]", "null", `["d"]`, ""},
		{"null refused", "type = list(string)\nnullable = false", "null", "", "Invalid value for variable"},
		{"null", "type = list(string)", "null", "null", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, diags := hclconfig.Load(hclconfig.Options{
				FS:   folder("main.hcl", base+"variable \"v\" {\n"+tt.declaration+"\n}\noutput \"v\" {\n  value = var.v\n}\n"),
				Vars: []hclconfig.VarArg{{Assignment: "v=" + tt.given}},
			})
			if tt.err != "" {
				if len(diags) != 1 || diags[0].Summary != tt.err {
					t.Fatalf("got %v, want %q", diags, tt.err)
				}
				return
			}
			if len(diags) > 0 {
				t.Fatal(diags)
			}
			if got := output(t, c, "v"); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestUndeclaredVariables checks that an undeclared name is an error on the command line, a warning in a
// file, and nothing in the environment.
func TestUndeclaredVariables(t *testing.T) {
	t.Parallel()
	const declared = base + "variable \"version\" {\n  default = 1\n}\n"
	tests := []struct {
		name string
		o    hclconfig.Options
		want string
	}{
		{"environment", hclconfig.Options{FS: folder("main.hcl", declared), Env: []string{"KUBEWRIGHT_VAR_verison=2"}}, ""},
		{"environment of Terraform", hclconfig.Options{FS: folder("main.hcl", declared), Env: []string{"TF_VAR_version=s3cret", "TF_VAR_other=3"}}, `warning: Variables are not read: TF_VAR_version is the name of an environment variable that Terraform looks for. Its value is not used: set KUBEWRIGHT_VAR_version to it.`},
		{"both environments", hclconfig.Options{FS: folder("main.hcl", declared), Env: []string{"TF_VAR_version=2", "KUBEWRIGHT_VAR_version=2"}}, ""},
		{"environment of Terraform beside an option", hclconfig.Options{FS: folder("main.hcl", declared), Env: []string{"TF_VAR_version=2"}, Vars: []hclconfig.VarArg{{Assignment: "version=2"}}}, ""},
		{"file", hclconfig.Options{FS: folder("main.hcl", declared, "a.auto.kwvars", "verison = 2\n")}, `a.auto.kwvars:1: warning: Value for undeclared variable: The file sets the variable "verison", which no variable block declares. Did you mean "version"?`},
		{"option", hclconfig.Options{FS: folder("main.hcl", declared), Vars: []hclconfig.VarArg{{Assignment: "verison=2"}}}, `error: Value for undeclared variable: A variable named "verison" was given by -var, but no variable block declares it. Did you mean "version"?`},
		{"no assignment", hclconfig.Options{FS: folder("main.hcl", declared), Vars: []hclconfig.VarArg{{Assignment: "version"}}}, `error: Invalid -var option: -var="version" is not of the form -var="NAME=VALUE".`},
		{"no file", hclconfig.Options{FS: folder("main.hcl", declared), Vars: []hclconfig.VarArg{{File: "x"}}, ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }}, `error: Cannot read variables file: -var-file=x: file does not exist.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, diags := hclconfig.Load(tt.o)
			if got := strings.Join(lines(diags), "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestUnreadableValuesFileAsksForNoVariables checks that, if a file of values cannot be read, missing variables are
// neither reported nor asked for.
func TestUnreadableValuesFileAsksForNoVariables(t *testing.T) {
	t.Parallel()
	const declared = base + "variable \"v\" {}\n"
	read := func(text string, err error) func(string) ([]byte, error) {
		return func(string) ([]byte, error) { return []byte(text), err }
	}
	named := []hclconfig.VarArg{{File: "x.kwvars"}}
	for want, o := range map[string]hclconfig.Options{
		"Cannot read variables file": {FS: folder("main.hcl", declared), Vars: named, ReadFile: read("", fs.ErrNotExist)},
		"Invalid expression":         {FS: folder("main.hcl", declared), Vars: named, ReadFile: read("v = \n", nil)},
		"Unexpected \"b\" block":     {FS: folder("main.hcl", declared), Vars: named, ReadFile: read("b {}\n", nil)},
		"Argument or block":          {FS: folder("main.hcl", declared, "kubewright.kwvars", "v")},
		"Cannot read file":           {FS: fstest.MapFS{"main.hcl": &fstest.MapFile{Data: []byte(declared)}, "a.auto.kwvars": &fstest.MapFile{Mode: fs.ModeNamedPipe}}},
	} {
		o.Ask = func(m hclconfig.Missing) (string, error) { t.Errorf("%s: asked for %s", want, m.Name); return "1", nil }
		if _, diags := hclconfig.Load(o); len(diags) != 1 || !strings.Contains(diags[0].Summary, want) {
			t.Errorf("%s: %q", want, lines(diags))
		}
	}
	if _, diags := hclconfig.Load(hclconfig.Options{FS: folder("main.hcl", declared), Vars: named, ReadFile: read("", nil)}); len(diags) != 1 || diags[0].Summary != "No value for required variable" {
		t.Errorf("an empty file: %q", lines(diags))
	}
}

// TestCommandLineFilesAreLimited checks that an endless file named there is not read to its end, and
// that endless nesting does not end the process.
func TestCommandLineFilesAreLimited(t *testing.T) {
	t.Parallel()
	large, deep := filepath.Join(t.TempDir(), "large.kwvars"), filepath.Join(t.TempDir(), "deep.kwvars")
	if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, 17<<20), os.WriteFile(deep, []byte("username = "+strings.Repeat("[", 20_000)), 0o600)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{large: "it is larger than 16 MiB", deep: "Nested too deeply"} {
		_, of := hclconfig.Load(hclconfig.Options{FS: folder("main.hcl", base), Vars: []hclconfig.VarArg{{File: file}}})
		_, settings := hclconfig.CompleteBackend(&config.Backend{Type: "http"}, []string{file}, func(string) string { return "" })
		for option, diags := range map[string]diag.Diagnostics{"-var-file": of, "-backend-config": settings} {
			if got := lines(diags); len(got) != 1 || !strings.Contains(got[0], want) {
				t.Errorf("%s=%s: %q, want %q", option, filepath.Base(file), got, want)
			}
		}
	}
}

func lines(diags diag.Diagnostics) []string {
	var out []string
	for _, d := range diags {
		out = append(out, d.String())
	}
	return out
}

// TestRequiredVariablesAreAskedFor checks that the user is asked for required variables without a value, and only for
// those.
func TestRequiredVariablesAreAskedFor(t *testing.T) {
	t.Parallel()
	const text = base + `
variable "a" {
  type        = number
  description = "How many."
}
variable "b" {
  default = 1
}
variable "c" {
  sensitive = true
}
output "a" {
  value = var.a
}`
	var asked []string
	o := hclconfig.Options{
		FS: folder("main.hcl", text), Env: []string{"KUBEWRIGHT_VAR_c=x"},
		Ask: func(m hclconfig.Missing) (string, error) {
			asked = append(asked, m.Name+" "+m.Description)
			return "7", nil
		},
	}
	c, diags := hclconfig.Load(o)
	if len(diags) > 0 || output(t, c, "a") != "7" || strings.Join(asked, ";") != "a How many." {
		t.Errorf("got %v, asked %q", diags, asked)
	}
	o.Ask = func(hclconfig.Missing) (string, error) { return "", errors.New("no answer") }
	if _, diags = hclconfig.Load(o); !diags.HasErrors() {
		t.Error("no error without an answer")
	}
}

// TestSensitiveValuesStaySensitive checks that a sensitive value stays sensitive wherever it goes.
func TestSensitiveValuesStaySensitive(t *testing.T) {
	t.Parallel()
	c, diags := load("main.hcl", `
variable "s" {
  default   = "hunter2"
  sensitive = true
}
cluster "c" {
  kubernetes_version = "1.36.3"
  api_server {
    arg "oidc-issuer-url" { value = "https://issuer.example.com" }
    arg "oidc-client-id" { value = "a-${var.s}" }
  }
  kubelet {
    config = { staticPodURLHeader = { Authorization = [var.s] }, maxPods = 20 }
  }
  addon "a" {
    manifest = yamlencode({ apiVersion = "v1", kind = "Secret", metadata = { name = "s" }, stringData = { s = var.s } })
  }
}
node "n" {
  cluster = cluster.c
  role    = "control-plane"
  address = "192.0.2.1"
  labels  = { a = nonsensitive(var.s), b = sensitive("x") }
}
connection {
  sudo_password = var.s
}`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	cl, n := c.Clusters[0], c.Nodes[0]
	for _, path := range []string{`api_server.arg["oidc-client-id"]`, "kubelet.config.staticPodURLHeader.Authorization", `addon["a"].manifest`} {
		if !cl.Sensitive[path] {
			t.Errorf("%s is not sensitive: %v", path, cl.Sensitive)
		}
	}
	if cl.Sensitive["kubelet.config.maxPods"] || n.Sensitive["labels.a"] || !n.Sensitive["labels.b"] || !n.Sensitive["connection.sudo_password"] || !cl.Addons[0].Objects[0].Sensitive {
		t.Errorf("got %v %v", cl.Sensitive, n.Sensitive)
	}
	if got := string(c.Connection.SudoPassword.Reveal()); got == "" || got != string(n.Connection.SudoPassword.Reveal()) {
		t.Error("the password of the top-level connection block is not a secret")
	}
}

// TestConditionsMayUseSecrets checks that every condition may use a secret; its message is then not
// shown.
func TestConditionsMayUseSecrets(t *testing.T) {
	t.Parallel()
	const condition = " {\n condition = length(var.s) == %d\n error_message = \"not ${var.s}\"\n}\n"
	text := `
variable "s" {
  default   = "hunter22"
  sensitive = true
  validation ` + condition + `
}
check "s" {
  assert ` + condition + `
}
cluster "c" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "c.example.com:6443"
  lifecycle {
    precondition ` + condition + `
  }
}
node "n" {
  cluster = cluster.c
  role    = "control-plane"
  address = "192.0.2.1"
  lifecycle {
    precondition ` + condition + `
  }
}`
	if _, diags := load("main.hcl", fmt.Sprintf(text, 8, 8, 8, 8)); len(diags) > 0 {
		t.Errorf("conditions that hold: %v", diags)
	}
	_, diags := load("main.hcl", fmt.Sprintf(text, 8, 9, 9, 9))
	if len(diags) != 3 {
		t.Errorf("got %v", diags)
	}
	for _, d := range diags {
		if !strings.HasSuffix(d.Detail, "The condition is false. Its message is made of a sensitive value and not shown.") {
			t.Errorf("got %v", d)
		}
	}
}

// TestNamesCannotBeSensitive checks that names and addresses cannot be sensitive, and that no key or
// name can be made of a secret.
func TestNamesCannotBeSensitive(t *testing.T) {
	t.Parallel()
	_, diags := load("main.hcl", `
variable "s" {
  default   = "hunter22"
  sensitive = true
}
cluster "c" {
  kubernetes_version     = "1.36.3"
  control_plane_endpoint = "${var.s}.example.com:6443"
  patch {
    target  = "etcd"
    content = "metadata: { annotations: { ${var.s}: x } }"
  }
  patch {
    target  = "etcd"
    content = "metadata: { annotations: { x: ${var.s} } }"
  }
  addon "key" {
    manifest = yamlencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" }, data = { (var.s) = "x" } })
  }
  addon "name" {
    manifest = yamlencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = var.s }, data = { x = "x" } })
  }
  addon "value" {
    manifest = yamlencode({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "b" }, data = { x = var.s } })
  }
}
node "n" {
  cluster = cluster.c
  role    = "control-plane"
  address = "192.0.2.1"
  connection { user = var.s }
}`)
	got := map[string]int{}
	for _, d := range diags {
		got[d.Summary]++
		if strings.Contains(d.Summary+d.Detail, "hunter22") {
			t.Errorf("shows the secret: %s", d.Detail)
		}
	}
	if got["Value cannot be sensitive"] != 2 || got["Name cannot be sensitive"] != 3 || len(got) != 2 {
		t.Errorf("got %v", diags)
	}
}

// TestFindingsQuoteNoSensitiveValue checks that no finding quotes a sensitive value.
func TestFindingsQuoteNoSensitiveValue(t *testing.T) {
	t.Parallel()
	_, diags := load("main.hcl", `
variable "s" {
  default   = "hunter2/ "
  sensitive = true
}
cluster "c" {
  kubernetes_version     = var.s
  control_plane_endpoint = var.s
  image_repository       = var.s
  bind_port              = var.s
  cluster_name           = file(var.s)
  api_server {
    cert_sans = [var.s]
    arg "tls-min-version" { value = var.s }
  }
  kubelet {
    config = { cgroupDriver = var.s, syncFrequency = var.s }
  }
  certificates {
    validity = var.s
  }
}
node "n" {
  cluster = cluster.c
  role    = var.s
  address = var.s
  labels  = { a = var.s }
}`)
	if len(diags) < 10 {
		t.Errorf("got only %d findings", len(diags))
	}
	for _, d := range diags {
		if all := fmt.Sprint(d.Summary, d.Detail, d.Values); strings.Contains(all, "hunter2") {
			t.Errorf("shows the secret: %s", all)
		}
	}
}

// TestUnsuitableValueFinding checks that the finding about an unsuitable value names the variable, the
// source and the reason, and does not repeat the value.
func TestUnsuitableValueFinding(t *testing.T) {
	t.Parallel()
	for typ, tt := range map[string]struct{ given, want string }{
		"number":                          {"manyfold", "a number is required."},
		"list(string)":                    {"manyfold, b", `it is no expression of the type list(string); text in it must be quoted, as in ["a", "b"].`},
		"list(string)\n nullable = false": {"null", "it is null, and nullable is false."},
	} {
		_, diags := hclconfig.Load(hclconfig.Options{
			FS:   folder("main.hcl", base+"variable \"v\" {\n type = "+typ+"\n}\n"),
			Vars: []hclconfig.VarArg{{Assignment: "v=" + tt.given}},
		})
		if len(diags) != 1 || diags[0].Detail != "The value of var.v from the option -var=\"v=…\" is not suitable: "+tt.want {
			t.Errorf("%s: %v", typ, diags)
		}
	}
}

// TestDuplicateKeysAreRefused checks that an object with a duplicate key is refused, whatever the source
// of the value.
func TestDuplicateKeysAreRefused(t *testing.T) {
	t.Parallel()
	const declared = base + "variable \"hosts\" {\n  type = map(string)\n}\n"
	const says = " and only one of its values would count. In a for_each each key is a node, and one would be missing. Give one of them another key, or remove it."
	for name, tt := range map[string]struct {
		files []string
		arg   string
		want  string
	}{
		"the folder's file": {[]string{"main.hcl", declared, "kubewright.kwvars", "hosts = {\n  a = 1\n  a = 2\n}"}, "", "kubewright.kwvars:3: error: Duplicate key: The object has this key already at kubewright.kwvars:2," + says},
		"the command line":  {[]string{"main.hcl", declared}, "hosts={ a = 1, a = 2 }", `main.hcl:10: error: Invalid value for variable: The value of var.hosts from the option -var="hosts=…" is not suitable: an object in it has a key twice, and only one of its values would count.`},
		"JSON":              {[]string{"main.hcl", declared, "kubewright.kwvars.json", `{"hosts": {"a": "1", "a": "2"}}`}, "", `kubewright.kwvars.json:1: error: Duplicate object attribute: The object has the attribute "a" already at kubewright.kwvars.json:1.`},
		"a for_each":        {[]string{"main.hcl", base + "node \"w\" {\n  for_each = { a = \"10.0.0.8\", a = \"10.0.0.9\" }\n  cluster = cluster.c\n  role = \"worker\"\n  address = each.value\n}\n"}, "", "main.hcl:11: error: Duplicate key: The object has this key already at main.hcl:11," + says},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := hclconfig.Options{FS: folder(tt.files...)}
			if tt.arg != "" {
				o.Vars = []hclconfig.VarArg{{Assignment: tt.arg}}
			}
			_, diags := hclconfig.Load(o)
			if got := strings.Join(lines(diags), "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestTerraformFilesAreReported checks that files that Terraform would read are not ignored silently.
func TestTerraformFilesAreReported(t *testing.T) {
	t.Parallel()
	const declared = base + "variable \"size\" {\n  default = 1\n}\n"
	for name, tt := range map[string]struct {
		files []string
		want  string
	}{
		"terraform.tfvars": {[]string{"main.hcl", declared, "terraform.tfvars", "size = 2"}, "warning: Variables are not read: terraform.tfvars is a name that Terraform looks for. Nothing in that file is used: call it kubewright.kwvars, or give it with -var-file=terraform.tfvars."},
		"auto":             {[]string{"main.hcl", declared, "a.auto.tfvars.json", "{}"}, "warning: Variables are not read: a.auto.tfvars.json is a name that Terraform looks for. Nothing in that file is used: call it a.auto.kwvars.json, or give it with -var-file=a.auto.tfvars.json."},
		"named by hand":    {[]string{"main.hcl", declared, "prod.tfvars", "size = 2"}, ""},
		"Terraform's own":  {[]string{"main.hcl", declared, "main.tf", "", "terraform.tfvars", "size = 2"}, ""},
		"no configuration": {[]string{"main.tf", ""}, "error: No configuration files: The folder has no file whose name ends in .hcl or .hcl.json. It has main.tf, and files whose names end in .tf are Terraform's: those of kubewright are called main.hcl, for example. Change to the folder of your configuration, or name it with -chdir. " + strings.Join(strings.Fields(examples.Hint()), " ")},
		"nothing":          {[]string{"README.md", ""}, "error: No configuration files: The folder has no file whose name ends in .hcl or .hcl.json. Change to the folder of your configuration, or name it with -chdir. " + strings.Join(strings.Fields(examples.Hint()), " ")},
		"JSON":             {[]string{"main.hcl", declared, "t.hcl.json", `{"resource": {"a": {}}}`}, "t.hcl.json:1: error: Extraneous JSON object property: No argument or block type is named \"resource\". kubewright creates no machines, networks or load balancers: other tools do, and it begins where SSH answers. Write cluster and node blocks."},
		"quotes forgotten": {[]string{"main.hcl", declared, "kubewright.kwvars", "size = large"}, "kubewright.kwvars:1: error: Variables not allowed: A value from outside is a constant, and this is the name of another value. If it is a text, write it in quotes."},
		"cluster in JSON":  {[]string{"main.hcl", declared, "n.hcl.json", `{"node": {"m": {"cluster": "${cluster.c}", "role": "worker", "address": "10.0.0.9"}}}`}, `n.hcl.json:1: error: Invalid cluster reference: A cluster is named directly, as in "cluster": "cluster.c": what belongs to a cluster must be known before anything else.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, diags := load(tt.files...)
			if got := strings.Join(lines(diags), "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	_, diags := hclconfig.Load(hclconfig.Options{
		FS:   folder("main.hcl", base+"variable \"sizes\" {\n  type = list(string)\n}\n"),
		Vars: []hclconfig.VarArg{{Assignment: "sizes=[large]"}},
	})
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, "If it is a text, write it in quotes.") {
		t.Errorf("got %v", diags)
	}
}

// TestTerraformOutputsAreValues checks that the outputs which "terraform output -json" prints are
// values of the variables with their names, and secret where Terraform says so.
func TestTerraformOutputsAreValues(t *testing.T) {
	t.Parallel()
	const declared = base + `
variable "hosts" {
  type = map(object({ address = string, zone = optional(string, "a") }))
}
variable "token" {
  default = "none"
}
output "hosts" {
  value = var.hosts
}
output "token" {
  value     = var.token
  sensitive = true
}
`
	const hosts = `"hosts": {"sensitive": false, "type": ["map", ["object", {"address": "string"}]], "value": {"w1": {"address": "10.0.0.1"}}}`
	load := func(text string) (*config.Config, string) {
		c, diags := hclconfig.Load(hclconfig.Options{
			FS:       folder("main.hcl", declared),
			Vars:     []hclconfig.VarArg{{File: "/tf/outputs.json"}},
			ReadFile: func(string) ([]byte, error) { return []byte(text), nil },
		})
		return c, told(diags)
	}
	c, found := load(`{` + hosts + `, "vpc_id": {"sensitive": false, "type": "string", "value": "${vpc}"},
		"token": {"sensitive": true, "type": "string", "value": "${not a template}"}}`)
	if found != "" {
		t.Fatal(found)
	}
	if got := output(t, c, "hosts"); got != `{"w1":{"address":"10.0.0.1","zone":"a"}}` {
		t.Errorf("hosts: got %s", got)
	}
	if got := output(t, c, "token"); got != `"${not a template}"` {
		t.Errorf("token: got %s", got)
	}
	for name, test := range map[string]struct{ text, want string }{
		"a secret is used where it would be printed": {
			strings.Replace(`{`+hosts+`}`, `"sensitive": false`, `"sensitive": true`, 1), "sensitive",
		},
		"a secret of another type": {
			`{"hosts": {"sensitive": true, "type": ["object", {"s3cret": "string"}], "value": {"s3cret": {}}}}`,
			"The value of var.hosts from /tf/outputs.json:1 is not suitable: it is not of the type map(object({address=string,zone=string})).",
		},
		"no variable for any of them": {
			`{"vpc_id": {"sensitive": false, "type": "string", "value": "x"}}`,
			"warning: No output is used\n  /tf/outputs.json has outputs of Terraform, and no variable block has the name of one of them. Declare a variable for each that the configuration needs, for example variable \"vpc_id\".",
		},
		"values that look alike are values": {`{"hosts": {"sensitive": {"address": "a"}, "type": {"address": "b"}, "value": {"address": "c"}}}`, ""},
		"one of them is no output":          {`{` + hosts + `, "token": "x"}`, "Invalid value for variable"},
	} {
		_, found := load(test.text)
		if test.want == "" && found != "" || !strings.Contains(found, test.want) || strings.Contains(found, "s3cret") {
			t.Errorf("%s: got %q, want %q", name, found, test.want)
		}
	}
}
