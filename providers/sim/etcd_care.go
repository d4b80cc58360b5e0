package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// errNoSpace is what etcd answers to a write while a member has no space.
var errNoSpace = errors.New("etcdserver: mvcc: database space exceeded")

// Alarms of etcd.
const (
	alarmNoSpace = "NOSPACE"
	alarmCorrupt = "CORRUPT"
)

// armed tells that some member has the alarm.
func (c *cluster) armed(alarm string) bool {
	return slices.ContainsFunc(c.Members, func(mb *member) bool { return slices.Contains(mb.Alarms, alarm) })
}

// size is what of a database is in use, in bytes: pages that grow with the objects.
func (c *cluster) size() int64 { return int64(4+len(c.Objects)+len(c.Nodes)+len(c.Pods)) * 4096 }

// etcdVersion is that of a member's image.
func (w *World) etcdVersion(mb *member) string {
	m := w.d.Hosts[mb.Host]
	if m == nil {
		return ""
	}
	_, p := w.podOf(m, compEtcd)
	version, _, _ := strings.Cut(p.tag(), "-")
	return strings.TrimPrefix(version, "v")
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
		if mb == nil || alarm == alarmNoSpace && mb.Garbage > 0 {
			return nil
		}
		mb.Alarms = slices.DeleteFunc(mb.Alarms, func(a string) bool { return a == alarm })
		return nil
	})
}

// etcd changes what the host's own member is like.
func (e *edit) etcd() error {
	w, err := e.words("garbage or alarm", "a size in bytes, NOSPACE or CORRUPT")
	if err != nil {
		return err
	}
	_, p := e.w.podOf(e.m, compEtcd)
	if p == nil || e.w.memberOf(e.m, p) == nil {
		return fmt.Errorf("%s runs no etcd member", e.m.address)
	}
	mb := e.w.memberOf(e.m, p)
	switch {
	case w[0] == "garbage":
		mb.Garbage, err = strconv.ParseInt(w[1], 10, 64)
		return err
	case w[0] == "alarm" && (w[1] == alarmNoSpace || w[1] == alarmCorrupt):
		insert(&mb.Alarms, w[1])
		return nil
	}
	return fmt.Errorf("%q is neither garbage BYTES nor alarm NOSPACE|CORRUPT", strings.Join(w, " "))
}
