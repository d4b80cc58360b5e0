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

// defragment has one member give back what it does not use, when it does not
// lead any more, and waits until it answers again.
func (w *work) defragment(ctx context.Context, op planner.DefragmentEtcd) error {
	var before state.EtcdMember
	err := w.retryEtcd(ctx, memberTime, passing, func(ctx context.Context, e Etcd) error {
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
	return w.retryEtcd(ctx, timeoutOf(op.Timeout, memberTime), passing, func(ctx context.Context, e Etcd) error {
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

// moveLeadership hands leadership of a member to a healthy voter, where there is
// one. Where that fails etcd elects a new leader.
func (w *work) moveLeadership(ctx context.Context, e Etcd, members []state.EtcdMember, m state.EtcdMember) {
	others := votersWithout(members, m.ID)
	i := slices.IndexFunc(others, func(o state.EtcdMember) bool { return o.Healthy })
	if !m.Leader || i < 0 {
		return
	}
	if err := e.MoveLeader(ctx, others[i].ID); err != nil {
		w.log("leadership stays for now: " + err.Error())
		return
	}
	w.log("etcd's leader is " + others[i].Name + " now")
}

// disarm takes an alarm back of all members and looks whether it stays away.
func (w *work) disarm(ctx context.Context, op planner.DisarmEtcd) error {
	return w.retryEtcd(ctx, memberTime, passing, func(ctx context.Context, e Etcd) error {
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
