package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
)

func (s *session) conformance() *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Build Kubernetes' conformance suite and the images of its tests, into the cache",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, err := s.cache(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			release, err := build.FindRelease(version)
			if err != nil {
				return err
			}
			if err := build.InstallTools(cmd.Context()); err != nil {
				return err
			}
			suite, err := cache.Conformance(cmd.Context(), release)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %d tests, %d images\n", suite.Program, len(suite.Tests), len(suite.Images))
			return nil
		},
	}
	cmd.Flags().StringVar(&version, "kubernetes", build.DefaultKubernetes, "version of Kubernetes")
	return cmd
}
