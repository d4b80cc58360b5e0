package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

func (a *app) certificatesCommand() *cobra.Command {
	var o planOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use: "certificates", Short: "Show when the certificates and kubeconfigs on all hosts end", Args: takes(0, 0),
		Long: "certificates looks at every host of the configuration, over SSH alone, and lists each certificate,\n" +
			"also those inside kubeconfigs: whose it is, which CA signed it, when it ends, and who renews it.\n" +
			"Nothing is changed. Those that are due are renewed by the next apply.",
		Example: "  kubewright certificates\n  kubewright certificates -json | jq -r '.certificates[] | select(.due) | .path'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.quietStdout = true
			return a.certificates(cmd.Context(), o, asJSON)
		},
	}
	o.variableFlags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) certificates(ctx context.Context, o planOptions, asJSON bool) error {
	s, err := a.open(ctx, o, "")
	if err != nil {
		return err
	}
	defer s.close()
	s.fleet.ask(record.CertificateQueries(s.config, s.recorded))
	v := s.look(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	v.ObservedAt = s.fleet.world.clock().Now()
	list := record.Certificates(v)
	if asJSON {
		err = view.CertificatesJSON(a.Stdout, list)
	} else {
		err = view.Certificates(a.Stdout, list, a.options())
	}
	if err != nil || len(v.Unobserved) == 0 {
		return err
	}
	return &diagError{notLookedAt(v.Unobserved)}
}

// ask restricts a fleet to hosts with a query, and to these queries.
func (f *fleet) ask(queries map[state.Target]state.Query) {
	f.only(func(m *member) bool { _, ok := queries[m.target]; return ok })
	for _, m := range f.members {
		m.query = queries[m.target]
	}
}

// notLookedAt says of each host why it could not be looked at.
func notLookedAt(hosts map[state.Target]state.Unobserved) diag.Diagnostics {
	var diags diag.Diagnostics
	targets := slices.SortedFunc(maps.Keys(hosts), func(a, b state.Target) int { return cmp.Compare(a.String(), b.String()) })
	for _, t := range targets {
		u := hosts[t]
		d := diag.Errorf("Host could not be observed", "%s: %s.", t, u.Reason).For(t)
		if u.Remedy != "" {
			d.Detail += "\n\nTo do: " + u.Remedy + "."
		}
		diags = append(diags, d)
	}
	return diags
}
