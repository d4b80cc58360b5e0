package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/kubewright/kubewright/providers"
)

// defragTimeout bounds a defragmentation, during which a member does not answer. It copies
// the data in use, at most 8 GiB as etcd recommends.
const defragTimeout = 5 * time.Minute

// compactTimeout bounds a compaction, which a member does in small pieces concurrently with
// everything else.
const compactTimeout = 5 * time.Minute

// Compact implements providers.Etcd. Etcd agrees on the revision once, and then each member
// compacts at its own pace: so each member is asked, and the later ones answer "compacted"
// once they are done.
func (c *Client) Compact(ctx context.Context) error {
	const do = "compact etcd"
	l, teller, err := c.list(ctx)
	if err != nil {
		return err
	}
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	now, err := teller.read(reading)
	cancel()
	if err != nil {
		return failure(do, providers.ErrUnreachable, err)
	}
	ctx, cancel = context.WithTimeout(ctx, compactTimeout)
	defer cancel()
	for _, m := range l.members {
		if m.IsLearner || m.Name == "" || len(m.ClientURLs) == 0 {
			continue
		}
		at, err := c.at(m.ClientURLs[0])
		if err == nil {
			err = at.compact(ctx, now.revision)
		}
		if err != nil && !errors.Is(err, rpctypes.ErrCompacted) {
			return failure(do+" at member "+m.Name, providers.ErrDisconnected, err)
		}
	}
	return nil
}

// Defragment implements providers.Etcd.
func (c *Client) Defragment(ctx context.Context, id string) error {
	do := "defragment etcd member " + id
	n, err := parseID(id)
	if err != nil {
		return err
	}
	l, _, err := c.list(ctx)
	if err != nil {
		return err
	}
	m := l.find(n)
	if m == nil || len(m.ClientURLs) == 0 {
		return fmt.Errorf("cannot %s: it is no member that has started", do)
	}
	at, err := c.at(m.ClientURLs[0])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, defragTimeout)
	defer cancel()
	if err := at.defragment(ctx); err != nil {
		return failure(do, providers.ErrDisconnected, err)
	}
	return nil
}

// Disarm implements providers.Etcd.
func (c *Client) Disarm(ctx context.Context, id, alarm string) error {
	n, err := parseID(id)
	if err != nil {
		return err
	}
	kind, known := pb.AlarmType_value[alarm]
	if !known {
		return errors.New("internal error: etcd has no alarm " + alarm)
	}
	l, teller, err := c.list(ctx)
	if err != nil {
		return err
	}
	armed := func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		alarms, err := teller.alarms(ctx)
		return err != nil || slices.Contains(alarms[n], alarm)
	}
	if l.find(n) == nil || !armed(ctx) {
		return nil
	}
	acting, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if err := teller.disarm(acting, n, pb.AlarmType(kind)); err != nil && armed(ctx) {
		return failure("disarm alarm "+alarm+" of etcd member "+id, providers.ErrDisconnected, err)
	}
	return nil
}
