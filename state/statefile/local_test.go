package statefile_test

import (
	"testing"

	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/backend/backendtest"
	"github.com/kubewright/kubewright/state/statefile"
)

// TestLocalConformance checks that a file passes the suite of all backends.
func TestLocalConformance(t *testing.T) {
	t.Parallel()
	backendtest.Test(t, backendtest.Options{Unconditional: true, New: func(t *testing.T) func() backend.Backend {
		p := statefile.DirPaths(t.TempDir())
		return func() backend.Backend { return statefile.NewLocal(p) }
	}})
}
