package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"github.com/kubewright/kubewright/providers"
)

// hostKeyCheck decides about the key that one host shows. The first source with an entry
// decides: the target's pins, known_hosts, the keys that were accepted there before, and
// accept_new_host_keys for an unknown host.
type hostKeyCheck struct {
	name  string // for errors: the host's address
	known string // name:port in known_hosts
	plain string // the name without its port, which matches any port; or ""
	way   string // the host's way, by which accepted keys are remembered
	pins  []ssh.PublicKey
	files bool // known_hosts files were read: there are no pins, and at least one file
	// entries are the lines of known_hosts for known, and plainEntries those for plain.
	entries, plainEntries []knownKey
	accept                bool
	before                *acceptedKeys

	accepted ssh.PublicKey // nil until the host has shown an acceptable key
	isNew    bool          // accepted although unknown
}

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
	known, err := files.load(t.KnownHosts)
	if err != nil || known == nil {
		return c, err
	}
	c.files, c.entries, c.plainEntries = true, known.of(c.known), known.of(c.plain)
	return c, nil
}

// algorithms returns the host key algorithms to request. For a known host these are those
// of its known keys and no others: otherwise a host known by its ed25519 key might show its
// RSA key, which looks like a changed one. A CA may sign keys of any type, so a CA for the
// host admits all certificates; a host without one is as unknown as without the CA.
func (c *hostKeyCheck) algorithms() []string {
	var wanted []string
	for _, key := range c.pins {
		wanted = append(wanted, algorithmsOf(key)...)
	}
	certified := slices.ContainsFunc(c.entries, func(k knownKey) bool { return k.marker == markAuthority })
	for _, key := range trustedOf(c.entries) {
		wanted = append(wanted, algorithmsOf(key.key)...)
	}
	if len(wanted) > 0 && certified {
		wanted = append(wanted, hostCertAlgorithms...)
	}
	if len(wanted) == 0 && !certified {
		for _, key := range c.acceptedBefore() {
			wanted = append(wanted, algorithmsOf(key)...)
		}
	}
	if algos := inOrder(wanted); len(algos) > 0 {
		return algos
	}
	// No key is known, or only ones of types such as ssh-dss. Keys known without the port
	// are requested first, but not alone: they may belong to another host. A certificate may be
	// of a revoked authority.
	first := slices.Clone(hostCertAlgorithms)
	for _, key := range trustedOf(c.plainEntries) {
		first = append(first, algorithmsOf(key.key)...)
	}
	algos := inOrder(first)
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
	if !c.files {
		return c.unknown(key)
	}
	cert, ok := key.(*ssh.Certificate)
	if !ok {
		return c.judgeKey(key)
	}
	return c.judgeCertificate(cert)
}

// judgeCertificate decides about a certificate, and as OpenSSH does about the key in it if the
// certificate does not hold. Where its authority is known for the host, that key is not accepted
// as a new one.
func (c *hostKeyCheck) judgeCertificate(cert *ssh.Certificate) error {
	if line := c.find(markRevoked, cert.SignatureKey); line != nil {
		return c.changed(fmt.Errorf("its certificate is of authority %s, which is revoked in %s", describe(cert.SignatureKey), line.place()))
	}
	if line := c.find(markAuthority, cert.SignatureKey); line == nil || c.trusted(cert.Key) {
		return c.judgeKey(cert.Key)
	}
	if line := c.find(markRevoked, cert.Key); line != nil {
		return c.judgeKey(cert.Key)
	}
	name := c.alias()
	if err := certificates.CheckCert(name, cert); err != nil || cert.CertType != ssh.HostCert {
		return c.invalid(cert, name, err)
	}
	return nil
}

// certificates checks host certificates; OpenSSH knows no critical options for them either.
var certificates = ssh.CertChecker{}

// alias is the name that a certificate has to be for.
func (c *hostKeyCheck) alias() string {
	name, _, err := net.SplitHostPort(c.known)
	if err != nil {
		return c.known
	}
	return name
}

// judgeKey decides about a key without a certificate.
func (c *hostKeyCheck) judgeKey(key ssh.PublicKey) error {
	if line := c.find(markRevoked, key); line != nil {
		return c.changed(fmt.Errorf("its key %s is revoked in %s", describe(key), line.place()))
	}
	if c.trusted(key) {
		return nil
	}
	if known := trustedOf(c.entries); len(known) > 0 {
		return c.changed(fmt.Errorf("its key is %s, known in %s is %s", describe(key), known[0].place(), describe(known[0].key)))
	}
	return c.unknown(key)
}

// find returns the line of known_hosts that has a key with a marker for the host, or nil.
func (c *hostKeyCheck) find(marker string, key ssh.PublicKey) *knownKey {
	for _, k := range slices.Concat(c.entries, c.plainEntries) {
		if k.marker == marker && bytes.Equal(k.key.Marshal(), key.Marshal()) {
			return &k
		}
	}
	return nil
}

// trusted reports whether known_hosts has a key for the host, or for its name on any port if it has
// none for this port.
func (c *hostKeyCheck) trusted(key ssh.PublicKey) bool {
	known := trustedOf(c.entries)
	if len(known) == 0 {
		known = trustedOf(c.plainEntries)
	}
	return slices.ContainsFunc(known, func(k knownKey) bool { return bytes.Equal(k.key.Marshal(), key.Marshal()) })
}

// trustedOf returns the lines that are neither of an authority nor of a revoked key.
func trustedOf(entries []knownKey) []knownKey {
	return slices.DeleteFunc(slices.Clone(entries), func(k knownKey) bool { return k.marker != "" })
}

// invalid is the error for a certificate of a known authority that does not hold for a name.
func (c *hostKeyCheck) invalid(cert *ssh.Certificate, name string, err error) error {
	at := func(unix uint64) string {
		return time.Unix(int64(min(unix, math.MaxInt32<<8)), 0).UTC().Format(time.RFC3339)
	}
	now := uint64(time.Now().Unix())
	cause, remedy := fmt.Sprint(err), "have the authority certify the host again"
	switch {
	case cert.CertType != ssh.HostCert:
		cause = "it is for a user, not for a host"
	case now >= cert.ValidBefore:
		cause, remedy = "it expired at "+at(cert.ValidBefore), "renew the host's certificate, or correct the clock of this machine"
	case now < cert.ValidAfter:
		cause, remedy = "it is not valid before "+at(cert.ValidAfter), "correct the clock of this machine, or renew the host's certificate"
	case len(cert.ValidPrincipals) > 0 && !slices.Contains(cert.ValidPrincipals, name):
		cause = fmt.Sprintf("it is for %s, not for %s", providers.Sanitize(strings.Join(cert.ValidPrincipals, ", "), 200), name)
		remedy = "have the authority certify the host for " + name + ", or name the host by one of these in HostKeyAlias of the OpenSSH configuration"
	}
	return &providers.Error{
		Kind: providers.ErrHostKeyUnknown, Do: "verify host " + c.name,
		Cause: providers.WithRemedy(fmt.Errorf("its certificate of authority %s does not hold: %s", describe(cert.SignatureKey), cause), remedy),
	}
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
	known := len(c.pins)+len(trustedOf(c.entries))+len(c.acceptedBefore()) > 0
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
