package cli

import (
	"context"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flagvalue"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/spf13/cobra"
)

func certificatesCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var asJSON bool
	var within flagvalue.DaysAndHours
	cmd := &cobra.Command{
		Use: "certificates", Short: "Show when the certificates and kubeconfigs on all hosts expire", Args: takes(0, 0),
		Long: "certificates reads every host of the configuration, over SSH alone, and lists each certificate,\n" +
			"also those inside kubeconfigs: whose it is, which CA signed it, when it expires, and who renews it.\n" +
			"Nothing is changed. Those that are due are renewed by the next apply.\n\n" +
			"With -within only those are listed that expire within this time, and the exit code is 7 if there are any:\n" +
			"a nightly job turns red before a certificate expires. A certificate that the kubelet renews by itself is\n" +
			"among them only once the kubelet should have renewed it. With -detailed-exitcode and without -within the\n" +
			"exit code is 7 when a certificate is due, as the configuration's renew_before says.",
		Example: "  kubewright certificates\n  kubewright certificates -within=21d\n  kubewright certificates -json | jq -r '.certificates[] | select(.due) | .path'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.QuietStdout = true
			return certificates(cmd.Context(), a, o, time.Duration(within), asJSON)
		},
	}
	variableFlags(&o, cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().Var(&within, "within", "list what expires within this `duration`, as in 45d or 36h, and exit with 7 if anything does")
	cmd.Flags().BoolVar(&a.Finer, "detailed-exitcode", false, "detailed exit codes: 6 = a host does not answer, 7 = a certificate has to be renewed")
	return cmd
}

func certificates(ctx context.Context, a *workspace.Workspace, o session.Options, within time.Duration, asJSON bool) error {
	s, err := session.Open(ctx, a, o, "")
	if err != nil {
		return err
	}
	defer s.Close()
	s.Hosts.Restrict(record.CertificateQueries(s.Config, s.Recorded))
	v := s.Observe(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	v = v.WithRequest(session.ObservedNow(s))
	list := record.Certificates(v)
	renewal := a.Finer && record.AnyDue(list)
	if within > 0 {
		list = record.Expiring(list, within, v.ObservedAt)
		renewal = len(list) > 0
	}
	if asJSON {
		err = listing.CertificatesJSON(a.Stdout, list)
	} else {
		err = listing.Certificates(a.Stdout, list, within, a.Options())
	}
	switch {
	case err != nil:
		return err
	case renewal: // what is known holds, whatever the other hosts have
		a.Print(session.NotObserved(v.Unobserved))
		return console.Exit(console.ExitRenewal)
	case len(v.Unobserved) > 0:
		return console.Failure(session.NotObserved(v.Unobserved))
	}
	return nil
}
