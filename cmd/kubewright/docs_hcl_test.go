package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
)

// fragmentContext is the configuration to which a fragment on a page belongs.
type fragmentContext struct {
	// base is the configuration, and edits are pairs of what is replaced in it.
	base  func(t *testing.T) string
	edits []string
	// within is a block that the fragment is a part of, as in cluster.demo. Without it the
	// fragment's blocks stand beside those of the configuration, or continue them.
	within string
	files  map[string]string
	// artifacts says that there is a folder of artifacts.
	artifacts bool
	// replace are pairs of what is replaced in the fragment.
	replace []string
}

// fragmentContexts are the contexts that a mark "fragment: NAME" can name.
var fragmentContexts = map[string]fragmentContext{
	"demo":                        {base: demoText},
	"cluster.demo":                {base: demoText, within: "cluster.demo"},
	"cluster.demo with key":       {base: demoText, within: "cluster.demo", files: map[string]string{"kubernetes.asc": repositoryKey}},
	"cluster.demo with artifacts": {base: demoText, within: "cluster.demo", artifacts: true},
	"roles": {base: demoText, edits: []string{
		`    w2 = "10.77.0.22"`, `    cp3 = "10.77.0.13"`,
		"    cp2 = \"10.77.0.12\"\n    cp3 = \"10.77.0.13\"", "    cp2 = \"10.77.0.12\"\n    w2 = \"10.77.0.22\"",
	}},
	"without cp2": {base: demoText, edits: []string{`cp2 = "10.77.0.12"`, ""}},
	"without w2":  {base: demoText, edits: []string{`w2 = "10.77.0.22"`, ""}},
	"renamed pool": {
		base: demoText, edits: []string{`node "worker"`, `node "pool"`},
	},
	"encryption": {base: demoText, replace: []string{
		`"age1…"`, `"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"`,
		`"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI… ann@laptop"`, `"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGlUVSu4+sXnFoLfDzWzTVvGWJzyHqy9cpvBPPm8AuvT ann@laptop"`,
	}},
	"outputs of Terraform": {
		base: func(*testing.T) string { return "" },
		files: map[string]string{"outputs.auto.kwvars.json": `{
			"control_planes": {"sensitive": false, "type": ["map", "string"], "value": {"cp1": "10.0.0.11"}},
			"workers": {"sensitive": false, "type": ["map", ["object", {}]], "value": {"w1": {"address": "10.0.0.21", "zone": "a"}}},
			"endpoint": {"sensitive": false, "type": "string", "value": "10.0.0.10:6443"}}`},
	},
	"manifests":    {base: tutorialText, files: map[string]string{"kubernetes.asc": repositoryKey, "flannel.yaml": networkManifest}},
	"policy":       {base: tutorialText, files: map[string]string{"kubernetes.asc": repositoryKey, "approvals": ""}},
	"tutorial":     {base: tutorialText, files: map[string]string{"kubernetes.asc": repositoryKey}},
	"cluster.prod": {base: tutorialText, within: "cluster.prod", files: map[string]string{"kubernetes.asc": repositoryKey, "kube-flannel.yml": networkManifest}},
}

const (
	repositoryKey   = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENBGMHoXcBCADnVvkz\n=uqSW\n-----END PGP PUBLIC KEY BLOCK-----\n"
	networkManifest = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: kube-flannel\n"
)

// demoText returns the configuration of the quickstart.
func demoText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(examples, "quickstart", "main.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// tutorialText returns the configuration that the tutorial begins with.
func tutorialText(t *testing.T) string {
	t.Helper()
	out := ""
	for _, b := range docBlocks(t) {
		if strings.HasPrefix(b.page, "tutorial/") && fileOf(b) != "" {
			out += b.text
		}
	}
	return out
}

// fileOf returns the file that a block is, as its first line says.
func fileOf(b docBlock) string {
	first, _, _ := strings.Cut(b.text, "\n")
	name, ok := strings.CutPrefix(first, "# ")
	if b.language != "hcl" || !ok || !strings.HasSuffix(name, ".hcl") {
		return ""
	}
	return name
}

// TestDocsConfigurationBlocks checks that each block of HCL is a valid configuration, by itself
// or in the context that its mark names, or a test file whose runs pass.
func TestDocsConfigurationBlocks(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, b := range docBlocks(t) {
		if b.language != "hcl" {
			continue
		}
		name, _ := strings.CutPrefix(b.mark, "fragment: ")
		used[name] = true
		t.Run(fmt.Sprintf("%s:%d", b.page, b.line), func(t *testing.T) {
			t.Parallel()
			if err := checkConfiguration(t, b); err != nil {
				t.Error(err)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(fragmentContexts)) {
		if !used[name] {
			t.Errorf("no block has the mark %q", "fragment: "+name)
		}
	}
}

// checkConfiguration validates a block, with what its context has.
func checkConfiguration(t *testing.T, b docBlock) error {
	t.Helper()
	f := folder(t.TempDir())
	text, files := b.text, map[string]string{"kubernetes.asc": repositoryKey}
	command := "validate"
	if b.mark == "test: demo" {
		command, text, files = "test", demoText(t), map[string]string{"page.kwtest.hcl": b.text}
	} else if b.mark != "" {
		name, ok := strings.CutPrefix(b.mark, "fragment: ")
		c, known := fragmentContexts[name]
		if !ok || !known {
			return fmt.Errorf("the mark %q names no context", b.mark)
		}
		base := c.base(t)
		for pair := range slices.Chunk(c.edits, 2) {
			if !strings.Contains(base, pair[0]) {
				return fmt.Errorf("the context %s has no %s", name, pair[0])
			}
			base = strings.Replace(base, pair[0], pair[1], 1)
		}
		var err error
		if text, err = joined(base, strings.NewReplacer(c.replace...).Replace(text), c.within); err != nil {
			return err
		}
		files = c.files
		if c.artifacts {
			if err := bringArtifacts(filepath.Join(string(f), "artifacts"), "amd64"); err != nil {
				return err
			}
		}
	} else if strings.HasPrefix(b.page, "tutorial/") {
		text = tutorialText(t) // each block is a file of it
	}
	files = maps.Clone(files)
	if files == nil {
		files = map[string]string{}
	}
	files["main.hcl"] = text
	for name, content := range files {
		path := filepath.Join(string(f), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	if code, out := f.run(command); code != 0 {
		return fmt.Errorf("%s\nThe configuration is\n%s", out, text)
	}
	return nil
}

// joined returns a configuration with a fragment: a block of the fragment continues the block
// of the same type and labels, or stands beside the others; within names a block that the
// fragment is a part of. An attribute replaces the one of the same name.
func joined(base, fragment, within string) (string, error) {
	to, diags := hclwrite.ParseConfig([]byte(base), "base.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		return "", diags
	}
	from, diags := hclwrite.ParseConfig([]byte(fragment), "fragment.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		return "", diags
	}
	body := to.Body()
	if within != "" {
		block := body.FirstMatchingBlock(strings.Split(within, ".")[0], strings.Split(within, ".")[1:])
		if block == nil {
			return "", fmt.Errorf("there is no %s", within)
		}
		body = block.Body()
	}
	join(body, from.Body())
	return string(hclwrite.Format(to.Bytes())), nil
}

func join(to, from *hclwrite.Body) {
	for name, a := range from.Attributes() {
		to.SetAttributeRaw(name, a.Expr().BuildTokens(nil))
	}
	for _, b := range from.Blocks() {
		if same := to.FirstMatchingBlock(b.Type(), b.Labels()); same != nil && len(b.Labels()) > 0 {
			join(same.Body(), b.Body())
			continue
		}
		to.AppendNewline()
		to.AppendBlock(b)
	}
}

// TestDocsConfigurationBlocksAreChecked checks that the check finds errors, also in a fragment.
func TestDocsConfigurationBlocksAreChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, mark, want string }{
		{"upgrade {\n  max_unavailable = \"50%\"\n}\n", "fragment: cluster.demo", ""},
		{"upgrade {\n  max_unavailble = \"50%\"\n}\n", "fragment: cluster.demo", "max_unavailable"},
		{"upgrade {\n", "fragment: cluster.demo", "fragment.hcl"},
		{"cluster \"demo\" {\n  versions = 1\n}\n", "", "versions"},
		{"node \"worker\" {\n  labels = { a = \"b\" }\n}\n", "fragment: demo", ""},
		{"node \"worker\" {\n  labels = { a = cluster.other.name }\n}\n", "fragment: demo", "other"},
		{"locals {\n}\n", "fragment: elsewhere", "names no context"},
	} {
		err := checkConfiguration(t, docBlock{language: "hcl", text: tt.text, mark: tt.mark})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s%s: got %v, want %q", tt.mark, tt.text, err, tt.want)
		}
	}
}
