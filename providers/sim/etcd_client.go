package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// etcdClient is etcd as seen with the healthcheck client certificate of one host.
type etcdClient struct {
	h         *Host
	endpoints []string
	// client is the path of the certificate, without its suffix.
	client string
}

var _ providers.Etcd = (*etcdClient)(nil)

// What etcd answers.
var (
	errTooManyLearners = errors.New("etcdserver: too many learner members in cluster")
	errNotLearnerReady = errors.New("etcdserver: can only promote a learner member which is in sync with leader")
	errUnhealthy       = errors.New("etcdserver: unhealthy cluster")
	errNotEnough       = errors.New("etcdserver: re-configuration failed due to not enough started members")
	errNoMember        = errors.New("etcdserver: member not found")
)

// healthcheckClient is the name of the client's certificate and key in the folder of etcd's.
const healthcheckClient = "healthcheck-client"

// cluster returns the etcd cluster that answers at one of the endpoints.
func (e *etcdClient) cluster() (*cluster, error) {
	c, err := e.answering()
	if err == nil && !e.h.w.hasQuorum(c) {
		return nil, &providers.Error{Kind: providers.ErrUnavailable, Do: "reach etcd through " + e.h.machine().address, Cause: errText("etcdserver: request timed out: no leader")}
	}
	return c, err
}

// answering returns the etcd cluster of a member at one of the endpoints, quorum or not.
func (e *etcdClient) answering() (*cluster, error) {
	w, m := e.h.w, e.h.machine()
	do := "reach etcd through " + m.address
	client, err := w.certificateAt(m, e.client+".crt", e.client+".key")
	var last error = errors.New("no endpoints")
	for _, endpoint := range e.endpoints {
		c, at := w.etcdAt(m, endpoint, e.endpoints)
		switch {
		case at != nil:
			last = at
		case !c.external() && client == nil:
			return nil, fmt.Errorf("cannot %s: %w", do, err) // nobody is asked without a certificate
		case !c.external() && err != nil:
			last = fmt.Errorf("%w: %w", providers.ErrUntrusted, err)
		case !c.external() && !w.admits(c, client):
			last = fmt.Errorf("%w: remote error: tls: unknown certificate authority", providers.ErrUntrusted)
		default:
			return c, nil
		}
	}
	return nil, &providers.Error{Kind: providers.ErrUnavailable, Do: do, Cause: last}
}

func (c *cluster) external() bool { return len(c.Members) > 0 && c.Members[0].Host == externalHost }

// admits reports whether a member trusts the client's certificate.
func (w *World) admits(c *cluster, client *state.CertificateInfo) bool {
	return slices.ContainsFunc(c.Members, func(mb *member) bool {
		m := w.d.Hosts[mb.Host]
		if m == nil || !w.alive(mb) {
			return false
		}
		_, p := w.podOf(m, compEtcd)
		ca, ok := p.arg("trusted-ca-file")
		return !ok || w.trusts(m, ca, client)
	})
}

func (e *etcdClient) act(ctx context.Context, op, detail string, do func(*World, *cluster) error) error {
	w := e.h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := e.h.machine()
	if err := w.connected(ctx, m); err != nil {
		return err
	}
	c, err := e.cluster()
	if err != nil {
		return err
	}
	return w.act(m, op, detail, func() error {
		w.advance(timeFile)
		if err := do(w, c); err != nil {
			return err
		}
		w.did(m, op+" "+detail)
		for _, mb := range c.Members {
			if mb.Host != "" && mb.Host != externalHost {
				w.pending[mb.Host] = true
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
		leader := w.leader(c)
		for _, mb := range c.Members {
			out = append(out, state.EtcdMember{
				ID: mb.ID, Name: mb.Name, PeerURLs: []string{mb.PeerURL}, ClientURLs: slices.Clone(mb.ClientURLs),
				Learner: mb.Learner, Healthy: w.alive(mb), Leader: mb == leader, Alarms: slices.Clone(mb.Alarms),
			})
			if w.alive(mb) {
				o := &out[len(out)-1]
				o.Version, o.DBInUse = w.etcdVersion(mb), c.size()
				o.DBSize = o.DBInUse + mb.Garbage
			}
		}
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
		c, err := w.etcdAt(m, e.endpoints[0], e.endpoints)
		if err == nil && c.on(m) != nil {
			err = w.mute(c, c.on(m))
		}
		if err != nil {
			return &providers.Error{Kind: providers.ErrUnavailable, Do: "ask etcd who it is through " + m.address, Cause: err}
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
	return e.act(ctx, "add_etcd_member", peerURL, func(w *World, c *cluster) error {
		if c.withPeer(peerURL) != nil {
			return nil
		}
		for _, mb := range c.Members {
			switch {
			case mb.Learner:
				return errTooManyLearners
			case !w.alive(mb):
				return errUnhealthy
			}
		}
		c.Made++
		id := w.derive(16, "member", c.ID, peerURL, strconv.Itoa(c.Made))
		c.Members = append(c.Members, &member{ID: id, PeerURL: peerURL, Learner: true})
		return nil
	})
}

// Promote makes a learner that has caught up a voter.
func (e *etcdClient) Promote(ctx context.Context, id string) error {
	return e.act(ctx, "promote_etcd_member", id, func(w *World, c *cluster) error {
		mb := c.member(id)
		switch {
		case mb == nil:
			return errNoMember
		case !mb.Learner:
			return nil
		case !w.alive(mb), w.d.Now.Before(mb.Synced):
			return errNotLearnerReady
		}
		mb.Learner = false
		return nil
	})
}

// Remove removes a member where that leaves a quorum of those that run.
func (e *etcdClient) Remove(ctx context.Context, id string) error {
	return e.act(ctx, "remove_etcd_member", id, func(w *World, c *cluster) error {
		mb := c.member(id)
		if mb == nil {
			return nil
		}
		if !mb.Learner {
			if err := w.mayRemove(c, mb); err != nil {
				return err
			}
		}
		c.Members = slices.DeleteFunc(c.Members, func(o *member) bool { return o == mb })
		return nil
	})
}

// mayRemove is etcd's strict check of a reconfiguration.
func (w *World) mayRemove(c *cluster, mb *member) error {
	voters := c.voters()
	started, active := 0, 0
	for _, o := range voters {
		if o.Name != "" && o != mb {
			started++
		}
		if w.alive(o) {
			active++
		}
	}
	switch {
	case started < (len(voters)-1)/2+1:
		return errNotEnough
	case !w.alive(mb):
		return nil
	case active-1 < 1+(len(voters)-1)/2:
		return errUnhealthy
	}
	return nil
}

// MoveLeader hands leadership to a voter.
func (e *etcdClient) MoveLeader(ctx context.Context, to string) error {
	return e.act(ctx, "move_etcd_leader", to, func(w *World, c *cluster) error {
		mb := c.member(to)
		if mb == nil || mb.Learner || !w.alive(mb) {
			return errors.New("etcdserver: bad leader transferee")
		}
		c.Leader = to
		return nil
	})
}

// Close does nothing.
func (e *etcdClient) Close() error { return nil }
