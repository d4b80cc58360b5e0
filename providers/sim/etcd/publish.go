package etcd

import (
	"errors"

	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
)

// publish lets the members serve clients once they have a quorum. Until then a member that
// was started accepts connections but does not answer (etcd 3.6 and 3.7, embed); one that
// has served before keeps answering local reads without a quorum. It reports whether
// nothing more happens on this machine by itself.
func (c *Cluster) publish(running *machine.StaticPod, mb *Member) (done bool) {
	switch {
	case running.Published:
		return true
	case c.all.Now.Before(running.Started.Add(staticpod.StartupTime(staticpod.Etcd))):
		return false
	case !c.all.alive(mb) || !c.HasQuorum():
		return true
	}
	for _, other := range c.Members {
		if m := c.all.Hosts[other.Host]; m != nil && c.all.alive(other) {
			p, _ := m.Processes().Pod(staticpod.Etcd)
			p.Published = true
		}
	}
	return true
}

// RememberRevision records the revision of a cluster with a quorum: without one the
// revision stays.
func (c *Cluster) RememberRevision() {
	if now := c.all.Revision(); now > c.Revision && c.HasQuorum() {
		c.Revision = now
	}
}

// errNotPublished is the answer of a member that has not published its name.
var errNotPublished = errors.New("context deadline exceeded")

// CheckPublished returns why a running member answers no client, or nil.
func (c *Cluster) CheckPublished(mb *Member) error {
	if m := c.all.Hosts[mb.Host]; m != nil && !c.HasQuorum() {
		if p, _ := m.Processes().Pod(staticpod.Etcd); p == nil || !p.Published {
			return errNotPublished
		}
	}
	return nil
}
