package ssh

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kevinburke/ssh_config"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state/safefile"
)

// Operator is the part of the operator's account that is used to reach hosts.
type Operator struct {
	Home string
	// User is the login name, the default for Target.User.
	User string
	// Agent is the agent's socket, "" without one.
	Agent string
	// Config is a file in ssh_config(5) form; "" for none. It is never written; Match exec
	// and ProxyCommand are refused rather than ignored.
	Config string
	// GlobalKnownHosts are read in addition to the user's own known_hosts.
	GlobalKnownHosts []string
}

// CurrentOperator returns the account under which kubewright runs.
func CurrentOperator() Operator {
	o := Operator{
		Agent:            os.Getenv("SSH_AUTH_SOCK"),
		GlobalKnownHosts: []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"},
	}
	if u, err := user.Current(); err == nil {
		o.User, o.Home = u.Username, u.HomeDir
	}
	if home, err := os.UserHomeDir(); err == nil {
		o.Home = home
	}
	if o.Home != "" {
		o.Config = filepath.Join(o.Home, ".ssh", "config")
	}
	return o
}

// maxJumps limits chains of ProxyJump entries.
const maxJumps = 8

// Resolve fills the unset fields of the target: first from the operator's ssh configuration
// for that address (HostName, User, Port, IdentityFile, IdentitiesOnly, IdentityAgent,
// CertificateFile, ProxyJump, UserKnownHostsFile, HostKeyAlias, ConnectTimeout,
// ServerAliveInterval, ServerAliveCountMax), then with OpenSSH's defaults. Files that the
// target names must exist; absent files that only the configuration or the defaults name
// are skipped.
func Resolve(t Target, o Operator) (Target, error) {
	r := &resolver{operator: o, configs: map[string]*ssh_config.Config{}}
	return r.resolve(t, 0)
}

// otherConfig is the remedy for a configuration that cannot be used.
const otherConfig = "take that out of the OpenSSH configuration, or name another file in ssh_config, or none with ssh_config = \"none\""

func readConfig(path string) (*ssh_config.Config, error) {
	if path == "" {
		return &ssh_config.Config{}, nil
	}
	text, err := safefile.ReadLinked(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &ssh_config.Config{}, nil
	}
	if err != nil {
		return nil, providers.WithRemedy(fmt.Errorf("cannot read ssh configuration: %w", err), "make "+path+" a file that can be read, or name another one in ssh_config, or none with ssh_config = \"none\"")
	}
	check := configCheck{left: maxFile}
	if err := check.text("", text, 0); err != nil {
		return nil, providers.WithRemedy(fmt.Errorf("cannot read ssh configuration %s: %w", path, err), otherConfig)
	}
	config, err := ssh_config.DecodeBytes([]byte(plainIncludes(string(text))))
	if err != nil {
		return nil, providers.WithRemedy(fmt.Errorf("cannot read ssh configuration %s: %w", path, err), otherConfig)
	}
	return config, nil
}

type resolver struct {
	operator Operator
	// configs are the files read so far, by path.
	configs map[string]*ssh_config.Config
	// config is the configuration of the current target.
	config *ssh_config.Config
}

// configure reads the configuration that applies to the target.
func (r *resolver) configure(t Target) error {
	path := firstOf(t.Config, r.operator.Config)
	if r.configs[path] == nil {
		config, err := readConfig(path)
		if err != nil {
			return err
		}
		r.configs[path] = config
	}
	r.config = r.configs[path]
	return nil
}

func (r *resolver) resolve(t Target, depth int) (Target, error) {
	if err := r.configure(t); err != nil {
		return Target{}, err
	}
	alias := t.Address // Host patterns match the address as written, not HostName
	get := func(key string) string { v, _ := r.config.Get(alias, key); return v }
	if err := r.refuseUnsupported(t, alias); err != nil {
		return Target{}, err
	}
	if name := get("HostName"); name != "" {
		t.Address = strings.ReplaceAll(name, "%h", alias)
	}
	t.User = firstOf(t.User, get("User"), r.operator.User)
	if t.HostKeyAlias == "" {
		t.HostKeyAlias = get("HostKeyAlias")
	}
	if err := r.numbers(&t, get); err != nil {
		return Target{}, providers.WithRemedy(fmt.Errorf("cannot use ssh configuration for %s: %w", alias, err), otherConfig)
	}
	r.identities(&t, alias)
	r.knownHosts(&t, get("UserKnownHostsFile"))
	if err := r.jumps(&t, get("ProxyJump"), depth); err != nil {
		return Target{}, err
	}
	return t, nil
}

// refuseUnsupported fails if ignoring a part of the configuration would lead to another
// host than the operator's own ssh.
func (r *resolver) refuseUnsupported(t Target, alias string) error {
	command, _ := r.config.Get(alias, "ProxyCommand")
	if command == "" || strings.EqualFold(command, "none") || len(t.Bastions) > 0 {
		return nil
	}
	return providers.WithRemedy(fmt.Errorf("cannot use ssh configuration for %s: ProxyCommand is not supported", alias),
		"use ProxyJump there, or a bastion block")
}

func (r *resolver) numbers(t *Target, get func(string) string) error {
	number := func(key string, to *int) error {
		text := get(key)
		if text == "" || strings.EqualFold(text, "none") {
			return nil
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return fmt.Errorf("%s %q is not a number", key, text)
		}
		if *to == 0 {
			*to = n
		}
		return nil
	}
	duration := func(key string, to *time.Duration) error {
		text := get(key)
		if text == "" || strings.EqualFold(text, "none") {
			return nil
		}
		d, ok := parseTime(text)
		if !ok {
			return fmt.Errorf("%s %q is not a time such as 90 or 1m30s", key, text)
		}
		if *to == 0 {
			*to = d
		}
		return nil
	}
	return errors.Join(
		number("Port", &t.Port),
		duration("ConnectTimeout", &t.Timeouts.Connect),
		duration("ServerAliveInterval", &t.Timeouts.Keepalive),
		number("ServerAliveCountMax", &t.Timeouts.KeepaliveMisses),
	)
}

// parseTime parses a time as specified in sshd_config(5) under TIME FORMATS: numbers, each
// followed by a unit; seconds without one.
func parseTime(text string) (time.Duration, bool) {
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	var sum time.Duration
	for rest := strings.ToLower(text); rest != ""; {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 32)
		if err != nil {
			return 0, false
		}
		unit := time.Second
		if rest = rest[digits:]; rest != "" {
			if unit = units[rest[0]]; unit == 0 {
				return 0, false
			}
			rest = rest[1:]
		}
		if sum += time.Duration(n) * unit; sum < 0 || time.Duration(n) > math.MaxInt32*time.Second/unit {
			return 0, false
		}
	}
	return sum, true
}

// defaultKeys are ssh's default keys in its order (ssh(1), -i), of the types supported
// here.
var defaultKeys = []string{"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"}

func (r *resolver) identities(t *Target, alias string) {
	get := func(key string) string { v, _ := r.config.Get(alias, key); return v }
	named := len(t.Keys) > 0
	t.Keys, t.Certificates = slices.Clone(t.Keys), slices.Clone(t.Certificates)
	for i, path := range t.Keys {
		t.Keys[i] = r.path(path, *t, alias)
	}
	for i, path := range t.Certificates {
		t.Certificates[i] = r.path(path, *t, alias)
	}
	if !named {
		files, _ := r.config.GetAll(alias, "IdentityFile")
		t.Keys = r.existing(files, *t, alias)
		if len(files) == 0 && len(t.OptionalKeys) == 0 {
			t.OptionalKeys = r.existing(defaultKeys, *t, alias)
		}
	}
	if len(t.Certificates) == 0 {
		files, _ := r.config.GetAll(alias, "CertificateFile")
		t.Certificates = r.existing(files, *t, alias)
	}
	t.IdentitiesOnly = t.IdentitiesOnly || strings.EqualFold(get("IdentitiesOnly"), "yes")
	if t.NoAgent {
		t.Agent = ""
	} else if t.Agent == "" {
		t.Agent = r.agent(get("IdentityAgent"), *t, alias)
	}
}

func (r *resolver) agent(configured string, t Target, alias string) string {
	switch {
	case configured == "" || configured == "SSH_AUTH_SOCK":
		return r.operator.Agent
	case strings.EqualFold(configured, "none"):
		return ""
	case strings.HasPrefix(configured, "$"):
		return os.Getenv(strings.Trim(configured, "${}"))
	}
	return r.path(configured, t, alias)
}

func (r *resolver) knownHosts(t *Target, configured string) {
	if len(t.KnownHosts) > 0 {
		t.KnownHosts = slices.Clone(t.KnownHosts)
		for i, path := range t.KnownHosts {
			t.KnownHosts[i] = r.path(path, *t, t.Address)
		}
		return
	}
	if configured == "" {
		configured = "~/.ssh/known_hosts ~/.ssh/known_hosts2"
	}
	for path := range strings.FieldsSeq(configured) {
		if !strings.EqualFold(path, "none") {
			t.KnownHosts = append(t.KnownHosts, r.path(path, *t, t.Address))
		}
	}
	t.KnownHosts = append(t.KnownHosts, r.operator.GlobalKnownHosts...)
}

// jumps resolves the bastions: those of the target, or those of ProxyJump. A bastion with
// bastions of its own is reached through them.
func (r *resolver) jumps(t *Target, proxyJump string, depth int) error {
	hops := slices.Clone(t.Bastions)
	if len(hops) == 0 && !strings.EqualFold(proxyJump, "none") {
		for part := range strings.SplitSeq(proxyJump, ",") {
			if part = strings.TrimSpace(part); part == "" {
				continue
			}
			hop, err := parseJump(part)
			if err != nil {
				return providers.WithRemedy(fmt.Errorf("cannot use ssh configuration for %s: %w", t.Address, err), otherConfig)
			}
			hop.AcceptNewHostKeys, hop.Passphrase, hop.NoAgent = t.AcceptNewHostKeys, t.Passphrase, t.NoAgent
			hops = append(hops, hop)
		}
	}
	if len(hops) > 0 && depth == maxJumps {
		return providers.WithRemedy(fmt.Errorf("cannot use ssh configuration for %s: ProxyJump leads on more than %d times", t.Address, maxJumps), otherConfig)
	}
	t.Bastions = nil
	for i, hop := range hops {
		hop.Config = firstOf(hop.Config, t.Config)
		resolved, err := r.resolve(hop, depth+1)
		if err != nil {
			return err
		}
		if i == 0 { // only the first hop starts from this machine
			t.Bastions = append(t.Bastions, resolved.Bastions...)
		}
		resolved.Bastions = nil
		t.Bastions = append(t.Bastions, resolved)
	}
	return nil
}

// parseJump parses [user@]host[:port], optionally with the prefix ssh://.
func parseJump(s string) (Target, error) {
	var t Target
	rest := strings.TrimPrefix(s, "ssh://")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		t.User, rest = rest[:at], rest[at+1:]
	}
	host, port := rest, ""
	if strings.HasPrefix(rest, "[") {
		var ok bool
		if host, port, ok = strings.Cut(rest[1:], "]"); !ok {
			return t, fmt.Errorf("ProxyJump %q is not [user@]host[:port]", s)
		}
		port = strings.TrimPrefix(port, ":")
	} else if strings.Count(rest, ":") == 1 {
		host, port, _ = strings.Cut(rest, ":")
	}
	t.Address = host
	if port != "" {
		n, err := strconv.Atoi(port)
		if err != nil {
			return t, fmt.Errorf("ProxyJump %q is not [user@]host[:port]", s)
		}
		t.Port = n
	}
	return t, nil
}

// path expands the TOKENS of ssh_config(5) for file names, as far as they apply here.
func (r *resolver) path(p string, t Target, alias string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = r.operator.Home + p[1:]
	}
	port := t.Port
	if port == 0 {
		port = defaultPort
	}
	return strings.NewReplacer("%%", "%", "%d", r.operator.Home, "%u", r.operator.User,
		"%h", t.Address, "%n", alias, "%r", t.User, "%p", strconv.Itoa(port)).Replace(p)
}

func (r *resolver) existing(paths []string, t Target, alias string) []string {
	var out []string
	for _, p := range paths {
		p = r.path(p, t, alias)
		if _, err := os.Stat(p); err == nil {
			out = append(out, p)
		}
	}
	return out
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
