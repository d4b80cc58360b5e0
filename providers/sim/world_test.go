package sim_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestWorldSaveErrors checks that saving fails for a world without a file, and for one whose folder is
// gone.
func TestWorldSaveErrors(t *testing.T) {
	t.Parallel()
	if err := sim.New(1, sim.DefaultProfile()).Save(); err == nil || err.Error() != "cannot save simulated world: it was not opened from a file" {
		t.Errorf("without a file: %v", err)
	}
	w, err := sim.Open(filepath.Join(t.TempDir(), "gone", "world"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Save(); err == nil || !strings.HasPrefix(err.Error(), "cannot save simulated world: ") {
		t.Errorf("without a folder: %v", err)
	}
}

// TestSimulatedHostRefusesConnections checks that no connection can be made through a simulated host.
func TestSimulatedHostRefusesConnections(t *testing.T) {
	t.Parallel()
	_, err := newRig(t).w.Host(cp1).DialContext(context.Background(), "tcp", "10.0.0.1:2379")
	if !errors.Is(err, providers.ErrNoForwarding) || !strings.HasSuffix(err.Error(), "a simulated host has no tcp") {
		t.Errorf("got %v", err)
	}
}
