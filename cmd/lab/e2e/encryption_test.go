//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEncryptionAtRest encrypts Secrets and ConfigMaps of a running cluster, rotates the key while
// clients read and write, and ends encryption again. What etcd holds is read with etcdctl.
func TestEncryptionAtRest(t *testing.T) {
	begin(t)
	s := newSite(t, "e2een", 3, 1)
	s.logIn()
	before := s.listings()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	s.settled()
	service := s.deploy()
	s.wantNoChanges()
	kubectl := "kubectl --kubeconfig /etc/kubernetes/admin.conf "
	s.sh(s.planes[0].Name, "for i in $(seq 1 300); do echo \"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s$i}\nstringData: {k: v$i}\"; done | "+kubectl+"apply -f - >/dev/null")

	with := func(block string) {
		s.extra = block
		s.configure()
	}
	change := func(what, prefix string) {
		t.Helper()
		undisturbed := s.watchUsers(service)
		s.encrypts(what, prefix)
		undisturbed()
	}
	with("  encryption {\n    key       = \"2026-11\"\n    resources = [\"secrets\", \"configmaps\"]\n  }\n")
	change("encryption on", "k8s:enc:secretbox:v1:2026-11:")
	with("  encryption {\n    key       = \"2026-12\"\n    resources = [\"secrets\", \"configmaps\"]\n  }\n")
	change("another key", "k8s:enc:secretbox:v1:2026-12:")
	with("  encryption {\n    type      = \"aescbc\"\n    key       = \"2026-12\"\n    resources = [\"secrets\", \"configmaps\"]\n  }\n")
	change("another provider", "k8s:enc:aescbc:v1:2026-12:")
	with("")
	change("encryption off", "k8s\\x00")
	for _, h := range s.planes {
		if out := s.sh(h.Name, "ls /etc/kubernetes"); strings.Contains(out, "encryption") {
			t.Errorf("%s still has the keys: %s", h.Name, out)
		}
	}
	if got := s.sh(s.planes[0].Name, kubectl+"get secret s300 -o jsonpath={.data.k} | base64 -d"); got != "v300" {
		t.Errorf("the Secret s300 has %q", got)
	}
	s.wantCluster()
	if !t.Failed() {
		s.wantGone(before)
	}
}

// encrypts applies the configuration while Secrets are written and read, and checks what etcd holds
// afterwards.
func (s *site) encrypts(what, prefix string) {
	s.t.Helper()
	stop := s.writeSecrets()
	r := s.must("apply", "-auto-approve", "-no-color")
	s.t.Logf("%s on 3 control planes: %s", what, r.took.Round(100*time.Millisecond))
	if n, failed := stop(); failed != "" || n == 0 {
		s.t.Errorf("%s: %d writes and reads of Secrets, failed: %s", what, n, failed)
	} else {
		s.t.Logf("%s: %d writes and reads of Secrets, none failed", what, n)
	}
	s.wantNoChanges()
	for _, resource := range []string{"secrets", "configmaps"} {
		s.wantStored(resource, prefix)
	}
}

// wantStored checks with etcdctl that the value of every object of a resource begins with a prefix.
func (s *site) wantStored(resource, prefix string) {
	s.t.Helper()
	const etcdctl = "crictl exec $(crictl ps -q --name '^etcd$') etcdctl --endpoints=https://127.0.0.1:2379 --cacert=/etc/kubernetes/pki/etcd/ca.crt " +
		"--cert=/etc/kubernetes/pki/etcd/healthcheck-client.crt --key=/etc/kubernetes/pki/etcd/healthcheck-client.key "
	count := fmt.Sprintf(`under=0; other=0
for k in $(%[1]sget /registry/%[2]s/ --prefix --keys-only | grep .); do
  if %[1]sget "$k" --print-value-only | head -c 64 | grep -aqP '^%[3]s'; then under=$((under+1)); else other=$((other+1)); fi
done
echo "$under $other"`, etcdctl, resource, prefix)
	out := strings.TrimSpace(s.sh(s.planes[0].Name, count))
	s.t.Logf("etcd holds of %s with %q and otherwise: %s", resource, prefix, out)
	if under, other, _ := strings.Cut(out, " "); under == "0" || other != "0" {
		s.t.Errorf("etcd holds of %s: %s with %q, %s others", resource, under, prefix, other)
	}
}

// writeSecrets writes and reads Secrets through each API server in turn until stop is called, which
// returns the number of requests and the first failure.
func (s *site) writeSecrets() (stop func() (int, string)) {
	end, done := make(chan struct{}), make(chan struct{})
	n, failed, series := 0, "", time.Now().Unix()
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			h := s.planes[i%len(s.planes)]
			// Through the load balancer: an API server that restarts is left out there.
			out, err := s.Exec(s.t.Context(), h.Name, "sh", "-c", fmt.Sprintf("kubectl --kubeconfig /etc/kubernetes/admin.conf create secret generic load-%d-%d --from-literal=k=v >/dev/null && kubectl --kubeconfig /etc/kubernetes/admin.conf get secrets --chunk-size=100 -o name >/dev/null", series, i))
			n += 2
			if err != nil && failed == "" {
				failed = fmt.Sprintf("%v: %s", err, out)
			}
		}
	}()
	return func() (int, string) {
		close(end)
		<-done
		return n, failed
	}
}
