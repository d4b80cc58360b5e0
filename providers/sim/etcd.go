package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/state"
)

// etcdClient is an etcd client with the healthcheck certificate of one host.
type etcdClient struct {
	h         *Host
	endpoints []string
	// client is the path of the certificate, without its suffix.
	client string
}

// healthcheckClient is the name of the client's certificate and key in etcd's folder.
const healthcheckClient = "healthcheck-client"

// cluster returns the etcd cluster that answers at one of the endpoints.
func (e *etcdClient) cluster() (*etcd.Cluster, error) {
	c, err := e.answering()
	if err == nil && !c.HasQuorum() {
		return nil, &providers.Error{Kind: providers.ErrUnavailable, Do: "reach etcd through " + e.h.machine().Address, Cause: errors.New("etcdserver: request timed out: no leader")}
	}
	return c, err
}

// answering returns the etcd cluster of a member at one of the endpoints, with or without a
// quorum.
func (e *etcdClient) answering() (*etcd.Cluster, error) {
	w, m := e.h.w, e.h.machine()
	do := "reach etcd through " + m.Address
	client, err := m.Certificates().At(e.client+".crt", e.client+".key")
	var last error = errors.New("no endpoints")
	for _, endpoint := range e.endpoints {
		c, at := w.etcds.At(m, endpoint, e.endpoints)
		switch {
		case at != nil:
			last = at
		case !c.External() && client == nil:
			return nil, fmt.Errorf("cannot %s: %w", do, err) // without a certificate no request is made
		case !c.External() && err != nil:
			last = fmt.Errorf("%w: %w", providers.ErrUntrusted, err)
		case !c.External() && !c.TrustsClient(client):
			last = fmt.Errorf("%w: remote error: tls: unknown certificate authority", providers.ErrUntrusted)
		default:
			return c, nil
		}
	}
	return nil, &providers.Error{Kind: providers.ErrUnavailable, Do: do, Cause: last}
}

func (e *etcdClient) act(ctx context.Context, op, detail string, do func(*etcd.Cluster) error) error {
	w := e.h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := e.h.machine()
	if err := m.Connected(ctx); err != nil {
		return err
	}
	c, err := e.cluster()
	if err != nil {
		return err
	}
	return w.act(m, op, detail, func() error {
		w.time.Advance(machine.TimeFile)
		if err := do(c); err != nil {
			return err
		}
		m.CountChange(op + " " + detail)
		for _, mb := range c.Members {
			if mb.Host != "" && mb.Host != etcd.ExternalHost {
				w.fleet.WakeHost(mb.Host)
			}
		}
		return nil
	}, nil)
}

// Members lists the members with their health.
func (e *etcdClient) Members(ctx context.Context) ([]state.EtcdMember, string, error) {
	w := e.h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []state.EtcdMember
	var id string
	err := w.read(ctx, e.h.machine(), "etcd.members", "", func() error {
		c, err := e.cluster()
		if err != nil {
			return err
		}
		id = c.ID
		out = c.Reports()
		return nil
	})
	return out, id, err
}

// Identity returns what the member at the first endpoint knows of its cluster.
func (e *etcdClient) Identity(ctx context.Context) (state.EtcdIdentity, error) {
	w := e.h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := e.h.machine()
	var out state.EtcdIdentity
	err := w.read(ctx, m, "etcd.identity", "", func() error {
		c, err := w.etcds.At(m, e.endpoints[0], e.endpoints)
		if err == nil && c.MemberOn(m) != nil {
			err = c.CheckPublished(c.MemberOn(m))
		}
		if err != nil {
			return &providers.Error{Kind: providers.ErrUnavailable, Do: "ask etcd who it is through " + m.Address, Cause: err}
		}
		out.ClusterID = c.ID
		for _, mb := range c.Members {
			out.PeerURLs = append(out.PeerURLs, mb.PeerURL)
		}
		return nil
	})
	return out, err
}

// AddLearner adds a learner.
func (e *etcdClient) AddLearner(ctx context.Context, peerURL string) error {
	return e.act(ctx, "add_etcd_member", peerURL, func(c *etcd.Cluster) error { return c.AddLearner(peerURL) })
}

// Promote makes a learner that has caught up a voter.
func (e *etcdClient) Promote(ctx context.Context, id string) error {
	return e.act(ctx, "promote_etcd_member", id, func(c *etcd.Cluster) error { return c.Promote(id) })
}

// Remove removes a member if the remaining ones that run are a quorum.
func (e *etcdClient) Remove(ctx context.Context, id string) error {
	return e.act(ctx, "remove_etcd_member", id, func(c *etcd.Cluster) error { return c.Remove(id) })
}

// MoveLeader moves leadership to a voter.
func (e *etcdClient) MoveLeader(ctx context.Context, to string) error {
	return e.act(ctx, "move_etcd_leader", to, func(c *etcd.Cluster) error { return c.MoveLeader(to) })
}

// Close does nothing.
func (e *etcdClient) Close() error { return nil }

// alone returns the etcd cluster of the host's own member, and its members without a
// quorum.
func (e *etcdClient) alone() (*etcd.Cluster, []state.EtcdMember, error) {
	m := e.h.machine()
	fail := func(err error) error {
		return &providers.Error{Kind: providers.ErrUnreachable, Do: "ask a member of etcd what it holds through " + m.Address, Cause: err}
	}
	c, err := e.answering()
	if err != nil {
		if errors.Is(err, providers.ErrUnavailable) {
			err = fail(err)
		}
		return nil, nil, err
	}
	if c.HasQuorum() {
		return nil, nil, providers.ErrHasLeader
	}
	if own := c.MemberOn(m); own != nil && c.CheckPublished(own) != nil {
		return nil, nil, fail(c.CheckPublished(own))
	}
	return c, c.LocalReports(), nil
}

// LocalMembers lists the members without a quorum, with the data of those that answer.
func (e *etcdClient) LocalMembers(ctx context.Context) ([]state.EtcdMember, string, error) {
	w := e.h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []state.EtcdMember
	var id string
	err := w.read(ctx, e.h.machine(), "etcd.local", "", func() error {
		c, members, err := e.alone()
		if err == nil {
			id, out = c.ID, members
		}
		return err
	})
	return out, id, err
}

// LocalSnapshot streams the data of the first voter that answers and is not corrupt.
func (e *etcdClient) LocalSnapshot(ctx context.Context) (*providers.EtcdSnapshot, error) {
	var members []state.EtcdMember
	return e.stream(ctx, func() (c *etcd.Cluster, err error) {
		c, members, err = e.alone()
		return c, err
	}, func(*etcd.Cluster) (string, int64) {
		i := slices.IndexFunc(members, func(m state.EtcdMember) bool {
			return m.Revision > 0 && !m.Learner && !slices.Contains(m.Alarms, etcd.AlarmCorrupt)
		})
		if i < 0 {
			return "", 0
		}
		return members[i].Name, members[i].Revision
	})
}

// Compact drops old revisions. Etcd does that under an alarm as well.
func (e *etcdClient) Compact(ctx context.Context) error {
	return e.act(ctx, "compact_etcd", "", func(c *etcd.Cluster) error {
		c.Compact()
		return nil
	})
}

// Defragment releases the unused space of a member.
func (e *etcdClient) Defragment(ctx context.Context, id string) error {
	return e.act(ctx, "defragment_etcd", id, func(c *etcd.Cluster) error { return c.Defragment(id) })
}

// Disarm clears an alarm. A member that is still full raises it again, as real etcd does on
// the next write.
func (e *etcdClient) Disarm(ctx context.Context, id, alarm string) error {
	return e.act(ctx, "disarm_etcd", id, func(c *etcd.Cluster) error { return c.Disarm(id, alarm) })
}
