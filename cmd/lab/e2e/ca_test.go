//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
)

// TestExternalCA creates clusters below CAs that the operator provides: the keys of the first are
// on the hosts, the second signs with keys that stay here, and for the third everything is
// supplied. The proof is that API servers, etcd, kubelets and kubectl trust each other.
func TestExternalCA(t *testing.T) {
	begin(t)
	t.Run("the key lies on the hosts", func(t *testing.T) {
		s := newSite(t, "e2eca", 1, 1)
		s.writeCAs("ECDSA")
		s.extra = certificatesHCL("      key         = file(\"BLOCK.key\")\n      on_hosts    = true\n", "")
		s.configure()
		s.clusterBelow(3, func() {
			s.settled() // the given key has signed its kubelets' certificates
		})
	})
	t.Run("the operator holds the key", func(t *testing.T) {
		s := newSite(t, "e2eca", 2, 1)
		s.writeCAs("RSA")
		for _, block := range caBlocks {
			key, err := os.ReadFile(filepath.Join(s.dir, block+".key"))
			if err != nil {
				t.Fatal(err)
			}
			s.env = append(s.env, "KUBEWRIGHT_VAR_"+block+"_key="+string(key))
			if err := os.Remove(filepath.Join(s.dir, block+".key")); err != nil {
				t.Fatal(err)
			}
			s.write(block+".hcl", "variable \""+block+"_key\" {\n  type      = string\n  sensitive = true\n}\n")
		}
		s.extra = certificatesHCL("      key         = var.BLOCK_key\n", "")
		s.configure()
		s.clusterBelow(0, func() {})
	})
	t.Run("no key is available", func(t *testing.T) {
		s := newSite(t, "e2eca", 1, 1)
		cas := s.writeCAs("ECDSA")
		s.extra = certificatesHCL("", "    supplied = \"supplied\"\n")
		s.configure()
		supply := func(only ...string) {
			for _, want := range s.supplies() {
				if len(only) > 0 && !slices.Contains(only, want.Name) {
					continue
				}
				for name, content := range cas[want.CA].Supply(t, want, time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0), nil) {
					s.write(filepath.Join("supplied", name), string(content))
				}
			}
		}
		supply()
		s.clusterBelow(0, func() {
			renewed := []string{s.planes[0].Name + "/pki/apiserver", s.workers[0].Name + "/kubelet.conf"}
			supply(renewed...)
			r := s.must("apply", "-auto-approve", "-no-color")
			wantContains(t, r.out, "Plan: 0 to add, 2 to change, 0 to destroy.", "not_after")
			s.wantNoChanges()
			serials := strings.Fields(s.sh(s.workers[0].Name, "openssl x509 -noout -serial -in /var/lib/kubelet/pki/kubelet-client-current.pem; "+
				"sed -n 's/.*client-certificate-data: //p' /etc/kubernetes/kubelet.conf | base64 -d | openssl x509 -noout -serial"))
			if len(serials) != 2 || serials[0] != serials[1] {
				t.Errorf("the serials of the kubelet and its kubeconfig are %q", serials)
			}
			s.wantCluster()
		})
	})
}

var caBlocks = []string{"ca", "front_proxy_ca", "etcd_ca"}

// certificatesHCL configures all three CAs; BLOCK in each stands for their names.
func certificatesHCL(each, more string) string {
	text := "  certificates {\n" + more
	for _, block := range caBlocks {
		text += "    " + block + " {\n      certificate = file(\"" + block + ".crt\")\n" + strings.ReplaceAll(each, "BLOCK", block) + "    }\n"
	}
	return text + "  }\n"
}

// write writes a file in the operator's folder.
func (s *site) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// writeCAs creates the three CAs, and returns them by the path of their block.
func (s *site) writeCAs(algorithm string) map[string]*pkitest.CA {
	s.t.Helper()
	out := map[string]*pkitest.CA{}
	for _, block := range caBlocks {
		ca := pkitest.NewCA(s.t, "Lab "+block, algorithm, time.Now().Add(-time.Hour))
		s.write(block+".crt", string(ca.Certificate))
		s.write(block+".key", string(ca.Key))
		out["certificates."+block] = ca
	}
	return out
}

// supplies returns what has to be supplied; the lab's hosts have the names of their nodes.
func (s *site) supplies() []pki.Supply {
	s.t.Helper()
	cfg, diags := hclconfig.Load(hclconfig.Options{Dir: s.dir})
	if diags.HasErrors() {
		s.t.Fatal(diags)
	}
	for _, n := range cfg.Nodes {
		n.Name = n.Target.Key
	}
	return pki.Supplies(cfg, "prod")
}

// clusterBelow runs the life cycle of a cluster below given CAs, and checks the number of CA keys
// and bootstrap kubeconfigs on its hosts.
func (s *site) clusterBelow(keys int, change func()) {
	s.t.Helper()
	s.logIn()
	before := s.listings()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.wantWorkload()
	s.wantNoChanges()
	var found []string
	for _, h := range s.hosts() {
		found = append(found, strings.Fields(s.sh(h.Name, "find /etc/kubernetes /var/lib/kubewright -name '*ca.key' -o -name bootstrap-kubelet.conf"))...)
	}
	if len(found) != keys {
		s.t.Errorf("keys and bootstrap kubeconfigs on the hosts: %v", found)
	}
	cp := s.planes[0].Name
	out := s.sh(cp, "kubeadm certs check-expiration 2>&1")
	s.t.Logf("kubeadm certs check-expiration:\n%s", out)
	if strings.Contains(out, "MISSING") {
		s.t.Error("kubeadm reports missing certificates")
	}
	change()
	s.must("destroy", "-auto-approve", "-no-color")
	s.wantBefore(before)
}
