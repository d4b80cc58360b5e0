package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/elsewhere"
	"github.com/spf13/cobra"
)

// takes checks the number of arguments; a negative most is no limit.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return console.Misuse(cmd.CommandPath(), fmt.Errorf("something is missing: %s", cmd.UseLine()))
		case most >= 0 && len(args) > most:
			return console.Misuse(cmd.CommandPath(), fmt.Errorf("%q is one argument too many: %s", args[most], cmd.UseLine()))
		}
		return nil
	}
}

// group makes a command that only holds others: without a subcommand it prints its help, with
// an unknown one an error.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
	return cmd
}

// unknownCommand is the error for a command that a group does not hold. At the top the names of
// other tools are known.
func unknownCommand(cmd *cobra.Command, name string) error {
	text := fmt.Sprintf("there is no command %q.", name)
	if cmd.HasParent() {
		text = fmt.Sprintf("there is no command %q below %s.", name, cmd.CommandPath())
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	instead := ""
	if !cmd.HasParent() {
		instead = elsewhere.Instead(elsewhere.Command, name)
	}
	switch near := config.Nearest(name, names); {
	case instead != "":
		text += " " + instead
	case near != "":
		text += fmt.Sprintf(" Did you mean %q?", near)
	}
	return console.Misuse(cmd.CommandPath(), errors.New(text))
}

// commandIn returns the first word of a command line that is no flag and no value of one: the
// command that was asked of a group. It is empty if there is none.
func commandIn(cmd *cobra.Command, args []string) string {
	for i := 0; i < len(args); i++ {
		name, dashed := strings.CutPrefix(args[i], "-")
		if !dashed {
			return args[i]
		}
		name, _, assigned := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		f := cmd.Root().PersistentFlags().Lookup(name)
		switch {
		case assigned:
		case f == nil:
			return "" // what follows may be its value
		case f.NoOptDefVal == "":
			i++ // the value is the next word
		}
	}
	return ""
}
