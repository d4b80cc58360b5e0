package etcd

import (
	"errors"
	"slices"
	"strconv"

	"github.com/kubewright/kubewright/state"
)

// The answers of etcd.
var (
	errTooManyLearners = errors.New("etcdserver: too many learner members in cluster")
	errNotLearnerReady = errors.New("etcdserver: can only promote a learner member which is in sync with leader")
	errUnhealthy       = errors.New("etcdserver: unhealthy cluster")
	errNotEnough       = errors.New("etcdserver: re-configuration failed due to not enough started members")
	errNoMember        = errors.New("etcdserver: member not found")
)

// AddLearner adds a learner.
func (c *Cluster) AddLearner(peerURL string) error {
	if c.memberAt(peerURL) != nil {
		return nil
	}
	for _, mb := range c.Members {
		switch {
		case mb.Learner:
			return errTooManyLearners
		case !c.all.alive(mb):
			return errUnhealthy
		}
	}
	c.Made++
	id := c.all.Derive(16, "member", c.ID, peerURL, strconv.Itoa(c.Made))
	c.Members = append(c.Members, &Member{ID: id, PeerURL: peerURL, Learner: true})
	return nil
}

// Promote makes a learner that has caught up a voter.
func (c *Cluster) Promote(id string) error {
	mb := c.Member(id)
	switch {
	case mb == nil:
		return errNoMember
	case !mb.Learner:
		return nil
	case !c.all.alive(mb), c.all.Now.Before(mb.Synced):
		return errNotLearnerReady
	}
	mb.Learner = false
	return nil
}

// Remove removes a member if the remaining ones that run are a quorum.
func (c *Cluster) Remove(id string) error {
	mb := c.Member(id)
	if mb == nil {
		return nil
	}
	if !mb.Learner {
		if err := c.checkRemoval(mb); err != nil {
			return err
		}
	}
	c.Members = slices.DeleteFunc(c.Members, func(o *Member) bool { return o == mb })
	return nil
}

// MoveLeader moves leadership to a voter.
func (c *Cluster) MoveLeader(to string) error {
	mb := c.Member(to)
	if mb == nil || mb.Learner || !c.all.alive(mb) {
		return errors.New("etcdserver: bad leader transferee")
	}
	c.Leader = to
	return nil
}

// checkRemoval is etcd's strict check of a reconfiguration.
func (c *Cluster) checkRemoval(mb *Member) error {
	voters := c.Voters()
	started, active := 0, 0
	for _, o := range voters {
		if o.Name != "" && o != mb {
			started++
		}
		if c.all.alive(o) {
			active++
		}
	}
	switch {
	case started < (len(voters)-1)/2+1:
		return errNotEnough
	case !c.all.alive(mb):
		return nil
	case active-1 < 1+(len(voters)-1)/2:
		return errUnhealthy
	}
	return nil
}

// Reports returns the members with their health, as reported by one with a quorum.
func (c *Cluster) Reports() []state.EtcdMember {
	leader := c.currentLeader()
	var out []state.EtcdMember
	for _, mb := range c.Members {
		o := mb.report()
		o.Healthy, o.Leader, o.Alarms = c.all.alive(mb), mb == leader, slices.Clone(mb.Alarms)
		if o.Healthy {
			o.Version, o.DBInUse = c.all.version(mb), c.size()
			o.DBSize = o.DBInUse + mb.Garbage
		}
		out = append(out, o)
	}
	return out
}

// LocalReports returns the members without a quorum, with the data of those that answer.
func (c *Cluster) LocalReports() []state.EtcdMember {
	var out []state.EtcdMember
	for _, mb := range c.Members {
		o := mb.report()
		if c.all.alive(mb) && c.CheckPublished(mb) == nil {
			o.Version, o.DBInUse, o.Alarms, o.Revision = c.all.version(mb), c.size(), slices.Clone(mb.Alarms), max(1, c.Revision)
			o.DBSize = o.DBInUse + mb.Garbage
		}
		out = append(out, o)
	}
	return out
}

// report returns the part of a member that every member knows.
func (mb *Member) report() state.EtcdMember {
	return state.EtcdMember{ID: mb.ID, Name: mb.Name, PeerURLs: []string{mb.PeerURL}, ClientURLs: slices.Clone(mb.ClientURLs), Learner: mb.Learner}
}
