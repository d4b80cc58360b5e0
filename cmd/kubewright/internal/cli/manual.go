package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flaghelp"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Completions returns the completion scripts of all shells, by the name of the shell.
func Completions() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, s := range shells {
		var b bytes.Buffer
		if err := s.script(commandTree(), &b); err != nil {
			return nil, fmt.Errorf("completion for %s: %w", s.name, err)
		}
		out[s.name] = b.Bytes()
	}
	return out, nil
}

// Manual returns the manual as Markdown in the form of go-md2man: a page per command, by its
// name, such as kubewright-plan.1. It names the version and the date of the release.
func Manual(version string, date time.Time) map[string]string {
	out := map[string]string{}
	root := commandTree()
	for _, cmd := range withSubcommands(root) {
		out[pageName(cmd)+".1"] = manualPage(cmd, version, date)
	}
	return out
}

// commandTree returns the command for reading only: it has no terminal and runs nothing.
func commandTree() *cobra.Command {
	silent := &console.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	cmd := root(&workspace.Workspace{Console: &console.Console{Env: silent}})
	cmd.InitDefaultHelpCmd()
	return cmd
}

// withSubcommands lists a command and all below it, in the order of help.
func withSubcommands(cmd *cobra.Command) []*cobra.Command {
	out := []*cobra.Command{cmd}
	for _, c := range cmd.Commands() {
		out = append(out, withSubcommands(c)...)
	}
	return out
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func manualPage(cmd *cobra.Command, version string, date time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %q \"1\" %q %q \"kubewright manual\"\n\n", strings.ToUpper(pageName(cmd)), date.UTC().Format("January 2006"), "kubewright "+version)
	fmt.Fprintf(&b, "# NAME\n%s - %s\n\n", pageName(cmd), manualText(cmd.Short))
	fmt.Fprintf(&b, "# SYNOPSIS\n**%s**\n\n", manualText(cmd.UseLine()))
	fmt.Fprintf(&b, "# DESCRIPTION\n%s\n", manualProse(cmd.Long))
	manualFlags(&b, "OPTIONS", cmd.LocalNonPersistentFlags())
	if cmd.HasParent() {
		manualFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.Root().PersistentFlags())
	} else {
		manualFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.PersistentFlags())
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, "# EXAMPLES\n```\n%s\n```\n\n", unindented(cmd.Example))
	}
	var related []string
	if cmd.HasParent() {
		related = append(related, pageName(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		related = append(related, pageName(c))
	}
	if len(related) > 0 {
		fmt.Fprintf(&b, "# SEE ALSO\n**%s**(1)\n", strings.Join(related, "**(1), **"))
	}
	return b.String()
}

func manualFlags(b *strings.Builder, title string, set *pflag.FlagSet) {
	heads, texts, _ := flaghelp.Parts(set)
	if len(heads) == 0 {
		return
	}
	fmt.Fprintf(b, "# %s\n", title)
	for i := range heads {
		fmt.Fprintf(b, "**%s**\n:   %s\n\n", manualText(strings.TrimSpace(heads[i])), manualText(texts[i]))
	}
}

// manualProse is help as Markdown: paragraphs, and indented lines as they stand.
func manualProse(text string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if slices.ContainsFunc(strings.Split(part, "\n"), func(line string) bool { return strings.HasPrefix(line, "  ") }) {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", unindented(part))
			continue
		}
		b.WriteString(manualText(strings.ReplaceAll(part, "\n", " ")) + "\n\n")
	}
	return b.String()
}

// unindented removes the two spaces that begin the lines of examples and tables in help.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// manualText escapes what Markdown would interpret.
func manualText(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`, "]", `\]`, "`", "\\`").Replace(s)
}
