package ssh_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	xssh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/ssh"
)

func TestUnauthorizedKeyIsNamed(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	wrong, _ := newKeyFile(t)
	target.Keys = []string{wrong}
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrAuth)
	wantText(t, err, "the host accepted none of these keys: "+wrong+" (ssh-ed25519 SHA256:")
	if s.Offers.Load() != 1 {
		t.Errorf("%d keys offered: %v", s.Offers.Load(), err)
	}
}

func TestMissingKeysAreExplained(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	target.Keys = nil
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrAuth)
	wantText(t, err, "there is no key to offer: no private key is set, and the agent holds none")
	// The error has the agent's reason for giving none.
	for agent, text := range map[string]string{
		"/does/not/exist": "cannot reach the ssh agent: ", deafAgent(t): "cannot list the keys of the ssh agent: ",
	} {
		target.Agent = agent
		_, err := ssh.Dial(t.Context(), target)
		wantKind(t, err, providers.ErrAuth)
		wantText(t, err, text)
	}
	if s.Attempts.Load() != 0 {
		t.Errorf("%d attempts", s.Attempts.Load())
	}
}

// deafAgent returns the socket of an agent that hangs up.
func deafAgent(t *testing.T) string {
	t.Helper()
	l, socket := listenUnix(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return socket
}

func TestUnusableKeysAreExplained(t *testing.T) {
	t.Parallel()
	s, target := newServer(t)
	open, _ := newKeyFile(t)
	if err := os.Chmod(open, 0o640); err != nil {
		t.Fatal(err)
	}
	nonsense := writeFile(t, "key", "no key")
	old := writeFile(t, "old", oldProtectedKey(t))
	plain, public := newKeyFile(t)
	bare := writeFile(t, "bare-cert.pub", string(xssh.MarshalAuthorizedKey(public)))
	for _, test := range []struct{ key, certificate, text string }{
		{open, "", "cannot use private key " + open + ": its mode 0640 lets others read it"},
		{nonsense, "", "cannot parse private key " + nonsense},
		{bare, "", "cannot use private key " + bare + ": it is a public key; name the private one"},
		{"/does/not/exist", "", "cannot read private key: open /does/not/exist: no such file"},
		{t.TempDir(), "", "is a directory, not a regular file"},
		{old, "", "cannot use private key " + old + ": it is encrypted in the old PEM form, which needs its public key beside it: "},
		{plain, "/does/not/exist", "cannot read certificate: "},
		{plain, nonsense, "cannot read certificate: cannot parse " + nonsense},
		{plain, bare, "cannot use certificate " + bare + ": it is a plain public key"},
	} {
		target := target
		target.Keys = []string{test.key}
		if test.certificate != "" {
			target.Certificates = []string{test.certificate}
		}
		_, err := ssh.Dial(t.Context(), target)
		wantKind(t, err, providers.ErrAuth)
		wantText(t, err, test.text)
	}
	if s.Attempts.Load() != 0 {
		t.Errorf("%d attempts", s.Attempts.Load())
	}
	for key, remedy := range map[string]string{
		open: "run: chmod 600 " + open, "/does/not/exist": "name a file in private_key that is there and that you may read", t.TempDir(): "name the file of the key in private_key",
	} {
		_, target := newServer(t)
		target.Keys = []string{key}
		_, err := ssh.Dial(t.Context(), target)
		wantRemedy(t, err, remedy)
	}
}

// oldProtectedKey returns a private key in the encrypted format of OpenSSH before 7.8: its
// public half is not in the file.
func oldProtectedKey(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	//lint:ignore SA1019 the old form is what is tested
	block, err := x509.EncryptPEMBlock(rand.Reader, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key), []byte(passphrase), x509.PEMCipherAES128)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
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
	wantText(t, err, "cannot use private key "+path+": it is encrypted, and there is no terminal to ask for the passphrase")
	wantRemedy(t, err, "load it into the SSH agent: ssh-add "+path)
	first.Passphrase = func(string) ([]byte, error) { return nil, errors.New("nobody is there") }
	_, err = ssh.Dial(t.Context(), first)
	wantKind(t, err, providers.ErrAuth)
	wantText(t, err, "cannot ask for the passphrase of "+path+": nobody is there")
}

// TestUnknownPassphraseIsAskedOnce checks that the operator is not asked again for each
// host if he did not know the passphrase the first time.
func TestUnknownPassphraseIsAskedOnce(t *testing.T) {
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
		wantText(t, err, "cannot decrypt private key "+path)
		wantRemedy(t, err, "try again with the right passphrase, or load the key into the SSH agent")
	}
	if asked.Load() != 3 {
		t.Errorf("asked %d times, want 3 for both hosts together", asked.Load())
	}
}

func listenUnix(t *testing.T) (l net.Listener, socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // short: a socket's path has 107 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	if l, err = net.Listen("unix", socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, socket
}

// startAgent serves an agent with n keys, and also returns the last of them.
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
	l, socket := listenUnix(t)
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

func TestAgentKeyAuthenticates(t *testing.T) {
	t.Parallel()
	socket, public, _ := startAgent(t, 1)
	_, target := newServer(t, authorize(public))
	target.Keys, target.Agent = nil, socket
	dial(t, target)

	target.IdentitiesOnly = true
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrAuth)
}

func TestDeclaredKeyPrecedesAgentKeys(t *testing.T) {
	t.Parallel()
	socket, last, _ := startAgent(t, 20)
	s, target := newServer(t)
	target.Agent = socket
	dial(t, target)
	if n := s.Offers.Load(); n > 2 { // an offer, then a signature
		t.Errorf("%d keys were offered, want the declared one only", n)
	}

	s, target = newServer(t, authorize(last))
	target.Keys, target.Agent = nil, socket
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrAuth)
	if n := s.Offers.Load(); n != 5 {
		t.Errorf("%d keys offered, want 5", n)
	}
	wantText(t, err, "; 15 more were not offered, as hosts close the connection after so many (")
	if got := providers.RemedyOf(err); got != "name the key that the host knows in private_key: it is offered before those of the agent" {
		t.Errorf("to do: %q", got)
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

func TestUserCertificateAuthenticates(t *testing.T) {
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

// TestOptionalKeysFollowAgentKeys checks that an unusable optional key is skipped, and that optional keys
// follow the agent's.
func TestOptionalKeysFollowAgentKeys(t *testing.T) {
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
	wantText(t, err, "lets others read it")
	wantRemedy(t, err, "run: chmod 600 "+open)
}
