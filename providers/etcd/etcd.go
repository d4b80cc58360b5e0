package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	neturl "net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Deadlines of one request: a member that does not answer a read in time counts as
// unhealthy; a change of membership waits for a quorum.
const (
	readTimeout   = 2 * time.Second
	changeTimeout = 10 * time.Second
)

// How often a member is asked before it counts as unhealthy, and the pause in between. A
// busy member, or one that is electing its leader, may be late once. If fewer members
// answer than the quorum that served the list a moment before, all of etcd is late: etcd
// itself allows a request 5 s and two elections (etcd 3.6, ReqTimeout).
const (
	looks     = 2
	patient   = 4
	lookAgain = 500 * time.Millisecond
)

// Options of Open. The zero value is usable.
type Options struct {
	// Folder is the cluster's certificates folder; providers.CertificatesFolder when empty.
	Folder string
}

// Client implements providers.Etcd. It may be used from several goroutines.
//
// Every method first lists the members, and fails with providers.ErrUnreachable or
// providers.ErrTimeout if no member answers. If a change fails, the membership was read
// again and did not show the change; it may still happen. A retry is safe for all of them.
type Client struct {
	dial func(endpoint string) (member, error)

	mu sync.Mutex
	// given are the endpoints of Open, listed those of the members in the last list.
	given, listed []string
	members       map[string]member
	// known is the ID of the cluster whose members were listed.
	known uint64
}

var _ providers.Etcd = (*Client)(nil)

// Open reads the client certificate for health checks from the host and returns a client
// that reaches the members through it. Endpoints are client URLs; the client discovers
// further members from them.
func Open(ctx context.Context, via providers.Host, endpoints []string, opts Options) (*Client, error) {
	if len(endpoints) == 0 {
		return nil, errors.New("internal error: no endpoint of etcd")
	}
	folder := cmp.Or(opts.Folder, providers.CertificatesFolder)
	paths := []string{folder + "/etcd/ca.crt", folder + "/etcd/healthcheck-client.crt", folder + "/etcd/healthcheck-client.key"}
	files, err := via.ReadSecrets(ctx, paths)
	if err != nil {
		return nil, fmt.Errorf("cannot read the client certificate of etcd: %w", err)
	}
	for _, p := range paths {
		if files[p].IsZero() {
			return nil, fmt.Errorf("cannot reach etcd: %s is not there", p)
		}
	}
	config, err := tlsConfig(files[paths[0]].Reveal(), files[paths[1]].Reveal(), files[paths[2]].Reveal())
	if err != nil {
		return nil, fmt.Errorf("cannot reach etcd: %w", err)
	}
	return newClient(endpoints, func(endpoint string) (member, error) { return dial(via, endpoint, config) }), nil
}

func newClient(endpoints []string, dial func(string) (member, error)) *Client {
	return &Client{given: slices.Clone(endpoints), dial: dial, members: map[string]member{}}
}

// Close ends all connections.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all *multierror.Error
	for _, m := range c.members {
		all = multierror.Append(all, m.close())
	}
	c.members = map[string]member{}
	return all.ErrorOrNil()
}

// at returns the member at an endpoint; clients are kept.
func (c *Client) at(endpoint string) (member, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.members[endpoint]; m != nil {
		return m, nil
	}
	if !c.leads(endpoint) {
		return nil, fmt.Errorf("%s: it is no address at which other hosts reach a member of etcd", endpoint)
	}
	m, err := c.dial(endpoint)
	if err == nil {
		c.members[endpoint] = m
	}
	return m, err
}

// Members implements providers.Etcd: the list by a linearizable read from the first
// endpoint that answers, then the status of every member from its own endpoint.
func (c *Client) Members(ctx context.Context) ([]state.EtcdMember, string, error) {
	l, teller, err := c.list(ctx)
	if err != nil {
		return nil, "", err
	}
	var alarms map[uint64][]string
	var alarmErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, changeTimeout) // listing alarms needs consensus, like a change
		defer cancel()
		alarms, alarmErr = teller.alarms(ctx)
	})
	out := c.lookAtAll(ctx, l)
	wg.Wait()
	if alarmErr != nil {
		return nil, "", failure("list alarms of etcd", providers.ErrUnreachable, alarmErr)
	}
	for i, m := range l.members {
		out[i].Alarms = alarms[m.ID]
	}
	return out, hex(l.clusterID), nil
}

// lookAtAll asks all members for their status concurrently, and the unhealthy ones again.
func (c *Client) lookAtAll(ctx context.Context, l list) []state.EtcdMember {
	out := make([]state.EtcdMember, len(l.members))
	for n := 1; ; n++ {
		var wg sync.WaitGroup
		for i, m := range l.members {
			if !out[i].Healthy {
				wg.Go(func() { out[i] = c.look(ctx, l.clusterID, m) })
			}
		}
		wg.Wait()
		if n == patient || n >= looks && quorate(out) || !slices.ContainsFunc(out, late) {
			return out
		}
		select {
		case <-ctx.Done():
			return out
		case <-time.After(lookAgain):
		}
	}
}

// late reports whether a member has started but does not appear healthy.
func late(m state.EtcdMember) bool { return !m.Healthy && m.Name != "" }

// quorate reports whether enough voters are healthy.
func quorate(members []state.EtcdMember) bool {
	voters, healthy := state.Voters(members)
	return healthy > voters/2
}

// Identity implements providers.Etcd. It needs no quorum; a learner does not report the
// other members.
func (c *Client) Identity(ctx context.Context) (state.EtcdIdentity, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	own, err := c.at(c.given[0])
	if err != nil {
		return state.EtcdIdentity{}, err
	}
	st, err := own.status(ctx)
	if err != nil {
		return state.EtcdIdentity{}, failure("ask etcd who it is", providers.ErrUnreachable, err)
	}
	out := state.EtcdIdentity{ClusterID: hex(st.clusterID)}
	if l, err := own.listed(ctx); err == nil && l.clusterID == st.clusterID {
		for _, m := range l.members {
			out.PeerURLs = append(out.PeerURLs, m.PeerURLs...)
		}
	}
	return out, nil
}

// endpoints returns all endpoints that may reach a member.
func (c *Client) endpoints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := append(slices.Clone(c.given), c.listed...)
	slices.Sort(out)
	return slices.Compact(out)
}

// learn records the endpoints of the members of a list, as kubeadm does: the member on the
// host that all connections go through may be the one that is down.
func (c *Client) learn(l list) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed, c.known = nil, l.clusterID
	for _, m := range l.members {
		if len(m.ClientURLs) > 0 && !m.IsLearner && c.leads(m.ClientURLs[0]) {
			c.listed = append(c.listed, m.ClientURLs[0])
		}
	}
}

// leads reports whether a member's client URL reaches that member: a loopback address
// belongs to the calling machine, and is used only if it was given to Open.
func (c *Client) leads(endpoint string) bool {
	u, err := neturl.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	here := u.Hostname() == "localhost" || err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsUnspecified())
	return !here || slices.Contains(c.given, endpoint)
}

// foreign reports whether an answer comes from another etcd than the one that listed the
// endpoint: a member that restarts without its data may have founded a cluster of its own.
func (c *Client) foreign(endpoint string, l list) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.Contains(c.given, endpoint) && l.clusterID != c.known
}

// list asks all endpoints at once and returns the first answer.
func (c *Client) list(ctx context.Context) (list, member, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	endpoints := c.endpoints()
	type answer struct {
		list list
		from member
		err  error
	}
	answers := make(chan answer, len(endpoints))
	for _, endpoint := range endpoints {
		go func() {
			m, err := c.at(endpoint)
			if err != nil {
				answers <- answer{err: err}
				return
			}
			l, err := m.list(ctx)
			if err == nil && c.foreign(endpoint, l) {
				err = fmt.Errorf("%s: it is a member of another etcd, %s", endpoint, hex(l.clusterID))
			}
			answers <- answer{l, m, err}
		}()
	}
	var all *multierror.Error
	for range endpoints {
		a := <-answers
		if a.err == nil {
			c.learn(a.list)
			return a.list, a.from, nil
		}
		all = multierror.Append(all, a.err)
	}
	all.ErrorFormat = oneLine
	return list{}, nil, failure("list members of etcd", providers.ErrUnreachable, all)
}

// look asks one member for its status.
func (c *Client) look(ctx context.Context, clusterID uint64, m *pb.Member) state.EtcdMember {
	out := state.EtcdMember{ID: hex(m.ID), Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.IsLearner}
	if m.Name == "" || len(m.ClientURLs) == 0 {
		return out // It has not started.
	}
	own, err := c.at(m.ClientURLs[0])
	if err != nil {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	st, err := own.status(ctx)
	if err != nil || st.clusterID != clusterID || st.id != m.ID {
		return out
	}
	out.Leader = st.leader == m.ID
	out.Version, out.DowngradeTo, out.DBSize, out.DBInUse = st.version, st.downgradeTo, st.size, st.inUse
	if m.IsLearner {
		// A learner serves no linearizable reads.
		out.Healthy = len(st.problems) == 0
		return out
	}
	answered, err := own.read(ctx)
	out.Healthy = err == nil && answered.clusterID == clusterID && answered.id == m.ID
	return out
}

func hex(id uint64) string { return strconv.FormatUint(id, 16) }

func parseID(id string) (uint64, error) {
	n, err := strconv.ParseUint(id, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("internal error: %q is no ID of an etcd member", id)
	}
	return n, nil
}
