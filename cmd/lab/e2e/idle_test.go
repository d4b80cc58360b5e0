//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// idle is how long a cluster is left alone. Within this time controllers, kubelets and etcd have
// written everything that they write by themselves (leases, statuses, rotated certificates,
// taints, compactions).
const idle = 10 * time.Minute

// TestIdle checks that a cluster with a workload is unchanged while it is idle: it runs a plan
// each minute after the apply. It logs in to the worker as a user whose sudo needs a password,
// and to the control planes as a user whose sudo needs none; the whole test runs this way.
func TestIdle(t *testing.T) {
	begin(t)
	s := newSite(t, "e2eid", 3, 1)
	s.user = "ubuntu"
	s.top = "\nvariable \"sudo_password\" {\n  sensitive = true\n}\n"
	s.workerExtra = "  connection {\n    user          = \"carol\"\n    sudo_password = var.sudo_password\n  }\n"
	s.env = append(s.env, "KUBEWRIGHT_VAR_sudo_password="+lab.SudoPassword)
	s.configure()
	s.must("plan", "-no-color") // sudo and PAM create files at a first login
	before := s.listings()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantCluster()
	s.wantWorkload()

	minute := time.NewTicker(time.Minute)
	defer minute.Stop()
	plans := 0
	for begun := time.Now(); time.Since(begun) < idle; plans++ {
		<-minute.C
		s.wantNoChanges()
	}
	wantContains(t, s.must("apply", "-auto-approve", "-no-color").out, "No changes.")
	s.must("destroy", "-auto-approve", "-no-color")
	s.wantBefore(before)
	t.Logf("an idle cluster for %s: %d plans, none with changes", idle, plans)
}
