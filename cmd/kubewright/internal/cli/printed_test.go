package cli

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/config/remedy"
)

// TestPrintedCommandsAndBlocks checks everything in the golden files that a user copies: a command
// on a line of its own is one command line as the shell reads it, which kubewright accepts, and a
// block of configuration has only what the language has.
func TestPrintedCommandsAndBlocks(t *testing.T) {
	t.Parallel()
	found := copied{}
	for place, text := range printedTexts(t) {
		text, remedies := remedy.Spell(text, commandline.Line)
		for _, r := range remedies {
			if r.Action != "" {
				for _, problem := range found.command(commandline.Line(r)) {
					t.Errorf("%s: %s", place, problem)
				}
			}
		}
		for _, problem := range found.check(text, !strings.HasPrefix(filepath.Base(place), "state.") && !strings.HasSuffix(place, ".html")) {
			t.Errorf("%s: %s", place, problem)
		}
	}
	if len(found.commands) < 70 || len(found.blocks) < 20 {
		t.Errorf("only %d commands and %d blocks were found", len(found.commands), len(found.blocks))
	}
}

// TestMistakesInPrintedTextsAreFound plants mistakes in what a user copies.
func TestMistakesInPrintedTextsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Continue:\n\n  kubewright apply -replace='node.cp[\"cp1\"]'\n\nThen look.": "",
		"  kubewright apply -target=etcd \\\n    -approve=0123456789abcdef\n":       "",
		"  kubewright apply -target=etcd\n    -approve=0123456789abcdef\n":          "goes on",
		"  kubewright apply -replace='node.cp[\"cp1\"]\n":                           "the shell",
		"  kubewright apply -replace=node.cp[\"cp1\"]\n":                            "quotes",
		"  kubewright aply\n":                                          "no command",
		"  kubewright etcd snapsot\n":                                  "no command",
		"  kubewright apply -replcae=x\n":                              "unknown flag",
		"  kubewright plan somewhere\n":                                "too many",
		"Or <code>kubewright apply -aprove=1</code>":                   "unknown flag",
		"Or `kubewright apply -aprove=1`.":                             "unknown flag",
		"  removed {\n    from = cluster.prod\n  }\n":                  "",
		"  removed {\n    from = cluster.prod\n\nText":                 "not closed",
		"  removed {\n    from = cluster.\n  }\n":                      "does not parse",
		"  removed {\n    form = cluster.prod\n  }\n":                  "form",
		"  kubelet {\n    config = { maxPods = 50\n  }\n":              "config",
		"  kubelets {\n    config = {}\n  }\n":                         "kubelets",
		"  upgrade { drain { timeout = \"1m\" } }\n":                   "does not parse",
		"  upgrade {\n    drain {\n      after = \"1m\"\n    }\n  }\n": "after",
	} {
		found := copied{}
		problems := strings.Join(found.check(text, true), "; ")
		if problems == "" != (want == "") || !strings.Contains(problems, want) {
			t.Errorf("%q: got %q, want %q", text, problems, want)
		}
		if want == "" && len(found.commands)+len(found.blocks) != 1 {
			t.Errorf("%q: found %v", text, found)
		}
	}
}

// printedTexts returns the golden files with what users read, and those within scripts, by place.
func printedTexts(t *testing.T) map[string]string {
	t.Helper()
	top := filepath.Join("..", "..", "..", "..")
	out := map[string]string{}
	for _, pattern := range []string{
		"cmd/kubewright/internal/view/*/testdata/*.txt", "cmd/kubewright/internal/view/*/testdata/*.md", "cmd/kubewright/internal/view/*/testdata/*.html",
		"planner/pipeline/testdata/findings.txt", "config/hclconfig/testdata/invalid/*.txt",
	} {
		for _, name := range globbed(t, filepath.Join(top, filepath.FromSlash(pattern))) {
			if !strings.HasSuffix(name, ".color.txt") { // the same as another, with escape sequences
				out[name] = readText(t, name)
			}
		}
	}
	compared := regexp.MustCompile(`(?m)^cmp (?:stdout|stderr) (\S+)`)
	section := regexp.MustCompile(`(?m)^-- (.+) --\n`)
	for _, name := range globbed(t, filepath.Join(top, "cmd", "kubewright", "testdata", "script", "*.txtar")) {
		text := readText(t, name)
		at := section.FindAllStringSubmatchIndex(text, -1)
		if len(at) == 0 {
			continue
		}
		var golden []string
		for _, m := range compared.FindAllStringSubmatch(text[:at[0][0]], -1) {
			golden = append(golden, m[1])
		}
		for i, m := range at {
			end := len(text)
			if i+1 < len(at) {
				end = at[i+1][0]
			}
			if file := text[m[2]:m[3]]; slices.Contains(golden, file) {
				out[name+":"+file] = text[m[1]:end]
			}
		}
	}
	return out
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no files are %s: %v", pattern, err)
	}
	return names
}

func readText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// copied are the commands and blocks that were found, each once.
type copied struct{ commands, blocks []string }

// prose are the beginnings of lines that are no commands.
var prose = []string{"kubewright will ", "kubewright and Kubernetes "}

var (
	commandLines  = regexp.MustCompile(`^( {2,})(kubewright .*)$`)
	commandInText = regexp.MustCompile("(?:`|<code>)(kubewright [^`<]*)(?:`|</code>)")
	blockHead     = regexp.MustCompile(`^( {2,})([a-z_]+)(?: "[^"]*")* \{(?: |$)`)
)

// check returns what is wrong with what a text has to copy. Blocks of what the state has and of a
// style are no configuration.
func (c *copied) check(text string, blocks bool) []string {
	var problems []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		for _, m := range commandInText.FindAllStringSubmatch(lines[i], -1) {
			problems = append(problems, c.command(html.UnescapeString(m[1]))...)
		}
		if m := commandLines.FindStringSubmatch(lines[i]); m != nil && !slices.ContainsFunc(prose, func(s string) bool { return strings.HasPrefix(m[2], s) }) {
			line := m[2]
			for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
				i++
				line += "\n" + lines[i]
			}
			if i+1 < len(lines) && strings.HasPrefix(lines[i+1], m[1]) && commandLines.FindString(lines[i+1]) == "" {
				problems = append(problems, fmt.Sprintf("the command %q goes on in the next line, %q", line, lines[i+1]))
			}
			problems = append(problems, c.command(line)...)
		}
		if m := blockHead.FindStringSubmatch(lines[i]); m != nil && blocks {
			n, problem := blockEnd(lines[i:], m[1])
			if problem == "" {
				problem = c.block(strings.Join(lines[i:i+n], "\n"))
			}
			if problem != "" {
				problems = append(problems, problem)
			}
			i += n - 1
		}
	}
	return problems
}

// blockEnd returns the number of lines of a block with this indentation.
func blockEnd(lines []string, indent string) (int, string) {
	if opened := strings.Count(lines[0], "{") - strings.Count(lines[0], "}"); opened == 0 {
		return 1, ""
	}
	for i, line := range lines[1:] {
		if line == indent+"}" {
			return i + 2, ""
		}
		if !strings.HasPrefix(line, indent+" ") {
			break
		}
	}
	return 1, fmt.Sprintf("the block %q is not closed", lines[0])
}

// command checks a command line.
func (c *copied) command(line string) []string {
	if slices.Contains(c.commands, line) {
		return nil
	}
	c.commands = append(c.commands, line)
	cmd := exec.Command("sh", "-f", "-c", `kubewright() { printf '%s\0' "$@"; }; `+line)
	cmd.Env = []string{"PATH="}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return []string{fmt.Sprintf("the shell does not accept %q: %s", line, out)}
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for _, w := range words {
		if strings.Contains(w, "[") && !strings.Contains(w, `["`) {
			return []string{fmt.Sprintf("the shell removes the quotes of %q", line)}
		}
	}
	of, rest, err := commandLine().Find(oneDash(words))
	switch {
	case err != nil:
	case !of.HasParent() || of.HasSubCommands():
		err = fmt.Errorf("%q is no command", line)
	default:
		if err = of.ParseFlags(rest); err == nil {
			err = of.ValidateArgs(of.Flags().Args())
		}
	}
	if err != nil {
		return []string{fmt.Sprintf("kubewright does not accept %q: %v", line, err)}
	}
	return nil
}

// block checks a block of configuration, which belongs somewhere into the language.
func (c *copied) block(text string) string {
	if slices.Contains(c.blocks, text) {
		return ""
	}
	c.blocks = append(c.blocks, text)
	file, diags := hclsyntax.ParseConfig([]byte(text), "printed.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		return fmt.Sprintf("the block\n%s\ndoes not parse: %v", text, diags)
	}
	b := file.Body.(*hclsyntax.Body).Blocks[0]
	err := fmt.Errorf("the language has no block %s", b.Type)
	for _, row := range rowsOf(hclconfig.Schema(), b.Type) {
		if err = fits(b, row); err == nil {
			return ""
		}
	}
	return fmt.Sprintf("%v:\n%s", err, text)
}

// rowsOf returns all blocks of the language with a name.
func rowsOf(in *hclconfig.Block, name string) []*hclconfig.Block {
	var out []*hclconfig.Block
	for _, row := range in.Blocks {
		if row.Name == name {
			out = append(out, row)
		}
		out = append(out, rowsOf(row, name)...)
	}
	return out
}

// fits returns an error for an attribute or block that a row of the language does not have.
func fits(b *hclsyntax.Block, row *hclconfig.Block) error {
	for name := range b.Body.Attributes {
		if !row.Free && !slices.ContainsFunc(row.Attributes, func(a hclconfig.Attribute) bool { return a.Name == name }) {
			return fmt.Errorf("a block %s has no %s", row.Name, name)
		}
	}
	for _, inner := range b.Body.Blocks {
		i := slices.IndexFunc(row.Blocks, func(r *hclconfig.Block) bool { return r.Name == inner.Type })
		if i < 0 {
			return fmt.Errorf("a block %s has no block %s", row.Name, inner.Type)
		}
		if err := fits(inner, row.Blocks[i]); err != nil {
			return err
		}
	}
	return nil
}
