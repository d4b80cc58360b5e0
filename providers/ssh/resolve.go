package ssh

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sshconfig"
)

// Operator is the part of the operator's account that is used to reach hosts.
type Operator struct {
	Home string
	// User is the login name, the default for Target.User.
	User string
	// Agent is the agent's socket, "" without one.
	Agent string
	// Config is a file in ssh_config(5) form; "" for none. It is never written; what decides
	// about a host and is not supported, such as Match exec and ProxyCommand, is refused rather
	// than ignored.
	Config string
	// SystemConfig is the machine's own configuration, which is read after Config, unless a
	// target names a configuration; "" for none.
	SystemConfig string
	// GlobalKnownHosts are read in addition to the user's own known_hosts.
	GlobalKnownHosts []string
}

// CurrentOperator returns the account under which kubewright runs.
func CurrentOperator() Operator {
	o := Operator{
		Agent:            os.Getenv("SSH_AUTH_SOCK"),
		SystemConfig:     "/etc/ssh/ssh_config",
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
// CertificateFile, ProxyJump, UserKnownHostsFile, GlobalKnownHostsFile, HostKeyAlias,
// ConnectTimeout, ServerAliveInterval, ServerAliveCountMax), then with OpenSSH's defaults. Files
// that the target names must exist; absent files that only the configuration or the defaults name
// are skipped.
func Resolve(t Target, o Operator) (Target, error) {
	r := &resolver{operator: o, configs: map[string]*sshconfig.Config{}}
	return r.resolve(t, 0)
}

// otherConfig is the remedy for a configuration that cannot be used.
const otherConfig = "take that out of the OpenSSH configuration, or name another file in ssh_config, or none with ssh_config = \"none\""

type resolver struct {
	operator Operator
	// configs are the configurations read so far, by path; "" is the operator's own.
	configs map[string]*sshconfig.Config
}

// config returns the configuration that applies to the target.
func (r *resolver) config(t Target) (*sshconfig.Config, error) {
	if c := r.configs[t.Config]; c != nil {
		return c, nil
	}
	sources := []sshconfig.Source{{Path: t.Config}}
	if t.Config == "" {
		sources = []sshconfig.Source{{Path: r.operator.Config}, {Path: r.operator.SystemConfig, System: true}}
	}
	sources = slices.DeleteFunc(sources, func(s sshconfig.Source) bool { return s.Path == "" })
	c, err := sshconfig.Read(r.operator.Home, sources...)
	if err != nil {
		return nil, providers.WithRemedy(fmt.Errorf("cannot read ssh configuration: %w", err), otherConfig)
	}
	r.configs[t.Config] = c
	return c, nil
}

func (r *resolver) resolve(t Target, depth int) (Target, error) {
	config, err := r.config(t)
	if err != nil {
		return Target{}, err
	}
	alias := t.Address // Host patterns match the address as written, not HostName
	settings, err := config.Settings(sshconfig.Asked{Name: alias, User: t.User, LocalUser: r.operator.User})
	if err == nil {
		err = refuseUnsupported(t, settings)
	}
	if err == nil {
		t, err = r.fill(t, alias, settings)
	}
	if err != nil {
		return Target{}, providers.WithRemedy(fmt.Errorf("cannot use ssh configuration for %s: %w", alias, err), firstOf(providers.RemedyOf(err), otherConfig))
	}
	return r.jumps(t, settings.Get("proxyjump"), depth)
}

// refuseUnsupported fails if ignoring a part of the configuration would lead to another
// host than the operator's own ssh, or would trust one that it does not trust.
func refuseUnsupported(t Target, s *sshconfig.Settings) error {
	if command := s.Get("proxycommand"); command != "" && !strings.EqualFold(command, "none") && len(t.Bastions) == 0 {
		return providers.WithRemedy(errors.New("ProxyCommand is not supported"), "use ProxyJump there, or a bastion block")
	}
	if canonical := strings.ToLower(s.Get("canonicalizehostname")); (canonical == "yes" || canonical == "always" || canonical == "true") && net.ParseIP(s.HostName) == nil {
		return providers.WithRemedy(errors.New("CanonicalizeHostname is not supported"), "set HostName to the whole name there")
	}
	if revoked := s.Get("revokedhostkeys"); revoked != "" && !strings.EqualFold(revoked, "none") && len(t.HostKeys) == 0 {
		return providers.WithRemedy(errors.New("RevokedHostKeys is not supported"), "mark the keys as @revoked in known_hosts")
	}
	return nil
}

// fill fills the fields of the target that are not bastions.
func (r *resolver) fill(t Target, alias string, s *sshconfig.Settings) (Target, error) {
	t.Address = s.HostName
	t.User = firstOf(t.User, s.Get("user"), r.operator.User)
	t.HostKeyAlias = firstOf(t.HostKeyAlias, s.Get("hostkeyalias"))
	numbers(&t, s)
	e := r.expander(t, alias)
	r.identities(&t, s, e)
	r.knownHosts(&t, s, e)
	return t, e.err
}

// numbers fills the numbers of the target, which are valid in a configuration that was read.
func numbers(t *Target, s *sshconfig.Settings) {
	if text := s.Get("port"); text != "" && t.Port == 0 {
		t.Port, _ = sshconfig.Port(text)
	}
	for key, to := range map[string]*time.Duration{"connecttimeout": &t.Timeouts.Connect, "serveraliveinterval": &t.Timeouts.Keepalive} {
		if *to == 0 {
			*to, _ = sshconfig.Duration(s.Get(key))
		}
	}
	if t.Timeouts.KeepaliveMisses == 0 {
		t.Timeouts.KeepaliveMisses, _ = strconv.Atoi(s.Get("serveralivecountmax"))
	}
}

// defaultKeys are ssh's default keys in its order (ssh(1), -i), of the types supported
// here.
var defaultKeys = []string{"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"}

func (r *resolver) identities(t *Target, s *sshconfig.Settings, e *expander) {
	named := len(t.Keys) > 0
	t.Keys, t.Certificates = e.named(t.Keys), e.named(t.Certificates)
	if !named {
		files := s.All("identityfile")
		t.Keys = e.existing(files)
		if len(files) == 0 && len(t.OptionalKeys) == 0 {
			t.OptionalKeys = e.existing(defaultKeys)
		}
	}
	if len(t.Certificates) == 0 {
		t.Certificates = e.existing(s.All("certificatefile"))
	}
	only := strings.ToLower(s.Get("identitiesonly"))
	t.IdentitiesOnly = t.IdentitiesOnly || only == "yes" || only == "true"
	if t.NoAgent {
		t.Agent = ""
	} else if t.Agent == "" {
		t.Agent = r.agent(s.Get("identityagent"), e)
	}
}

func (r *resolver) agent(configured string, e *expander) string {
	switch {
	case configured == "" || configured == "SSH_AUTH_SOCK":
		return r.operator.Agent
	case strings.EqualFold(configured, "none"):
		return ""
	case strings.HasPrefix(configured, "$") && !strings.HasPrefix(configured, "${"):
		return os.Getenv(configured[1:])
	}
	return e.file(configured)
}

func (r *resolver) knownHosts(t *Target, s *sshconfig.Settings, e *expander) {
	if len(t.KnownHosts) > 0 {
		t.KnownHosts = e.named(t.KnownHosts)
		return
	}
	own := s.All("userknownhostsfile")
	if len(own) == 0 {
		own = []string{"~/.ssh/known_hosts", "~/.ssh/known_hosts2"}
	}
	global := s.All("globalknownhostsfile")
	if len(global) == 0 {
		global = r.operator.GlobalKnownHosts
	}
	for _, path := range slices.Concat(own, global) {
		if !strings.EqualFold(path, "none") {
			t.KnownHosts = append(t.KnownHosts, e.file(path))
		}
	}
}

// jumps resolves the bastions: those of the target, or those of ProxyJump. A bastion with
// bastions of its own is reached through them.
func (r *resolver) jumps(t Target, proxyJump string, depth int) (Target, error) {
	hops := slices.Clone(t.Bastions)
	if len(hops) == 0 && proxyJump != "" && !strings.EqualFold(proxyJump, "none") {
		for part := range strings.SplitSeq(proxyJump, ",") {
			jump, err := sshconfig.ParseJump(part)
			if err != nil {
				return Target{}, providers.WithRemedy(fmt.Errorf("cannot use ssh configuration for %s: ProxyJump %w", t.Address, err), otherConfig)
			}
			hops = append(hops, Target{
				Address: jump.Host, User: jump.User, Port: jump.Port,
				AcceptNewHostKeys: t.AcceptNewHostKeys, Passphrase: t.Passphrase, NoAgent: t.NoAgent,
			})
		}
	}
	if len(hops) > 0 && depth == maxJumps {
		return Target{}, providers.WithRemedy(fmt.Errorf("cannot use ssh configuration for %s: ProxyJump leads on more than %d times", t.Address, maxJumps), otherConfig)
	}
	t.Bastions = nil
	for i, hop := range hops {
		hop.Config = firstOf(hop.Config, t.Config)
		resolved, err := r.resolve(hop, depth+1)
		if err != nil {
			return Target{}, err
		}
		if i == 0 { // only the first hop starts from this machine
			t.Bastions = append(t.Bastions, resolved.Bastions...)
		}
		resolved.Bastions = nil
		t.Bastions = append(t.Bastions, resolved)
	}
	return t, nil
}

// An expander expands the names of files for one target.
type expander struct {
	home   string
	tokens map[byte]string
	// err is the first error.
	err error
}

// expander returns an expander with the tokens of ssh_config(5), but for the digest %C, over whose
// content OpenSSH's releases differ.
func (r *resolver) expander(t Target, alias string) *expander {
	port := t.Port
	if port == 0 {
		port = defaultPort
	}
	machine, _ := os.Hostname()
	short, _, _ := strings.Cut(machine, ".")
	return &expander{home: r.operator.Home, tokens: map[byte]string{
		'd': r.operator.Home, 'u': r.operator.User, 'i': strconv.Itoa(os.Getuid()), 'l': machine, 'L': short,
		'h': t.Address, 'n': alias, 'k': firstOf(t.HostKeyAlias, alias), 'r': t.User, 'p': strconv.Itoa(port),
	}}
}

// variable is a reference to a variable of the environment in the name of a file.
var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// file expands the name of a file.
func (e *expander) file(path string) string {
	out, err := sshconfig.Expand(sshconfig.Home(path, e.home), e.tokens)
	if err == nil {
		out = variable.ReplaceAllStringFunc(out, func(v string) string {
			value, ok := os.LookupEnv(v[2 : len(v)-1])
			if !ok {
				err = fmt.Errorf("%q refers to a variable that is not set", path)
			}
			return value
		})
	}
	if e.err == nil && err != nil {
		e.err = err
	}
	return out
}

// named expands names of files that the target itself names. What is no token stays as it is there.
func (e *expander) named(paths []string) []string {
	out := slices.Clone(paths)
	for i, p := range out {
		out[i] = sshconfig.Home(p, e.home)
		if expanded, err := sshconfig.Expand(out[i], e.tokens); err == nil {
			out[i] = expanded
		}
	}
	return out
}

// existing expands names of files and returns those that exist.
func (e *expander) existing(paths []string) []string {
	var out []string
	for _, p := range paths {
		if strings.EqualFold(p, "none") {
			continue
		}
		p = e.file(p)
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
