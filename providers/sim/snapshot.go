package sim

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/etcd"
)

// Snapshot streams etcd's data, preferably from a voter that is not the leader. A partial
// fault ends the stream in the middle.
func (e *etcdClient) Snapshot(ctx context.Context) (*providers.EtcdSnapshot, error) {
	return e.stream(ctx, e.cluster, func(c *etcd.Cluster) (string, int64) {
		if from := c.SnapshotSource(); from != nil {
			return from.Name, e.h.w.etcds.Revision()
		}
		return "", 0
	})
}

// stream streams a cluster's data from the member that source names.
func (e *etcdClient) stream(ctx context.Context, of func() (*etcd.Cluster, error), source func(*etcd.Cluster) (string, int64)) (*providers.EtcdSnapshot, error) {
	const op = "etcd.snapshot"
	w, m := e.h.w, e.h.machine()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := m.Connected(ctx); err != nil {
		return nil, err
	}
	kind := w.faults.match(m.Address, op, "")
	cut := w.failure(kind, m, op, "")
	if cut != nil && kind != FaultPartial {
		return nil, cut
	}
	c, err := of()
	if err != nil {
		return nil, err
	}
	b, err := c.Snapshot()
	if err != nil {
		return nil, err
	}
	stream := io.Reader(bytes.NewReader(b))
	if kind == FaultPartial {
		stream = io.MultiReader(bytes.NewReader(b[:len(b)/2]), broken{cut})
	}
	from, revision := source(c)
	if from == "" {
		return nil, errors.New("cannot take a snapshot of etcd: no voter is there that is not alarmed as corrupt")
	}
	return &providers.EtcdSnapshot{EtcdID: c.ID, Member: from, Revision: revision, ReadCloser: io.NopCloser(stream)}, nil
}

// broken is a stream that fails.
type broken struct{ err error }

// Read implements io.Reader.
func (b broken) Read([]byte) (int, error) { return 0, b.err }
