package ssh

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Target is how to reach one host. Resolve fills what is not set from the
// operator's ssh configuration and OpenSSH's defaults; Dial takes it as it is.
type Target struct {
	// Address is a host name or IP address; Port is 22 when 0.
	Address string
	Port    int
	User    string
	// Keys are paths of private keys, tried in this order before any other.
	// One that cannot be used is an error, not skipped.
	Keys []string
	// OptionalKeys are paths of private keys that are tried last, and left out
	// where they cannot be used: the defaults of ssh, of which nobody spoke.
	OptionalKeys []string
	// Certificates are paths of user certificates for one of the keys. A file
	// KEY-cert.pub beside a key is found without being named.
	Certificates []string
	// Agent is the socket of the ssh agent; "" uses none.
	Agent string
	// NoAgent keeps every agent out, whatever the operator's account or ssh
	// configuration says.
	NoAgent bool
	// Config is the ssh configuration that holds for this target; "" is the operator's.
	Config string
	// IdentitiesOnly keeps the agent from offering keys of which there is no file here.
	IdentitiesOnly bool
	// HostKeys pins the host's keys, in authorized_keys form ("ssh-ed25519
	// AAAA…"). With pins, known_hosts files are not asked.
	HostKeys []string
	// KnownHosts are files in OpenSSH's form; those that do not exist are skipped.
	KnownHosts []string
	// HostKeyAlias is the name under which known_hosts knows the host.
	HostKeyAlias string
	// AcceptNewHostKeys accepts the key of a host for which none is known, to
	// be pinned afterwards (Conn.HostKeyIsNew). A changed key is refused all the same.
	AcceptNewHostKeys bool
	// Bastions are passed in this order; without them ProxyJump of the ssh
	// configuration says the way. Each has its own keys and host keys; its own
	// Bastions are not looked at.
	Bastions []Target
	Timeouts Timeouts
	// Passphrase is asked for an encrypted private key, once per key file and
	// Dialer, and only when the host would accept that key. nil: such keys fail.
	Passphrase func(keyFile string) ([]byte, error)
}

// Timeouts bounds what a host can make us wait for. Zero values mean the defaults.
type Timeouts struct {
	Connect   time.Duration // TCP connect, or the bastion's: 30 s
	Handshake time.Duration // from there until the host key is verified: as Connect
	Auth      time.Duration // from there until logged in, asking the operator excepted: 30 s
	// Keepalive is sent this often: 10 s. After KeepaliveMisses (3) of them
	// without any byte from the host the connection is dead.
	Keepalive       time.Duration
	KeepaliveMisses int
	// Open is how long the host may take to open a session, to begin a command, or to
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

// hostPort returns the address to dial, and the name under which host keys are known.
func (t Target) hostPort() string {
	port := t.Port
	if port == 0 {
		port = defaultPort
	}
	return net.JoinHostPort(t.Address, strconv.Itoa(port))
}

// knownAs returns the name:port to look up in known_hosts. An alias stands without
// its port there, which is how port 22 is written (ssh_config(5), HostKeyAlias).
func (t Target) knownAs() string {
	if t.HostKeyAlias != "" {
		return net.JoinHostPort(t.HostKeyAlias, strconv.Itoa(defaultPort))
	}
	return t.hostPort()
}

// knownOnAnyPort returns the name by which known_hosts may know the host although it stands
// without the port there, as ssh looks for it next; "" where that is no other one.
func (t Target) knownOnAnyPort() string {
	plain := net.JoinHostPort(t.Address, strconv.Itoa(defaultPort))
	if t.HostKeyAlias != "" || plain == t.hostPort() {
		return ""
	}
	return plain
}

// String is user@address:port, for errors.
func (t Target) String() string { return t.User + "@" + t.hostPort() }

// check refuses addresses and users that could be taken for something else, in
// a log or by a program, and targets that lack what Dial needs.
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
