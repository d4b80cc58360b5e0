package hclconfig

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kubewright/kubewright/config/elsewhere"
)

// TestOtherToolsNamesAreNotOurs checks that no name of the table exists in the language: there
// the schema knows better which block it belongs to.
func TestOtherToolsNamesAreNotOurs(t *testing.T) {
	t.Parallel()
	names := elsewhere.Names(elsewhere.Language)
	if len(names) < 50 {
		t.Fatalf("the table has only %d names", len(names))
	}
	for _, name := range names {
		if homes := homesOf(root, "", elsewhere.Normal(name)); len(homes) > 0 || root.Block(name) != nil {
			t.Errorf("%s is of %v here: take it out of the table", name, homes)
		}
	}
}

// TestOtherToolsCodeIsValid loads a configuration with each line that the table offers, in the
// block that it names.
func TestOtherToolsCodeIsValid(t *testing.T) {
	t.Parallel()
	codes := elsewhere.Codes()
	if len(codes) < 10 {
		t.Fatalf("the table has only %d lines of code", len(codes))
	}
	for _, code := range codes {
		parts := map[string]string{
			"cluster": "  kubernetes_version = \"1.36.3\"\n", "": "",
			"node": "  cluster = cluster.c\n  role = \"control-plane\"\n  address = \"10.0.0.1\"\n",
		}
		before, known := parts[code.Block]
		if !known {
			t.Errorf("%q belongs into a block %q", code.Line, code.Block)
			continue
		}
		name, _, _ := strings.Cut(code.Line, " = ")
		kept := ""
		for line := range strings.Lines(before) { // the code takes the place of the same argument
			if !strings.HasPrefix(strings.TrimSpace(line), name+" = ") {
				kept += line
			}
		}
		parts[code.Block] = kept + code.Line + "\n"
		text := "cluster \"c\" {\n" + parts["cluster"] + "}\nnode \"n\" {\n" + parts["node"] + "}\n" + parts[""]
		_, diags := Load(Options{FS: fstest.MapFS{
			"main.hcl": {Data: []byte(text)}, "app.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n")},
			"flannel.yaml":   {Data: []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-flannel}\n")},
			"kubernetes.asc": {Data: []byte("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENBGI=\n=abcd\n-----END PGP PUBLIC KEY BLOCK-----\n")},
		}})
		if diags.HasErrors() {
			t.Errorf("%s\nis no part of a configuration: %s", text, diags)
		}
	}
}
