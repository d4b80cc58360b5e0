package hclconfig_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config/hclconfig"
)

// TestCoverHidesSecretsOnly checks that the secrets in a file, valid or not, are covered and nothing else is.
// In the texts, «…» marks a secret.
func TestCoverHidesSecretsOnly(t *testing.T) {
	t.Parallel()
	folder := fstest.MapFS{"main.hcl": {Data: []byte("variable \"size\" {}\nvariable \"pin\" {\n  sensitive = true\n}\nvariable \"open\" {\n  sensitive = false\n}\n")}}
	for _, c := range []struct{ name, text string }{
		{"main.hcl", "kubewright {\n  backend \"http\" {\n    address  = \"https://x\"\n    password = «\"hunter2\"» # why\n  }\n}\n"},
		{"main.hcl", "kubewright {\n  backend \"pg\" { conn_str = «\"postgres://ann:hunter2@db\"» }\n  required_version = \">= 1\"\n}\n"},
		{"main.hcl", "kubewright {\n  backend \"s3\" {\n    key        = \"prod.json\"\n    secret_key = «hunter2»\n    token = «\"not closed»\n    region = \"x\"\n"},
		{"main.hcl", "connection {\n  user = \"ann\"\n  sudo_password = «<<EOT\nhun\nter2\nEOT\n»}\n"},
		{"main.hcl", "connection { sudo_password = var.sudo }\ncluster \"x\" {\n  certificates {\n    ca {\n      key = file(\"ca.key\")\n    }\n  }\n}\n"},
		{"main.hcl", "cluster \"x\" {\n  install {\n    packages {\n      key = \"public\"\n    }\n  }\n  bootstrap_token {\n    token = «\"abcdef.${var.token}\"»\n  }\n}\n"},
		{"main.hcl", "connektion {\n  sudo_password = «\"hunter2\"»\n}\n"},
		{"main.hcl", "locals {\n  a = { b = [sensitive(«\"hunter2\"»), \"x\"] }\n  c = sensitive(var.d)\n}\n"},
		{"main.hcl", "locals {\n  proxy = \"http://ann:«hunter2»@proxy\"\n  key = \"«AGE-SECRET-KEY-1QQ»\"\n}\n"},
		{"main.hcl", "locals {\n  key = \"-----BEGIN PRIVATE KEY-----«\\nMIIE\\n»-----END PRIVATE KEY-----\"\n}\n"},
		{"x.auto.kwvars", "size = \"large\"\npin = «[\"hun\", ter2]»\nopen = 1\nlost = «\"x\"»\n"},
		{"kubewright.kwvars.json", "{\"size\": 3, \"pin\": «hunter2», \"open\": \"x\", \"lost\": «\"a\\\"b\"»}\n"},
		{"main.hcl.json", "{\"connection\": {\"user\": \"ann\", \"sudo_password\": «\"hunter2\"»}}\n"},
		{"main.hcl", "variable \"a\" {\n  default = «\"hunter2\"»\n  sensitive = true\n}\nvariable \"b\" {\n  sensitive = false\n  default = \"x\"\n}\n"},
		{"main.hcl", "connection {\n  sudo_password = «/* x */ \"hunter2\"»\n}\n"},
		{"kubewright.kwvars.json", "{\"pin\": «[\"a\", {\"b\": 1}]», \"open\": [1]}"},
		{"main.hcl", "}}}\n{{ = \n \"\n"},
		{"main.hcl", ""},
	} {
		want, text := covered(c.text)
		got := hclconfig.Cover(hclconfig.Options{FS: folder}, c.name, text)
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\nbecame\n%q\nwant\n%q", c.name, text, got, want)
		}
	}
}

// TestCoverKeepsNULBytes checks that NUL bytes of a binary file are not mistaken for covered bytes.
func TestCoverKeepsNULBytes(t *testing.T) {
	t.Parallel()
	if got := hclconfig.Cover(hclconfig.Options{FS: folder("main.hcl", "")}, "main.hcl", []byte("a = \"\x00\"\n")); string(got) != "a = \"?\"\n" {
		t.Errorf("got %q", got)
	}
}

// covered returns a text without its marks, and its expected covered form.
func covered(marked string) (want, text []byte) {
	hide := false
	for _, r := range marked {
		switch r {
		case '«', '»':
			hide = r == '«'
			continue
		}
		text = append(text, string(r)...)
		if hide && r != '\n' {
			want = append(want, 0)
		} else {
			want = append(want, string(r)...)
		}
	}
	return want, text
}

// FuzzCover checks that no text makes Cover fail, and that line breaks stay.
func FuzzCover(f *testing.F) {
	f.Add("main.hcl", "connection {\n  sudo_password = \"x\n}\n")
	f.Add("a.auto.kwvars", "x = {")
	f.Add("a.hcl.json", `{"password": "x`)
	f.Fuzz(func(t *testing.T, name, text string) {
		got := hclconfig.Cover(hclconfig.Options{FS: fstest.MapFS{}}, name, []byte(text))
		if len(got) != len(text) || strings.Count(string(got), "\n") != strings.Count(text, "\n") {
			t.Errorf("%q became %q", text, got)
		}
	})
}
