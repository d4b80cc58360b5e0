package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
)

func (s *session) conformance() *cobra.Command {
	return s.ofRelease(&cobra.Command{
		Use:   "conformance",
		Short: "Build Kubernetes' conformance suite and the images of its tests, into the cache",
		Args:  cobra.NoArgs,
	}, func(cmd *cobra.Command, cache *build.Cache, release build.Release, _ []string) error {
		if err := build.InstallTools(cmd.Context()); err != nil {
			return err
		}
		suite, err := cache.Conformance(cmd.Context(), release)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d tests, %d images\n", suite.Program, len(suite.Tests), len(suite.Images))
		return nil
	})
}
