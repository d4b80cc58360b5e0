package hosts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
	"github.com/kubewright/kubewright/providers/etcd"
	"github.com/kubewright/kubewright/providers/kube"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/pki"
	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/providers/ssh"
	"github.com/kubewright/kubewright/state"
)

// Options say how a run reaches its hosts.
type Options struct {
	// Folder is the folder that relative file names begin at.
	Folder string
	// SimFile is the file of a simulated world, and OpenSim opens it; nil stands for sim.Open.
	SimFile string
	OpenSim func(path string) (*sim.World, error)
	// Simulated makes every host a simulated one, whatever its connection says.
	Simulated bool
	// Passphrase asks for the passphrase of a private key; nil without a terminal.
	Passphrase func(keyFile string) ([]byte, error)
	Now        func() time.Time
	// Wrap wraps the world, for example with a log; nil for none.
	Wrap func(World) World
	// Accepted are the nodes whose hosts may be other machines than before.
	Accepted []string
}

// OpenWorld returns the simulated world if nodes are simulated, the real one otherwise. A
// mixture is refused: a simulated CA cannot sign for a real host.
func OpenWorld(cfg *config.Config, recorded *state.State, o Options) (World, error) {
	w, err := bareWorld(cfg, recorded, o)
	if err != nil || o.Wrap == nil {
		return w, err
	}
	return o.Wrap(w), nil
}

func bareWorld(cfg *config.Config, recorded *state.State, o Options) (World, error) {
	kinds := map[bool]int{}
	for _, n := range cfg.Nodes {
		kinds[n.Connection.Type == "sim"]++
	}
	if recorded != nil {
		for _, n := range recorded.Nodes {
			kinds[n.Connection.Get("type").AsString() == "sim"]++
		}
	}
	switch {
	case o.Simulated:
		return OpenSimulated(o)
	case kinds[true] > 0 && kinds[false] > 0:
		return nil, errors.New("some nodes are simulated and others are not: one configuration is all of the one or all of the other")
	case kinds[true] > 0:
		return OpenSimulated(o)
	}
	w := &realWorld{folder: o.Folder, operator: ssh.CurrentOperator(), passphrase: o.Passphrase, budget: budget.New(), direct: direct(cfg, recorded)}
	if recorded != nil {
		for _, n := range recorded.Nodes {
			w.dialer.Trust(n.HopKeys)
		}
	}
	return w, nil
}

// realWorld reaches hosts over SSH, or is this machine.
type realWorld struct {
	folder   string
	operator ssh.Operator
	dialer   ssh.Dialer
	// passphrase asks for the passphrase of a private key; nil without a terminal.
	passphrase func(keyFile string) ([]byte, error)
	// budget limits the memory for the answers of all hosts and API servers.
	budget *budget.Budget
	// direct reports whether this machine may connect to an address itself.
	direct func(address string) bool
}

func (w *realWorld) Open(ctx context.Context, c config.Connection, address string) (providers.Host, error) {
	if c.Type == "local" {
		return local.New(w.becoming(w.operator.User, c)), nil
	}
	target := w.target(c, address)
	for _, b := range c.Bastions {
		target.Bastions = append(target.Bastions, w.target(b, b.Host))
	}
	target, err := ssh.Resolve(target, w.operator)
	if err != nil {
		return nil, err
	}
	conn, err := w.dialer.Dial(ctx, target)
	if err != nil {
		return nil, err
	}
	return ssh.NewHost(conn, w.becoming(target.User, c)), nil
}

// becoming returns how a login becomes root. A login as root needs no sudo, so that its host
// never gets the password.
func (w *realWorld) becoming(user string, c config.Connection) shell.Options {
	options := shell.Options{Budget: w.budget, Direct: w.direct}
	if user != "root" {
		options.Password = c.SudoPassword
	}
	return options
}

// NoSSHConfig in place of a file name stands for no OpenSSH configuration.
const NoSSHConfig = "none"

func (w *realWorld) target(c config.Connection, address string) ssh.Target {
	if c.Host != "" {
		address = c.Host
	}
	t := ssh.Target{
		Address: address, Port: c.Port, User: c.User, HostKeys: c.HostKeys, AcceptNewHostKeys: c.AcceptNewHostKey,
		NoAgent: !c.Agent, Passphrase: w.passphrase, Timeouts: ssh.Timeouts{Connect: c.Timeout},
	}
	switch c.SSHConfig {
	case "":
	case NoSSHConfig:
		t.Config = os.DevNull
	default:
		t.Config = w.path(c.SSHConfig)
	}
	for _, k := range c.PrivateKeys {
		t.Keys = append(t.Keys, w.path(k))
	}
	for _, k := range c.KnownHosts {
		t.KnownHosts = append(t.KnownHosts, w.path(k))
	}
	if c.Certificate != "" {
		t.Certificates = []string{w.path(c.Certificate)}
	}
	return t
}

// path resolves a file name of the operator: ~ is the home folder, a relative one begins at the
// configuration folder.
func (w *realWorld) path(p string) string {
	if len(p) > 1 && p[:2] == "~/" {
		return filepath.Join(w.operator.Home, p[2:])
	}
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(w.folder, p)
}

func (w *realWorld) Access() providers.Access { return realAccess{w.budget} }

func (w *realWorld) Issuer() providers.Issuer { return pki.New(pki.Options{}) }

func (w *realWorld) Clock() providers.Clock { return WallClock{} }

func (w *realWorld) Save() error { return nil }

func (w *realWorld) Beat() time.Duration { return providers.LeaseBeat }

func (w *realWorld) Remember(h providers.Host, asked []string, r *state.Report) providers.Host {
	return withSecrets{h, asked, r.Secrets}
}

// realAccess opens APIs and etcds of real clusters.
type realAccess struct{ budget *budget.Budget }

func (r realAccess) API(ctx context.Context, via providers.Host, endpoint string) (providers.API, error) {
	return kube.OpenWithin(ctx, r.budget, via, endpoint)
}

func (realAccess) Etcd(ctx context.Context, via providers.Host, endpoints []string, folder string) (providers.Etcd, error) {
	return etcd.Open(ctx, via, endpoints, etcd.Options{Folder: folder})
}

func (realAccess) ExternalEtcd(ctx context.Context, via providers.Host, endpoints []string, client providers.EtcdCredentials, prefix string) (state.ExternalEtcdReport, error) {
	return etcd.LookExternal(ctx, via, endpoints, client, prefix)
}

func (realAccess) StoredUnder(ctx context.Context, via providers.Host, at providers.EtcdAt, prefix, id string) (under, other int, err error) {
	return etcd.StoredUnder(ctx, via, at, prefix, id)
}

// WallClock is real time.
type WallClock struct{}

func (WallClock) Now() time.Time { return time.Now() }

func (WallClock) Busy(ctx context.Context) (context.Context, func()) { return ctx, func() {} }

func (WallClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// simWorld is the simulated world, kept in a file beside the state.
type simWorld struct{ *sim.World }

// OpenSimulated opens the simulated world.
func OpenSimulated(o Options) (simWorld, error) {
	open := o.OpenSim
	if open == nil {
		open = sim.Open
	}
	w, err := open(o.SimFile)
	if err != nil {
		return simWorld{}, err
	}
	return simulated(w), nil
}

// Simulated returns a simulated world as a World.
func Simulated(w *sim.World) World { return simulated(w) }

func simulated(w *sim.World) simWorld {
	w.PodHash = kubeadm.StaticPodHash
	return simWorld{w}
}

func (w simWorld) Open(_ context.Context, c config.Connection, address string) (providers.Host, error) {
	if c.Host != "" {
		address = c.Host
	}
	return w.Host(address), nil
}

func (w simWorld) Access() providers.Access { return sim.Access{} }

func (w simWorld) Issuer() providers.Issuer { return sim.Issuer{} }

func (w simWorld) Clock() providers.Clock { return w.World.Clock() }

func (w simWorld) Save() error { return w.World.Save() }

// Beat returns 0. Simulated time passes only while a run waits, and a run renews its claims
// before it waits.
func (w simWorld) Beat() time.Duration { return 0 }

func (w simWorld) Remember(h providers.Host, _ []string, _ *state.Report) providers.Host { return h }

// withSecrets answers from memory for the secrets that the observation already asked for,
// including those that do not exist.
type withSecrets struct {
	providers.Host
	asked []string
	found map[string]state.Secret
}

// Unwrap returns the wrapped host.
func (h withSecrets) Unwrap() providers.Host { return h.Host }

// ReadSecrets answers from memory, and asks the host for the rest.
func (h withSecrets) ReadSecrets(ctx context.Context, paths []string) (map[string]state.Secret, error) {
	out := map[string]state.Secret{}
	for _, p := range paths {
		if !slices.Contains(h.asked, p) {
			return h.Host.ReadSecrets(ctx, paths)
		}
		if s, ok := h.found[p]; ok {
			out[p] = s
		}
	}
	return out, nil
}
