package providers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// defragment has one member release its unused space once it no longer leads, and waits
// until it answers again.
func (w etcdWork) defragment(ctx context.Context, op planner.DefragmentEtcd) error {
	var before state.EtcdMember
	err := w.retry(ctx, memberTime, passing, func(ctx context.Context, e Etcd) error {
		members, _, err := e.Members(ctx)
		if err != nil {
			return err
		}
		m := memberAt(members, op.PeerURL)
		if m == nil {
			return fmt.Errorf("cannot defragment etcd member %s: etcd does not list it", op.Name)
		}
		before = *m
		w.moveLeadership(ctx, e, members, *m)
		return e.Defragment(ctx, m.ID)
	})
	if err != nil {
		return err
	}
	notYet := fmt.Errorf("etcd member %s does not answer after it was defragmented: %w", op.Name, ErrUnavailable)
	return w.retry(ctx, timeoutOf(op.Timeout, memberTime), passing, func(ctx context.Context, e Etcd) error {
		members, _, err := e.Members(ctx)
		if err != nil {
			return err
		}
		m := memberAt(members, op.PeerURL)
		if m == nil || !m.Healthy {
			return notYet
		}
		w.log(fmt.Sprintf("the database of %s has %d bytes, it had %d", op.Name, m.DBSize, before.DBSize))
		return nil
	})
}

// moveLeader moves leadership away from a member that is about to stop. If that fails, the
// member hands over by itself as it stops.
func (w etcdWork) moveLeader(ctx context.Context, op planner.MoveEtcdLeader) error {
	err := w.ThroughEtcd(ctx, w.via(), func(ctx context.Context, e Etcd) error {
		members, _, err := e.Members(ctx)
		if err != nil {
			return err
		}
		if m := memberAt(members, op.PeerURL); m != nil {
			w.moveLeadership(ctx, e, members, *m, op.To...)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		w.log(stays + err.Error())
	}
	return ctx.Err()
}

// stays precedes the reason why leadership was not moved.
const stays = "leadership stays for now: "

// moveLeadership moves leadership from a member to a healthy voter, if there is one,
// preferably to the first of these peer URLs that is healthy. If that fails, etcd elects a
// new leader.
func (w etcdWork) moveLeadership(ctx context.Context, e Etcd, members []state.EtcdMember, m state.EtcdMember, preferred ...string) {
	heirs := slices.DeleteFunc(votersWithout(members, m.ID), func(o state.EtcdMember) bool { return !o.Healthy })
	if !m.Leader || len(heirs) == 0 {
		return
	}
	heir := heirs[0]
	for _, url := range preferred {
		if o := memberAt(heirs, url); o != nil {
			heir = *o
			break
		}
	}
	if err := e.MoveLeader(ctx, heir.ID); err != nil {
		w.log(stays + err.Error())
		return
	}
	w.log("etcd's leader is " + heir.Name + " now")
}

// disarm disarms an alarm of all members and checks that none raises it again.
func (w etcdWork) disarm(ctx context.Context, op planner.DisarmEtcd) error {
	return w.retry(ctx, memberTime, passing, func(ctx context.Context, e Etcd) error {
		members, _, err := e.Members(ctx)
		if err != nil {
			return err
		}
		for _, m := range members {
			if slices.Contains(m.Alarms, op.Alarm) {
				if err := e.Disarm(ctx, m.ID, op.Alarm); err != nil {
					return err
				}
			}
		}
		members, _, err = e.Members(ctx)
		if err != nil {
			return err
		}
		var still []string
		for _, m := range members {
			if slices.Contains(m.Alarms, op.Alarm) {
				still = append(still, m.Name)
			}
		}
		if len(still) > 0 {
			return errors.New("etcd raises alarm " + op.Alarm + " again for " + strings.Join(still, ", ") +
				": what fills its database is in use. Delete objects, or raise --quota-backend-bytes in /etc/kubernetes/manifests/etcd.yaml on one control plane after the other; with the same value in etcd { arg } it stays")
		}
		return nil
	})
}
