package cli

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/providers/sim"
	"github.com/spf13/cobra"
)

func (a *app) simCommand() *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "sim", Short: "Look into and change simulated hosts",
		Long: "sim works on the simulated hosts of connection { type = \"sim\" }, which live in\n" + simFile + " beside the state. With them the whole life of a cluster can be tried, and what happens when\n" +
			"somebody changes a host by hand, a host is off or reinstalled, or a connection breaks.",
		Example: "  kubewright sim listing 10.77.0.11\n  kubewright sim edit 10.77.0.21 power off",
	})
	cmd.AddCommand(a.simEditCommand(), &cobra.Command{
		Use: "listing HOST", Short: "List everything on a simulated host", Args: takes(1, 1),
		Long: "listing prints all files, units, images and what else a simulated host holds, line by line, so that two\n" +
			"of them can be compared. HOST is the address of the node.",
		Example: "  kubewright sim listing 10.77.0.11\n  kubewright sim listing 10.77.0.11 > before.txt",
		RunE: func(_ *cobra.Command, args []string) error {
			w, err := a.openSim()
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.Stdout, w.(simWorld).Listing(args[0]))
			return err
		},
	})
	return cmd
}

func (a *app) simEditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit HOST CHANGE…", Short: "Change something on a simulated host by hand, as somebody might on a real one",
		Long: "edit changes something on a simulated host, or in the cluster that it is a node of. CHANGE is one of\n\n" + indent(sim.EditHelp),
		Example: "  kubewright sim edit 10.0.0.11 file /etc/kubernetes/manifests/kube-apiserver.yaml set-arg profiling=false\n" +
			"  kubewright sim edit 10.0.0.11 label cp1 pool=batch\n  kubewright sim edit 10.0.0.21 power off",
		Args: takes(2, -1),
		RunE: func(_ *cobra.Command, args []string) error {
			w, err := a.openSim()
			if err != nil {
				return err
			}
			if err := sim.Edit(w.(simWorld).World, args[0], strings.Join(args[1:], " ")); err != nil {
				return err
			}
			return w.save()
		},
	}
	// What comes behind HOST is the change's own, a negative number included.
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
