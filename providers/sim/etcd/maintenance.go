package etcd

import (
	"errors"
	"slices"
	"time"
)

// ErrNoSpace is etcd's answer to a write while a member has no space.
var ErrNoSpace = errors.New("etcdserver: mvcc: database space exceeded")

// Alarms of etcd.
const (
	AlarmNoSpace = "NOSPACE"
	AlarmCorrupt = "CORRUPT"
)

// Armed reports whether any member has the alarm.
func (c *Cluster) Armed(alarm string) bool {
	return slices.ContainsFunc(c.Members, func(mb *Member) bool { return slices.Contains(mb.Alarms, alarm) })
}

// size returns the used part of a database, in bytes: pages that grow with the objects, and
// history that is not compacted yet.
func (c *Cluster) size() int64 {
	return int64(4+len(c.Objects)+len(c.Nodes)+len(c.Pods))*4096 + c.History
}

// compactInterval is how long API servers keep history (kube-apiserver:
// etcd-compaction-interval).
const compactInterval = 5 * time.Minute

// CompactDue lets API servers compact history when it is due. They agree on which one does
// it by a write, which etcd refuses while it has no space.
func (c *Cluster) CompactDue() {
	if c.History > 0 && c.all.Now.Sub(c.Since) >= compactInterval && !c.Armed(AlarmNoSpace) && !c.Armed(AlarmCorrupt) && c.HasQuorum() {
		c.Compact()
	}
}

// Compact turns history into garbage, which a member has until it is defragmented.
func (c *Cluster) Compact() {
	for _, mb := range c.Members {
		mb.Garbage += c.History
	}
	c.History, c.Since = 0, time.Time{}
}

// Defragment releases the unused space of a member.
func (c *Cluster) Defragment(id string) error {
	mb := c.Member(id)
	if mb == nil || !c.all.alive(mb) {
		return errNoMember
	}
	mb.Garbage = 0
	return nil
}

// Disarm clears an alarm. A member that is still full raises it again, as real etcd does on
// the next write.
func (c *Cluster) Disarm(id, alarm string) error {
	mb := c.Member(id)
	if mb == nil || alarm == AlarmNoSpace && mb.Garbage+c.History > 0 {
		return nil
	}
	mb.Alarms = slices.DeleteFunc(mb.Alarms, func(a string) bool { return a == alarm })
	return nil
}
