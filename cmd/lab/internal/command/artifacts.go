package command

import (
	"github.com/spf13/cobra"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
)

func (s *session) artifacts() *cobra.Command {
	return s.ofRelease(&cobra.Command{
		Use:   "artifacts DIR",
		Short: "Write a folder of artifacts for kubewright's install block",
		Args:  cobra.ExactArgs(1),
	}, func(cmd *cobra.Command, cache *build.Cache, release build.Release, args []string) error {
		a, err := cache.Artifacts(cmd.Context(), release)
		if err != nil {
			return err
		}
		return a.WriteFolder(args[0])
	})
}

// ofRelease completes a command that builds something of a release of Kubernetes.
func (s *session) ofRelease(cmd *cobra.Command, run func(*cobra.Command, *build.Cache, build.Release, []string) error) *cobra.Command {
	var version string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cache, err := s.cache(cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		release, err := build.FindRelease(version)
		if err != nil {
			return err
		}
		return run(cmd, cache, release, args)
	}
	cmd.Flags().StringVar(&version, "kubernetes", build.DefaultKubernetes, "version of Kubernetes")
	return cmd
}
