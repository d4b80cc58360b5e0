package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errNoSpace is what etcd answers to a write while a member has no space.
var errNoSpace = errors.New("etcdserver: mvcc: database space exceeded")

// Alarms of etcd.
const (
	alarmNoSpace = "NOSPACE"
	alarmCorrupt = "CORRUPT"
)

// armed reports whether some member has the alarm.
func (c *cluster) armed(alarm string) bool {
	return slices.ContainsFunc(c.Members, func(mb *member) bool { return slices.Contains(mb.Alarms, alarm) })
}

// size returns what of a database is in use, in bytes: pages that grow with the objects,
// and what of the past was not compacted yet.
func (c *cluster) size() int64 {
	return int64(4+len(c.Objects)+len(c.Nodes)+len(c.Pods))*4096 + c.History
}

// compactInterval is how long API servers keep the past
// (kube-apiserver: etcd-compaction-interval).
const compactInterval = 5 * time.Minute

// compactDue lets API servers drop the past. They agree on who does it by a
// write, which etcd refuses while it has no space.
func (w *World) compactDue(c *cluster) {
	if c.History > 0 && w.d.Now.Sub(c.Since) >= compactInterval && !c.armed(alarmNoSpace) && !c.armed(alarmCorrupt) && w.hasQuorum(c) {
		c.compact()
	}
}

// compact makes the past garbage, which a member has until it is defragmented.
func (c *cluster) compact() {
	for _, mb := range c.Members {
		mb.Garbage += c.History
	}
	c.History, c.Since = 0, time.Time{}
}

// etcdVersion returns the version in a member's image.
func (w *World) etcdVersion(mb *member) string {
	m := w.d.Hosts[mb.Host]
	if m == nil {
		return ""
	}
	_, p := w.podOf(m, compEtcd)
	version, _, _ := strings.Cut(p.tag(), "-")
	return strings.TrimPrefix(version, "v")
}

// Compact drops the past. Etcd does that under an alarm as well.
func (e *etcdClient) Compact(ctx context.Context) error {
	return e.act(ctx, "compact_etcd", "", func(_ *World, c *cluster) error {
		c.compact()
		return nil
	})
}

// Defragment gives back what a member does not use.
func (e *etcdClient) Defragment(ctx context.Context, id string) error {
	return e.act(ctx, "defragment_etcd", id, func(w *World, c *cluster) error {
		mb := c.member(id)
		if mb == nil || !w.alive(mb) {
			return errNoMember
		}
		mb.Garbage = 0
		return nil
	})
}

// Disarm takes an alarm back. A member that is still full raises its alarm
// again, as etcd's does with the next write.
func (e *etcdClient) Disarm(ctx context.Context, id, alarm string) error {
	return e.act(ctx, "disarm_etcd", id, func(_ *World, c *cluster) error {
		mb := c.member(id)
		if mb == nil || alarm == alarmNoSpace && mb.Garbage+c.History > 0 {
			return nil
		}
		mb.Alarms = slices.DeleteFunc(mb.Alarms, func(a string) bool { return a == alarm })
		return nil
	})
}

// etcd changes what the host's own member is like.
func (e *edit) etcd() error {
	w, err := e.words("garbage, history, alarm or member", "a size in bytes, NOSPACE or CORRUPT, or an ID")
	if err != nil {
		return err
	}
	_, p := e.w.podOf(e.m, compEtcd)
	if p == nil || e.w.memberOf(e.m, p) == nil {
		return fmt.Errorf("%s runs no etcd member", e.m.address)
	}
	mb, data := e.w.memberOf(e.m, p), e.w.get(e.m, p.dataFolder)
	c := e.w.d.Clusters[data.Member.Cluster]
	switch {
	case w[0] == "member": // files are never changed: others may hold the same one
		other, ref := *data, memberRef{Cluster: data.Member.Cluster, ID: w[1]}
		other.Member, mb.ID = &ref, w[1]
		e.w.put(e.m, p.dataFolder, &other)
		return nil
	case w[0] == "garbage":
		mb.Garbage, err = size(w[1])
		return err
	case w[0] == "history":
		c.History, err = size(w[1])
		c.Since = e.w.d.Now
		return err
	case w[0] == "alarm" && (w[1] == alarmNoSpace || w[1] == alarmCorrupt):
		insert(&mb.Alarms, w[1])
		return nil
	}
	return fmt.Errorf("%q is none of garbage BYTES, history BYTES, alarm NOSPACE|CORRUPT and member ID", strings.Join(w, " "))
}

// size reads a number of bytes.
func size(word string) (int64, error) {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no size in bytes", word)
	}
	return n, nil
}
