//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// idle is how long a cluster is left to itself. What controllers, kubelets and
// etcd write on their own account (leases, statuses, rotated certificates, taints,
// compactions) has been written by then.
const idle = 10 * time.Minute

// TestIdle has a cluster with a workload found unchanged for as long as nobody
// changes it: a plan each minute from the first one after the apply on. One
// logs in to the worker as a user of whom sudo wants a password, and to the control
// planes as one of whom it wants none; the cluster's whole life goes that way.
func TestIdle(t *testing.T) {
	long(t)
	beside(t, idle+2*time.Minute)
	s := newSite(t, "e2eid", 3, 1)
	s.user = "ubuntu"
	s.top = "\nvariable \"sudo_password\" {\n  sensitive = true\n}\n"
	s.workerExtra = "  connection {\n    user          = \"carol\"\n    sudo_password = var.sudo_password\n  }\n"
	s.env = append(s.env, "KUBEWRIGHT_VAR_sudo_password="+lab.SudoPassword)
	s.configure()
	s.must("plan", "-no-color") // sudo and PAM leave files when somebody logs in first
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
	t.Logf("a cluster left to itself for %s: %d plans, none with changes", idle, plans)
}
