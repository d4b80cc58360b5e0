package cli

import (
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/spf13/cobra"
)

func (a *app) validateCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "validate", Short: "Check the configuration", Args: takes(0, 0),
		Long: "validate checks the configuration without contacting any host and without a state: its syntax, what is\n" +
			"missing or mistyped, values that components would refuse, and what does not go together. All that is\n" +
			"wrong is reported at once, with the place and with what to write instead. The exit code is 1 when there\n" +
			"are errors; warnings leave it 0.",
		Example: "  kubewright validate\n  kubewright validate -var-file=prod.kwvars\n" +
			"  kubewright validate -json | jq -r '.diagnostics[].summary'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, diags := hclconfig.Load(hclconfig.Options{Dir: a.folder(), Vars: a.vars(o), Env: a.Environ, ToolVersion: Version, Ask: a.asker(cmd.Context(), o)})
			if err := cmd.Context().Err(); err != nil {
				return err // asked for a variable, and interrupted
			}
			diags = append(diags, a.unfit(cfg, diags, true)...)
			a.sources = a.sourceText
			if o.json {
				if err := ui.ValidateJSON(a.Stdout, diags, a.sources); err != nil {
					return err
				}
				if diags.HasErrors() {
					return exit(exitError)
				}
				return nil
			}
			if err := a.failed(diags); err != nil {
				return err
			}
			return ui.Valid(a.Stdout, a.options())
		},
	}
	o.variableFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}
