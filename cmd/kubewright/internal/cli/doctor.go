package cli

import (
	"github.com/kubewright/kubewright/cmd/kubewright/internal/doctor"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flagvalue"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
)

func doctorCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var bundle string
	cmd := &cobra.Command{
		Use: "doctor [NODE…]", Short: "Say what does not run on the hosts, and why", Args: takes(0, -1),
		Long: "doctor asks each host, or those of the given nodes, what does not run there: kubelet and runtime, and the\n" +
			"containers of kube-system that have exited, with exit code, restarts and the lines of their logs that say why.\n" +
			"It lists what a running kubelet complains of, full disks, expired certificates and blocked connections, and asks\n" +
			"the API what is wrong with the nodes. Nothing is changed. It ends with an error if something is wrong.\n\n" +
			"A support bundle has the same with the configuration, the state, facts of the hosts, and what API and etcd report\n" +
			"of nodes and members. Secrets, keys, tokens, passwords and values of variables are left out.",
		Example:           "  kubewright doctor\n  kubewright doctor 'node.cp[\"cp1\"]' w3 -json\n  kubewright doctor -bundle=support.tar.gz",
		ValidArgsFunction: completeNodes(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return doctor.Examine(cmd.Context(), a, o, args, bundle)
		},
	}
	variableFlags(&o, cmd.Flags())
	cmd.Flags().Var((*flagvalue.FileName)(&bundle), "bundle", "write a support bundle, without secrets, into this `file` too (.tar.gz)")
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print JSON")
	return cmd
}
