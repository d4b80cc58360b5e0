package cli

import (
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/spf13/cobra"
)

func validateCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	cmd := &cobra.Command{
		Use: "validate", Short: "Check the configuration", Args: takes(0, 0),
		Long: "validate checks the configuration without contacting any host and without a state: its syntax, what is\n" +
			"missing or mistyped, values that components would refuse, and what does not go together. All that is\n" +
			"wrong is reported at once, with the place and with what to write instead. The exit code is 1 when there\n" +
			"are errors; warnings leave it 0.",
		Example: "  kubewright validate\n  kubewright validate -var-file=prod.kwvars\n" +
			"  kubewright validate -json | jq -r '.diagnostics[].summary'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, diags := hclconfig.Load(hclconfig.Options{Dir: a.Folder(), Decrypt: a.DecryptFile, Vars: session.Variables(a, o), Env: a.Environ, ToolVersion: console.Version, Ask: session.Asker(cmd.Context(), a, o)})
			if err := cmd.Context().Err(); err != nil {
				return err // interrupted while asking for a variable
			}
			diags = append(diags, a.CheckConfig(cfg, diags, true)...)
			a.Sources = a.SourceText
			if o.JSON {
				if err := ui.ValidateJSON(a.Stdout, diags, a.Sources); err != nil {
					return err
				}
				if diags.HasErrors() {
					return console.Exit(console.ExitError)
				}
				return nil
			}
			if err := a.Report(diags); err != nil {
				return err
			}
			return ui.Valid(a.Stdout, a.Options())
		},
	}
	variableFlags(&o, cmd.Flags())
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return cmd
}
