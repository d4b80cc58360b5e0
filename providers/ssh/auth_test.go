package ssh_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	xssh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/ssh"
)

func TestWrongKey(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	wrong, _ := newKeyFile(t)
	target.Keys = []string{wrong}
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrAuth)
	if !strings.Contains(err.Error(), wrong) || s.Offers.Load() != 1 {
		t.Errorf("%d keys offered: %v", s.Offers.Load(), err)
	}
}

func TestNoKeyAtAll(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	target.Keys = nil
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrAuth)
	if s.Attempts.Load() != 0 {
		t.Errorf("%d attempts", s.Attempts.Load())
	}
}

func TestUnusableKeys(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	open, _ := newKeyFile(t)
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	nonsense := writeFile(t, "key", "no key")
	for path, text := range map[string]string{
		open:              "chmod 600",
		nonsense:          "cannot parse",
		"/does/not/exist": "no such file",
	} {
		target := target
		target.Keys = []string{path}
		_, err := ssh.Dial(t.Context(), target)
		wantKind(t, err, providers.ErrAuth)
		if err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want it to say %q", err, text)
		}
	}
	if s.Attempts.Load() != 0 {
		t.Errorf("%d attempts", s.Attempts.Load())
	}
}

func TestPassphraseIsAskedOnce(t *testing.T) {
	t.Parallel()
	path, public := protectedKeyFile(t)
	_, first := newServer(t, authorize(public))
	_, second := newServer(t, authorize(public))
	refusing, third := newServer(t)
	var asked atomic.Int64
	answers := []string{"wrong", passphrase}
	ask := func(file string) ([]byte, error) {
		if file != path {
			t.Errorf("asked for %s", file)
		}
		return []byte(answers[asked.Add(1)-1]), nil
	}
	d := &ssh.Dialer{}
	defer func() { _ = d.Close() }()
	for _, target := range []ssh.Target{third, first, second} {
		target.Keys, target.Passphrase = []string{path}, ask
		c, err := d.Dial(t.Context(), target)
		if target.Port == refusing.Port() {
			wantKind(t, err, providers.ErrAuth)
			if asked.Load() != 0 {
				t.Error("asked although the host would not accept the key")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
	}
	if asked.Load() != 2 {
		t.Errorf("asked %d times, want 2", asked.Load())
	}

	first.Keys = []string{path}
	_, err := ssh.Dial(t.Context(), first)
	wantKind(t, err, providers.ErrAuth)
	if err == nil || !strings.Contains(err.Error(), "nobody to ask") {
		t.Errorf("got %v", err)
	}
}

// A passphrase that was not known the first time is not asked for by each host again.
func TestPassphraseIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	path, public := protectedKeyFile(t)
	_, first := newServer(t, authorize(public))
	_, second := newServer(t, authorize(public))
	var asked atomic.Int64
	d := &ssh.Dialer{}
	defer func() { _ = d.Close() }()
	for _, target := range []ssh.Target{first, second} {
		target.Keys = []string{path}
		target.Passphrase = func(string) ([]byte, error) { asked.Add(1); return []byte("wrong"), nil }
		_, err := d.Dial(t.Context(), target)
		wantKind(t, err, providers.ErrAuth)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want it to name the key", err)
		}
	}
	if asked.Load() != 3 {
		t.Errorf("asked %d times, want 3 for both hosts together", asked.Load())
	}
}

// startAgent serves an agent with n keys, the last of which is also returned.
func startAgent(t *testing.T, n int) (socket string, last xssh.PublicKey, keys agent.Agent) {
	t.Helper()
	keyring := agent.NewKeyring()
	for range n {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := keyring.Add(agent.AddedKey{PrivateKey: key}); err != nil {
			t.Fatal(err)
		}
		signer, _ := xssh.NewSignerFromKey(key)
		last = signer.PublicKey()
	}
	dir, err := os.MkdirTemp("", "agent") // short: a socket's path has 107 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = agent.ServeAgent(keyring, conn); _ = conn.Close() }()
		}
	}()
	return socket, last, keyring
}

func TestAgent(t *testing.T) {
	t.Parallel()
	socket, public, _ := startAgent(t, 1)
	_, target := newServer(t, authorize(public))
	target.Keys, target.Agent = nil, socket
	dial(t, target)

	target.IdentitiesOnly = true
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrAuth)
}

func TestDeclaredKeyGoesBeforeManyAgentKeys(t *testing.T) {
	t.Parallel()
	socket, last, _ := startAgent(t, 20)
	s, target := newServer(t)
	target.Agent = socket
	dial(t, target)
	if n := s.Offers.Load(); n > 2 { // asked about, then signed
		t.Errorf("%d keys looked at, want the declared one only", n)
	}

	s, target = newServer(t, authorize(last))
	target.Keys, target.Agent = nil, socket
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrAuth)
	if n := s.Offers.Load(); n != 5 {
		t.Errorf("%d keys offered, want 5", n)
	}
}

func TestEncryptedKeyHeldByAgent(t *testing.T) {
	t.Parallel()
	path, public := protectedKeyFile(t)
	pem, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key, err := xssh.ParseRawPrivateKeyWithPassphrase(pem, []byte(passphrase))
	if err != nil {
		t.Fatal(err)
	}
	socket, _, keys := startAgent(t, 1)
	if err := keys.Add(agent.AddedKey{PrivateKey: key}); err != nil {
		t.Fatal(err)
	}
	_, target := newServer(t, authorize(public))
	target.Keys, target.Agent = []string{path}, socket
	target.Passphrase = func(string) ([]byte, error) {
		t.Error("asked for a passphrase")
		return nil, os.ErrPermission
	}
	dial(t, target)
}

func TestUserCertificate(t *testing.T) {
	t.Parallel()
	ca := newSigner(t)
	_, target := newServer(t, func(s *server) { s.UserCA = ca.PublicKey(); s.Authorized = nil })
	path, public := newKeyFile(t)
	cert := &xssh.Certificate{Key: public, CertType: xssh.UserCert, ValidPrincipals: []string{"core"}, ValidBefore: xssh.CertTimeInfinity}
	if err := cert.SignCert(rand.Reader, ca); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-cert.pub", xssh.MarshalAuthorizedKey(cert), 0o600); err != nil {
		t.Fatal(err)
	}
	target.Keys = []string{path}
	dial(t, target)
}

// TestOptionalKeys: one that cannot be used is left out; they go behind the agent's.
func TestOptionalKeys(t *testing.T) {
	t.Parallel()
	open, _ := newKeyFile(t)
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	socket, _, _ := startAgent(t, 2)
	s, target := newServer(t)
	target.OptionalKeys, target.Keys = append([]string{open, "/does/not/exist"}, target.Keys...), nil
	dial(t, target)
	target.Agent = socket
	dial(t, target)
	if n := s.Offers.Load(); n < 4 { // the key alone; two of the agent's, and the key
		t.Errorf("%d keys offered in two connections, want 4", n)
	}
	target.OptionalKeys, target.Agent = []string{open}, ""
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrAuth)
	if err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v", err)
	}
}
