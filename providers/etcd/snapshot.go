package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
)

// stallTimeout is how long a stream may be silent before it counts as cut off. A member
// reads ahead from its disk, so a healthy one never pauses that long.
const stallTimeout = 30 * time.Second

// Snapshot implements providers.Etcd. It does a linearizable read from the member first, so
// that the snapshot has everything acknowledged before.
func (c *Client) Snapshot(ctx context.Context) (*providers.EtcdSnapshot, error) {
	const do = "take a snapshot of etcd"
	l, teller, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	var why []error
	for _, m := range c.bySnapshot(ctx, l, teller) {
		s, err := c.snapshotOf(ctx, l, m)
		if err == nil {
			return s, nil
		}
		why = append(why, err)
	}
	if len(why) == 0 {
		return nil, fmt.Errorf("cannot %s: no voter has started that is not alarmed as corrupt", do)
	}
	return nil, failure(do, providers.ErrUnavailable, errors.Join(why...))
}

// bySnapshot returns the voters that may be asked, the leader last because it carries more
// load than the others.
func (c *Client) bySnapshot(ctx context.Context, l list, teller member) []*pb.Member {
	asking, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var leader uint64
	if st, err := teller.status(asking); err == nil {
		leader = st.leader
	}
	// A cluster must not be restored from a member with corrupt data. If the alarms cannot
	// be read, etcd has no quorum, and the reads below fail.
	alarms, _ := teller.alarms(asking)
	out := slices.DeleteFunc(slices.Clone(l.members), func(m *pb.Member) bool {
		return m.IsLearner || m.Name == "" || len(m.ClientURLs) == 0 || slices.Contains(alarms[m.ID], pb.AlarmType_CORRUPT.String())
	})
	slices.SortStableFunc(out, func(a, b *pb.Member) int {
		switch {
		case a.ID == leader && b.ID != leader:
			return 1
		case b.ID == leader && a.ID != leader:
			return -1
		}
		return 0
	})
	return out
}

func (c *Client) snapshotOf(ctx context.Context, l list, m *pb.Member) (*providers.EtcdSnapshot, error) {
	own, err := c.at(m.ClientURLs[0])
	if err != nil {
		return nil, err
	}
	reading, done := context.WithTimeout(ctx, readTimeout)
	st, err := own.read(reading)
	done()
	if err != nil {
		return nil, err
	}
	if st.clusterID != l.clusterID || st.id != m.ID {
		return nil, fmt.Errorf("%s is not member %s of this cluster", m.ClientURLs[0], m.Name)
	}
	return stream(ctx, own, l.clusterID, m.Name, st.revision)
}

// stream begins to stream a member's snapshot.
func stream(ctx context.Context, from member, clusterID uint64, name string, revision int64) (*providers.EtcdSnapshot, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	blobs, err := from.snapshot(ctx)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	return &providers.EtcdSnapshot{
		EtcdID: hex(clusterID), Member: name, Revision: revision,
		ReadCloser: watch(ctx, blobs, stallTimeout, cancel),
	}, nil
}

// snapshotTime bounds a snapshot, in addition to the time that its bytes take at
// budget.LeastRate.
const snapshotTime = 5 * time.Minute

// watched is a stream that ends when it is silent or too slow.
type watched struct {
	io.ReadCloser
	ctx    context.Context
	watch  *budget.Watch
	cancel context.CancelCauseFunc
	close  sync.Once
}

// lateError is why a stream was given up.
type lateError struct{ error }

func watch(ctx context.Context, stream io.ReadCloser, timeout time.Duration, cancel context.CancelCauseFunc) *watched {
	pace := budget.Pace{Silence: timeout, Total: snapshotTime}
	return &watched{ReadCloser: stream, ctx: ctx, cancel: cancel, watch: pace.Watch(func(err error) { cancel(lateError{err}) })}
}

// Read implements io.Reader. When the stream breaks off, the error has a kind. Only the
// member is timed, not the reader.
func (w *watched) Read(b []byte) (int, error) {
	w.watch.Resume()
	w.watch.Heard(0)
	n, err := w.ReadCloser.Read(b)
	w.watch.Heard(n)
	w.watch.Pause()
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	const do = "read the snapshot of etcd"
	cause := context.Cause(w.ctx)
	if late, is := errors.AsType[lateError](cause); is {
		return n, &providers.Error{Kind: providers.ErrTimeout, Do: do, Cause: late.error}
	}
	if cause != nil {
		err = cause
	}
	return n, failure(do, providers.ErrDisconnected, err)
}

// Close implements io.Closer.
func (w *watched) Close() error {
	var err error
	w.close.Do(func() {
		w.watch.Stop()
		w.cancel(nil)
		err = w.ReadCloser.Close()
	})
	return err
}
