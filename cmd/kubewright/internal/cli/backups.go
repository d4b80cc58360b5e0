package cli

import (
	"github.com/kubewright/kubewright/cmd/kubewright/internal/backups"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
)

func etcdBackupsCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	cmd := &cobra.Command{
		Use: "backups" + clusterArg, Short: "List the backups that the control planes of a cluster have taken", Args: takes(0, 1),
		Long: "backups lists what the control planes report of the backups that a backup block has them take: age,\n" +
			"size, digest, what they hold, what made them, and where they are. Of a bucket it lists what was put\n" +
			"there, without asking it: its lifecycle may have removed old ones. Nothing is changed.",
		Example: "  kubewright etcd backups\n  kubewright etcd backups prod -json",
		RunE:    func(cmd *cobra.Command, args []string) error { return backups.List(cmd.Context(), a, o, args) },
	}
	careFlags(&o, cmd)
	return cmd
}
