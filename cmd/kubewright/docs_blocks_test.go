package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docBlock is a block of code on a page.
type docBlock struct {
	page, language, text string
	line                 int
	// mark is the comment right above the block, which says how a test takes it.
	mark string
}

// fence matches a line that begins or ends a block.
var (
	fence     = regexp.MustCompile("^( *)```(\\S*)$")
	blockMark = regexp.MustCompile(`^ *<!-- (.*) -->$`)
)

// blocksOf returns the blocks of a page.
func blocksOf(page, text string) []docBlock {
	var out []docBlock
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		m := fence.FindStringSubmatch(lines[i])
		if m == nil {
			continue
		}
		b := docBlock{page: page, language: m[2], line: i + 1}
		if i > 0 {
			if mark := blockMark.FindStringSubmatch(lines[i-1]); mark != nil {
				b.mark = mark[1]
			}
		}
		for i++; i < len(lines) && fence.FindStringSubmatch(lines[i]) == nil; i++ {
			b.text += strings.TrimPrefix(lines[i], m[1]) + "\n"
		}
		out = append(out, b)
	}
	return out
}

// docBlocks returns the blocks of the documentation and of the README.
func docBlocks(t interface{ Fatalf(string, ...any) }) []docBlock {
	var out []docBlock
	for _, page := range append(docPages(t), "../README.md") {
		text, err := os.ReadFile(filepath.Join(docsFolder, filepath.FromSlash(page)))
		if err != nil {
			t.Fatalf("%v", err)
		}
		out = append(out, blocksOf(page, string(text))...)
	}
	return out
}

// blockLanguages are the languages of blocks, and how each is checked.
var blockLanguages = map[string]string{
	"":        "output, which a script compares (TestDocsOutputBlocksAreCompared)",
	"console": "a command and its output, which a script compares as well",
	"sh":      "commands, which are run (TestDocsShellBlocks)",
	"hcl":     "configuration, which is validated (TestDocsConfigurationBlocks)",
	"yaml":    "workflows, which are run (TestGitHubWorkflows, TestGitLabPipelines)",
	"rego":    "a policy, which is evaluated (TestConftest)",
	"text":    "usage, and what other programs print or read",
}

// TestDocsBlocksSayTheirLanguage checks that each block has a known language, and that no
// commands or configuration pass as output.
func TestDocsBlocksSayTheirLanguage(t *testing.T) {
	t.Parallel()
	count := map[string]int{}
	for _, b := range docBlocks(t) {
		count[b.language]++
		if text := misnamed(b); text != "" {
			t.Errorf("%s:%d: %s", b.page, b.line, text)
		}
	}
	for language := range blockLanguages {
		if count[language] == 0 {
			t.Errorf("no block has the language %q", language)
		}
	}
}

// typed matches blocks of commands.
var typed = regexp.MustCompile(`^(kubewright|kubectl|curl|mkdir|make|export|ssh|[A-Z_]+=\S* \w+) `)

// misnamed says what is wrong with the language of a block.
func misnamed(b docBlock) string {
	switch {
	case blockLanguages[b.language] == "":
		return "nothing checks blocks of the language " + b.language
	case b.language == "console" != strings.HasPrefix(b.text, "$ "):
		return "a block that begins with a prompt is of the language console, and no other is"
	case slices.Contains([]string{"", "text"}, b.language) && typed.MatchString(b.text) && !strings.HasSuffix(b.mark, "layers") && !strings.HasPrefix(b.page, "reference/commands"):
		return "commands are of the language sh"
	case !slices.Contains([]string{"sh", "hcl"}, b.language) && b.mark != "" && !strings.HasSuffix(b.mark, "layers"):
		return "nothing reads this mark: " + b.mark
	}
	return ""
}

// TestDocsBlocksAreRead checks that blocks, marks and wrong languages are found.
func TestDocsBlocksAreRead(t *testing.T) {
	t.Parallel()
	got := blocksOf("p.md", "a\n<!-- run: demo -->\n```sh\nkubewright plan\n```\n\n1. b\n\n   ```\n   curl x\n     y\n   ```\n")
	want := []docBlock{
		{page: "p.md", language: "sh", text: "kubewright plan\n", line: 3, mark: "run: demo"},
		{page: "p.md", text: "curl x\n  y\n", line: 9},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	for _, b := range []docBlock{{language: "fish"}, {text: "$ kubewright plan\n"}, {text: "kubewright plan\n"}, {language: "console", text: "x"}, {language: "yaml", mark: "run: demo"}} {
		if misnamed(b) == "" {
			t.Errorf("%+v passes", b)
		}
	}
	for _, b := range append(want[:1:1], docBlock{text: "No changes.\n"}, docBlock{mark: "output layers", text: "x\n"}) {
		if text := misnamed(b); text != "" {
			t.Errorf("%+v: %s", b, text)
		}
	}
}
