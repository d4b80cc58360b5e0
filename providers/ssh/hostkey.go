package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubewright/kubewright/providers"
)

// hostKeyCheck decides about the key that one host shows. The first source with an entry
// decides: the target's pins, known_hosts, the keys that were accepted there before, and
// accept_new_host_keys for an unknown host.
type hostKeyCheck struct {
	name   string // for errors: the host's address
	known  string // name:port in known_hosts
	plain  string // the name without its port, which matches any port; or ""
	way    string // the host's way, by which accepted keys are remembered
	pins   []ssh.PublicKey
	db     *knownHosts // nil with pins, or without any file
	accept bool
	before *acceptedKeys

	accepted ssh.PublicKey // nil until the host has shown an acceptable key
	isNew    bool          // accepted although unknown
}

// anyAddress stands for the host's IP address, which is not used to look up keys: only the
// name that the operator wrote counts.
var anyAddress = &net.TCPAddr{IP: net.IPv4zero}

// newHostKeyCheck reads the target's pins and known_hosts files.
func newHostKeyCheck(t Target, way string, files *knownHostsCache, before *acceptedKeys) (*hostKeyCheck, error) {
	c := &hostKeyCheck{name: t.Address, known: t.knownAs(), plain: t.knownOnAnyPort(), way: way, accept: t.AcceptNewHostKeys, before: before}
	for _, pin := range t.HostKeys {
		key, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(pin))
		if err != nil || len(bytes.TrimSpace(rest)) > 0 {
			return nil, fmt.Errorf("host_key %q is not a public key such as \"ssh-ed25519 AAAA…\"", providers.Sanitize(pin, 60))
		}
		c.pins = append(c.pins, key)
	}
	if len(c.pins) > 0 {
		return c, nil
	}
	var err error
	c.db, err = files.load(t.KnownHosts)
	return c, err
}

// algorithms returns the host key algorithms to request. For a known host these are those
// of its known keys and no others: otherwise a host known by its ed25519 key might show its
// RSA key, which looks like a changed one. A CA may sign keys of any type, so a CA for the
// host admits all certificates.
func (c *hostKeyCheck) algorithms() []string {
	var wanted []string
	for _, key := range c.pins {
		wanted = append(wanted, algorithmsOf(key)...)
	}
	for _, key := range c.knownKeys(c.known) {
		if key.Cert {
			wanted = append(wanted, hostCertAlgorithms...)
		} else {
			wanted = append(wanted, algorithmsOf(key)...)
		}
	}
	if len(wanted) == 0 {
		for _, key := range c.acceptedBefore() {
			wanted = append(wanted, algorithmsOf(key)...)
		}
	}
	if algos := inOrder(wanted); len(algos) > 0 {
		return algos
	}
	// No key is known, or only ones of types such as ssh-dss. Keys known without the port
	// are requested first, but not alone: they may belong to another host.
	var maybe []string
	for _, key := range c.knownKeys(c.plain) {
		if !key.Cert {
			maybe = append(maybe, algorithmsOf(key)...)
		}
	}
	algos := inOrder(maybe)
	for _, algo := range hostKeyAlgorithms {
		if !slices.Contains(algos, algo) {
			algos = append(algos, algo)
		}
	}
	return algos
}

// inOrder returns the supported algorithms among wanted, best first.
func inOrder(wanted []string) []string {
	var algos []string
	for _, algo := range slices.Concat(hostCertAlgorithms, hostKeyAlgorithms) {
		if slices.Contains(wanted, algo) {
			algos = append(algos, algo)
		}
	}
	return algos
}

// knownKeys returns the keys that known_hosts has for a name.
func (c *hostKeyCheck) knownKeys(name string) []knownhosts.PublicKey {
	if c.db == nil || name == "" {
		return nil
	}
	return c.db.HostKeys(name)
}

// acceptedBefore returns the keys of which a new key has to be one.
func (c *hostKeyCheck) acceptedBefore() []ssh.PublicKey {
	if !c.accept || len(c.pins) > 0 {
		return nil
	}
	return c.before.of(c.way)
}

func algorithmsOf(key ssh.PublicKey) []string {
	if key.Type() == ssh.KeyAlgoRSA {
		return rsaSignatures
	}
	return []string{key.Type()}
}

// verify is the ssh.HostKeyCallback. It runs before anything is sent that could be of use
// to an impostor. Errors are a *providers.Error of kind ErrHostKeyUnknown or
// ErrHostKeyChanged.
func (c *hostKeyCheck) verify(_ string, _ net.Addr, key ssh.PublicKey) error {
	err := c.judge(key)
	if cert, ok := key.(*ssh.Certificate); ok {
		key = cert.Key
	}
	if err == nil {
		c.accepted = key
	}
	return err
}

func (c *hostKeyCheck) judge(key ssh.PublicKey) error {
	if len(c.pins) > 0 {
		if contains(c.pins, key) {
			return nil
		}
		return c.changed(fmt.Errorf("its key is %s, pinned is %s", describe(key), describe(c.pins[0])))
	}
	if c.db == nil {
		return c.unknown(key)
	}
	err := c.db.HostKeyCallback()(c.known, anyAddress, key)
	if err == nil || c.plain != "" && len(c.knownKeys(c.known)) == 0 && c.db.HostKeyCallback()(c.plain, anyAddress, key) == nil {
		return nil
	}
	var keyErr *xknownhosts.KeyError
	var revoked *xknownhosts.RevokedError
	switch {
	case errors.As(err, &revoked):
		return c.changed(fmt.Errorf("its key %s is revoked in %s", describe(key), c.db.place(revoked.Revoked)))
	case errors.As(err, &keyErr) && len(keyErr.Want) == 0:
		return c.unknown(key)
	case errors.As(err, &keyErr):
		want := keyErr.Want[0]
		return c.changed(fmt.Errorf("its key is %s, known in %s is %s", describe(key), c.db.place(want), describe(want.Key)))
	}
	return c.changed(err) // an invalid certificate
}

func contains(keys []ssh.PublicKey, key ssh.PublicKey) bool {
	return slices.ContainsFunc(keys, func(k ssh.PublicKey) bool { return bytes.Equal(k.Marshal(), key.Marshal()) })
}

func (c *hostKeyCheck) unknown(key ssh.PublicKey) error {
	if _, isCert := key.(*ssh.Certificate); !isCert && c.accept {
		before := c.before.accept(c.way, key)
		if len(before) > 0 && !contains(before, key) {
			return c.changed(fmt.Errorf("its key is %s, accepted before was %s", describe(key), describe(before[0])))
		}
		c.isNew = len(before) == 0
		return nil
	}
	return &providers.Error{
		Kind: providers.ErrHostKeyUnknown,
		Do:   "verify host " + c.name,
		Cause: fmt.Errorf("its key %s is not known; if it is right, set host_key = %q for it, or add this line to known_hosts: %s",
			describe(key), marshalKey(key), xknownhosts.Line([]string{c.known}, key)),
	}
}

func (c *hostKeyCheck) changed(cause error) error {
	return &providers.Error{Kind: providers.ErrHostKeyChanged, Do: "verify host " + c.name, Cause: cause}
}

// explain interprets a failed negotiation of a known host's key type: the host no longer
// has any of its known keys.
func (c *hostKeyCheck) explain(err error) error {
	var neg *ssh.AlgorithmNegotiationError
	known := len(c.pins)+len(c.knownKeys(c.known))+len(c.acceptedBefore()) > 0
	if !errors.As(err, &neg) || neg.What != "host key" || !known {
		return err
	}
	return c.changed(fmt.Errorf("it has none of the key types known for it (%s), only %s",
		strings.Join(neg.SupportedAlgorithms, ", "),
		providers.Sanitize(strings.Join(neg.RequestedAlgorithms, ", "), 200)))
}

// describe names a key by type and fingerprint, as ssh does.
func describe(key ssh.PublicKey) string {
	return key.Type() + " " + ssh.FingerprintSHA256(key)
}

// marshalKey returns the authorized_keys form without comment: "ssh-ed25519 AAAA…".
func marshalKey(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// acceptedKeys are the accepted keys of unknown hosts, keyed by the ways to them.
type acceptedKeys struct {
	mu   sync.Mutex
	keys map[string][]ssh.PublicKey
}

func (a *acceptedKeys) of(way string) []ssh.PublicKey {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.keys[way]
}

// accept returns the keys that were accepted before. If there are none, key becomes the
// first.
func (a *acceptedKeys) accept(way string, key ssh.PublicKey) []ssh.PublicKey {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.keys[way]
	if len(before) == 0 {
		a.add(way, key)
	}
	return before
}

func (a *acceptedKeys) add(way string, key ssh.PublicKey) {
	if a.keys == nil {
		a.keys = map[string][]ssh.PublicKey{}
	}
	if !contains(a.keys[way], key) {
		a.keys[way] = append(a.keys[way], key)
	}
}
