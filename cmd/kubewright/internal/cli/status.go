package cli

import (
	"cmp"
	"errors"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flagvalue"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/status"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
)

func statusCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var asJSON bool
	var form string
	cmd := &cobra.Command{
		Use: "status", Short: "Show on one screen how clusters, hosts and state are", Args: takes(0, 0),
		Long: "status observes everything as plan does, one round trip to each host, and prints for each cluster what does\n" +
			"not work, whether the API answers, versions, nodes, etcd, the certificate that expires first, the last\n" +
			"snapshot beside the state, and whether anything differs from the configuration and since when; then who\n" +
			"holds the state's lock, and the last applies. Nothing is changed, and no lock is taken.\n\n" +
			"What cannot be observed is shown as unknown, with the reason. plan shows the differences field by field,\n" +
			"doctor asks the hosts why something does not run, certificates and etcd status list every certificate and\n" +
			"member, and history every apply.\n\n" +
			"The form json is for programs, and openmetrics for Prometheus, by node_exporter's textfile collector.\n\n" +
			"The exit code is 0 once the status is printed, whatever it says. With -detailed-exitcode it is 8 if something\n" +
			"does not work, otherwise 2 if an apply would change something, 3 if all of that was changed outside of\n" +
			"kubewright, and 6 if nothing differs but a host does not answer.",
		Example: "  kubewright status\n  kubewright status -json | jq -r '.clusters[].problems[].text'\n  kubewright status -format=openmetrics > kubewright.prom",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON && form != "" {
				return console.Misuse(cmd.CommandPath(), errors.New("-json and -format both say how to print: give one of them"))
			}
			if asJSON {
				form = "json"
			}
			form = cmp.Or(form, "text")
			if err := status.CheckForm(form); err != nil {
				return console.Misuse(cmd.CommandPath(), err)
			}
			a.QuietStdout = form != "text"
			return status.Show(cmd.Context(), a, o, form, changesCode)
		},
	}
	variableFlags(&o, cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&form, "format", "", "print in this `form`: text, json or openmetrics")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(status.Forms(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&a.Finer, "detailed-exitcode", false, "detailed exit codes: 2 = changes, 3 = drift only, 6 = a host does not answer, 8 = something does not work")
	return cmd
}

func historyCommand(a *workspace.Workspace) *cobra.Command {
	var most int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "history", Short: "Show who applied which plan, when, and how it ended", Args: takes(0, 0),
		Long: "history prints the applies that the state has recorded, the newest first: when each began, who ran it and\n" +
			"where, the operation, the digest of its plan as plan and -approve name it, how many resources and steps it\n" +
			"had, how long it took, how it ended, and the version of kubewright. The state keeps the last 50. No host is\n" +
			"contacted. An apply that found nothing to do is not among them, and neither are commands that change the\n" +
			"state alone, such as state mv.\n\n" +
			"An apply is completed, failed, interrupted, partial if it left what a host that did not answer needs, or\n" +
			"running if it holds the state's lock now.",
		Example: "  kubewright history\n  kubewright history -n=5\n  kubewright history -json | jq -r '.applies[] | select(.outcome != \"completed\") | .who'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.QuietStdout = asJSON
			return status.History(cmd.Context(), a, most, asJSON)
		},
	}
	cmd.Flags().VarP((*flagvalue.AtLeastOne)(&most), "n", "n", "show at most this `number` of applies (default all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	takesInput(cmd)
	return cmd
}
