package cli

import (
	"context"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/apply"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
)

func applyCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	cmd := changing(a, &o, cobra.Command{
		Use: "apply [PLAN]", Short: "Make the clusters as the configuration says",
		Long: "apply plans, shows the plan, asks, and then carries out exactly that. A plan that was\n" +
			"saved with plan -out is carried out unasked, if nothing has changed since: with the\n" +
			"same configuration and variables, and with -override-policy and -allow-unreachable again if it was\n" +
			"made with them. -approve=DIGEST approves one plan by its digest, as the terminal and every review\n" +
			"show it, and refuses any other, one in a file as well. A file that was saved before there was a\n" +
			"state needs it, or an answer at the prompt.\n\n" +
			"Steps run as soon as what they need is done, of etcd's members and of control planes one at a\n" +
			"time. Ctrl-C lets what runs end and begins nothing more; once more stops at once. After any\n" +
			"failure, crash or lost connection the remedy is the same command again: it continues from there.",
		Example: "  kubewright apply\n  kubewright apply plan.kwplan\n  kubewright apply -approve=3a2816c5be94cc61\n" +
			"  kubewright apply -auto-approve -lock-timeout=10m\n  kubewright apply -replace='node.worker[\"w1\"]'",
	})
	cmd.Args, cmd.ValidArgsFunction = takes(0, 1), nil
	cmd.Flags().BoolVar(&o.Destroy, "destroy", false, "remove everything")
	return cmd
}

func destroyCommand(a *workspace.Workspace) *cobra.Command {
	return changing(a, &session.Options{Destroy: true}, cobra.Command{
		Use: "destroy", Short: "Remove the clusters and give clean hosts back",
		Long: "destroy stops everything, removes what kubewright and Kubernetes made, and puts settings back\n" +
			"to what they were. The data of the clusters is lost, but for a last snapshot of their etcd, which is\n" +
			"fetched to this machine first. With -skip-phase=etcd-snapshot none is taken, as of a cluster whose\n" +
			"etcd does not answer.\n\n" +
			"It shows what it would do, with the pods and volumes that end, and asks for the names of the clusters.\n" +
			"A node is taken out by removing it from the configuration instead: then it is drained, and the cluster\n" +
			"lives on.",
		Example: "  kubewright destroy\n  kubewright plan -destroy\n  kubewright destroy -auto-approve -allow-unreachable\n" +
			"  kubewright destroy -skip-phase=etcd-snapshot",
	})
}

// changing makes a command that carries out a plan.
func changing(a *workspace.Workspace, o *session.Options, cmd cobra.Command) *cobra.Command {
	var by apply.Approval
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := planForm("").check(o.JSON, a.Full, explanation{}); err != nil {
			return console.Misuse(cmd.CommandPath(), err)
		}
		if len(args) == 0 {
			return runApply(cmd.Context(), a, *o, by)
		}
		if err := a.CheckDistinct(o.JSONInto, args[0]); err != nil {
			return err
		}
		saved, err := a.ReadPlan(args[0])
		if err != nil {
			return err
		}
		opts, err := apply.SavedOptions(*o, &saved, args[0])
		if err != nil {
			return console.Misuse(cmd.CommandPath(), err)
		}
		a.SavedPlan = args[0]
		by.Saved = &saved
		return runApply(cmd.Context(), a, opts, by)
	}
	planning(a, o, &cmd)
	approvalFlags(&by, &cmd)
	onErrorFlag(&o.OnError, &cmd)
	return &cmd
}

// runApply runs the seven verbs in order.
func runApply(ctx context.Context, a *workspace.Workspace, o session.Options, by apply.Approval) error {
	return apply.CarryOut(ctx, a, o, by, apply.Operation(o), nil)
}
