//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
)

// exampleCA writes the CA of an example next to its configuration.
func (s *site) exampleCA() *pkitest.CA {
	s.t.Helper()
	ca := pkitest.NewCA(s.t, "Example Kubernetes CA", "ECDSA", time.Now().Add(-time.Hour))
	s.write("ca.crt", string(ca.Certificate))
	s.unsigned = true
	return ca
}

// wantNoCAKey checks that no host has the key of the given CA.
func (s *site) wantNoCAKey() {
	for _, h := range s.hosts() {
		if found := s.sh(h.Name, "ls /etc/kubernetes/pki/ca.key 2>/dev/null || true"); found != "" {
			s.t.Errorf("%s has the CA key %s", h.Name, found)
		}
	}
}

// exampleExternalCA signs with a key that exists only in the operator's environment.
func exampleExternalCA(t *testing.T) {
	s := newExample(t, "external-ca", lab.Options{Name: "e2exca", ControlPlanes: 3, Workers: 1})
	s.givenCA = true
	s.alias("api.prod.example.com")
	s.env = append(s.env, "KUBEWRIGHT_VAR_ca_key="+string(s.exampleCA().Key))
	s.life(s.drift, s.wantNoCAKey)
}

// exampleKeyless uses certificates that an external party has signed with its CA.
func exampleKeyless(t *testing.T) {
	s := newExample(t, "external-ca-keyless", lab.Options{Name: "e2exck", ControlPlanes: 3, Workers: 1})
	s.givenCA = true
	s.alias("api.prod.example.com")
	ca := s.exampleCA()
	for _, want := range s.supplies() {
		for name, content := range ca.Supply(t, want, time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0), nil) {
			s.write(filepath.Join("supplied", name), string(content))
		}
	}
	s.life(s.drift, s.wantNoCAKey)
}

// exampleAirGapped starts with bare hosts, and takes all artifacts from a folder.
func exampleAirGapped(t *testing.T) {
	s := newExample(t, "air-gapped", lab.Options{Name: "e2exag", ControlPlanes: 3, Workers: 2, Bare: true}, edit{`user = "ops"`, `user = "ubuntu"`})
	s.domain = "vault.local"
	s.alias("api.vault.example.internal")
	s.write("known_hosts", contents(t, s.KnownHosts()))
	if err := s.Artifacts().WriteFolder(filepath.Join(s.dir, "artifacts")); err != nil {
		t.Fatal(err)
	}
	for _, h := range s.hosts() { // instead of a network plugin
		s.sh(h.Name, "mkdir -p /etc/cni/net.d && cat >/etc/cni/net.d/10-lab.conflist <<'E'\n"+network(h)+"E\n")
	}
	s.logIn()
	before := s.listings()
	r := s.must("apply", "-auto-approve", "-no-color")
	t.Logf("apply of 3 control planes and 2 workers from bare hosts: %s", r.took.Round(100*time.Millisecond))
	s.wantCluster()
	s.wantWorkload()
	s.settled()
	s.wantNoChanges()
	s.must("destroy", "-auto-approve", "-no-color")
	s.wantNothingLeft(before, leftover{" /var/lib/containerd", "install.keep has the images stay"})
}

// exampleManyWorkers has as many workers as fit on this machine besides three control planes. One
// pool has a single node.
func exampleManyWorkers(t *testing.T) {
	s := newExample(t, "many-workers", lab.Options{Name: "e2exmw", ControlPlanes: 3, Workers: 5})
	s.alias("api.farm.example.com")
	s.writeInventory()
	s.life(s.wantGPU, func() {
		departing := s.workers[len(s.workers)-1].Name
		s.workers = s.workers[:len(s.workers)-1]
		s.writeInventory()
		r := s.must("apply", "-auto-approve", "-no-color")
		wantContains(t, r.out, "Plan: 0 to add, 0 to change, 1 to destroy.", departing)
		s.wantNoChanges()
		s.wantCluster()
		wantContains(t, s.must("output", "-no-color").out, "general", "gpu")
	}, s.drift)
}

// writeInventory writes the workers in the other tool's format; the second has a GPU.
func (s *site) writeInventory() {
	var b strings.Builder
	for i, h := range s.workers {
		pool := "general"
		if i == 1 {
			pool = "gpu"
		}
		fmt.Fprintf(&b, "%s: { address: %s, pool: %s, zone: zone-%c }\n", h.Name, h.Address(), pool, 'a'+i%3)
	}
	s.write("workers.yaml", b.String())
}

// wantGPU checks that the settings of the pool gpu apply to its worker and to no other.
func (s *site) wantGPU() {
	for host, want := range map[string]string{s.workers[0].Name: "general  110", s.workers[1].Name: "gpu nvidia.com/gpu 20"} {
		got := s.kubectl("get", "node", host, "-o", `jsonpath={.metadata.labels.node\.example\.com/pool} {.spec.taints[*].key} {.status.capacity.pods}`)
		if got != want {
			s.t.Errorf("node %s: pool, taints and pods are %q, want %q", host, got, want)
		}
	}
}
