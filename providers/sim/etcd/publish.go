package etcd

import (
	"errors"

	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
)

// publish lets etcd's members serve clients once they have a quorum. Until then one that
// was started takes connections and answers nobody (etcd 3.6 and 3.7, embed); one that has
// served goes on without a quorum to tell what it holds. It reports whether nothing more
// will come of this host alone.
func (c *Cluster) publish(running *machine.StaticPod, mb *Member) (done bool) {
	switch {
	case running.Published:
		return true
	case c.all.Now.Before(running.Started.Add(staticpod.StartupTime(staticpod.Etcd))):
		return false
	case !c.all.Alive(mb) || !c.HasQuorum():
		return true
	}
	for _, other := range c.Members {
		if m := c.all.Hosts[other.Host]; m != nil && c.all.Alive(other) {
			p, _ := m.Processes().Pod(staticpod.Etcd)
			p.Published = true
		}
	}
	return true
}

// RememberRevision remembers the revision of a cluster that has a quorum: without one it stays.
func (c *Cluster) RememberRevision() {
	if now := c.all.Revision(); now > c.Revision && c.HasQuorum() {
		c.Revision = now
	}
}

// errNotPublished is how a member that has not published its name answers.
var errNotPublished = errors.New("context deadline exceeded")

// CheckPublished says why a member that runs answers no client, or nil.
func (c *Cluster) CheckPublished(mb *Member) error {
	if m := c.all.Hosts[mb.Host]; m != nil && !c.HasQuorum() {
		if p, _ := m.Processes().Pod(staticpod.Etcd); p == nil || !p.Published {
			return errNotPublished
		}
	}
	return nil
}
