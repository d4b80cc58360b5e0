package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/immutable"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/ssh"
	"github.com/kubewright/kubewright/state"
)

// Observe observes all hosts concurrently and, as soon as the first control plane of a cluster
// has answered, the cluster's API and etcd through it.
func (f *Hosts) Observe(ctx context.Context, cfg *config.Config, recorded *state.State) *topology.Fleet {
	o := newObserver(f, cfg, recorded)
	for _, m := range f.Members {
		if m.hasLeft(recorded) {
			continue
		}
		o.wait.Go(func() {
			o.host(ctx, m)
			f.Answered(m.Target)
		})
	}
	o.wait.Wait()
	o.correct(ctx)
	o.proveServing(ctx)
	o.externalEtcds(ctx)
	return o.fleet()
}

// observer collects the answers of one round, of which it makes a fleet.
type observer struct {
	*Hosts
	config   *config.Config
	recorded *state.State
	wait     sync.WaitGroup
	mu       sync.Mutex
	asked    map[string]bool

	reports        map[state.Target]*state.Report
	unobserved     map[state.Target]state.Unobserved
	clusterReports map[string]*state.ClusterReport
	clusterErrors  map[string]string
	etcds          map[state.Target]state.EtcdIdentity
	etcdAlone      map[string]topology.EtcdAlone
	external       map[string]*topology.ExternalEtcd
}

func newObserver(f *Hosts, cfg *config.Config, recorded *state.State) *observer {
	return &observer{
		Hosts: f, config: cfg, recorded: recorded, asked: map[string]bool{},
		reports: map[state.Target]*state.Report{}, unobserved: map[state.Target]state.Unobserved{},
		clusterReports: map[string]*state.ClusterReport{}, clusterErrors: map[string]string{}, etcds: map[state.Target]state.EtcdIdentity{},
		etcdAlone: map[string]topology.EtcdAlone{}, external: map[string]*topology.ExternalEtcd{},
	}
}

// fleet returns the fleet of the answers up to now; later ones do not change it.
func (o *observer) fleet() *topology.Fleet {
	return &topology.Fleet{
		Config: o.config, Recorded: o.recorded,
		Reports: maps.Clone(o.reports), Unobserved: maps.Clone(o.unobserved),
		ClusterReports: maps.Clone(o.clusterReports), ClusterErrors: maps.Clone(o.clusterErrors), Etcds: maps.Clone(o.etcds),
		EtcdAlone: maps.Clone(o.etcdAlone), ExternalEtcds: maps.Clone(o.external),
	}
}

func (o *observer) host(ctx context.Context, m *Member) {
	r, err := o.observe(ctx, m)
	o.mu.Lock()
	if err != nil {
		u := state.Unobserved{Target: m.Target, Reason: err.Error(), Remedy: m.remedy(err)}
		u.Answered, u.Estranged = answered(err)
		o.unobserved[m.Target] = u
		o.mu.Unlock()
		return
	}
	o.reports[m.Target] = r
	_, admin := r.Secrets["/etc/kubernetes/admin.conf"]
	ask := m.Plane && admin && !o.asked[m.Cluster]
	if ask {
		o.asked[m.Cluster] = true
	}
	o.mu.Unlock()
	if m.Plane && admin {
		o.wait.Go(func() { o.ownEtcd(ctx, m, r) })
	}
	if ask {
		o.cluster(ctx, m, r)
	}
}

// answered reports whether an error proves that the machine runs, or that no host was contacted
// because the error is local. A machine that shows another key does not prove to be the known
// host: it is estranged. A bastion's error, which comes wrapped, says nothing about the host
// after it.
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

// observe observes one host, with the keys that it and its bastions show.
func (o *observer) observe(ctx context.Context, m *Member) (*state.Report, error) {
	h, err := m.Connect(ctx)
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

// observe queries the host, and remembers its programs for the next query.
func (m *Member) observe(ctx context.Context, h providers.Host) (*state.Report, error) {
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

// cluster asks API and etcd through one control plane, and, if one of them does not answer
// there, through the next one of the same cluster. A control plane that does not belong to the
// recorded cluster is asked only if none does.
func (o *observer) cluster(ctx context.Context, m *Member, r *state.Report) {
	cas := o.identity(m, r)
	failures := map[*Member]error{}
	ask := func(m *Member, r *state.Report) (*state.ClusterReport, error) {
		report, err := o.askThrough(ctx, m, r)
		failures[m] = err
		return report, err
	}
	var report *state.ClusterReport
	err := fmt.Errorf("none of the control planes that were reached holds the CA that the state has recorded of cluster %q", m.Cluster)
	speaks := o.isOf(cas, m, r)
	if speaks {
		report, err = ask(m, r)
	}
	none := !speaks
	for _, other := range o.Members {
		if err == nil && report.EtcdUnobserved == "" || ctx.Err() != nil {
			break
		}
		if other == m || other.Cluster != m.Cluster || !other.Plane {
			continue
		}
		seen, lookErr := o.observe(ctx, other)
		if lookErr != nil {
			none = false // it may belong to it
			continue
		}
		if seen.Secrets["/etc/kubernetes/admin.conf"].IsZero() || !o.isOf(cas, other, seen) {
			continue
		}
		none = false
		cas = append(cas, o.cas(other, seen)...)
		// An answer is taken as a whole, unless another one has more.
		if again, askErr := ask(other, seen); err != nil || askErr == nil && again.EtcdUnobserved == "" {
			report, err = again, askErr
		}
	}
	// Only another control plane may have shown that the CA of the first one is the cluster's.
	if none || err != nil && !speaks && o.isOf(cas, m, r) {
		report, err = ask(m, r)
	}
	if err == nil {
		o.deprecated(ctx, m, cas, report)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		// Which member is asked first depends on which host answers first: the error does not.
		for _, other := range o.Members {
			err = cmp.Or(failures[other], err)
		}
		o.clusterErrors[m.Cluster] = err.Error()
		return
	}
	o.clusterReports[m.Cluster] = report
}

// identity returns the CAs that identify the member's cluster: the recorded one, or without a
// record the member's. If the member belongs to the cluster of the recorded CA, its own CAs
// count as well: a rotation is replacing one by the other, and the state records that only at
// its end.
func (o *observer) identity(m *Member, r *state.Report) []string {
	rec := o.recorded
	if rec == nil || rec.Clusters[m.Cluster] == nil || rec.Clusters[m.Cluster].CA == "" {
		return o.cas(m, r)
	}
	known := []string{rec.Clusters[m.Cluster].CA}
	if o.isOf(known, m, r) {
		known = append(known, o.cas(m, r)...)
	}
	return known
}

// isOf reports whether a host belongs to the cluster with these CAs: it holds one of them, or
// shows that its CA has replaced one of them. After a rotation no host holds the old CA any
// more, and hosts of other clusters do not show that.
func (o *observer) isOf(known []string, m *Member, r *state.Report) bool {
	return overlap(known, o.alone(m, r).ClusterIdentities(m.Target))
}

// cas returns the identities of the CAs that a host holds.
func (o *observer) cas(m *Member, r *state.Report) []string {
	return o.alone(m, r).CAs(m.Target)
}

// alone returns a fleet with only this host observed.
func (o *observer) alone(m *Member, r *state.Report) *topology.Fleet {
	return &topology.Fleet{Config: o.config, Reports: map[state.Target]*state.Report{m.Target: r}}
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func (o *observer) askThrough(ctx context.Context, m *Member, r *state.Report) (*state.ClusterReport, error) {
	h, err := o.remembering(ctx, m, r)
	if err != nil {
		return nil, err
	}
	primary := m.Seat(o.config, r)
	q := observe.ClusterQuery(o.config, o.recorded, m.Cluster, o.Replace...)
	q.PodsOn = append(q.PodsOn, o.PodsOn...)
	q.Losses = q.Losses || o.Destroys
	q.TokenSecrets = rotation.AsksForTokens(o.config, m.Cluster, o.Rotate, r)
	var report *state.ClusterReport
	var apiErr error
	var members []state.EtcdMember
	var id string
	var etcdErr error
	var both sync.WaitGroup
	both.Go(func() { report, apiErr = o.askAPI(ctx, h, primary.API, q) })
	if q.Etcd {
		both.Go(func() { members, id, etcdErr = o.askEtcd(ctx, h, primary) })
	}
	both.Wait()
	if apiErr != nil {
		if q.Etcd && etcdErr == nil {
			o.mu.Lock()
			o.etcdAlone[m.Cluster] = topology.EtcdAlone{Members: members, ClusterID: id}
			o.mu.Unlock()
		}
		return nil, apiErr
	}
	report.Members, report.EtcdClusterID = members, id
	if etcdErr != nil {
		report.EtcdUnobserved = etcdErr.Error()
	}
	return report, nil
}

// remembering returns the member's host, with a memory of the secrets that it has shown.
func (o *observer) remembering(ctx context.Context, m *Member, r *state.Report) (providers.Host, error) {
	h, err := m.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return o.World.Remember(h, m.query.Secrets, r), nil
}

func (o *observer) askAPI(ctx context.Context, h providers.Host, address string, q state.ClusterQuery) (*state.ClusterReport, error) {
	api, err := o.World.Access().API(ctx, h, address)
	if err != nil {
		return nil, err
	}
	defer api.Close()
	report, err := api.Observe(ctx, q)
	if err != nil {
		return nil, err
	}
	// Without the lease, only an interrupted run remains unexplained.
	if l, err := api.Lease(ctx, LeaseName); err == nil && l != nil {
		report.Lease = &state.RunLease{Lineage: l.Lineage, Token: l.Token}
	}
	return report, nil
}

func (o *observer) askEtcd(ctx context.Context, h providers.Host, primary providers.Seat) (members []state.EtcdMember, id string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	err = o.withEtcd(ctx, h, primary, func(e providers.Etcd) error {
		members, id, err = e.Members(ctx)
		return err
	})
	return members, id, err
}

// withEtcd calls do with the etcd on a control plane's own host.
func (o *observer) withEtcd(ctx context.Context, h providers.Host, primary providers.Seat, do func(providers.Etcd) error) error {
	etcd, err := o.World.Access().Etcd(ctx, h, []string{primary.EtcdURL()}, primary.Folder)
	if err != nil {
		return err
	}
	defer etcd.Close()
	return do(etcd)
}

// proveServing asks the static pods that the API does not show as ready themselves: API servers whether
// they are ready, and others whether they live.
func (o *observer) proveServing(ctx context.Context) {
	v, proved := o.fleet(), map[string][]string{}
	for label, report := range v.ClusterReports {
		for t, names := range pipeline.Unproved(v, label) {
			m, r := o.Member(t), v.Reports[t]
			if m == nil || r == nil {
				continue
			}
			for _, name := range names {
				o.wait.Go(func() {
					h, err := m.Connect(ctx)
					if err != nil || serves(ctx, h, name, report.StaticPods[name].Probe, m.Seat(o.config, r)) != nil {
						return
					}
					o.mu.Lock()
					defer o.mu.Unlock()
					proved[label] = append(proved[label], name)
				})
			}
		}
	}
	o.wait.Wait()
	for label, pods := range proved {
		o.clusterReports[label] = withServing(v.ClusterReports[label], pods)
	}
}

// withServing returns the report of a cluster with static pods that serve.
func withServing(of *state.ClusterReport, pods []string) *state.ClusterReport {
	out := *of
	out.StaticPods = maps.Clone(of.StaticPods)
	for _, name := range pods {
		pod := out.StaticPods[name]
		pod.Alive = true
		pod.Ready = strings.HasPrefix(name, apiServer)
		out.StaticPods[name] = pod
	}
	return &out
}

// apiServer begins the names of the API servers' mirror pods.
const apiServer = "kube-apiserver-"

// serves asks a static pod on its host whether it serves. The certificate of an API server is verified.
// The others serve with certificates of their own, and the API says where: nothing but loopback is asked.
func serves(ctx context.Context, h providers.Host, name, probe string, seat providers.Seat) error {
	if strings.HasPrefix(name, apiServer) {
		return Serves(ctx, h, seat)
	}
	u, err := url.Parse(probe)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(u.Hostname()); !ip.IsLoopback() {
		return fmt.Errorf("%q is not on loopback", probe)
	}
	return answersOK(ctx, h, probe, "")
}

// Seat returns how to reach the member's own API server and etcd, on the port in the report;
// nil stands for the configured port. Of a cluster whose block is gone, the host shows where the
// certificates are.
func (m *Member) Seat(cfg *config.Config, r *state.Report) providers.Seat {
	c := cfg.Cluster(m.Cluster)
	primary := providers.Seat{API: config.JoinHostPort(m.address, immutable.APIPort(c, r))}
	switch {
	case c != nil:
		primary.Folder = c.Certificates.Dir
	case r != nil:
		primary.Folder = certificatesOf(r)
	}
	return primary
}

// certificatesOf returns the folder of the certificates in which a host has etcd's CA; empty without one.
func certificatesOf(r *state.Report) string {
	for _, path := range slices.Sorted(maps.Keys(r.Files)) {
		if dir, ok := strings.CutSuffix(path, "/etcd/ca.crt"); ok && r.Files[path].Exists {
			return dir
		}
	}
	return ""
}

// Serves asks the API server on a control plane's own host whether it is ready.
func Serves(ctx context.Context, h providers.Host, primary providers.Seat) error {
	return answersOK(ctx, h, "https://"+primary.API+"/readyz", primary.Folder+"/ca.crt")
}

func answersOK(ctx context.Context, h providers.Host, url, ca string) error {
	status, err := h.HTTPStatus(ctx, url, ca)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s answers %d", url, status)
	}
	return err
}

// LeaseName is the lease of every run that changes a cluster, whatever its state: two operators
// who import the same cluster have two states, and its hosts distinguish them only once each
// was changed.
const LeaseName = "kubewright"
