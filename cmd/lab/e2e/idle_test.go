//go:build e2e

package e2e

import (
	"testing"
	"time"
)

// idle is how long a cluster is left to itself. What controllers, kubelets and
// etcd write on their own account (leases, statuses, rotated certificates, taints,
// compactions) has been written by then.
const idle = 10 * time.Minute

// TestIdle has a cluster with a workload found unchanged for as long as nobody
// changes it: a plan each minute from the first one after the apply on.
func TestIdle(t *testing.T) {
	long(t)
	beside(t, idle+2*time.Minute)
	s := newSite(t, "e2eid", 3, 1)
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
	t.Logf("a cluster left to itself for %s: %d plans, none with changes", idle, plans)
}
