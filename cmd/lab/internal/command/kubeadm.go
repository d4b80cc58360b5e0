package command

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

func (s *session) kubeadm() *cobra.Command {
	var o lab.KubeadmOptions
	cmd := &cobra.Command{
		Use:   "kubeadm",
		Short: "Make a cluster of the hosts with real kubeadm, and tell how long it took",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := s.open()
			if err != nil {
				return err
			}
			o.Log = cmd.ErrOrStderr()
			times, err := lab.KubeadmCluster(cmd.Context(), l, o)
			round := func(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "init            %s\n", round(times.Init))
			for _, took := range times.ControlPlanes {
				fmt.Fprintf(out, "control plane   %s\n", round(took))
			}
			fmt.Fprintf(out, "workers         %s\n", round(times.Workers))
			fmt.Fprintf(out, "until ready     %s\n", round(times.Ready))
			fmt.Fprintf(out, "total           %s\n", round(times.Total))
			return err
		},
	}
	cmd.Flags().StringVar(&o.ProxyMode, "proxy-mode", "", "mode of kube-proxy")
	return cmd
}

func (s *session) kubeconfig() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig [HOST]",
		Short: "Print a control plane's administrator kubeconfig, for use on this machine",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := s.open()
			if err != nil {
				return err
			}
			text, err := l.Kubeconfig(cmd.Context(), append(args, "cp1")[0])
			cmd.OutOrStdout().Write(text)
			return err
		},
	}
}

func (s *session) install() *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:   "install HOST PROGRAM…",
		Short: "Replace programs on a host by those of another release, as its packages would",
		Args:  cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := s.open()
			if err != nil {
				return err
			}
			return l.InstallPrograms(cmd.Context(), args[0], version, args[1:]...)
		},
	}
	cmd.Flags().StringVar(&version, "kubernetes", build.DefaultKubernetes, "version of Kubernetes")
	return cmd
}
