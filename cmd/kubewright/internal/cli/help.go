package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kubewright/kubewright/config"
)

// oneDashHelp makes help show long flags as they are written here and in
// Terraform, with one dash.
func oneDashHelp(cmd *cobra.Command) {
	setUpCobra()
	t := cmd.UsageTemplate()
	for _, set := range []string{"LocalFlags", "InheritedFlags"} {
		t = strings.ReplaceAll(t, "{{."+set+".FlagUsages | trimTrailingWhitespaces}}", "{{kubewrightFlags ."+set+"}}")
	}
	cmd.SetUsageTemplate(strings.ReplaceAll(t, "--help", "-help"))
}

// setUpCobra sets what cobra keeps for the whole process.
var setUpCobra = sync.OnceFunc(func() {
	cobra.EnableCommandSorting = false // the order in which one uses them says more
	cobra.AddTemplateFunc("kubewrightFlags", flagText)
})

// flagText lists flags: -name=VALUE, what it does, and its default where that says something.
func flagText(set *pflag.FlagSet) string {
	var heads, texts []string
	wide := 0
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		if own := map[string]string{"help": "print this help", "version": "print the version"}[f.Name]; own != "" && f.Value.Type() == "bool" {
			text = own
		}
		head := "  -" + f.Name
		switch {
		case f.DefValue == "true": // what it is for is to be turned off
			head, text = head+"=false", "do not "+text
		case f.Value.Type() == "bool":
		default:
			head += "=" + strings.ToUpper(value)
			if !slices.Contains([]string{"", "[]", "0", "0s"}, f.DefValue) {
				text += " (default " + f.DefValue + ")"
			}
		}
		heads, texts = append(heads, head), append(texts, text)
		wide = max(wide, ansi.StringWidth(head))
	})
	for i := range heads {
		heads[i] += strings.Repeat(" ", wide-ansi.StringWidth(heads[i])+3) + texts[i]
	}
	return strings.Join(heads, "\n")
}

// badFlag makes an error of pflag's one of the command line's.
func badFlag(cmd *cobra.Command, err error) error {
	if missing, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		collect := func(f *pflag.Flag) { names = append(names, f.Name) }
		cmd.Flags().VisitAll(collect)
		cmd.InheritedFlags().VisitAll(collect)
		err = fmt.Errorf("there is no flag -%s.%s", missing.GetSpecifiedName(), didYouMean("-", missing.GetSpecifiedName(), names))
	}
	return &usageError{cmd.CommandPath(), err}
}

// didYouMean is the sentence behind a name that does not exist; empty when no
// other is near. prefix goes before the name.
func didYouMean(prefix, given string, names []string) string {
	near := config.Nearest(given, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %s%s?", prefix, near)
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
				return &usageError{cmd.Root().CommandPath(), fmt.Errorf("there is no command %q", strings.Join(args, " "))}
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}
