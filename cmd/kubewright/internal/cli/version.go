package cli

import (
	"fmt"
	"runtime"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
)

func versionCommand(a *workspace.Workspace) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: takes(0, 0),
		Long:    "version prints the version of kubewright and the platform that it was built for. -version does the same.",
		Example: "  kubewright version\n  kubewright version -json | jq -r .version",
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return ui.WriteJSON(a.Stdout, map[string]string{"format_version": ui.JSONVersion, "version": console.Version, "platform": runtime.GOOS + "_" + runtime.GOARCH})
			}
			_, err := fmt.Fprint(a.Stdout, versionText())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func versionText() string {
	return fmt.Sprintf("kubewright v%s\non %s_%s\n", console.Version, runtime.GOOS, runtime.GOARCH)
}
