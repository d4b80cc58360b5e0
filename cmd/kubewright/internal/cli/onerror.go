package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubewright/kubewright/planner/executor"
)

// onError is the value of -on-error. Empty stands for continue.
type onError string

// onErrors are its values, and what each means for the executor.
var onErrors = []struct {
	name    onError
	meaning executor.OnError
}{{"continue", executor.Continue}, {"finish-node", executor.FinishNode}, {"stop", executor.Stop}}

// flag adds -on-error to a command.
func (e *onError) flag(cmd *cobra.Command) {
	cmd.Flags().Var(e, "on-error", "when a step fails: `continue` with what does not need it, finish-node, which begins no further node, or stop, which starts nothing")
	_ = cmd.RegisterFlagCompletionFunc("on-error", cobra.FixedCompletions(onErrorNames(), cobra.ShellCompDirectiveNoFileComp))
}

func onErrorNames() []string {
	var out []string
	for _, v := range onErrors {
		out = append(out, string(v.name))
	}
	return out
}

// Set implements pflag.Value.
func (e *onError) Set(s string) error {
	if !slices.Contains(onErrorNames(), s) {
		return fmt.Errorf("use one of %s", strings.Join(onErrorNames(), ", "))
	}
	*e = onError(s)
	return nil
}

// String implements pflag.Value.
func (e *onError) String() string { return string(*e) }

// Type implements pflag.Value.
func (e *onError) Type() string { return "string" }

func (e onError) meaning() executor.OnError {
	for _, v := range onErrors {
		if v.name == e {
			return v.meaning
		}
	}
	return executor.Continue
}
