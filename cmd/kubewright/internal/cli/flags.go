package cli

import (
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/apply"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flagvalue"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags that commands share, and how they are written.

// oneDash accepts long flags with one dash, as Terraform does: an argument with a single dash
// and more than one letter is a long flag. A negative number is not.
func oneDash(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		if a == "--" {
			copy(out[i:], args[i:])
			break
		}
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && len(a) > 2 && (a[1] < '0' || a[1] > '9') {
			a = "-" + a
		}
		out[i] = a
	}
	return out
}

// takesInput adds -input to a command that asks only for the passphrase of a key that decrypts
// the state.
func takesInput(cmd *cobra.Command) {
	if cmd.Flags().Lookup("input") == nil {
		cmd.Flags().Bool("input", true, "ask for passphrases on a terminal")
	}
}

// variableFlags adds the flags of variables.
func variableFlags(o *session.Options, f *pflag.FlagSet) {
	f.Var(varFlag{o, false}, "var", "set a variable: -var '`name=value`' (repeatable)")
	f.Var(varFlag{o, true}, "var-file", "read variables from this `file` (repeatable)")
	f.BoolVar(&o.Input, "input", true, "ask for variables, passphrases and approval on a terminal")
}

// lockFlag adds the flag of the state's lock.
func lockFlag(o *session.Options, f *pflag.FlagSet) {
	f.DurationVar(&o.LockTimeout, "lock-timeout", 0, "wait so long for the state's lock, as in 5m")
}

// varFlag keeps -var and -var-file in the order of the command line.
type varFlag struct {
	o    *session.Options
	file bool
}

func (v varFlag) Set(s string) error {
	arg := hclconfig.VarArg{Assignment: s}
	if v.file {
		arg = hclconfig.VarArg{File: s}
	}
	v.o.Vars = append(v.o.Vars, arg)
	return nil
}

func (v varFlag) String() string { return "" }

func (v varFlag) Type() string {
	if v.file {
		return "file"
	}
	return "name=value"
}

// onErrorFlag adds -on-error to a command.
func onErrorFlag(e *session.OnError, cmd *cobra.Command) {
	cmd.Flags().Var(e, "on-error", "when a step fails: `continue` with what does not need it, finish-node, which begins no further node, or stop, which starts nothing")
	_ = cmd.RegisterFlagCompletionFunc("on-error", cobra.FixedCompletions(session.OnErrorNames(), cobra.ShellCompDirectiveNoFileComp))
}

// approvalFlags adds the flags that approve a plan.
func approvalFlags(by *apply.Approval, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&by.Auto, "auto-approve", false, "do not ask")
	cmd.Flags().Var((*flagvalue.Digest)(&by.Digest), "approve", "do not ask if the plan has this `digest`, and refuse any other")
}
