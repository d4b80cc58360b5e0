//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"
)

// TestReboot creates a cluster on hosts whose fstab has swap, and reboots them: the cluster comes
// back by itself, swap stays off, and the plan has no changes. After destroy the next boot turns
// swap on again. (Turning swap itself off and on is tested on simulated hosts: here it would be
// this machine's swap.)
func TestReboot(t *testing.T) {
	begin(t)
	s := newSite(t, "e2erb", 1, 1)
	s.logIn()
	for _, h := range s.hosts() {
		s.sh(h.Name, "echo '/swap.img none swap sw 0 0' >> /etc/fstab")
	}
	before := s.listings()
	r := s.must("plan", "-no-color")
	wantContains(t, r.out, "swap", "at_boot")
	s.founded()
	s.wantSwapAtBoot("masked")
	for _, h := range s.hosts() {
		if err := s.Restart(context.Background(), h.Name); err != nil {
			t.Fatal(err)
		}
	}
	s.eventually("the API answers the administrator", func() (string, bool) {
		out, err := s.Kubectl(context.Background(), s.planes[0].Name, "get", "nodes")
		return string(out), err == nil
	})
	s.wantCluster()
	s.wantWorkload()
	s.wantSwapAtBoot("masked")
	s.eventually("a plan finds nothing to do", func() (string, bool) {
		r := s.run("plan", "-detailed-exitcode", "-no-color")
		return r.out, r.code == 0
	})
	s.wantGone(before)
	s.wantSwapAtBoot("static")
}

// wantSwapAtBoot checks what systemctl is-enabled reports for swap.target.
func (s *site) wantSwapAtBoot(want string) {
	s.t.Helper()
	for _, h := range s.hosts() {
		if got := strings.TrimSpace(s.sh(h.Name, "systemctl is-enabled swap.target || true")); got != want {
			s.t.Errorf("swap.target of %s is %q, want %q", h.Name, got, want)
		}
	}
}
