package cli

import (
	"os"
	"runtime"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// logBegin tells which command begins. What is given with its flags may be a secret.
func logBegin(a *workspace.Workspace, cmd *cobra.Command) {
	if a.Log == nil {
		return
	}
	var flags []string
	cmd.Flags().Visit(func(f *pflag.Flag) { flags = append(flags, "-"+f.Name) })
	a.Log.Info("command begins", "command", cmd.CommandPath(), "flags", flags, "folder", a.Folder(),
		"version", console.Version, "platform", runtime.GOOS+"/"+runtime.GOARCH, "who", a.Who, "pid", os.Getpid())
}
