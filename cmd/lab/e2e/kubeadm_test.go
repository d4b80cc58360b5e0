//go:build e2e

package e2e

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestKubeadmKnowsTheCluster runs kubeadm's own commands on a cluster that kubewright created,
// and joins a worker with the command that kubeadm prints.
//
// Before that, kubeadm creates a cluster of the same configuration on fresh copies of the same
// hosts: the objects in both APIs must be equal.
func TestKubeadmKnowsTheCluster(t *testing.T) {
	begin(t)
	theirs := kubeadmObjects(t)
	s := newSite(t, "e2ek", 1, 2)
	guest := s.workers[1]
	s.workers = s.workers[:1]
	s.configure()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	wantSameObjects(t, s.liveObjects(), theirs)

	cp := s.planes[0].Name
	out := s.sh(cp, "kubeadm certs check-expiration 2>&1")
	wantContains(t, out, "admin.conf", "apiserver-kubelet-client", "etcd-healthcheck-client", "front-proxy-ca")
	if strings.Contains(out, "MISSING") {
		t.Errorf("kubeadm reports missing certificates:\n%s", out)
	}
	version := s.Release().Kubernetes
	// The command fails if it cannot read the cluster's configuration, its components or their
	// health.
	out = s.sh(cp, "kubeadm upgrade plan "+version+" --ignore-preflight-errors=SystemVerification 2>&1")
	t.Logf("kubeadm upgrade plan %s:\n%s", version, out)
	wantContains(t, out, "[upgrade/config]", "[upgrade/versions] Cluster version: "+strings.TrimPrefix(version, "v"))

	join := s.sh(cp, "kubeadm token create --print-join-command 2>/dev/null")
	s.sh(guest.Name, join+" --ignore-preflight-errors=SystemVerification 2>&1")
	s.workers = append(s.workers, guest)
	s.wantCluster()
	s.wantWorkload()
	// Kubewright ignores a worker that it does not manage.
	s.wantNoChanges()
}

// kubeadmObjects returns the objects of a cluster of one control plane and one worker that
// kubeadm created.
func kubeadmObjects(t *testing.T) map[string]tree {
	t.Helper()
	s := newSite(t, "e2ek", 1, 2)
	s.workers = s.workers[:1]
	_, err := lab.KubeadmCluster(context.Background(), s.Lab, lab.KubeadmOptions{
		ControlPlanes: []string{s.planes[0].Name}, Workers: []string{s.workers[0].Name},
		Log: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.wantCluster()
	defer s.Down(context.Background())
	return s.liveObjects()
}

// TestTimeBesideKubeadm creates a 3+2 cluster with kubeadm and with kubewright, alternately,
// three times each on fresh prepared hosts, and prints the medians. KUBEWRIGHT_E2E_RUNS sets
// another number of runs.
func TestTimeBesideKubeadm(t *testing.T) {
	begin(t)
	runs := 3
	if text := os.Getenv("KUBEWRIGHT_E2E_RUNS"); text != "" {
		var err error
		if runs, err = strconv.Atoi(text); err != nil || runs < 1 {
			t.Fatalf("KUBEWRIGHT_E2E_RUNS=%s is not a number of runs", text)
		}
	}
	var theirs, ours []time.Duration
	for range runs {
		theirs = append(theirs, timed(t, func(s *site) {
			if _, err := lab.KubeadmCluster(context.Background(), s.Lab, lab.KubeadmOptions{}); err != nil {
				t.Fatal(err)
			}
		}))
		ours = append(ours, timed(t, func(s *site) { s.must("apply", "-auto-approve", "-no-color") }))
	}
	a, b := median(theirs), median(ours)
	t.Logf("3+2 from prepared hosts until every node is Ready and every pod runs, median of %d: kubeadm %s (%v), kubewright %s (%v), ratio %.2f",
		runs, a.Round(100*time.Millisecond), theirs, b.Round(100*time.Millisecond), ours, float64(b)/float64(a))
}

// median returns the median of the times and does not change their order.
func median(times []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(times))[len(times)/2]
}

// timed returns how long it takes to create a cluster on fresh hosts until everything runs,
// measured the same way for both tools.
func timed(t *testing.T, cluster func(*site)) time.Duration {
	t.Helper()
	s := newSite(t, "e2et", 3, 2)
	start := time.Now()
	cluster(s)
	s.wantCluster()
	took := time.Since(start)
	if err := s.Down(context.Background()); err != nil {
		t.Fatal(err)
	}
	return took
}
