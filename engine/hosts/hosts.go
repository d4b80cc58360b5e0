package hosts

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Member is one host that a run may touch: in the configuration, or only recorded.
type Member struct {
	Target  state.Target
	Cluster string
	Plane   bool
	// Leaves reports whether the configuration has no such node.
	Leaves bool
	// keyRecorded reports whether only the state has the key of the host.
	keyRecorded bool
	// address is the address of the node's API server.
	address string
	query   state.Query
	open    func(context.Context) (providers.Host, error)

	mu   sync.Mutex
	host providers.Host
	// again is the last attempt to reconnect.
	again  *reopening
	closed bool
}

// Hosts is all hosts of a run. A host is connected when it is first needed, and reconnected
// when it is needed after its connection has ended.
type Hosts struct {
	Members []*Member
	World   World
	now     func() time.Time
	// Replace are the nodes to remove from their clusters and join again.
	Replace []state.Target
	// Rotate are the CAs and keys to replace.
	Rotate []topology.Rotation
	// PodsOn are the names of nodes whose pods are observed besides those that a plan may drain.
	PodsOn []string
	// Destroys reports whether all clusters are to be destroyed: what ends with each is observed.
	Destroys bool
	// Answered is called for each host that was observed, or could not be.
	Answered func(state.Target)
}

// World opens hosts and gives access to clusters: over the network, or simulated.
type World interface {
	Open(ctx context.Context, c config.Connection, address string) (providers.Host, error)
	Access() providers.Access
	Issuer() providers.Issuer
	Clock() providers.Clock
	// Remember returns the host with a memory of the secrets that it was already asked for.
	Remember(h providers.Host, asked []string, r *state.Report) providers.Host
	// Beat returns how often a run renews its claims; 0 for never.
	Beat() time.Duration
	// Save saves a simulated world.
	Save() error
}

// hasLeft reports whether the member was removed since the hosts were listed: it is neither in
// the configuration nor in the state any more, so that it is not observed.
func (m *Member) hasLeft(recorded *state.State) bool {
	return m.Leaves && (recorded == nil || recorded.Nodes[m.Target] == nil)
}

// Open lists the hosts of configuration and state, in the world that their connections name. It
// contacts none of them.
func Open(cfg *config.Config, recorded *state.State, o Options) (*Hosts, error) {
	w, err := OpenWorld(cfg, recorded, o)
	if err != nil {
		return nil, err
	}
	return List(w, cfg, recorded, o), nil
}

// List lists the hosts of configuration and state in a world. It contacts none of them.
func List(w World, cfg *config.Config, recorded *state.State, o Options) *Hosts {
	f := &Hosts{World: w, now: o.Now, Answered: func(state.Target) {}}
	seen := map[state.Target]bool{}
	queries := observe.Queries(cfg, recorded)
	for _, n := range cfg.Nodes {
		seen[n.Target] = true
		c := n.Connection
		if !slices.Contains(o.Accepted, n.Target.String()) { // else the accepted key is the old machine's
			c = pinned(c, recorded, n.Target)
		}
		f.Members = append(f.Members, &Member{
			Target: n.Target, Cluster: n.Cluster, Plane: n.Role == config.ControlPlane, query: queries[n.Target], address: n.AdvertiseAddress(),
			keyRecorded: len(c.HostKeys) > len(n.Connection.HostKeys),
			open:        func(ctx context.Context) (providers.Host, error) { return w.Open(ctx, c, n.Address) },
		})
	}
	if recorded == nil {
		return f
	}
	forgotten := ownership.Forgotten(cfg, recorded)
	for t, n := range recorded.Nodes {
		if seen[t] || slices.Contains(forgotten, t) {
			continue
		}
		f.Members = append(f.Members, &Member{
			Target: t, Cluster: n.Cluster, Plane: n.Role == string(config.ControlPlane), query: queries[t], address: n.Address, Leaves: true,
			keyRecorded: n.HostKey != "",
			open: func(ctx context.Context) (providers.Host, error) {
				return w.Open(ctx, formerly(cfg, n), n.Address)
			},
		})
	}
	return f
}

// formerly returns how to reach a node whose block is gone: as recorded, with the recorded host
// key. Passwords are not recorded: the sudo password is the one for all nodes.
func formerly(cfg *config.Config, n *state.RecordedNode) config.Connection {
	c := config.ConnectionFromValue(n.Connection)
	c.HostKeys = append(c.HostKeys, hostKeys(n)...)
	if c.Type == cfg.Connection.Type {
		c.SudoPassword = cfg.Connection.SudoPassword
	}
	return c
}

// pinned returns a connection that trusts only the recorded key if the key was accepted at the
// first contact: from then on the host is known.
func pinned(c config.Connection, recorded *state.State, t state.Target) config.Connection {
	if !c.AcceptNewHostKey || len(c.HostKeys) > 0 || recorded == nil || recorded.Nodes[t] == nil {
		return c
	}
	c.HostKeys = hostKeys(recorded.Nodes[t])
	return c
}

func hostKeys(n *state.RecordedNode) []string {
	if n.HostKey == "" {
		return nil
	}
	return []string{n.HostKey}
}

// Keep drops the hosts that a command does not need.
func (f *Hosts) Keep(keep func(*Member) bool) {
	f.Members = slices.DeleteFunc(f.Members, func(m *Member) bool { return !keep(m) })
}

// ClusterOf returns the label of the cluster that a target is or belongs to.
func (f *Hosts) ClusterOf(t state.Target) string {
	if m := f.Member(t); m != nil {
		return m.Cluster
	}
	return t.Name
}

// Member returns the host of a node; nil if the run has no such node.
func (f *Hosts) Member(t state.Target) *Member {
	for _, m := range f.Members {
		if m.Target == t {
			return m
		}
	}
	return nil
}

// Host returns the connected host of a node.
func (f *Hosts) Host(ctx context.Context, t state.Target) (providers.Host, error) {
	m := f.Member(t)
	if m == nil {
		return nil, fmt.Errorf("cannot reach %s: it is neither in the configuration nor in the state", t)
	}
	return m.Connect(ctx)
}

// Close closes all connections.
func (f *Hosts) Close() {
	for _, m := range f.Members {
		m.mu.Lock()
		m.closed = true
		if m.host != nil {
			_ = m.host.Close()
		}
		m.mu.Unlock()
	}
}

// Restrict restricts a run to the hosts that have a query, and to these queries.
func (f *Hosts) Restrict(queries map[state.Target]state.Query) {
	f.Keep(func(m *Member) bool { _, ok := queries[m.Target]; return ok })
	for _, m := range f.Members {
		m.query = queries[m.Target]
	}
}
