package cli

import (
	"errors"
	"fmt"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/config"
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

// elsewhere names, for commands of Terraform, what kubewright has instead.
var elsewhere = map[string]string{
	"get":       "There are no modules: a folder is one configuration",
	"providers": "There are no plugins: hosts are reached as connection blocks say",
	"refresh":   "Every plan observes what is there. kubewright apply -refresh-only records it in the state",
	"taint":     "A node is recreated with kubewright apply -replace=ADDRESS",
	"untaint":   "Nothing is marked beforehand: a node is recreated with kubewright apply -replace=ADDRESS",
	"workspace": "Another state is another folder, or another file with -state=FILE",
}

// group makes a command that only holds others: without a subcommand it prints its help, with
// an unknown one an error.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		text := fmt.Sprintf("there is no command %q below %s", args[0], cmd.CommandPath())
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		switch near := config.Nearest(args[0], names); {
		case !cmd.HasParent() && elsewhere[args[0]] != "":
			text += ". " + elsewhere[args[0]]
		case near != "":
			text += fmt.Sprintf(". Did you mean %q?", near)
		}
		return console.Misuse(cmd.CommandPath(), errors.New(text))
	}
	return cmd
}
