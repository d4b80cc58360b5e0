package cli

import (
	"github.com/kubewright/kubewright/cmd/kubewright/internal/adoption"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
)

func importCommand(a *workspace.Workspace) *cobra.Command {
	var o adoption.Options
	cmd := &cobra.Command{
		Use: "import ssh://[USER@]HOST[:PORT]", Short: "Write the configuration and the state of a cluster that kubeadm made", Args: takes(1, 1),
		Long: "import reads a running cluster through one of its control planes, and from there every other node\n" +
			"over SSH with the same user and keys. It writes the configuration as a person would have written it,\n" +
			"and a state, so that the next plan has nothing to do. What it cannot say is shown as the plan\n" +
			"that would change it. Nothing is changed on any host, and nothing here is written over.",
		Example: "  kubewright import ssh://root@10.0.0.11\n  kubewright import -cluster=prod -private-key=~/.ssh/prod ssh://ubuntu@cp1.example.com",
		RunE: func(cmd *cobra.Command, args []string) error {
			return adoption.ImportCluster(cmd.Context(), a, args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Label, "cluster", "", "the `name` of the cluster block (default the cluster's own name)")
	f.StringVar(&o.Out, "out", "cluster.hcl", "write the configuration to this `file`")
	f.StringArrayVar(&o.Keys, "private-key", nil, "log in with the key in this `file` (repeatable)")
	f.StringArrayVar(&o.KnownHosts, "known-hosts", nil, "know hosts by this `file` (repeatable)")
	f.StringArrayVar(&o.Bastions, "bastion", nil, "pass this `[USER@]HOST[:PORT]` on the way (repeatable)")
	f.StringVar(&o.SshConfig, "ssh-config", "", "read this OpenSSH configuration `file`; none reads none")
	f.BoolVar(&o.AcceptNew, "accept-new-host-keys", false, "accept the keys of hosts that were never seen")
	f.BoolVar(&o.Input, "input", true, "ask for passphrases on a terminal")
	lockFlag(&o.Options, f)
	return cmd
}
