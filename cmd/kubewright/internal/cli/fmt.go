package cli

import (
	"path/filepath"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/formatter"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
)

func fmtCommand(a *workspace.Workspace) *cobra.Command {
	var o formatter.Options
	cmd := &cobra.Command{
		Use: "fmt [FOLDER|FILE|-]", Short: "Format the configuration", Args: takes(0, 1),
		Long: "fmt rewrites *.hcl and *.kwvars files in the usual format and lists those it changed: those of the\n" +
			"configuration folder, or of another one, or one file, or with - what comes from stdin.\n\n" +
			"Exit codes: 0 formatted, 2 a file cannot be parsed or read, 3 with -check: not formatted.",
		Example: "  kubewright fmt\n  kubewright fmt -check -diff\n  kubewright fmt -recursive clusters\n  kubewright fmt - < main.hcl",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "-" {
				return formatter.Stdin(cmd.Context(), a, o)
			}
			path := a.Folder()
			switch {
			case len(args) == 0:
			case filepath.IsAbs(args[0]):
				path = args[0]
			default:
				path = filepath.Join(path, args[0])
			}
			return formatter.Files(a, path, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.Check, "check", false, "change nothing; exit with 3 when something is not formatted")
	f.BoolVar(&o.Diff, "diff", false, "show what changes")
	f.BoolVar(&o.Recursive, "recursive", false, "go into folders")
	f.BoolVar(&o.Write, "write", true, "write the files")
	f.BoolVar(&o.List, "list", true, "list the files")
	return cmd
}
