package command

import (
	"github.com/spf13/cobra"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
)

func (s *session) artifacts() *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:   "artifacts DIR",
		Short: "Write a folder of artifacts for kubewright's install block",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cache, err := s.cache(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			release, err := build.FindRelease(version)
			if err != nil {
				return err
			}
			a, err := cache.Artifacts(cmd.Context(), release)
			if err != nil {
				return err
			}
			return a.WriteFolder(args[0])
		},
	}
	cmd.Flags().StringVar(&version, "kubernetes", build.DefaultKubernetes, "version of Kubernetes")
	return cmd
}
