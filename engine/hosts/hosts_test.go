package hosts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/providers/ssh"
	"github.com/kubewright/kubewright/providers/ssh/sshtest"
	"github.com/kubewright/kubewright/state"
)

// askedHost is a host that records which files it is asked for.
type askedHost struct {
	providers.Host
	asked []string
}

func (h *askedHost) ReadSecrets(_ context.Context, paths []string) (map[string]state.Secret, error) {
	h.asked = append(h.asked, paths...)
	return map[string]state.Secret{}, nil
}

// TestFilesAreReadOncePerHost checks that a host is asked only once for a file, even for one that it does not
// have, such as super-admin.conf on all control planes but the founder.
func TestFilesAreReadOncePerHost(t *testing.T) {
	t.Parallel()
	host := &askedHost{}
	report := &state.Report{Secrets: map[string]state.Secret{"/admin": state.NewSecret([]byte("key"))}}
	remembering := (*realWorld)(nil).Remember(host, []string{"/admin", "/super-admin"}, report)
	for _, c := range []struct{ read, found, asked string }{
		{"/admin /super-admin", "/admin", ""},
		{"/super-admin", "", ""},
		{"/admin /other", "", "/admin /other"},
	} {
		host.asked = nil
		got, err := remembering.ReadSecrets(t.Context(), strings.Fields(c.read))
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Join(slices.Sorted(maps.Keys(got)), " "); found != c.found {
			t.Errorf("reading %s found %q, want %q", c.read, found, c.found)
		}
		if asked := strings.Join(host.asked, " "); asked != c.asked {
			t.Errorf("reading %s asked the host for %q, want %q", c.read, asked, c.asked)
		}
	}
}

// TestSilentHostIsRecognized checks that a host counts as silent if no connection is established or nothing
// comes back. A bastion's error is not an answer of the host after it, and a host with another
// key may be another machine.
func TestSilentHostIsRecognized(t *testing.T) {
	t.Parallel()
	of := func(kind error) error { return &providers.Error{Kind: kind, Do: "connect to 10.0.0.1:22"} }
	for _, c := range []struct {
		err                error
		answers, estranged bool
	}{
		{of(providers.ErrUnreachable), false, false},
		{of(providers.ErrTimeout), false, false},
		{of(providers.ErrAuth), true, false},
		{of(providers.ErrSudo), true, false},
		{of(providers.ErrHostKeyUnknown), true, false},
		{of(providers.ErrUnsupported), true, false},
		{of(providers.ErrDisconnected), true, false},
		{of(providers.ErrHostKeyChanged), false, true},
		{fmt.Errorf("cannot reach 10.0.0.1 through bastion b: %w", of(providers.ErrAuth)), false, false},
		{fmt.Errorf("cannot reach 10.0.0.1 through bastion b: %w", of(providers.ErrHostKeyChanged)), false, false},
		{fmt.Errorf("cannot observe 10.0.0.1: %w", of(providers.ErrProtocol)), true, false},
		{&providers.CommandError{Command: "observe", ExitCode: 1}, true, false},
	} {
		if answers, estranged := answered(c.err); answers != c.answers || estranged != c.estranged {
			t.Errorf("%v: %t, %t, want %t, %t", c.err, answers, estranged, c.answers, c.estranged)
		}
	}
}

// TestFirstHostKeyIsPinned checks that a key accepted at the first contact is the only accepted one from then
// on. A key that the user wrote, in host_key or known_hosts, takes precedence.
func TestFirstHostKeyIsPinned(t *testing.T) {
	t.Parallel()
	node := state.NodeKeyTarget("worker", "w1")
	recorded := func(key string) *state.State {
		return &state.State{Nodes: map[state.Target]*state.RecordedNode{node: {HostKey: key}}}
	}
	accepts := config.Connection{AcceptNewHostKey: true}
	for name, c := range map[string]struct {
		connection config.Connection
		recorded   *state.State
		want       []string
	}{
		"accepted before":    {accepts, recorded("ssh-ed25519 AAAA"), []string{"ssh-ed25519 AAAA"}},
		"first contact":      {accepts, &state.State{}, nil},
		"no state":           {accepts, nil, nil},
		"no key in state":    {accepts, recorded(""), nil},
		"known by host_key":  {config.Connection{AcceptNewHostKey: true, HostKeys: []string{"ssh-ed25519 BBBB"}}, recorded("ssh-ed25519 AAAA"), []string{"ssh-ed25519 BBBB"}},
		"by known_hosts":     {config.Connection{}, recorded("ssh-ed25519 AAAA"), nil},
		"recorded of others": {accepts, &state.State{Nodes: map[state.Target]*state.RecordedNode{state.NodeKeyTarget("worker", "w2"): {HostKey: "ssh-ed25519 AAAA"}}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := pinned(c.connection, c.recorded, node).HostKeys; !slices.Equal(got, c.want) {
				t.Errorf("the keys that are trusted: %q, want %q", got, c.want)
			}
		})
	}
}

// TestRemovedNodeIsReachedAsRecorded checks that a node whose block is gone is reached as recorded, with the recorded
// host key, and with the sudo password of all nodes.
func TestRemovedNodeIsReachedAsRecorded(t *testing.T) {
	t.Parallel()
	top := config.Connection{Type: "ssh", User: "grace", SudoPassword: state.NewSecret([]byte("hunter2"))}
	was := config.Connection{Type: "ssh", Host: "192.0.2.1", User: "ada", HostKeys: []string{"ssh-ed25519 AAAA"}, Timeout: time.Minute}
	n := &state.RecordedNode{Connection: was.ToValue(), HostKey: "ssh-ed25519 BBBB"}
	got := formerly(&config.Config{Connection: top}, n)
	if got.User != "ada" || got.Timeout != time.Minute || !slices.Equal(got.HostKeys, []string{"ssh-ed25519 AAAA", "ssh-ed25519 BBBB"}) {
		t.Errorf("the connection is %+v", got)
	}
	if string(got.SudoPassword.Reveal()) != "hunter2" {
		t.Error("the connection lacks the sudo password")
	}
	top.Type = "local"
	if !formerly(&config.Config{Connection: top}, n).SudoPassword.IsZero() {
		t.Error("the sudo password of this machine is used for another host")
	}
}

// TestConnectTimeoutPrecedence checks that the OpenSSH configuration sets the connect timeout if neither
// the configuration nor the recorded connection does.
func TestConnectTimeoutPrecedence(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	file, _ := sshtest.NewKeyFile(t)
	sshConfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(sshConfig, []byte("Host *\n  ConnectTimeout 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.NewNode(state.NodeTarget("n"), "prod", config.Worker, "127.0.0.1").Connection
	c.Port, c.User, c.PrivateKeys, c.SSHConfig = silent.Addr().(*net.TCPAddr).Port, "root", []string{file}, sshConfig
	began := time.Now()
	for _, c := range []config.Connection{c, config.ConnectionFromValue(c.ToValue())} {
		_, err = (&realWorld{}).Open(t.Context(), c, "127.0.0.1")
		if !errors.Is(err, providers.ErrTimeout) {
			t.Errorf("got %v", err)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("waiting for the two took %v", took)
	}
}

// behindGate returns a host that is reached through a bastion, and a configuration with the
// host as its only node. Neither has been seen before.
func behindGate(t *testing.T) (gate, host *sshtest.Server, cfg *config.Config) {
	t.Helper()
	file, public := sshtest.NewKeyFile(t)
	gate, host = sshtest.Start(t, sshtest.Authorize(public)), sshtest.Start(t, sshtest.Authorize(public))
	hop := config.Connection{Type: "ssh", Host: "127.0.0.1", Port: gate.Port(), User: "jump", PrivateKeys: []string{file}, KnownHosts: []string{"none"}, SSHConfig: NoSSHConfig, AcceptNewHostKey: true}
	connection := hop
	connection.Port, connection.Bastions = host.Port(), []config.Connection{hop}
	return gate, host, &config.Config{
		Clusters: []*config.Cluster{config.NewCluster("prod", "1.36.3")},
		Nodes:    []*config.Node{{Target: state.NodeKeyTarget("worker", "w1"), Cluster: "prod", Role: config.Worker, Address: "127.0.0.1", Connection: connection}},
	}
}

// unprivileged makes a member with an SSH connection observable without root, in a folder of
// its own and with an empty query.
func unprivileged(t *testing.T, m *Member) *Member {
	open := m.open
	m.open = func(ctx context.Context) (providers.Host, error) {
		h, err := open(ctx)
		if err != nil {
			return nil, err
		}
		return ssh.NewHost(h.(*ssh.Host).Conn(), shell.Options{Root: t.TempDir(), Unprivileged: true}), nil
	}
	m.query = state.Query{}
	return m
}

// TestBastionKeysArePinned checks that a bastion's key accepted at the first contact is reported
// together with the host after it, and is the only accepted one once recorded.
func TestBastionKeysArePinned(t *testing.T) {
	t.Parallel()
	gate, host, cfg := behindGate(t)
	node, connection := cfg.Nodes[0].Target, &cfg.Nodes[0].Connection
	connection.HostKeys = []string{host.Pin()}
	look := func(recorded *state.State) (*state.Report, error) {
		f, err := Open(cfg, recorded, Options{Folder: t.TempDir(), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return (&observer{Hosts: f}).observe(t.Context(), unprivileged(t, f.Member(node)))
	}
	seen, err := look(nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{gate.Addr(): gate.Pin()}; !maps.Equal(seen.HopKeys, want) || seen.HostKey != host.Pin() {
		t.Fatalf("the keys are %q and %v, want %v", seen.HostKey, seen.HopKeys, want)
	}
	knows := func(key string) *state.State {
		return &state.State{Nodes: map[state.Target]*state.RecordedNode{state.NodeKeyTarget("worker", "w2"): {
			Cluster: "prod", Role: "worker", Address: "127.0.0.2", Connection: connection.ToValue(), HopKeys: map[string]string{gate.Addr(): key},
		}}}
	}
	if _, err := look(knows(gate.Pin())); err != nil {
		t.Errorf("the key is the same: %v", err)
	}
	_, err = look(knows(host.Pin()))
	if err == nil || !strings.Contains(err.Error(), "through bastion 127.0.0.1") || !strings.Contains(err.Error(), "accepted before was ssh-ed25519") {
		t.Fatalf("the key is another one: %v", err)
	}
	if got := (&Member{Target: node}).remedy(err); !strings.Contains(got, "take its new key into known_hosts or host_key") {
		t.Errorf("it says %q", got)
	}
}

// changedKey is a host that shows another key than before, and where its old key is known from.
type changedKey struct {
	// recorded is the key in the state, written the one in host_key, known the one in
	// known_hosts.
	recorded, written, known string
	accepted, leaves         bool
}

// look observes the host, and returns why that failed and what to do.
func (c changedKey) look(t *testing.T) state.Unobserved {
	t.Helper()
	file, public := sshtest.NewKeyFile(t)
	server := sshtest.Start(t, sshtest.Authorize(public), func(s *sshtest.Server) {
		s.Run = func(string, xssh.Channel) int { return 1 }
	})
	known := filepath.Join(t.TempDir(), "known_hosts")
	if c.known != "" {
		if err := os.WriteFile(known, fmt.Appendf(nil, "[127.0.0.1]:%d %s\n", server.Port(), c.known), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	node := state.NodeKeyTarget("worker", "w1")
	connection := config.Connection{
		Type: "ssh", Host: "127.0.0.1", Port: server.Port(), User: "root", PrivateKeys: []string{file},
		KnownHosts: []string{known}, SSHConfig: NoSSHConfig, AcceptNewHostKey: true,
	}
	if c.written != "" {
		connection.HostKeys = []string{c.written}
	}
	recorded := &state.State{Nodes: map[state.Target]*state.RecordedNode{node: {Cluster: "prod", Role: "worker", Address: "127.0.0.1", HostKey: c.recorded, Connection: connection.ToValue()}}}
	cfg := &config.Config{Clusters: []*config.Cluster{config.NewCluster("prod", "1.36.3")}}
	if !c.leaves {
		cfg.Nodes = []*config.Node{{Target: node, Cluster: "prod", Role: config.Worker, Address: "127.0.0.1", Connection: connection}}
	}
	var accepted []string
	if c.accepted {
		accepted = append(accepted, node.String())
	}
	f, err := Open(cfg, recorded, Options{Folder: t.TempDir(), Now: time.Now, Accepted: accepted})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return f.Observe(t.Context(), cfg, recorded).Unobserved[node]
}

// TestChangedHostKeyRemedy checks that the remedy for a host with another key is one that helps: for
// a recorded key, editing known_hosts does not. Once the new host is accepted, the old key no
// longer matters.
func TestChangedHostKeyRemedy(t *testing.T) {
	t.Parallel()
	_, public := sshtest.NewKeyFile(t)
	old := strings.TrimSpace(string(xssh.MarshalAuthorizedKey(public)))
	const (
		pinned  = "pinned is ssh-ed25519 SHA256:"
		replace = `have the node replaced: -replace='node.worker["w1"]' -accept-new-host='node.worker["w1"]'`
		file    = "take its new key into known_hosts or host_key"
	)
	for name, c := range map[string]struct {
		host                   changedKey
		reason, remedy, absent string
	}{
		"recorded":                 {changedKey{recorded: old}, pinned, replace, "known_hosts"},
		"recorded, leaves":         {changedKey{recorded: old, leaves: true}, pinned, "put its block back, with the new key in host_key", "-replace"},
		"recorded, and accepted":   {changedKey{recorded: old, accepted: true}, "", "", "key"},
		"host_key":                 {changedKey{recorded: old, written: old}, pinned, file, "-replace"},
		"host_key, and accepted":   {changedKey{recorded: old, written: old, accepted: true}, pinned, file, "-replace"},
		"known_hosts":              {changedKey{known: old}, "known_hosts:1 is ssh-ed25519", file, "-replace"},
		"known_hosts and accepted": {changedKey{recorded: old, known: old, accepted: true}, "known_hosts:1 is ssh-ed25519", file, "-replace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := c.host.look(t)
			if !strings.Contains(got.Reason, c.reason) || strings.Contains(got.Reason, "its key") != (c.reason != "") {
				t.Errorf("the host could not be observed: %q; want %q", got.Reason, c.reason)
			}
			if !strings.Contains(got.Remedy, c.remedy) || strings.Contains(got.Remedy, c.absent) {
				t.Errorf("the remedy is %q; want %q in it, and not %q", got.Remedy, c.remedy, c.absent)
			}
		})
	}
	// The state does not have a bastion's key.
	m := &Member{keyRecorded: true, Target: state.NodeKeyTarget("worker", "w1")}
	changed := &providers.Error{Kind: providers.ErrHostKeyChanged, Do: "verify host 10.0.0.9"}
	if got := m.remedy(fmt.Errorf("cannot reach 10.0.0.21 through bastion 10.0.0.9: %w", changed)); !strings.Contains(got, file) {
		t.Errorf("the remedy for a bastion is %q", got)
	}
}

// TestRootLoginNeedsNoSudoPassword checks that a login as root needs no sudo password, so that its host does not
// get it.
func TestRootLoginNeedsNoSudoPassword(t *testing.T) {
	t.Parallel()
	c := config.Connection{SudoPassword: state.NewSecret([]byte("hunter2"))}
	w := &realWorld{}
	if !w.becoming("root", c).Password.IsZero() || w.becoming("grace", c).Password.IsZero() {
		t.Error("root has a password for sudo, or grace has none")
	}
}
