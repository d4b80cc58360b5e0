package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/safefile"
)

// maxOffered limits the keys offered to a host. sshd closes the connection after
// MaxAuthTries, 6, and "none" is the first attempt.
const maxOffered = 5

// askTime is how long the operator has to type a passphrase or to touch a security key.
// sshd itself gives up after LoginGraceTime, 120 s.
const askTime = 2 * time.Minute

// keyring holds the private keys of a Dialer. It reads a key file once and asks for its
// passphrase once, however many hosts use it.
type keyring struct {
	mu   sync.Mutex
	keys map[string]*keyFile
}

// keyFile is a private key, decrypted on first use.
type keyFile struct {
	path   string
	public ssh.PublicKey
	ask    func(path string) ([]byte, error)

	mu     sync.Mutex
	sealed []byte     // PEM, while encrypted
	signer ssh.Signer // nil, while encrypted
	locked error      // why it stays encrypted: the operator is not asked again
}

// load reads a key file. Like ssh it refuses one that others can read.
func (r *keyring) load(path string, ask func(string) ([]byte, error)) (*keyFile, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if k, ok := r.keys[path]; ok {
		return k, nil
	}
	pemBytes, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	k := &keyFile{path: path, ask: ask}
	if err := k.parse(pemBytes); err != nil {
		return nil, err
	}
	if r.keys == nil {
		r.keys = map[string]*keyFile{}
	}
	r.keys[path] = k
	return k, nil
}

// maxFile bounds the size of a key or a certificate, in bytes.
const maxFile = 1 << 20

func readPrivate(path string) ([]byte, error) {
	f, err := safefile.OpenLinked(path)
	if kind, isNone := errors.AsType[*safefile.NotRegular](err); isNone {
		return nil, providers.WithRemedy(fmt.Errorf("cannot use private key %s: %w", path, kind), "name the file of the key in private_key")
	}
	if err != nil {
		return nil, providers.WithRemedy(fmt.Errorf("cannot read private key: %w", err), "name a file in private_key that is there and that you may read")
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("cannot read private key: %w", err)
	}
	b, err := safefile.ReadAll(f, maxFile)
	if _, _, _, _, other := ssh.ParseAuthorizedKey(b); other == nil {
		return nil, fmt.Errorf("cannot use private key %s: it is a public key; name the private one, which mostly has the name without .pub", path)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return nil, providers.WithRemedy(fmt.Errorf("cannot use private key %s: its mode %04o lets others read it", path, perm), "run: chmod 600 "+state.ShellWord(path))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read private key: %w", err)
	}
	return b, nil
}

// parse parses the key as far as possible without a passphrase. The public half of an
// encrypted key is in the file itself, or in a .pub file next to it.
func (k *keyFile) parse(pemBytes []byte) error {
	signer, err := ssh.ParsePrivateKey(pemBytes)
	if err == nil {
		k.signer, k.public = signer, signer.PublicKey()
		return nil
	}
	var missing *ssh.PassphraseMissingError
	if !errors.As(err, &missing) {
		return fmt.Errorf("cannot parse private key %s: %w", k.path, err)
	}
	k.sealed, k.public = pemBytes, missing.PublicKey
	if k.public == nil {
		k.public, err = readPublic(k.path + ".pub")
		if err != nil {
			return fmt.Errorf("cannot use private key %s: it is encrypted in the old PEM form, which needs its public key beside it: %w", k.path, err)
		}
	}
	return nil
}

func readPublic(path string) (ssh.PublicKey, error) {
	b, err := safefile.ReadLinked(path, maxFile)
	if err != nil {
		return nil, err
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(b)
	if err != nil {
		return nil, fmt.Errorf("cannot parse %s: %w", path, err)
	}
	return key, nil
}

// passphraseTries is how often the operator is asked for a passphrase, as with ssh
// (NumberOfPasswordPrompts).
const passphraseTries = 3

// unlock returns the key's signer, and asks for the passphrase if need be.
func (k *keyFile) unlock() (ssh.Signer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.signer != nil || k.locked != nil {
		return k.signer, k.locked
	}
	k.signer, k.locked = k.decrypt()
	return k.signer, k.locked
}

func (k *keyFile) decrypt() (ssh.Signer, error) {
	if k.ask == nil {
		return nil, providers.WithRemedy(fmt.Errorf("cannot use private key %s: it is encrypted, and there is no terminal to ask for the passphrase", k.path), "load it into the SSH agent: ssh-add "+state.ShellWord(k.path))
	}
	var err error
	for range passphraseTries {
		var passphrase []byte
		if passphrase, err = k.ask(k.path); err != nil {
			return nil, fmt.Errorf("cannot ask for the passphrase of %s: %w", k.path, err)
		}
		var signer ssh.Signer
		signer, err = ssh.ParsePrivateKeyWithPassphrase(k.sealed, passphrase)
		clear(passphrase)
		if err == nil {
			k.sealed = nil
			return signer, nil
		}
	}
	return nil, providers.WithRemedy(fmt.Errorf("cannot decrypt private key %s: %w", k.path, err), "try again with the right passphrase, or load the key into the SSH agent")
}

// offer is one key as offered to a host.
type offer struct {
	name   string // path or agent comment, for errors
	signer ssh.Signer
}

// lazySigner signs with a key that may first have to be decrypted, or touched. x/crypto
// asks a host whether it accepts a key before it requests a signature.
type lazySigner struct {
	public  ssh.PublicKey
	get     func() (ssh.Signer, error)
	patient func(func()) // runs something while the host's deadline is suspended
	failed  func(error)  // gets the reason for a missing signature
}

func (s *lazySigner) PublicKey() ssh.PublicKey { return s.public }

// Algorithms returns the key's signature algorithms: all of its type except ssh-rsa
// (SHA-1).
func (s *lazySigner) Algorithms() []string {
	public := s.public
	if cert, ok := public.(*ssh.Certificate); ok {
		public = cert.Key
	}
	return algorithmsOf(public)
}

func (s *lazySigner) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return s.SignWithAlgorithm(rand, data, s.Algorithms()[0])
}

func (s *lazySigner) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (sig *ssh.Signature, err error) {
	s.patient(func() { sig, err = s.sign(rand, data, algorithm) })
	if err != nil {
		s.failed(err)
	}
	return sig, err
}

func (s *lazySigner) sign(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	signer, err := s.get()
	if err != nil {
		return nil, err
	}
	if as, ok := signer.(ssh.AlgorithmSigner); ok {
		return as.SignWithAlgorithm(rand, data, algorithm)
	}
	return signer.Sign(rand, data)
}

// identities are the keys to offer to one host.
type identities struct {
	target Target
	ring   *keyring
	agent  agentSigners
	// patient and failed are those of lazySigner.
	patient func(func())
	failed  func(error)

	offers  []offer
	left    int             // the number of keys beyond the limit
	seen    map[string]bool // public keys that are offered
	skipped []error         // why optional keys are not
}

// collect gathers the keys to offer: those that the target names, in order, then those of
// the agent, then the optional ones. The closer closes the connection to the agent.
func (i *identities) collect() (io.Closer, error) {
	i.seen = map[string]bool{}
	held, closer, err := agentKeys(i.target.Agent)
	if err != nil {
		i.skipped = append(i.skipped, err)
	}
	i.agent = held
	for _, path := range i.target.Keys {
		if err := i.addFile(path); err != nil {
			_ = closer.Close()
			return nil, err
		}
	}
	files := i.offers
	i.offers = nil
	for _, path := range i.target.OptionalKeys {
		if err := i.addFile(path); err != nil {
			i.skipped = append(i.skipped, err)
		}
	}
	optional := i.offers
	i.offers = files
	if !i.target.IdentitiesOnly {
		for _, signer := range held {
			i.add("agent", signer.PublicKey(), func() (ssh.Signer, error) { return signer, nil })
		}
	}
	i.offers = append(i.offers, optional...)
	i.left = max(0, len(i.offers)-maxOffered)
	i.offers = i.offers[:len(i.offers)-i.left]
	return closer, nil
}

// addFile adds a key file, preceded by its certificates. An encrypted key that the agent
// holds as well signs through the agent, which avoids asking.
func (i *identities) addFile(path string) error {
	key, err := i.ring.load(path, i.target.Passphrase)
	if err != nil {
		return err
	}
	get := key.unlock
	if held := i.agent.find(key.public); held != nil && key.encrypted() {
		get = func() (ssh.Signer, error) { return held, nil }
	}
	certs, err := certificatesFor(key, i.target.Certificates)
	if err != nil {
		return err
	}
	for _, cert := range certs {
		i.add(path+" with certificate", cert, get)
	}
	i.add(path, key.public, get)
	return nil
}

// add offers a key, once.
func (i *identities) add(name string, public ssh.PublicKey, get func() (ssh.Signer, error)) {
	if i.seen[string(public.Marshal())] {
		return
	}
	i.seen[string(public.Marshal())] = true
	i.offers = append(i.offers, offer{name, &lazySigner{public, get, i.patient, i.failed}})
}

// none returns why there is no key to offer.
func (i *identities) none() error {
	why := errors.New("there is no key to offer: no private key is set, and the agent holds none")
	return errors.Join(append([]error{why}, i.skipped...)...)
}

func (k *keyFile) encrypted() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.signer == nil
}

// certificatesFor reads the user certificates that belong to a key.
func certificatesFor(key *keyFile, paths []string) ([]*ssh.Certificate, error) {
	var certs []*ssh.Certificate
	for _, path := range slices.Concat(paths, []string{key.path + "-cert.pub"}) {
		public, err := readPublic(path)
		if errors.Is(err, fs.ErrNotExist) && !slices.Contains(paths, path) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read certificate: %w", err)
		}
		cert, ok := public.(*ssh.Certificate)
		if !ok {
			return nil, fmt.Errorf("cannot use certificate %s: it is a plain public key", path)
		}
		if bytes.Equal(cert.Key.Marshal(), key.public.Marshal()) {
			certs = append(certs, cert)
		}
	}
	return certs, nil
}

// agentSigners are the keys that the operator's agent holds.
type agentSigners []ssh.Signer

func (s agentSigners) find(public ssh.PublicKey) ssh.Signer {
	for _, signer := range s {
		if bytes.Equal(signer.PublicKey().Marshal(), public.Marshal()) {
			return signer
		}
	}
	return nil
}

// agentTimeout bounds requests to the agent, except for signatures.
const agentTimeout = 5 * time.Second

// agentKeys lists the agent's keys. The closer, never nil, closes the connection to the
// agent when the keys are no longer needed.
func agentKeys(socket string) (agentSigners, io.Closer, error) {
	if socket == "" {
		return nil, io.NopCloser(nil), nil
	}
	conn, err := net.DialTimeout("unix", socket, agentTimeout)
	if err != nil {
		return nil, io.NopCloser(nil), fmt.Errorf("cannot reach the ssh agent: %w", err)
	}
	_ = conn.SetDeadline(time.Now().Add(agentTimeout))
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		_ = conn.Close()
		return nil, io.NopCloser(nil), fmt.Errorf("cannot list the keys of the ssh agent: %w", err)
	}
	_ = conn.SetDeadline(time.Time{})
	return signers, conn, nil
}
