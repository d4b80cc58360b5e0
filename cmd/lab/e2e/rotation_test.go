//go:build e2e

package e2e

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestRotation rotates the cluster's CA and the front proxy CA.
func TestRotation(t *testing.T) {
	begin(t)
	testRotation(t, "e2er", 1, "ca", "front-proxy-ca")
}

// TestEtcdRotation rotates etcd's CA.
func TestEtcdRotation(t *testing.T) {
	begin(t)
	testRotation(t, "e2ere", 1, "etcd-ca")
}

// testRotation rotates CAs on three control planes and workers. It continuously checks a
// Deployment behind a Service, the API through the load balancer, and etcd's quorum.
func testRotation(t *testing.T, name string, workers int, cas ...string) {
	s := newSite(t, name, 3, workers)
	s.logIn()
	before := s.listings()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.settled()
	service := s.deploy()
	s.wantNoChanges()
	old := s.onPlanes(casOf)
	s.sh(s.planes[0].Name, "cp /etc/kubernetes/admin.conf /root/old.conf")
	args := []string{"apply", "-auto-approve", "-no-color"}
	for _, ca := range cas {
		args = append(args, "-replace=cluster.prod/"+ca)
	}

	undisturbed := s.watchUsers(service)
	r := s.must(args...)
	t.Logf("rotation of %s on 3 control planes and %d workers: %s", strings.Join(cas, ", "), workers, r.took.Round(100*time.Millisecond))
	undisturbed()
	s.wantNoChanges()
	s.wantRotated(old, slices.Contains(cas, "ca"), 2*len(cas))
	s.wantCluster()
	s.wantWorkload()
	if !t.Failed() {
		s.wantGone(before)
	}
}

// casOf prints the files of the CAs with their digests.
const casOf = "cd /etc/kubernetes/pki && find . -name 'ca[.-]*' -o -name 'front-proxy-ca*' | sort | xargs sha256sum"

// wantRotated checks that this number of CA files has changed, that all control planes have the
// same files, and, if the cluster's CA was rotated, that no component trusts the old one.
func (s *site) wantRotated(old map[string]string, clusters bool, files int) {
	s.t.Helper()
	now := s.onPlanes(casOf)
	for _, h := range s.planes {
		if now[h.Name] != now[s.planes[0].Name] || len(strings.Split(now[h.Name], "\n")) != 6 {
			s.t.Errorf("%s has the CA files\n%s", h.Name, now[h.Name])
		}
		changed := 0
		for _, line := range strings.Split(now[h.Name], "\n") {
			if !strings.Contains(old[h.Name], line) {
				changed++
			}
		}
		if changed != files {
			s.t.Errorf("%s has %d new CA files, want %d:\n%s\nbefore:\n%s", h.Name, changed, files, now[h.Name], old[h.Name])
		}
	}
	for _, h := range s.hosts() {
		out := s.sh(h.Name, "openssl verify -CAfile /etc/kubernetes/pki/ca.crt /var/lib/kubelet/pki/kubelet-client-current.pem 2>&1; grep -c BEGIN /etc/kubernetes/pki/ca.crt")
		if !strings.HasSuffix(out, "OK\n1") {
			s.t.Errorf("the kubelet of %s: %s", h.Name, out)
		}
	}
	if out, err := s.Exec(context.Background(), s.planes[0].Name, "kubectl", "--kubeconfig", "/root/old.conf", "get", "--raw", "/readyz"); (err != nil) != clusters {
		s.t.Errorf("a kubeconfig from before the rotation: %v\n%s", err, out)
	}
	s.sh(s.planes[0].Name, "rm /root/old.conf")
	if out := s.sh(s.planes[0].Name, "kubeadm certs check-expiration 2>&1"); strings.Contains(out, "MISSING") || strings.Contains(out, "<invalid>") {
		s.t.Errorf("kubeadm certs check-expiration:\n%s", out)
	}
	// Each API server reaches each kubelet.
	for _, h := range s.planes {
		server := "--server=https://" + net.JoinHostPort(h.Address().String(), "6443")
		s.viaKubelet(server, "logs", "-n", "kube-system", "-l", "k8s-app=kube-proxy", "--tail=1")
		s.viaKubelet(server, "get", "--raw", "/api/v1/nodes/"+s.nodeName(s.workers[0])+"/proxy/healthz")
	}
}
