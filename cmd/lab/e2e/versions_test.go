//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestVersions runs the life of a small cluster for every release that the short tests do not
// run.
func TestVersions(t *testing.T) {
	begin(t)
	for _, release := range build.Releases() {
		if release.Kubernetes == lab.DefaultKubernetes {
			continue
		}
		t.Run(release.Kubernetes, func(t *testing.T) {
			s := newSiteOf(t, lab.Options{Name: "e2ev", Kubernetes: release.Kubernetes, ControlPlanes: 1, Workers: 1})
			s.life(s.drift)
		})
	}
}

// life creates a cluster, checks that a plan has no changes, runs the given parts, and checks
// that destroy restores the hosts.
func (s *site) life(parts ...func()) {
	s.t.Helper()
	s.logIn()
	before := s.listings()
	r := s.must("apply", "-auto-approve", "-no-color")
	s.t.Logf("apply of %d control planes and %d workers of %s: %s", len(s.planes), len(s.workers), s.Release().Kubernetes, r.took.Round(100*time.Millisecond))
	s.wantCluster()
	s.wantAddresses()
	s.wantWorkload()
	if !s.unsigned {
		s.settled()
	}
	s.wantNoChanges()
	for _, part := range parts {
		part()
	}
	s.wantGone(before)
}
