package ssh_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/ssh"
)

// operator makes an account with a configuration and key files.
func operator(t *testing.T, config string, keys ...string) ssh.Operator {
	t.Helper()
	home := t.TempDir()
	dir := filepath.Join(home, ".ssh")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if err := os.WriteFile(filepath.Join(dir, k), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := ssh.Operator{Home: home, User: "me", Agent: "/agent", Config: filepath.Join(dir, "config"), GlobalKnownHosts: []string{"/global"}}
	if err := os.WriteFile(o.Config, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestResolveReadsSSHConfiguration(t *testing.T) {
	t.Parallel()
	o := operator(t, `
Host cp1
  HostName 10.0.0.1
  User core
  Port 2222
  IdentityFile ~/.ssh/cluster
  IdentityFile "%d/.ssh/absent"
  IdentitiesOnly yes
  CertificateFile ~/.ssh/cluster-cert.pub
  UserKnownHostsFile ~/.ssh/kh1 ~/.ssh/kh2
  HostKeyAlias cp1.internal
  ConnectTimeout 7
  ServerAliveInterval 1m10s
  ServerAliveCountMax 5
  ProxyJump ops@jump:2200,inner
Host inner
  HostName inner.example.com
Host odd
  ProxyCommand nc %h %p
Host agented
  IdentityAgent /configured
Host *
  User fallback
`, "cluster", "cluster-cert.pub", "id_ed25519")
	other := operator(t, "User elsewhere\n")
	ssh1 := filepath.Join(o.Home, ".ssh")
	defaults := []string{ssh1 + "/known_hosts", ssh1 + "/known_hosts2", "/global"}
	id := []string{ssh1 + "/id_ed25519"}
	hop1 := ssh.Target{Address: "jump", User: "ops", Port: 2200, OptionalKeys: id, KnownHosts: defaults, Agent: "/agent"}
	hop2 := ssh.Target{Address: "inner.example.com", User: "fallback", OptionalKeys: id, KnownHosts: defaults, Agent: "/agent"}
	for _, test := range []struct {
		name     string
		in, want ssh.Target
	}{
		{"everything from the configuration", ssh.Target{Address: "cp1"}, ssh.Target{
			Address: "10.0.0.1", User: "core", Port: 2222, Agent: "/agent", IdentitiesOnly: true,
			Keys: []string{ssh1 + "/cluster"}, Certificates: []string{ssh1 + "/cluster-cert.pub"},
			KnownHosts: []string{ssh1 + "/kh1", ssh1 + "/kh2", "/global"}, HostKeyAlias: "cp1.internal",
			Timeouts: ssh.Timeouts{Connect: 7 * time.Second, Keepalive: 70 * time.Second, KeepaliveMisses: 5},
			Bastions: []ssh.Target{hop1, hop2},
		}},
		{"the target's own words win", ssh.Target{
			Address: "cp1", User: "root", Port: 22, Keys: []string{"~/k-%r"}, KnownHosts: []string{"~/kh"}, Agent: "/other",
			Bastions: []ssh.Target{{Address: "jump", User: "ops", Port: 2200}}, HostKeyAlias: "x",
		}, ssh.Target{
			Address: "10.0.0.1", User: "root", Port: 22, Agent: "/other", IdentitiesOnly: true,
			Keys: []string{o.Home + "/k-root"}, Certificates: []string{ssh1 + "/cluster-cert.pub"},
			KnownHosts: []string{o.Home + "/kh"}, HostKeyAlias: "x",
			Timeouts: ssh.Timeouts{Connect: 7 * time.Second, Keepalive: 70 * time.Second, KeepaliveMisses: 5},
			Bastions: []ssh.Target{hop1},
		}},
		{"bastions go before ProxyCommand", ssh.Target{Address: "odd", Bastions: []ssh.Target{{Address: "inner", User: "ops"}}}, ssh.Target{
			Address: "odd", User: "fallback", OptionalKeys: id, KnownHosts: defaults, Agent: "/agent",
			Bastions: []ssh.Target{{Address: "inner.example.com", User: "ops", OptionalKeys: id, KnownHosts: defaults, Agent: "/agent"}},
		}},
		{"a configuration of its own, which holds for the bastion too", ssh.Target{
			Address: "cp1", Config: other.Config, Bastions: []ssh.Target{{Address: "jump"}},
		}, ssh.Target{
			Address: "cp1", User: "elsewhere", Config: other.Config, OptionalKeys: id, KnownHosts: defaults, Agent: "/agent",
			Bastions: []ssh.Target{{Address: "jump", User: "elsewhere", Config: other.Config, OptionalKeys: id, KnownHosts: defaults, Agent: "/agent"}},
		}},
		{"no agent, not even a configured one", ssh.Target{Address: "agented", Agent: "/other", NoAgent: true}, ssh.Target{
			Address: "agented", User: "fallback", NoAgent: true, OptionalKeys: id, KnownHosts: defaults,
		}},
		{"unknown to the configuration", ssh.Target{Address: "other"}, ssh.Target{
			Address: "other", User: "fallback", OptionalKeys: id, KnownHosts: defaults, Agent: "/agent",
		}},
	} {
		got, err := ssh.Resolve(test.in, o)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", test.want); g != w {
			t.Errorf("%s:\n got %s\nwant %s", test.name, g, w)
		}
	}
}

// TestTimeFormats checks times in the format of ssh_config(5).
func TestTimeFormats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"10": 10 * time.Second, "10s": 10 * time.Second, "1M": time.Minute, "1h30m": 90 * time.Minute, "1m30": 90 * time.Second,
		"1d": 24 * time.Hour, "1w2d": 9 * 24 * time.Hour, "none": 0, "0": 0,
	} {
		got, err := ssh.Resolve(ssh.Target{Address: "a"}, operator(t, "Host *\n ConnectTimeout "+text+"\n"))
		if err != nil || got.Timeouts.Connect != want {
			t.Errorf("%s: got %v, %v, want %v", text, got.Timeouts.Connect, err, want)
		}
	}
}

func TestResolveKeepsTarget(t *testing.T) {
	t.Parallel()
	o := operator(t, "")
	in := ssh.Target{Address: "a", Keys: []string{"~/k"}, KnownHosts: []string{"~/h"}, Certificates: []string{"~/c"}}
	if _, err := ssh.Resolve(in, o); err != nil {
		t.Fatal(err)
	}
	want := ssh.Target{Address: "a", Keys: []string{"~/k"}, KnownHosts: []string{"~/h"}, Certificates: []string{"~/c"}}
	if !reflect.DeepEqual(in, want) {
		t.Errorf("got %+v", in)
	}
}

func TestResolveRefuses(t *testing.T) {
	t.Parallel()
	for config, text := range map[string]string{
		"Host a\n ProxyCommand nc %h %p\n":                         "cannot use ssh configuration for a: ProxyCommand is not supported",
		"Host *\n Port many\n":                                     `config:2: Port "many" is no port`,
		"Host *\n ProxyJump a\n":                                   "cannot use ssh configuration for a: ProxyJump leads on more than 8 times",
		"Match exec \"true\"\n User root\n":                        "config:2: User is set where Match exec (",
		"Match host a exec \"true\"\n User root\n":                 "config:1) is not evaluated",
		"Match host a version *9*\n Port 1\n":                      "config:2: Port is set where Match version (",
		"Match host a sessiontype exec\n Port 1\n":                 "Match sessiontype (",
		"Match localnetwork 10.0.0.0/8\n ProxyJump b\n":            "config:2: ProxyJump is set where Match localnetwork (",
		"Match exec x\n Host *\n":                                  "",
		"Match nothing a\n User root\n":                            `config:1: criterion "nothing" of Match is not known`,
		"Host *\n Prot 2222\n":                                     `config:2: OpenSSH has no setting "Prot"`,
		"Host *\n ProxyJump x:y\n":                                 `ProxyJump "x:y" is not [user@]host[:port]`,
		"Host *\n ProxyJump [::1\n":                                `ProxyJump "[::1" is not [user@]host[:port]`,
		"Host *\n ServerAliveInterval -1 \n":                       `ServerAliveInterval "-1" is not a time such as 90 or 1m30s`,
		"Host *\n ConnectTimeout 1.5s\n":                           `ConnectTimeout "1.5s" is not a time such as 90 or 1m30s`,
		"Host *\n ConnectTimeout 3y\n":                             `ConnectTimeout "3y" is not a time`,
		"Host *\n ConnectTimeout 2147483647w\n":                    `ConnectTimeout "2147483647w" is not a time`,
		"Host *\n ConnectTimeout 99999999999s\n":                   `ConnectTimeout "99999999999s" is not a time`,
		"Host *\n ServerAliveCountMax 1m30s\n":                     `ServerAliveCountMax "1m30s" is not a number`,
		"IdentityFile ~/k-%C\n":                                    `has %C, which has no meaning there`,
		"IdentityFile ~/k-%\n":                                     `ends with %`,
		"IdentityFile ${KUBEWRIGHT_UNSET_VARIABLE}/k\n":            `"${KUBEWRIGHT_UNSET_VARIABLE}/k" refers to a variable that is not set`,
		"CanonicalizeHostname yes\nCanonicalDomains example.com\n": "CanonicalizeHostname is not supported",
		"CanonicalizeHostname always\n":                            "CanonicalizeHostname is not supported",
		"RevokedHostKeys /etc/ssh/revoked\n":                       "RevokedHostKeys is not supported",
		"User \"ann\n":                                             "config:1: a quotation does not end",
		"Host *\n Port 1 2\n":                                      `config:2: Port has more than one value: "2"`,
	} {
		_, err := ssh.Resolve(ssh.Target{Address: "a"}, operator(t, config))
		if text == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: got %v, want it to say %q", config, err, text)
		}
		remedy := `name another file in ssh_config, or none with ssh_config = "none"`
		for part, other := range map[string]string{
			"ProxyCommand": "use ProxyJump there, or a bastion block", "Canonicalize": "set HostName to the whole name there", "Revoked": "mark the keys as @revoked in known_hosts",
		} {
			if strings.Contains(config, part) {
				remedy = other
			}
		}
		if got := providers.RemedyOf(err); !strings.HasSuffix(got, remedy) {
			t.Errorf("%q: to do: %q, want %q", config, got, remedy)
		}
	}
	within := operator(t, "")
	within.Config += "/within"
	if _, err := ssh.Resolve(ssh.Target{Address: "a"}, within); err == nil || !strings.Contains(err.Error(), "cannot read ssh configuration: open ") {
		t.Errorf("a file within a file: %v", err)
	}
	if _, err := ssh.Resolve(ssh.Target{Address: "a"}, operator(t, "Host *\n ProxyCommand none\n")); err != nil {
		t.Error(err)
	}
	if _, err := ssh.Resolve(ssh.Target{Address: "a"}, ssh.Operator{Config: "/does/not/exist"}); err != nil {
		t.Error(err)
	}
}
