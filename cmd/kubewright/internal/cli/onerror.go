package cli

import (
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/spf13/cobra"
)

// flag adds -on-error to a command.
func flag(e *session.OnError, cmd *cobra.Command) {
	cmd.Flags().Var(e, "on-error", "when a step fails: `continue` with what does not need it, finish-node, which begins no further node, or stop, which starts nothing")
	_ = cmd.RegisterFlagCompletionFunc("on-error", cobra.FixedCompletions(session.OnErrorNames(), cobra.ShellCompDirectiveNoFileComp))
}
