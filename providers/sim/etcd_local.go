package sim

import (
	"context"
	"errors"
	"slices"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// publish lets etcd's members serve clients once they have a quorum. Until then one that
// was started takes connections and answers nobody (etcd 3.6 and 3.7, embed); one that has
// served goes on without a quorum to tell what it holds. It reports whether nothing more
// will come of this host alone.
func (w *World) publish(running *pod, c *cluster, mb *member) (done bool) {
	switch {
	case running.Published:
		return true
	case w.d.Now.Before(running.Started.Add(startup(compEtcd))):
		return false
	case !w.alive(mb) || !w.hasQuorum(c):
		return true
	}
	for _, other := range c.Members {
		if m := w.d.Hosts[other.Host]; m != nil && w.alive(other) {
			p, _ := w.podOf(m, compEtcd)
			p.Published = true
		}
	}
	return true
}

// count remembers the revision of a cluster that has a quorum: without one it stays.
func (w *World) count(c *cluster) {
	if now := w.revision(); now > c.Revision && w.hasQuorum(c) {
		c.Revision = now
	}
}

// errMute is how a member that has not published its name answers.
var errMute = errors.New("context deadline exceeded")

// mute says why a member that runs answers no client, or nil.
func (w *World) mute(c *cluster, mb *member) error {
	if m := w.d.Hosts[mb.Host]; m != nil && !w.hasQuorum(c) {
		if p, _ := w.podOf(m, compEtcd); p == nil || !p.Published {
			return errMute
		}
	}
	return nil
}

// on returns the member on a host, or nil.
func (c *cluster) on(m *machine) *member {
	if i := slices.IndexFunc(c.Members, func(mb *member) bool { return mb.Host == m.address }); i >= 0 {
		return c.Members[i]
	}
	return nil
}

// alone returns the etcd cluster of the host's own member, quorum or not, and its members as
// they answer by themselves.
func (e *etcdClient) alone() (*cluster, []state.EtcdMember, error) {
	w, m := e.h.w, e.h.machine()
	fail := func(err error) error {
		return &providers.Error{Kind: providers.ErrUnreachable, Do: "ask a member of etcd what it holds through " + m.address, Cause: err}
	}
	c, err := e.answering()
	if err != nil {
		if errors.Is(err, providers.ErrUnavailable) {
			err = fail(err)
		}
		return nil, nil, err
	}
	if w.hasQuorum(c) {
		return nil, nil, providers.ErrHasLeader
	}
	if own := c.on(m); own != nil && w.mute(c, own) != nil {
		return nil, nil, fail(w.mute(c, own))
	}
	var out []state.EtcdMember
	for _, mb := range c.Members {
		o := state.EtcdMember{ID: mb.ID, Name: mb.Name, PeerURLs: []string{mb.PeerURL}, ClientURLs: slices.Clone(mb.ClientURLs), Learner: mb.Learner}
		if w.alive(mb) && w.mute(c, mb) == nil {
			o.Version, o.DBInUse, o.Alarms, o.Revision = w.etcdVersion(mb), c.size(), slices.Clone(mb.Alarms), max(1, c.Revision)
			o.DBSize = o.DBInUse + mb.Garbage
		}
		out = append(out, o)
	}
	return c, out, nil
}

// LocalMembers lists the members as those that answer have them, without a quorum.
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

// LocalSnapshot streams what the first voter holds that answers and is not corrupt.
func (e *etcdClient) LocalSnapshot(ctx context.Context) (*providers.EtcdSnapshot, error) {
	var members []state.EtcdMember
	return e.stream(ctx, func() (c *cluster, err error) {
		c, members, err = e.alone()
		return c, err
	}, func(*cluster) (string, int64) {
		i := slices.IndexFunc(members, func(m state.EtcdMember) bool {
			return m.Revision > 0 && !m.Learner && !slices.Contains(m.Alarms, alarmCorrupt)
		})
		if i < 0 {
			return "", 0
		}
		return members[i].Name, members[i].Revision
	})
}
