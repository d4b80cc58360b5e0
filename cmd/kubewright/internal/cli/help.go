package cli

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flaghelp"
	"github.com/kubewright/kubewright/config/elsewhere"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// oneDashHelp makes help show long flags with one dash, as kubewright and Terraform write them.
func oneDashHelp(cmd *cobra.Command) {
	setUpCobra()
	t := cmd.UsageTemplate()
	for _, set := range []string{"LocalFlags", "InheritedFlags"} {
		t = strings.ReplaceAll(t, "{{."+set+".FlagUsages | trimTrailingWhitespaces}}", "{{kubewrightFlags ."+set+"}}")
	}
	cmd.SetUsageTemplate(strings.ReplaceAll(t, "--help", "-help"))
	cmd.SetHelpTemplate(strings.ReplaceAll(cmd.HelpTemplate(), "trimTrailingWhitespaces", "kubewrightProse"))
}

// setUpCobra sets cobra's process-wide options.
var setUpCobra = sync.OnceFunc(func() {
	cobra.EnableCommandSorting = false // the order of use says more
	cobra.AddTemplateFunc("kubewrightFlags", flaghelp.Help)
	cobra.AddTemplateFunc("kubewrightProse", flaghelp.Prose)
})

// valuesAnnotation is the annotation of a flag with the list of the values that it takes.
const valuesAnnotation = "kubewright_values"

// badFlag turns a pflag error into one of the command line, whose arguments are args. After an
// unknown command nothing is said about its flags: they are not the mistake.
func badFlag(args []string) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
			if name := commandIn(cmd, args); !cmd.HasParent() && name != "" {
				return unknownCommand(cmd, name)
			}
			err = unknownFlag(cmd, missing.GetSpecifiedName())
		}
		if bare, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
			value, _ := pflag.UnquoteUsage(bare.GetFlag())
			text := fmt.Sprintf("-%[1]s needs a value, as in -%[1]s=%[2]s", bare.GetSpecifiedName(), strings.ToUpper(value))
			if values := bare.GetFlag().Annotations[valuesAnnotation]; len(values) > 0 {
				text += ":\n\n" + strings.Join(values, "\n")
			}
			err = errors.New(text)
		}
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			err = fmt.Errorf("-%s=%s: %s", invalid.GetFlag().Name, invalid.GetValue(), whatIsTaken(invalid))
		}
		return console.Misuse(cmd.CommandPath(), err)
	}
}

// unknownFlag says what there is instead of a flag: what the table says of other tools' names,
// the flag that was probably meant, or the commands that have this one.
func unknownFlag(cmd *cobra.Command, name string) error {
	var names []string
	collect := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.Flags().VisitAll(collect)
	cmd.InheritedFlags().VisitAll(collect)
	hint := console.DidYouMean("-", name, names)
	if instead := elsewhere.Instead(elsewhere.Flag, name); instead != "" {
		hint = " " + instead
	} else if with := commandsWith(cmd.Root(), name); hint == "" && len(with) > 0 {
		hint = " It is one of " + strings.Join(with, ", ") + "."
	}
	return fmt.Errorf("there is no flag -%s.%s", name, hint)
}

// commandsWith returns the commands that have a flag of their own with a name.
func commandsWith(cmd *cobra.Command, name string) []string {
	var out []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.LocalFlags().Lookup(name) != nil {
			out = append(out, c.CommandPath())
		}
		out = append(out, commandsWith(c, name)...)
	}
	return out
}

// whatIsTaken says which values a flag takes, after an invalid one.
func whatIsTaken(invalid *pflag.InvalidValueError) string {
	switch invalid.GetFlag().Value.Type() {
	case "bool":
		return "it is true or false"
	case "duration":
		return "it takes a duration with its unit, as in 90s, 5m or 2h, of at most 2562047h"
	}
	return invalid.Unwrap().Error()
}

// helpCommand prints the help of a command, as -help does.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Print the help of a command",
		Long:    "help prints what a command does, its flags and examples of it. kubewright COMMAND -help does the same.",
		Example: "  kubewright help plan\n  kubewright help etcd snapshot",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var names []string
			if of, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range of.Commands() {
					if c.IsAvailableCommand() {
						names = append(names, c.Name()+"\t"+c.Short)
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return console.Misuse(cmd.Root().CommandPath(), fmt.Errorf("there is no command %q", strings.Join(args, " ")))
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}
