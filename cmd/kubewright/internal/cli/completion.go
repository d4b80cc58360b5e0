package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
)

// shells are the shells with completion of commands, flags, addresses and phases, and what
// prints the script for each.
var shells = []struct {
	name   string
	script func(root *cobra.Command, w io.Writer) error
}{
	{"bash", func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }},
	{"zsh", func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }},
	{"fish", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }},
	{"powershell", func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }},
}

func completionCommand(a *workspace.Workspace) *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Print what completes commands, flags and addresses in your shell", Args: takes(1, 1),
		Long: "completion prints a script for bash, zsh, fish or powershell. With it the Tab key completes commands and\n" +
			"flags, with one dash or two, and of -target and its like the phases, and the addresses that\n" +
			"the configuration has, and the state where it is a file of this folder: completion makes no connection.\n\n" +
			"bash needs the package bash-completion. To have it in every new shell:\n\n" +
			"  bash         kubewright completion bash > /etc/bash_completion.d/kubewright\n" +
			"  zsh          kubewright completion zsh > \"${fpath[1]}/_kubewright\"\n" +
			"  fish         kubewright completion fish > ~/.config/fish/completions/kubewright.fish\n" +
			"  powershell   kubewright completion powershell >> $PROFILE",
		Example:   "  source <(kubewright completion bash)\n  kubewright completion zsh > _kubewright\n  kubewright completion fish | source",
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, s := range shells {
				if s.name == args[0] {
					return s.script(cmd.Root(), a.Stdout)
				}
			}
			return console.Misuse(cmd.CommandPath(), fmt.Errorf("there is no completion for %q.%s It is there for %s", args[0], console.DidYouMean("", args[0], names), console.ListOf(names)))
		},
	}
}

// completion reports whether a shell asks for completions of a command line, and returns its
// arguments. A partial flag at the end with one dash gets two for cobra: then dashes is 1, the
// number that the shell expects.
func completion(args []string) (out []string, dashes int, ok bool) {
	if len(args) < 2 || args[0] != cobra.ShellCompRequestCmd && args[0] != cobra.ShellCompNoDescRequestCmd {
		return nil, 0, false
	}
	out, last := oneDash(args), args[len(args)-1]
	if !strings.HasPrefix(last, "-") || strings.HasPrefix(last, "--") || strings.Contains(last, "=") {
		return out, 2, true
	}
	out[len(out)-1] = "-" + last
	return out, 1, true
}

// completionWriter gets completions one at a time, and writes flags with as many dashes as the
// shell expects, and their descriptions without the marks of their values.
type completionWriter struct {
	io.Writer
	dashes int
}

func (w completionWriter) Write(b []byte) (int, error) {
	line := bytes.ReplaceAll(b, []byte("`"), nil)
	if w.dashes == 1 && bytes.HasPrefix(line, []byte("--")) {
		line = line[1:]
	}
	if _, err := w.Writer.Write(line); err != nil {
		return 0, err
	}
	return len(b), nil
}
