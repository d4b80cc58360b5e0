package ssh

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Target is how to reach one host. Resolve fills unset fields from the operator's ssh
// configuration and OpenSSH's defaults; Dial uses it unchanged.
type Target struct {
	// Address is a host name or IP address; Port is 22 when 0.
	Address string
	Port    int
	User    string
	// Keys are paths of private keys, tried in this order before any other. An unusable one
	// is an error, not skipped.
	Keys []string
	// OptionalKeys are paths of private keys that are tried last, and skipped if they are
	// unusable: the defaults of ssh, which the operator has not named.
	OptionalKeys []string
	// Certificates are paths of user certificates for one of the keys. A file KEY-cert.pub
	// next to a key is found by itself.
	Certificates []string
	// Agent is the socket of the ssh agent; "" uses none.
	Agent string
	// NoAgent disables every agent, whatever the operator's account or ssh configuration
	// says.
	NoAgent bool
	// Config is the ssh configuration for this target; "" means the operator's.
	Config string
	// IdentitiesOnly keeps the agent from offering keys that have no file here.
	IdentitiesOnly bool
	// HostKeys pins the host's keys, in authorized_keys form ("ssh-ed25519 AAAA…"). With
	// pins, known_hosts files are not read.
	HostKeys []string
	// KnownHosts are files in OpenSSH's form; those that do not exist are skipped.
	KnownHosts []string
	// HostKeyAlias is the host's name in known_hosts.
	HostKeyAlias string
	// AcceptNewHostKeys accepts the key of an unknown host, to be pinned afterwards
	// (Conn.HostKeyIsNew). A changed key is still refused.
	AcceptNewHostKeys bool
	// Bastions are passed in this order; without them ProxyJump of the ssh configuration
	// determines the way. Each has its own keys and host keys; its own Bastions are
	// ignored.
	Bastions []Target
	Timeouts Timeouts
	// Passphrase asks for the passphrase of an encrypted private key, once per key file and
	// Dialer, and only if the host would accept that key. If nil, such keys fail.
	Passphrase func(keyFile string) ([]byte, error)
}

// Timeouts bounds how long a host can make us wait. Zero values mean the defaults.
type Timeouts struct {
	Connect   time.Duration // TCP connect, or that of the bastion: 30 s
	Handshake time.Duration // from there until the host key is verified: as Connect
	Auth      time.Duration // from there until logged in, asking the operator excepted: 30 s
	// Keepalive is the interval of keepalives: 10 s. After KeepaliveMisses (3) of them
	// without any byte from the host the connection counts as dead.
	Keepalive       time.Duration
	KeepaliveMisses int
	// Open is how long the host may take to open a session, to start a command, or to
	// connect to an address: 2 min.
	Open time.Duration
}

// Defaults for Timeouts.
const (
	defaultConnect   = 30 * time.Second
	defaultAuth      = 30 * time.Second
	defaultKeepalive = 10 * time.Second
	defaultMisses    = 3
	defaultOpen      = 2 * time.Minute
	defaultPort      = 22
)

// withDefaults returns t with every zero value replaced.
func (t Timeouts) withDefaults() Timeouts {
	set := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	set(&t.Connect, defaultConnect)
	set(&t.Handshake, t.Connect) // ConnectTimeout of ssh_config(5) bounds it too
	set(&t.Auth, defaultAuth)
	set(&t.Keepalive, defaultKeepalive)
	set(&t.Open, defaultOpen)
	if t.KeepaliveMisses <= 0 {
		t.KeepaliveMisses = defaultMisses
	}
	return t
}

// hostPort returns the address to dial, which is also the name for host keys.
func (t Target) hostPort() string {
	port := t.Port
	if port == 0 {
		port = defaultPort
	}
	return net.JoinHostPort(t.Address, strconv.Itoa(port))
}

// knownAs returns the name:port to look up in known_hosts. An alias is there without a
// port, in the form for port 22 (ssh_config(5), HostKeyAlias).
func (t Target) knownAs() string {
	if t.HostKeyAlias != "" {
		return net.JoinHostPort(t.HostKeyAlias, strconv.Itoa(defaultPort))
	}
	return t.hostPort()
}

// knownOnAnyPort returns the name without the port by which known_hosts may know the host,
// as ssh looks it up next; "" if that is the same name.
func (t Target) knownOnAnyPort() string {
	plain := net.JoinHostPort(t.Address, strconv.Itoa(defaultPort))
	if t.HostKeyAlias != "" || plain == t.hostPort() {
		return ""
	}
	return plain
}

// String returns user@address:port, for errors.
func (t Target) String() string { return t.User + "@" + t.hostPort() }

// check refuses addresses and users that a log or a program could misinterpret, and targets
// that lack what Dial needs.
func (t Target) check() error {
	if err := checkWord("host", t.Address); err != nil {
		return err
	}
	if err := checkWord("user", t.User); err != nil {
		return err
	}
	if t.Port < 0 || t.Port > 65535 {
		return fmt.Errorf("port %d is not between 1 and 65535", t.Port)
	}
	for _, b := range t.Bastions {
		if err := b.check(); err != nil {
			return fmt.Errorf("bastion: %w", err)
		}
	}
	return nil
}

func checkWord(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s is empty", what)
	case strings.HasPrefix(s, "-"):
		return fmt.Errorf("%s %q begins with a dash", what, s)
	}
	for _, r := range s {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`'"\$;&|<>()`+"`", r) {
			return fmt.Errorf("%s %q contains %q", what, s, r)
		}
	}
	return nil
}
