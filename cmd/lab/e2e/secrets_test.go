//go:build e2e

package e2e

import (
	"crypto/rand"
	"regexp"
	"strings"
	"testing"
)

// TestKubeadmJoinsAControlPlane creates a cluster with uploaded certificates and a token from the
// user, with which real kubeadm joins a second control plane. One argument is sensitive: like
// keys and token it exists only on the host. The key of the uploaded certificates is printed,
// only this once.
func TestKubeadmJoinsAControlPlane(t *testing.T) {
	begin(t)
	s := newSite(t, "e2ej", 2, 0)
	guest := s.planes[1]
	s.planes = s.planes[:1]
	half := strings.ToLower(rand.Text()[:16])
	token, secret := "e2etok."+half, "canary-e2e-client"
	s.extra = `
  upload_certs = true
  bootstrap_token {
    token       = sensitive("` + token + `")
    description = "for the second control plane"
  }
  api_server {
    extra_env "CANARY" { value = sensitive("` + secret + `") }
  }
`
	s.configure()
	w := s.witness()
	found := regexp.MustCompile(`--certificate-key ([0-9a-f]{64})`).FindStringSubmatch(w.founds().out)
	if found == nil {
		t.Fatal("the certificate key was not shown")
	}
	w.wantNoLeak(hidden{"the user's token", half, ""}, hidden{"the user's argument", secret, "environ"}, hidden{"the certificate key", found[1], "printed"})
	s.wantNoChanges()
	cp := s.planes[0].Name
	wantContains(t, s.sh(cp, "kubeadm token list 2>&1"), token, "for the second control plane", "Proxy for managing TTL for the kubeadm-certs secret")
	wantContains(t, s.sh(cp, "cat "+apiServerFile), secret)

	endpoint, _ := s.Endpoint()
	hash := s.sh(cp, "openssl x509 -pubkey -in /etc/kubernetes/pki/ca.crt | openssl pkey -pubin -outform der 2>/dev/null | sha256sum | cut -d' ' -f1")
	out := s.sh(guest.Name, "kubeadm join "+endpoint+":6443 --token "+token+" --discovery-token-ca-cert-hash sha256:"+hash+
		" --control-plane --certificate-key "+found[1]+" --apiserver-advertise-address "+guest.Address().String()+
		" --ignore-preflight-errors=SystemVerification 2>&1")
	t.Logf("kubeadm join:\n%s", out)
	s.planes = append(s.planes, guest)
	s.wantCluster()
	s.wantMembers(2)
	s.wantWorkload()
}
