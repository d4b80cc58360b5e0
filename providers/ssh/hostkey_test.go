package ssh_test

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
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

// TestHostKeyVerification tries every way in which a host key can be known, and checks that a host
// with an unacceptable key learns nothing about our keys.
func TestHostKeyVerification(t *testing.T) {
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
		{name: "known without the port", file: func(s *server) string { return "127.0.0.1 " + s.Pin() }},
		{
			name: "known by another port only", kind: providers.ErrHostKeyUnknown, says: ", or add this line to known_hosts: [127.0.0.1]:",
			file: func(s *server) string { return "[127.0.0.1]:1 " + s.Pin() },
		},
		{
			name: "another without the port", kind: providers.ErrHostKeyUnknown, says: " is not known; ",
			file: func(*server) string { return "127.0.0.1 " + keyLine(other) },
		},
		{
			name: "another type without the port", tofu: true, new: true,
			file: func(*server) string { return "127.0.0.1 " + keyLine(another) },
		},
		{
			name: "known without the port, another with it", tofu: true, kind: providers.ErrHostKeyChanged, says: "its key is ssh-ed25519 SHA256:",
			file: func(s *server) string {
				return fmt.Sprintf("127.0.0.1 %s\n[127.0.0.1]:%d %s\n", s.Pin(), s.Port(), keyLine(other))
			},
		},
		{
			name: "revoked, known without the port", tofu: true, kind: providers.ErrHostKeyChanged, says: " is revoked in ",
			file: func(s *server) string { return "127.0.0.1 " + s.Pin() + "\n@revoked * " + s.Pin() },
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

// TestAcceptedHostKeyIsPinned checks that the accepted key of an unknown bastion is the only one
// accepted from then on, by this Dialer and by a later one that has recorded it.
// known_hosts takes precedence, and a bastion on another way is still unknown.
func TestAcceptedHostKeyIsPinned(t *testing.T) {
	t.Parallel()
	outer, first := newServer(t)
	inner, second := newServer(t)
	_, target := newServer(t)
	first.HostKeys, second.HostKeys = nil, nil
	first.AcceptNewHostKeys, second.AcceptNewHostKeys = true, true
	target.Bastions = []ssh.Target{first, second}
	way := outer.Addr() + "," + inner.Addr()
	want := map[string]string{outer.Addr(): outer.Pin(), way: inner.Pin()}
	if got := dial(t, target).HopKeys(); !maps.Equal(got, want) {
		t.Fatalf("the keys on the way are %v, want %v", got, want)
	}
	other, another := keyLine(newSigner(t)), keyLine(rsaSigner(t))
	for name, c := range map[string]struct {
		trust map[string]string
		known string
		says  string
	}{
		"as before":            {want, "", ""},
		"outer changed":        {map[string]string{outer.Addr(): other, way: inner.Pin()}, "", ", accepted before was ssh-ed25519 SHA256:"},
		"inner changed":        {map[string]string{outer.Addr(): outer.Pin(), way: other}, "", ", accepted before was ssh-ed25519 SHA256:"},
		"had another type":     {map[string]string{way: another}, "", "it has none of the key types known for it ("},
		"on another way":       {map[string]string{inner.Addr(): other}, "", ""},
		"known by known_hosts": {map[string]string{way: other}, fmt.Sprintf("[127.0.0.1]:%d %s\n", inner.Port(), inner.Pin()), ""},
		"no key":               {map[string]string{way: "nonsense"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &ssh.Dialer{}
			defer func() { _ = d.Close() }()
			d.Trust(c.trust)
			target := target
			target.Bastions = []ssh.Target{first, second}
			if c.known != "" {
				target.Bastions[1].KnownHosts = []string{writeFile(t, "known_hosts", c.known)}
			}
			conn, err := d.Dial(t.Context(), target)
			if err == nil {
				_ = conn.Close()
			}
			if c.says == "" && err != nil {
				t.Error(err)
			}
			if c.says != "" {
				wantKind(t, err, providers.ErrHostKeyChanged)
				wantText(t, err, c.says)
			}
		})
	}
}

// TestReconnectRefusesSecondHostKey checks that a Dialer that accepts new keys accepts no second key
// when it reconnects in the same run.
func TestReconnectRefusesSecondHostKey(t *testing.T) {
	t.Parallel()
	bastion, first := newServer(t)
	impostor, _ := newServer(t, func(s *server) { s.Authorized = bastion.Authorized })
	_, target := newServer(t)
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Close() })
	go func() {
		for _, s := range []*server{bastion, impostor} {
			if conn, err := front.Accept(); err == nil {
				go s.Serve(conn)
			}
		}
	}()
	first.Port, first.HostKeys, first.AcceptNewHostKeys = front.Addr().(*net.TCPAddr).Port, nil, true
	target.Bastions = []ssh.Target{first}
	d := &ssh.Dialer{}
	defer func() { _ = d.Close() }()
	c, err := d.Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	bastion.Cut()
	<-c.Done()
	for errors.Is(err, providers.ErrUnreachable) || err == nil { // until the connection to the bastion has detected it
		_, err = d.Dial(t.Context(), target)
	}
	wantKind(t, err, providers.ErrHostKeyChanged)
	if n := impostor.Attempts.Load() + impostor.Offers.Load(); n != 0 {
		t.Errorf("%d attempts to log in", n)
	}
}

// TestKnownHostKeyTypeIsRequested checks that a host known by one key does not look changed because
// of its other keys, whichever it prefers.
func TestKnownHostKeyTypeIsRequested(t *testing.T) {
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
	target.KnownHosts = []string{writeFile(t, "known_hosts", "127.0.0.1 "+keyLine(second))}
	if got := dial(t, target).HostKey(); got != keyLine(second) {
		t.Errorf("known without the port: got %s", got)
	}
}

func TestHostKeyAlias(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	target.HostKeys, target.HostKeyAlias = nil, "cp1.example.com"
	target.KnownHosts = []string{writeFile(t, "known_hosts", "cp1.example.com "+s.Pin())}
	dial(t, target)
}

// TestHostCertificate uses an RSA authority for ed25519 hosts, which is common.
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
		{"for another host", "example.com", time.Now().Add(time.Hour), providers.ErrHostKeyUnknown},
		{"expired", "127.0.0.1", time.Now().Add(-time.Hour), providers.ErrHostKeyUnknown},
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

// TestUnparsableKnownHostsLineIsSkipped checks that an unparsable line is skipped, unless it revokes a
// key, or trusts one for several hosts.
func TestUnparsableKnownHostsLineIsSkipped(t *testing.T) {
	t.Parallel()
	ed448 := "ssh-ed448 AAAACXNzaC1lZDQ0OAAAADkAAAAA"
	lines := []string{
		"example.com " + ed448, "example.com 1024 35 1234567890", "example.com ssh-ed25519 AAAAC3Nz", "this is no known_hosts file",
		"[example.com] " + keyLine(newSigner(t)), "@later example.com " + keyLine(newSigner(t)), strings.Repeat("long ", 20000),
	}
	s, target := newServer(t)
	target.HostKeys = nil
	known := fmt.Sprintf("[127.0.0.1]:%d %s", s.Port(), s.Pin())
	fine := writeFile(t, "more", "# nothing\n")
	for name, test := range map[string]struct {
		lines  []string
		kind   error
		says   string
		remedy string // FILE stands for the file
	}{
		"known beside them":    {append(slices.Clone(lines), known), nil, "", ""},
		"nothing else":         {lines, providers.ErrHostKeyUnknown, " is not known; ", ""},
		"changed beside them":  {append(slices.Clone(lines), fmt.Sprintf("[127.0.0.1]:%d %s", s.Port(), keyLine(newSigner(t)))), providers.ErrHostKeyChanged, ", known in FILE:8 is ssh-ed25519 ", ""},
		"revoked beside them":  {append(slices.Clone(lines), known, "@revoked * "+s.Pin()), providers.ErrHostKeyChanged, " is revoked in FILE:9", ""},
		"revoked is one":       {[]string{known, "\t@revoked * " + ed448}, providers.ErrHostKeyUnknown, "FILE:2, which is marked @revoked: ssh: unknown key algorithm: ssh-ed448", "correct or remove line 2 of FILE"},
		"an authority is one":  {[]string{known, "", "@cert-authority\t* " + ed448}, providers.ErrHostKeyUnknown, "FILE:3, which is marked @cert-authority: ", "correct or remove line 3 of FILE"},
		"an authority no more": {[]string{known, "#@cert-authority * " + ed448}, nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := target
			file := writeFile(t, "known_hosts", strings.Join(test.lines, "\n"))
			target.KnownHosts = []string{fine, file}
			c, err := ssh.Dial(t.Context(), target)
			if err == nil {
				_ = c.Close()
			}
			wantKind(t, err, test.kind)
			if test.kind != nil {
				wantText(t, err, strings.ReplaceAll(test.says, "FILE", file))
			}
			if got, want := providers.RemedyOf(err), strings.ReplaceAll(test.remedy, "FILE", file); got != want {
				t.Errorf("remedy %q, want %q", got, want)
			}
		})
	}
}

func TestUnreadableKnownHosts(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	target.HostKeys = nil
	for _, file := range []string{writeFile(t, "known_hosts", "") + "/within", t.TempDir()} {
		target.KnownHosts = []string{file}
		_, err := ssh.Dial(t.Context(), target)
		wantText(t, err, "cannot read known hosts: ")
		if got, want := providers.RemedyOf(err), "make "+file+" a file that can be read, or name another one in known_hosts"; got != want {
			t.Errorf("remedy %q, want %q", got, want)
		}
	}
	if s.Attempts.Load() != 0 {
		t.Errorf("%d attempts to log in", s.Attempts.Load())
	}
}
