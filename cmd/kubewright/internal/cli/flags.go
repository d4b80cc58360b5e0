package cli

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/apply"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner/planfile"
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
	cmd.Flags().Var((*approvedDigest)(&by.Digest), "approve", "do not ask if the plan has this `digest`, and refuse any other")
}

// approvedDigest is the value of -approve. An empty value is refused, and does not count as
// none: it comes from a script whose variable is not set, and beside -auto-approve any plan
// would be carried out. A prefix that is too short is not reported as another plan's digest: it
// may well be the beginning of this one's.
type approvedDigest string

// Set implements pflag.Value.
func (d *approvedDigest) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("an empty digest approves no plan: give the one that the plan ends with")
	}
	if n := utf8.RuneCountInString(s); n < planfile.ShortDigest {
		return fmt.Errorf("a digest of %d characters is too short to tell one plan from another: give the %d that the plan ends with", n, planfile.ShortDigest)
	}
	*d = approvedDigest(s)
	return nil
}

// String implements pflag.Value.
func (d *approvedDigest) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *approvedDigest) Type() string { return "string" }
