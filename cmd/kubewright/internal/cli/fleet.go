package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/immutable"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/ssh"
	"github.com/kubewright/kubewright/state"
)

// member is one host that a run may touch: of the configuration, or recorded only.
type member struct {
	target  state.Target
	cluster string
	plane   bool
	// leaves reports whether the configuration has no such node.
	leaves bool
	// keyRecorded reports whether the host is known by the key in the state alone.
	keyRecorded bool
	// address is the one at which an API server of the node is called.
	address string
	query   state.Query
	open    func(context.Context) (providers.Host, error)

	mu   sync.Mutex
	host providers.Host
	// again is the last attempt to connect again.
	again  *reopening
	closed bool
}

// fleet is all hosts of a run. Each is connected when it is first needed, and again when
// it is needed after its connection has ended.
type fleet struct {
	members []*member
	world   world
	now     func() time.Time
	// replace are the nodes that are to leave their clusters and to join again.
	replace []state.Target
	// rotate are the CAs and keys to replace by new ones.
	rotate []topology.Rotation
	// answered is told of each host that was looked at, or could not be.
	answered func(state.Target)
}

// world opens hosts and gives access to clusters: over the network, or simulated.
type world interface {
	open(ctx context.Context, c config.Connection, address string) (providers.Host, error)
	access() providers.Access
	issuer() providers.Issuer
	clock() providers.Clock
	// remember is the host that answers for secrets which it has been asked for already.
	remember(h providers.Host, asked []string, r *state.Report) providers.Host
	// beat is how often a run shows a sign of life while it works; 0 for never.
	beat() time.Duration
	// save keeps what a simulated world has become.
	save() error
}

// left reports whether the member was taken out since the fleet was listed: neither
// configuration nor state know it any more, so that nobody asks how it is.
func (m *member) left(recorded *state.State) bool {
	return m.leaves && (recorded == nil || recorded.Nodes[m.target] == nil)
}

// openFleet lists the hosts of configuration and state. Nothing is contacted yet.
// accepted are the nodes whose hosts are meant to be other machines than before.
func (a *app) openFleet(cfg *config.Config, recorded *state.State, passphrase func(string) ([]byte, error), accepted ...string) (*fleet, error) {
	w, err := a.openWorld(cfg, recorded, passphrase)
	if err != nil {
		return nil, err
	}
	f := &fleet{world: w, now: a.Now, answered: func(state.Target) {}}
	seen := map[state.Target]bool{}
	queries := observe.Queries(cfg, recorded)
	for _, n := range cfg.Nodes {
		seen[n.Target] = true
		c := n.Connection
		if !slices.Contains(accepted, n.Target.String()) { // else the key that was accepted is the old machine's
			c = pinned(c, recorded, n.Target)
		}
		f.members = append(f.members, &member{
			target: n.Target, cluster: n.Cluster, plane: n.Role == config.ControlPlane, query: queries[n.Target], address: n.AdvertiseAddress(),
			keyRecorded: len(c.HostKeys) > len(n.Connection.HostKeys),
			open:        func(ctx context.Context) (providers.Host, error) { return w.open(ctx, c, n.Address) },
		})
	}
	if recorded == nil {
		return f, nil
	}
	forgotten := ownership.Forgotten(cfg, recorded)
	for t, n := range recorded.Nodes {
		if seen[t] || slices.Contains(forgotten, t) {
			continue
		}
		f.members = append(f.members, &member{
			target: t, cluster: n.Cluster, plane: n.Role == string(config.ControlPlane), query: queries[t], address: n.Address, leaves: true,
			keyRecorded: n.HostKey != "",
			open: func(ctx context.Context) (providers.Host, error) {
				return w.open(ctx, formerly(cfg, n), n.Address)
			},
		})
	}
	return f, nil
}

// formerly returns how a node is reached whose block is gone: as the state remembers it, by
// the key that it knows. Passwords are kept nowhere: sudo's is the one for all nodes.
func formerly(cfg *config.Config, n *state.RecordedNode) config.Connection {
	c := config.ConnectionFromValue(n.Connection)
	c.HostKeys = append(c.HostKeys, hostKeys(n)...)
	if c.Type == cfg.Connection.Type {
		c.SudoPassword = cfg.Connection.SudoPassword
	}
	return c
}

// pinned returns a connection that trusts no other key than the one recorded, where
// the first contact was accepted unseen: from then on the host is known.
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

// only leaves out the hosts that a command has nothing to do with.
func (f *fleet) only(keep func(*member) bool) {
	f.members = slices.DeleteFunc(f.members, func(m *member) bool { return !keep(m) })
}

func (f *fleet) member(t state.Target) *member {
	for _, m := range f.members {
		if m.target == t {
			return m
		}
	}
	return nil
}

// Host returns the host of a node, connected.
func (f *fleet) Host(ctx context.Context, t state.Target) (providers.Host, error) {
	m := f.member(t)
	if m == nil {
		return nil, fmt.Errorf("cannot reach %s: it is neither in the configuration nor in the state", t)
	}
	return m.connect(ctx)
}

// observe looks at all hosts at once and, as soon as a cluster's first control
// plane has answered, at its API and etcd through that one.
func (f *fleet) observe(ctx context.Context, cfg *config.Config, recorded *state.State) *topology.Fleet {
	v := &topology.Fleet{
		Config: cfg, Recorded: recorded,
		Reports: map[state.Target]*state.Report{}, Unobserved: map[state.Target]state.Unobserved{},
		ClusterReports: map[string]*state.ClusterReport{}, ClusterErrors: map[string]string{}, Etcds: map[state.Target]state.EtcdIdentity{},
	}
	o := observer{fleet: f, view: v, asked: map[string]bool{}}
	for _, m := range f.members {
		if m.left(recorded) {
			continue
		}
		o.wait.Go(func() {
			o.host(ctx, m)
			f.answered(m.target)
		})
	}
	o.wait.Wait()
	o.correct(ctx)
	o.proveServing(ctx)
	o.externalEtcds(ctx)
	return v
}

// observer collects the answers of one round.
type observer struct {
	*fleet
	wait  sync.WaitGroup
	mu    sync.Mutex
	view  *topology.Fleet
	asked map[string]bool
}

func (o *observer) host(ctx context.Context, m *member) {
	r, err := o.look(ctx, m)
	o.mu.Lock()
	if err != nil {
		u := state.Unobserved{Target: m.target, Reason: err.Error(), Remedy: m.remedy(err)}
		u.Answered, u.Estranged = answered(err)
		o.view.Unobserved[m.target] = u
		o.mu.Unlock()
		return
	}
	o.view.Reports[m.target] = r
	_, admin := r.Secrets["/etc/kubernetes/admin.conf"]
	ask := m.plane && admin && !o.asked[m.cluster]
	if ask {
		o.asked[m.cluster] = true
	}
	o.mu.Unlock()
	if m.plane && admin {
		o.wait.Go(func() { o.ownEtcd(ctx, m, r) })
	}
	if ask {
		o.cluster(ctx, m, r)
	}
}

// answered reports whether an error is no silence: a machine that runs gives it, or what is
// wrong is here and nobody was asked. One that shows another key does not prove to be the
// host that it was. A bastion's error, which comes wrapped, says nothing of the host
// behind it.
func answered(err error) (answers, estranged bool) {
	var e *providers.Error
	if !errors.As(err, &e) {
		return true, false
	}
	own, ok := err.(*providers.Error)
	switch {
	case !ok:
		return e.Kind == providers.ErrProtocol || e.Kind == providers.ErrUnsupported, false
	case own.Kind == providers.ErrHostKeyChanged:
		return false, true
	}
	return own.Kind != providers.ErrUnreachable && own.Kind != providers.ErrTimeout, false
}

// look observes one host; the clock's offset is measured around the round trip.
func (o *observer) look(ctx context.Context, m *member) (*state.Report, error) {
	h, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	r, err := m.observe(ctx, h)
	if inner, ok := h.(interface{ Unwrap() providers.Host }); ok {
		h = inner.Unwrap()
	}
	if s, ok := h.(*ssh.Host); ok && err == nil {
		r.HostKey, r.HopKeys = s.Conn().HostKey(), s.Conn().HopKeys()
	}
	return r, err
}

// observe asks the host, and remembers its programs for the next time.
func (m *member) observe(ctx context.Context, h providers.Host) (*state.Report, error) {
	m.mu.Lock()
	q := m.query
	m.mu.Unlock()
	r, err := h.Observe(ctx, q)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.query.Programs = r.Programs
	m.mu.Unlock()
	return r, nil
}

// cluster asks API and etcd through one control plane, and where one of them
// does not answer there, through the next that is of the same cluster. One that is
// not of the recorded cluster speaks for it only where none is.
func (o *observer) cluster(ctx context.Context, m *member, r *state.Report) {
	cas := o.identity(m, r)
	var report *state.ClusterReport
	err := fmt.Errorf("none of the control planes that were reached holds the CA that the state has recorded of cluster %q", m.cluster)
	speaks := o.isOf(cas, m, r)
	if speaks {
		report, err = o.askThrough(ctx, m, r)
	}
	nobody := !speaks
	for _, other := range o.members {
		if err == nil && report.EtcdUnobserved == "" || ctx.Err() != nil {
			break
		}
		if other == m || other.cluster != m.cluster || !other.plane {
			continue
		}
		seen, lookErr := o.look(ctx, other)
		if lookErr != nil {
			nobody = false // for all that is known
			continue
		}
		if seen.Secrets["/etc/kubernetes/admin.conf"].IsZero() || !o.isOf(cas, other, seen) {
			continue
		}
		nobody = false
		cas = append(cas, o.cas(other, seen)...)
		// What one shows is taken as a whole, unless the other shows more.
		if again, askErr := o.askThrough(ctx, other, seen); err != nil || askErr == nil && again.EtcdUnobserved == "" {
			report, err = again, askErr
		}
	}
	// What the first one holds may be known to be the cluster's from another one alone.
	if nobody || err != nil && !speaks && o.isOf(cas, m, r) {
		report, err = o.askThrough(ctx, m, r)
	}
	if err == nil {
		o.deprecated(ctx, m, cas, report)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.view.ClusterErrors[m.cluster] = err.Error()
		return
	}
	o.view.ClusterReports[m.cluster] = report
}

// identity returns the CAs by which the member's cluster is known: the recorded one, and
// of a cluster that nothing is recorded of the member's. What the member holds is the
// cluster's too when it goes by the recorded one: the one is being replaced by the
// other, and the state is told of that only at the end.
func (o *observer) identity(m *member, r *state.Report) []string {
	rec := o.view.Recorded
	if rec == nil || rec.Clusters[m.cluster] == nil || rec.Clusters[m.cluster].CA == "" {
		return o.cas(m, r)
	}
	known := []string{rec.Clusters[m.cluster].CA}
	if o.isOf(known, m, r) {
		known = append(known, o.cas(m, r)...)
	}
	return known
}

// isOf reports whether a host is of the cluster that is known by these CAs. It holds one of
// them, or shows that the CA which it holds has taken the place of one: of a CA that
// was replaced nobody holds the old one any more, and hosts of other clusters do not
// show that.
func (o *observer) isOf(known []string, m *member, r *state.Report) bool {
	return overlap(known, o.seen(m, r).ClusterIdentities(m.target))
}

// cas returns the identities of the cluster whose CA a host holds.
func (o *observer) cas(m *member, r *state.Report) []string {
	return o.seen(m, r).CAs(m.target)
}

// seen returns a view of one host alone.
func (o *observer) seen(m *member, r *state.Report) *topology.Fleet {
	return &topology.Fleet{Config: o.view.Config, Reports: map[state.Target]*state.Report{m.target: r}}
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func (o *observer) askThrough(ctx context.Context, m *member, r *state.Report) (*state.ClusterReport, error) {
	h, err := o.remembering(ctx, m, r)
	if err != nil {
		return nil, err
	}
	seat := o.seat(m, r)
	q := observe.ClusterQuery(o.view.Config, o.view.Recorded, m.cluster, o.replace...)
	q.TokenSecrets = rotation.AsksForTokens(o.view.Config, m.cluster, o.rotate, r)
	var report *state.ClusterReport
	var apiErr error
	var members []state.EtcdMember
	var id string
	var etcdErr error
	var both sync.WaitGroup
	both.Go(func() { report, apiErr = o.askAPI(ctx, h, seat.API, q) })
	if q.Etcd {
		both.Go(func() { members, id, etcdErr = o.askEtcd(ctx, h, seat) })
	}
	both.Wait()
	if apiErr != nil {
		return nil, apiErr
	}
	report.Members, report.EtcdClusterID = members, id
	if etcdErr != nil {
		report.EtcdUnobserved = etcdErr.Error()
	}
	return report, nil
}

// remembering returns the member's host, which answers for the secrets that it has shown.
func (o *observer) remembering(ctx context.Context, m *member, r *state.Report) (providers.Host, error) {
	h, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	return o.world.remember(h, m.query.Secrets, r), nil
}

func (o *observer) askAPI(ctx context.Context, h providers.Host, address string, q state.ClusterQuery) (*state.ClusterReport, error) {
	api, err := o.world.access().API(ctx, h, address)
	if err != nil {
		return nil, err
	}
	defer api.Close()
	report, err := api.Observe(ctx, q)
	if err != nil {
		return nil, err
	}
	// Without it nothing but a run that was cut short goes unexplained.
	if l, err := api.Lease(ctx, leaseName); err == nil && l != nil {
		report.Lease = &state.RunLease{Lineage: l.Lineage, Token: l.Token}
	}
	return report, nil
}

func (o *observer) askEtcd(ctx context.Context, h providers.Host, seat providers.Seat) (members []state.EtcdMember, id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	err = o.withEtcd(ctx, h, seat, func(e providers.Etcd) error {
		members, id, err = e.Members(ctx)
		return err
	})
	return members, id, err
}

// withEtcd does something with the etcd on a control plane's own host.
func (o *observer) withEtcd(ctx context.Context, h providers.Host, seat providers.Seat, do func(providers.Etcd) error) error {
	etcd, err := o.world.access().Etcd(ctx, h, []string{seat.EtcdURL()}, seat.Folder)
	if err != nil {
		return err
	}
	defer etcd.Close()
	return do(etcd)
}

// proveServing asks the API servers themselves that the API does not show as ready.
func (o *observer) proveServing(ctx context.Context) {
	for label, report := range o.view.ClusterReports {
		for t, name := range pipeline.Unproved(o.view, label) {
			m, r := o.member(t), o.view.Reports[t]
			if m == nil || r == nil {
				continue
			}
			o.wait.Go(func() {
				h, err := m.connect(ctx)
				if err != nil || serves(ctx, h, o.seat(m, r)) != nil {
					return
				}
				o.mu.Lock()
				defer o.mu.Unlock()
				pod := report.StaticPods[name]
				pod.Ready = true
				report.StaticPods[name] = pod
			})
		}
	}
	o.wait.Wait()
}

// seat returns how the member's own API server and etcd are reached.
func (o *observer) seat(m *member, r *state.Report) providers.Seat {
	c := o.view.Config.Cluster(m.cluster)
	seat := providers.Seat{API: config.JoinHostPort(m.address, immutable.APIPort(c, r))}
	if c != nil {
		seat.Folder = c.Certificates.Dir
	}
	return seat
}

// withSecrets answers for secrets that the observing round trip has asked for
// already, among them those that are not there.
type withSecrets struct {
	providers.Host
	asked []string
	found map[string]state.Secret
}

// Unwrap returns the host itself.
func (h withSecrets) Unwrap() providers.Host { return h.Host }

// ReadSecrets returns from memory, and asks the host for what is not there.
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

func (f *fleet) close() {
	for _, m := range f.members {
		m.mu.Lock()
		m.closed = true
		if m.host != nil {
			_ = m.host.Close()
		}
		m.mu.Unlock()
	}
}
