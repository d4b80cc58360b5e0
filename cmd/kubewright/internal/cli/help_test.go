package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/flaghelp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubewright/kubewright/config/hclconfig"
)

// commandLine returns the command as Main makes it.
func commandLine() *cobra.Command { return commandTree() }

// everyCommand lists a command and all below it, in the order of help.
func everyCommand(cmd *cobra.Command) []*cobra.Command { return withSubcommands(cmd) }

// TestHelpHasDescriptionAndExamples checks that every command has a long description and examples.
func TestHelpHasDescriptionAndExamples(t *testing.T) {
	t.Parallel()
	for _, cmd := range everyCommand(commandLine()) {
		name := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || len(cmd.Long) < len(cmd.Short)+20 || !strings.HasSuffix(strings.TrimSpace(cmd.Long), ".") && !strings.Contains(cmd.Long, "\n  ") {
			t.Errorf("%s: its help does not say what it does: %q, %q", name, cmd.Short, cmd.Long)
		}
		for line := range strings.Lines(cmd.Long) {
			if len([]rune(line)) > 125 {
				t.Errorf("%s: a line of its help is too long for a terminal: %s", name, line)
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, text := pflag.UnquoteUsage(f)
			if f.Name != "help" && (text == "" || f.Value.Type() != "bool" && value == "") {
				t.Errorf("%s: -%s is not described", name, f.Name)
			}
		})
		checkExamples(t, cmd)
	}
}

// checkExamples checks that there is at least one example, and that each is a valid command
// line.
func checkExamples(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	shown := false
	for line := range strings.SplitSeq(cmd.Example, "\n") {
		runs := commandsIn(line)
		if !strings.HasPrefix(line, "  ") || len(runs) == 0 {
			t.Errorf("%s: not an example: %q", cmd.CommandPath(), line)
		}
		for _, args := range runs {
			of, err := understood(args)
			if err != nil {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), strings.TrimSpace(line), err)
			}
			shown = shown || strings.HasPrefix(of+" ", cmd.CommandPath()+" ")
		}
	}
	if !shown {
		t.Errorf("%s: no example runs the command itself", cmd.CommandPath())
	}
}

// understood parses the arguments of a command line and returns the name of its command.
func understood(args []string) (string, error) {
	cmd, rest, err := commandLine().Find(oneDash(args))
	if err != nil {
		return "", err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return "", err
	}
	rest = cmd.Flags().Args()
	if cmd.Args != nil && cmd.HasParent() {
		err = cmd.Args(cmd, rest)
	}
	if len(rest) > 0 && cmd.HasSubCommands() {
		err = fmt.Errorf("there is no command %s below %s", rest[0], cmd.CommandPath())
	}
	return cmd.CommandPath(), err
}

var (
	shellWord = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"|()]+|[|()]`)
	redirect  = regexp.MustCompile(`^(\d?>+|<)$`)
)

// commandsIn returns the arguments of every kubewright in a shell line.
func commandsIn(line string) [][]string {
	var out [][]string
	inside, skip, glued := false, false, -1
	for _, at := range shellWord.FindAllStringIndex(line, -1) {
		word := line[at[0]:at[1]]
		joined := glued == at[0]
		glued = at[1]
		switch bare := strings.Trim(word, `'"`); {
		case word == "|" || word == "(" || word == ")":
			inside = false
		case word == "kubewright":
			inside = true
			out = append(out, nil)
		case !inside:
		case redirect.MatchString(word):
			skip = true
		case skip:
			skip = false
		case joined && len(out[len(out)-1]) > 0:
			last := out[len(out)-1]
			last[len(last)-1] += bare
		default:
			out[len(out)-1] = append(out[len(out)-1], bare)
		}
	}
	return out
}

// TestExamplesAreReadAsByShell checks that the examples are read as a shell reads them.
func TestExamplesAreReadAsByShell(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`  kubewright plan -target='node.cp["cp1"]' > plan.txt`:     `[[plan -target=node.cp["cp1"]]]`,
		`  kubewright show -json p | jq -r '.a | .b'`:               `[[show -json p]]`,
		`  kubectl --kubeconfig <(kubewright kubeconfig) get nodes`: `[[kubeconfig]]`,
		`  echo 'kubewright x' | kubewright console`:                `[[console]]`,
		`  kubewright fmt - < main.hcl`:                             `[[fmt -]]`,
		`  make`:                                                    `[]`,
	} {
		if got := fmt.Sprint(commandsIn(line)); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
	if _, err := understood([]string{"plan", "-nonsense"}); err == nil {
		t.Error("an unknown flag is accepted")
	}
	if _, err := understood([]string{"etcd", "nonsense"}); err == nil {
		t.Error("an unknown command is accepted")
	}
}

// TestReference checks that docs/reference/configuration.md and test-files.md match the schema
// table, and docs/reference/commands.md the commands. UPDATE=1 writes them.
func TestReference(t *testing.T) {
	t.Parallel()
	for page, text := range map[string]string{
		"configuration.md": writtenFrom("the schema table in config/hclconfig") + strings.TrimRight(hclconfig.Reference(), "\n") + "\n",
		"test-files.md":    writtenFrom("the schema table in config/hclconfig") + strings.TrimRight(hclconfig.TestReference(), "\n") + "\n",
		"commands.md":      writtenFrom("the commands in cmd/kubewright/internal/cli") + commandReference(),
	} {
		checkReference(t, page, text)
	}
}

// writtenFrom is the first line of a generated page.
func writtenFrom(source string) string {
	return "<!-- Written from " + source + ".\n" +
		"     UPDATE=1 go test -run TestReference ./cmd/kubewright/internal/cli writes it again. -->\n\n"
}

// checkReference checks or writes a page of the reference.
func checkReference(t *testing.T, page, got string) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "..", "docs", "reference", page)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(b), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("docs/reference/%s differs in line %d, want\n%s\nUPDATE=1 rewrites it.", page, i+1, line)
		}
	}
	if len(want) > strings.Count(got, "\n")+1 {
		t.Fatalf("docs/reference/%s has more than its source. UPDATE=1 rewrites it.", page)
	}
}

// commandReference returns docs/reference/commands.md.
func commandReference() string {
	var b strings.Builder
	root := commandLine()
	fmt.Fprintf(&b, "# Commands\n\n%s\n", markdownProse(root.Long))
	b.WriteString("Flags of all commands:\n\n")
	writeFlags(&b, root.PersistentFlags())
	b.WriteString("`-help` of each command prints what stands here.\n")
	for _, cmd := range everyCommand(root)[1:] {
		fmt.Fprintf(&b, "\n%s `%s`\n\n%s.\n\n%s\n```text\n%s\n```\n\n", strings.Repeat("#", 1+strings.Count(cmd.CommandPath(), " ")),
			cmd.CommandPath(), cmd.Short, markdownProse(cmd.Long), cmd.UseLine())
		writeFlags(&b, cmd.LocalNonPersistentFlags())
		fmt.Fprintf(&b, "<!-- not run: an example that a test parses -->\n```sh\n%s\n```\n", regexp.MustCompile(`(?m)^  `).ReplaceAllString(cmd.Example, ""))
	}
	return b.String()
}

func writeFlags(b *strings.Builder, set *pflag.FlagSet) {
	if !slices.ContainsFunc(flagNames(set), func(name string) bool { return name != "help" }) {
		return
	}
	b.WriteString("| flag | meaning |\n|---|---|\n")
	for line := range strings.SplitSeq(flaghelp.Text(set), "\n") {
		head, text, _ := strings.Cut(strings.TrimSpace(line), "   ")
		if head != "-help" {
			fmt.Fprintf(b, "| `%s` | %s |\n", head, markdownText(strings.TrimSpace(text)))
		}
	}
	b.WriteString("\n")
}

func flagNames(set *pflag.FlagSet) []string {
	var out []string
	set.VisitAll(func(f *pflag.Flag) { out = append(out, f.Name) })
	return out
}

// markdownProse is help as Markdown: wrapped paragraphs, and indented lines as code.
func markdownProse(text string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(part, "  ") {
			fmt.Fprintf(&b, "```text\n%s\n```\n\n", regexp.MustCompile(`(?m)^  `).ReplaceAllString(part, ""))
			continue
		}
		b.WriteString(markdownText(strings.ReplaceAll(part, "\n", " ")) + "\n\n")
	}
	return b.String()
}

func markdownText(s string) string {
	return strings.NewReplacer("*", `\*`, "<", `\<`, "|", `\|`, "_", `\_`).Replace(s)
}
