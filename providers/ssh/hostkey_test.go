package ssh_test

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"strings"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/ssh"
)

func keyLine(s xssh.Signer) string {
	return strings.TrimSpace(string(xssh.MarshalAuthorizedKey(s.PublicKey())))
}

func rsaSigner(t *testing.T) xssh.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := xssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// TestHostKeys tries every way in which a host key can be known, and makes
// sure that a host whose key will not do learns nothing about our keys.
func TestHostKeys(t *testing.T) {
	t.Parallel()
	other, another := newSigner(t), rsaSigner(t)
	for _, test := range []struct {
		name string
		pins func(s *server) []string
		file func(s *server) string // known_hosts
		tofu bool
		kind error // nil: accepted
		says string
		new  bool
	}{
		{name: "nothing known", kind: providers.ErrHostKeyUnknown, says: ` is not known; if it is right, set host_key = "ssh-ed25519 `},
		{name: "nothing known, new ones accepted", tofu: true, new: true},
		{name: "pinned", pins: func(s *server) []string { return []string{s.Pin()} }},
		{name: "one of two pins", pins: func(s *server) []string { return []string{keyLine(other), s.Pin()} }},
		{
			name: "pin differs", tofu: true, kind: providers.ErrHostKeyChanged, says: ", pinned is ssh-ed25519 SHA256:",
			pins: func(*server) []string { return []string{keyLine(other)} },
		},
		{
			name: "pin of another type", kind: providers.ErrHostKeyChanged, says: "it has none of the key types known for it (",
			pins: func(*server) []string { return []string{keyLine(another)} },
		},
		{
			name: "pin is nonsense", kind: providers.ErrHostKeyUnknown, says: `host_key "ssh-ed25519 nonsense" is not a public key such as "ssh-ed25519 AAAA…"`,
			pins: func(*server) []string { return []string{"ssh-ed25519 nonsense"} },
		},
		{name: "known", file: func(s *server) string { return fmt.Sprintf("[127.0.0.1]:%d %s\n", s.Port(), s.Pin()) }},
		{name: "known by wildcard", file: func(s *server) string { return "127.* " + s.Pin() }},
		{
			name: "known by another port only", kind: providers.ErrHostKeyUnknown, says: ", or add this line to known_hosts: [127.0.0.1]:",
			file: func(s *server) string { return "127.0.0.1 " + s.Pin() },
		},
		{
			name: "known is another", tofu: true, kind: providers.ErrHostKeyChanged, says: "its key is ssh-ed25519 SHA256:",
			file: func(s *server) string {
				return fmt.Sprintf("[127.0.0.1]:%d %s\n", s.Port(), keyLine(other))
			},
		},
		{
			name: "known is another type", tofu: true, kind: providers.ErrHostKeyChanged, says: "it has none of the key types known for it (",
			file: func(s *server) string {
				return fmt.Sprintf("[127.0.0.1]:%d %s\n", s.Port(), keyLine(another))
			},
		},
		{
			name: "revoked", tofu: true, kind: providers.ErrHostKeyChanged, says: " is revoked in ",
			file: func(s *server) string { return "@revoked * " + s.Pin() },
		},
		{
			name: "other host known", tofu: true, new: true,
			file: func(*server) string { return "example.com " + keyLine(other) },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, target := newServer(t)
			target.HostKeys, target.AcceptNewHostKeys = nil, test.tofu
			if test.pins != nil {
				target.HostKeys = test.pins(s)
			}
			if test.file != nil {
				target.KnownHosts = []string{writeFile(t, "known_hosts", test.file(s)), "/does/not/exist"}
			}
			c, err := ssh.Dial(t.Context(), target)
			if test.kind != nil {
				wantKind(t, err, test.kind)
				wantText(t, err, test.says)
				if n := s.Attempts.Load() + s.Offers.Load(); n != 0 {
					t.Errorf("%d attempts to log in", n)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if c.HostKey() != s.Pin() || c.HostKeyIsNew() != test.new {
				t.Errorf("host key %s, new %v", c.HostKey(), c.HostKeyIsNew())
			}
		})
	}
}

// TestKnownTypeIsAskedFor: a host known by one key may have others, which must
// not make it look like a changed one, whichever it would rather show.
func TestKnownTypeIsAskedFor(t *testing.T) {
	t.Parallel()
	second := rsaSigner(t)
	s, target := newServer(t, func(s *server) { s.MoreHostKeys = []xssh.Signer{second} })
	target.HostKeys = []string{keyLine(second)}
	if got := dial(t, target).HostKey(); got != keyLine(second) {
		t.Errorf("pinned: got %s", got)
	}
	target.HostKeys = nil
	target.KnownHosts = []string{writeFile(t, "known_hosts", fmt.Sprintf("[127.0.0.1]:%d %s\n", s.Port(), keyLine(second)))}
	if got := dial(t, target).HostKey(); got != keyLine(second) {
		t.Errorf("known: got %s", got)
	}
}

func TestHostKeyAlias(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	target.HostKeys, target.HostKeyAlias = nil, "cp1.example.com"
	target.KnownHosts = []string{writeFile(t, "known_hosts", "cp1.example.com "+s.Pin())}
	dial(t, target)
}

// TestHostCertificate has an RSA authority for ed25519 hosts, which is common.
func TestHostCertificate(t *testing.T) {
	t.Parallel()
	ca := rsaSigner(t)
	ca, err := xssh.NewSignerWithAlgorithms(ca.(xssh.AlgorithmSigner), []string{xssh.KeyAlgoRSASHA512})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, principal string
		validUntil      time.Time
		kind            error
	}{
		{"good", "127.0.0.1", time.Now().Add(time.Hour), nil},
		{"for another host", "example.com", time.Now().Add(time.Hour), providers.ErrHostKeyChanged},
		{"expired", "127.0.0.1", time.Now().Add(-time.Hour), providers.ErrHostKeyChanged},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plain := newSigner(t)
			cert := &xssh.Certificate{
				Key: plain.PublicKey(), CertType: xssh.HostCert, KeyId: "host",
				ValidPrincipals: []string{test.principal}, ValidBefore: uint64(test.validUntil.Unix()),
			}
			if err := cert.SignCert(rand.Reader, ca); err != nil {
				t.Fatal(err)
			}
			certified, err := xssh.NewCertSigner(cert, plain)
			if err != nil {
				t.Fatal(err)
			}
			s, target := newServer(t, func(s *server) { s.HostKey = certified })
			target.HostKeys = nil
			target.KnownHosts = []string{writeFile(t, "known_hosts", "@cert-authority 127.* "+keyLine(ca))}
			c, err := ssh.Dial(t.Context(), target)
			if test.kind != nil {
				wantKind(t, err, test.kind)
				if n := s.Attempts.Load(); n != 0 {
					t.Errorf("%d attempts to log in", n)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if c.HostKey() != keyLine(plain) {
				t.Errorf("got %s, want the plain key", c.HostKey())
			}
		})
	}
}

func TestUnreadableKnownHosts(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	target.HostKeys = nil
	target.KnownHosts = []string{writeFile(t, "known_hosts", "this is no known_hosts file\n")}
	_, err := ssh.Dial(t.Context(), target)
	wantText(t, err, "cannot read known hosts: ")
	wantText(t, err, "known_hosts:1")
	target.KnownHosts[0] += "/within"
	_, err = ssh.Dial(t.Context(), target)
	wantText(t, err, "cannot read known hosts: stat ")
	if s.Attempts.Load() != 0 {
		t.Errorf("%d attempts to log in", s.Attempts.Load())
	}
}
