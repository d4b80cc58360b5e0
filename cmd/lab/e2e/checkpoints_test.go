//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// TestCheckpoints changes settings with which real kubelets do not start until their checkpoints are
// gone, and takes them back.
func TestCheckpoints(t *testing.T) {
	begin(t)
	s := newSite(t, "e2eck", 1, 1)
	s.logIn()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.settled()
	policy := func(want string) {
		t.Helper()
		s.must("apply", "-auto-approve", "-no-color")
		s.wantNoChanges()
		for _, h := range s.Hosts() {
			if got := s.sh(h.Name, "systemctl is-active kubelet; cat /var/lib/kubelet/cpu_manager_state"); !strings.HasPrefix(got, "active\n") || !strings.Contains(got, `"policyName":"`+want+`"`) {
				t.Errorf("%s: %s", h.Name, got)
			}
		}
		if got := s.kubectl("get", "nodes", "-o", "jsonpath={.items[*].spec.unschedulable}"); got != "" {
			t.Errorf("nodes are cordoned: %s", got)
		}
	}
	policy("none")
	s.kubelet = "\n      cpuManagerPolicy   = \"static\"\n      reservedSystemCPUs = \"0\""
	s.configure()
	policy("static")
	s.kubelet = "\n      cpuManagerPolicy   = \"static\"\n      reservedSystemCPUs = \"1\""
	s.configure()
	policy("static")
	s.kubelet = ""
	s.configure()
	policy("none")
	s.wantCluster()
}
