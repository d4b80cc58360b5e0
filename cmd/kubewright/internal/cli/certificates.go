package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/listing"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

func certificatesCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use: "certificates", Short: "Show when the certificates and kubeconfigs on all hosts expire", Args: takes(0, 0),
		Long: "certificates reads every host of the configuration, over SSH alone, and lists each certificate,\n" +
			"also those inside kubeconfigs: whose it is, which CA signed it, when it expires, and who renews it.\n" +
			"Nothing is changed. Those that are due are renewed by the next apply.",
		Example: "  kubewright certificates\n  kubewright certificates -json | jq -r '.certificates[] | select(.due) | .path'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.QuietStdout = true
			return certificates(cmd.Context(), a, o, asJSON)
		},
	}
	variableFlags(&o, cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func certificates(ctx context.Context, a *workspace.Workspace, o session.Options, asJSON bool) error {
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
	v.ObservedAt = s.Hosts.World.Clock().Now()
	list := record.Certificates(v)
	if asJSON {
		err = listing.CertificatesJSON(a.Stdout, list)
	} else {
		err = listing.Certificates(a.Stdout, list, a.Options())
	}
	if err != nil || len(v.Unobserved) == 0 {
		return err
	}
	return console.Failure(notObserved(v.Unobserved))
}

// notObserved returns, for each host that could not be observed, the reason.
func notObserved(unobserved map[state.Target]state.Unobserved) diag.Diagnostics {
	var diags diag.Diagnostics
	targets := slices.SortedFunc(maps.Keys(unobserved), func(a, b state.Target) int { return cmp.Compare(a.String(), b.String()) })
	for _, t := range targets {
		u := unobserved[t]
		d := diag.Errorf("Host could not be observed", "%s: %s.", t, u.Reason).For(t)
		if u.Remedy != "" {
			d.Detail += "\n\nTo do: " + u.Remedy + "."
		}
		diags = append(diags, d)
	}
	return diags
}
