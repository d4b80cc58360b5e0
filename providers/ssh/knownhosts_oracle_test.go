package ssh_test

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/ssh"
)

// A certified is OpenSSH's server with a host certificate of a CA.
type certified struct {
	*sshd
	port    string
	ca, key string
}

// startCertified starts a server whose certificate has been changed by edit before it is signed; nil
// is a server without a certificate.
func startCertified(t *testing.T, authorized xssh.PublicKey, ca xssh.Signer, edit func(*xssh.Certificate)) *certified {
	t.Helper()
	folder := t.TempDir()
	file := filepath.Join(folder, "host-cert.pub")
	s := startSSHD(t, authorized, "HostCertificate "+file)
	c := &certified{sshd: s, ca: keyLine(ca), key: s.Pin}
	_, port, _ := strings.Cut(s.listener.Addr().String(), ":")
	c.port = port
	if edit == nil {
		edit = func(cert *xssh.Certificate) { cert.CertType = 0 }
	}
	plain, _, _, _, err := xssh.ParseAuthorizedKey([]byte(s.Pin))
	if err != nil {
		t.Fatal(err)
	}
	cert := &xssh.Certificate{
		Key: plain, CertType: xssh.HostCert, KeyId: "host", ValidPrincipals: []string{"127.0.0.1"},
		ValidAfter: uint64(time.Now().Add(-time.Hour).Unix()), ValidBefore: uint64(time.Now().Add(time.Hour).Unix()),
	}
	if edit(cert); cert.CertType == 0 {
		return c // sshd runs without the file, and says so in its log
	}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, file, xssh.MarshalAuthorizedKey(cert))
	return c
}

// TestKnownHostsAsOpenSSHReadsThem compares which servers are trusted with the ssh command, for
// servers with and without certificates and files of known hosts in pairs of lines.
func TestKnownHostsAsOpenSSHReadsThem(t *testing.T) {
	t.Parallel()
	identity, public := newKeyFile(t)
	user, _ := currentUser(t)
	ca, other := newSigner(t), newSigner(t)
	hour := func(n int) uint64 { return uint64(time.Now().Add(time.Duration(n) * time.Hour).Unix()) }
	servers := map[string]func(*xssh.Certificate){
		"without a certificate":      nil,
		"certified":                  func(*xssh.Certificate) {},
		"certified for another name": func(c *xssh.Certificate) { c.ValidPrincipals = []string{"example.com"} },
		"certified for any name":     func(c *xssh.Certificate) { c.ValidPrincipals = nil },
		"expired":                    func(c *xssh.Certificate) { c.ValidAfter, c.ValidBefore = hour(-3), hour(-1) },
		"not valid yet":              func(c *xssh.Certificate) { c.ValidAfter, c.ValidBefore = hour(1), hour(3) },
		"certified with an option":   func(c *xssh.Certificate) { c.CriticalOptions = map[string]string{"future@example.com": "yes"} },
		"certified for two names":    func(c *xssh.Certificate) { c.ValidPrincipals = []string{"example.com", "127.0.0.1"} },
		"with a user's certificate":  func(c *xssh.Certificate) { c.CertType = xssh.UserCert },
	}
	files := []string{
		"", "@cert-authority * CA\n", "@cert-authority 127.0.0.1 CA\n", "@cert-authority [127.0.0.1]:PORT CA\n", "@cert-authority 127.0.0.* CA\n",
		"@cert-authority [127.0.0.*]:PORT CA\n", "@cert-authority *,!10.0.0.1 CA\n", "@cert-authority *,!127.0.0.1 CA\n", "@cert-authority example.com CA\n", "@cert-authority * OTHER\n",
		"[127.0.0.1]:PORT KEY\n", "127.0.0.1 KEY\n", "[127.0.0.1]:PORT OTHER\n", "127.0.0.1 OTHER\n", "@revoked * KEY\n", "@revoked * CA\n",
		"@cert-authority * CA\n[127.0.0.1]:PORT KEY\n", "@cert-authority 127.0.0.1 CA\n127.0.0.1 KEY\n", "@cert-authority * CA\n[127.0.0.1]:PORT OTHER\n", "@cert-authority * CA\n127.0.0.1 OTHER\n",
		"@cert-authority * CA\n@revoked * CA\n", "@cert-authority * CA\n@revoked * KEY\n", "@cert-authority * OTHER\n[127.0.0.1]:PORT KEY\n", "@cert-authority * CA\n@cert-authority * OTHER\n",
		"# @cert-authority * OTHER\n\n@cert-authority * CA a comment\n", "@cert-authority [127.0.0.1]:1 CA\n", "[127.0.0.1]:1 KEY\n",
	}
	for name, edit := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startCertified(t, public, ca, edit)
			port, err := strconv.Atoi(s.port)
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range files {
				if os.Getenv("KUBEWRIGHT_LONG") == "" && (i+len(name))%6 != 0 {
					continue // each file meets some of the servers
				}
				text = strings.NewReplacer("PORT", s.port, "CA", s.ca, "KEY", s.key, "OTHER", keyLine(other)).Replace(text)
				known := writeFile(t, "known_hosts", text)
				for _, accept := range []bool{false, true} {
					want := trusted(t, user, s.port, identity, known, accept)
					c, err := ssh.Dial(t.Context(), ssh.Target{Address: "127.0.0.1", Port: port, User: user, Keys: []string{identity}, KnownHosts: []string{known}, AcceptNewHostKeys: accept})
					if err == nil {
						_ = c.Close()
					}
					// A certificate that does not hold is not accepted as a new key, which OpenSSH does.
					stricter := accept && err != nil && strings.Contains(err.Error(), "does not hold")
					if (err == nil) != want && !stricter {
						t.Errorf("accepting new keys: %t, OpenSSH trusts it: %t, here: %v; known hosts:\n%s", accept, want, err, text)
					}
					if err != nil && providers.RemedyOf(err) == "" && strings.Contains(err.Error(), "does not hold") {
						t.Errorf("no remedy: %v", err)
					}
				}
			}
		})
	}
}

// trusted reports whether the ssh command logs in.
func trusted(t *testing.T, user, port, identity, known string, accept bool) bool {
	t.Helper()
	strict := "yes"
	if accept {
		// The command would write the new key.
		text, err := os.ReadFile(known)
		if err != nil {
			t.Fatal(err)
		}
		known, strict = writeFile(t, "known_hosts_copy", string(text)), "accept-new"
	}
	out, err := exec.Command("ssh", "-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o", "UpdateHostKeys=no", "-o", "StrictHostKeyChecking="+strict,
		"-o", "UserKnownHostsFile="+known, "-o", "GlobalKnownHostsFile=/dev/null", "-i", identity, "-p", port, user+"@127.0.0.1", "true").CombinedOutput()
	if err != nil && !strings.Contains(string(out), "Host key verification failed") && !strings.Contains(string(out), "Unable to negotiate") && !strings.Contains(string(out), "REVOKED") {
		t.Fatalf("ssh failed for another reason: %v: %s", err, out)
	}
	return err == nil
}
