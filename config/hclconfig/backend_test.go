package hclconfig_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
)

func backend(text string) (*config.Backend, string, bool) {
	s := hclconfig.ReadSettings(hclconfig.Options{FS: fstest.MapFS{"main.hcl": {Data: []byte(text)}}})
	return s.Backend, said(s.Misplaced), s.Whole
}

// said returns the text of findings, with their positions.
func said(diags diag.Diagnostics) string {
	var lines []string
	for _, d := range diags {
		lines = append(lines, d.String())
	}
	return strings.Join(lines, "\n")
}

// TestBackendBlockIsFound checks that the block is found despite mistakes elsewhere, and accepts only
// literals.
func TestBackendBlockIsFound(t *testing.T) {
	t.Parallel()
	b, said, whole := backend(`kubewright {
	  required_version = var.nonsense
	  backend "http" {
	    address   = "https://states.example.com/prod"
	    retry_max = 5
	    password  = null
	    skip_cert_verification = true
	  }
	}
	cluster "broken" { nonsense = 1 }`)
	if b == nil || said != "" || !whole || b.Type != "http" || b.Source.Line != 3 ||
		!maps.Equal(b.Settings, map[string]string{"address": "https://states.example.com/prod", "retry_max": "5", "skip_cert_verification": "true"}) {
		t.Fatalf("%+v, %q, %v", b, said, whole)
	}
	for text, want := range map[string]string{
		`kubewright { backend "s4" {} }`:                             `There is no backend "s4". There are http, kubernetes, pg, s3.`,
		`kubewright { backend "s3" { bucket = var.bucket } }`:        "var.bucket is named here, but where the state is kept is read before anything else. Write the value out, or give it with -backend-config=bucket=VALUE",
		`kubewright { backend "s3" { bucket = lower("X") } }`:        "A function is called here",
		`kubewright { backend "http" { retry_max = 1 + "x" } }`:      "Something is computed here, but where the state is kept is read before anything else. Write the value out, or give it with -backend-config=retry_max=VALUE or in the environment, as docs/reference/backends.md says.",
		`kubewright { backend "s3" { secret_key = hunter2 } }`:       "Something without quotes is named",
		`kubewright { backend "s3" { bukket = "x" } }`:               "bukket",
		`kubewright { backend "http" { retry_max = "often" } }`:      "retry_max",
		"kubewright {\n backend \"s3\" {}\n backend \"http\" {}\n }": "",
	} {
		_, said, _ := backend(strings.ReplaceAll(strings.ReplaceAll(text, "{ ", "{\n"), " }", "\n}"))
		if !strings.Contains(said, want) {
			t.Errorf("%s: got %q, want %q", text, said, want)
		}
	}
	if b, said, whole := backend(`cluster "x" {`); b != nil || said != "" || whole {
		t.Errorf("a file that cannot be parsed: %+v, %q, %v", b, said, whole)
	}
	if _, diags := load("main.hcl", "kubewright {\n backend \"s3\" {}\n backend \"http\" {}\n }"); !strings.Contains(diags.Errors()[0].Detail, "A backend was already declared at main.hcl:2") {
		t.Errorf("two backends: %+v", diags)
	}
}

// TestBackendSettingsPrecedence checks that the command line takes precedence over the block, the block
// over the environment, and the environment over defaults.
func TestBackendSettingsPrecedence(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(file, []byte("username = \"file\"\nretry_max = 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"KUBEWRIGHT_HTTP_PASSWORD": "of the environment", "KUBEWRIGHT_HTTP_ADDRESS": "https://env"}
	block := &config.Backend{Type: "http", Settings: map[string]string{"address": "https://block", "username": "block"}}
	b, diags := hclconfig.CompleteBackend(block, []string{file, "retry_max=8", "lock_address=https://lock?a=b"}, func(name string) string { return env[name] })
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	for name, want := range map[string]string{
		"password": "of the environment", "address": "https://block", "username": "file", "retry_max": "8", "lock_address": "https://lock?a=b", "lock_method": "LOCK", "retry_wait_min": "1",
	} {
		if b.Settings[name] != want {
			t.Errorf("%s = %q, want %q", name, b.Settings[name], want)
		}
	}
	if !b.Sensitive["password"] || b.Sensitive["address"] || len(block.Settings) != 2 {
		t.Errorf("%+v", b)
	}
	for arg, want := range map[string]string{"adress=x": `Did you mean "address"?`, "retry_max=x": "retry_max", "nowhere": "no such file"} {
		_, diags := hclconfig.CompleteBackend(block, []string{arg}, func(string) string { return "" })
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, want) {
			t.Errorf("%s: %+v", arg, diags)
		}
	}
	_, diags = hclconfig.CompleteBackend(block, nil, func(name string) string { return map[string]string{"KUBEWRIGHT_HTTP_RETRY_MAX": "often"}[name] })
	if got, want := said(diags), "error: Incorrect setting of the backend: the environment variable KUBEWRIGHT_HTTP_RETRY_MAX: a number is required."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
