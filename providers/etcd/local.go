package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// An etcd that has lost its quorum answers no linearizable read, no list of alarms and no
// change. A member that was running before still reports its own data, and streams a
// snapshot of it. A member that was started without a quorum serves no client at all (etcd
// 3.6 and 3.7, embed: it waits until it has published its name).

// LocalMembers implements providers.Etcd.
func (c *Client) LocalMembers(ctx context.Context) ([]state.EtcdMember, string, error) {
	l, out, err := c.local(ctx)
	return out, hex(l.clusterID), err
}

// local lists the members as recorded by the given one, and asks each for its data.
func (c *Client) local(ctx context.Context) (list, []state.EtcdMember, error) {
	own, err := c.at(c.given[0])
	if err != nil {
		return list{}, nil, err
	}
	asking, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	l, err := own.listed(asking)
	if err != nil {
		const do = "ask a member of etcd what it holds"
		if err = failure(do, providers.ErrUnreachable, err); errors.Is(err, providers.ErrTimeout) {
			err = &providers.Error{Kind: providers.ErrUnreachable, Do: do, Cause: err} // another member may answer
		}
		return list{}, nil, err
	}
	out, led := make([]state.EtcdMember, len(l.members)), make([]bool, len(l.members))
	var wg sync.WaitGroup
	for i, m := range l.members {
		wg.Go(func() { out[i], led[i] = c.peek(ctx, l.clusterID, m) })
	}
	wg.Wait()
	if slices.Contains(led, true) {
		return list{}, nil, fmt.Errorf("a member of etcd is not asked alone: %w", providers.ErrHasLeader)
	}
	return l, out, nil
}

// peek asks one member for its data, and whether it knows of a leader.
func (c *Client) peek(ctx context.Context, clusterID uint64, m *pb.Member) (out state.EtcdMember, led bool) {
	out = state.EtcdMember{ID: hex(m.ID), Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs, Learner: m.IsLearner}
	if m.Name == "" || len(m.ClientURLs) == 0 {
		return out, false // It has not started.
	}
	own, err := c.at(m.ClientURLs[0])
	if err != nil {
		return out, false
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	st, err := own.status(ctx)
	if err != nil || st.clusterID != clusterID || st.id != m.ID {
		return out, false
	}
	if held, err := own.holds(ctx); err == nil {
		out.Revision = held.revision
	}
	out.Version, out.DowngradeTo, out.DBSize, out.DBInUse = st.version, st.downgradeTo, st.size, st.inUse
	out.Alarms = alarmsOf(m.ID, st.problems)
	return out, st.leader != 0
}

// alarmText matches an alarm among the problems that a member reports: memberID:123
// alarm:CORRUPT.
var alarmText = regexp.MustCompile(`memberID:\s*(\d+)\s+alarm:\s*(\w+)`)

// alarmsOf returns the alarms of one member.
func alarmsOf(id uint64, problems []string) []string {
	var out []string
	for _, p := range problems {
		if m := alarmText.FindStringSubmatch(p); m != nil && m[1] == strconv.FormatUint(id, 10) {
			out = append(out, m[2])
		}
	}
	return out
}

// LocalSnapshot implements providers.Etcd.
func (c *Client) LocalSnapshot(ctx context.Context) (*providers.EtcdSnapshot, error) {
	const do = "take a snapshot of a member of etcd"
	l, members, err := c.local(ctx)
	if err != nil {
		return nil, err
	}
	var why []error
	for _, m := range newest(members) {
		own, err := c.at(m.ClientURLs[0])
		if err == nil {
			var s *providers.EtcdSnapshot
			if s, err = stream(ctx, own, l.clusterID, m.Name, m.Revision); err == nil {
				return s, nil
			}
		}
		why = append(why, err)
	}
	if len(why) == 0 {
		return nil, fmt.Errorf("cannot %s: no voter answers that is not alarmed as corrupt", do)
	}
	return nil, failure(do, providers.ErrUnavailable, errors.Join(why...))
}

// newest returns the voters that answer and whose data a cluster may be restored from,
// newest data first.
func newest(members []state.EtcdMember) []state.EtcdMember {
	out := slices.DeleteFunc(slices.Clone(members), func(m state.EtcdMember) bool {
		return m.Learner || m.Revision == 0 || slices.Contains(m.Alarms, pb.AlarmType_CORRUPT.String())
	})
	slices.SortStableFunc(out, func(a, b state.EtcdMember) int { return cmp.Compare(b.Revision, a.Revision) })
	return out
}
