package sim

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers"
)

// snapshotHead begins a snapshot of the simulator's: a database of nobody else's.
const snapshotHead = "kubewright simulated etcd snapshot 1\n"

// snapshotPage divides the size of a database, as etcd's pages do.
const snapshotPage = 512

// revision is etcd's: leases see to it that it grows with time.
func (w *World) revision() int64 { return 1 + int64(w.d.Now.Sub(epoch)/time.Second) }

// snapshot returns a cluster's data with its hash behind it. Membership is not in
// it: whoever restores it says who the members are.
func (c *cluster) snapshot() ([]byte, error) {
	data := *c
	data.Members, data.Leader, data.Revision = nil, "", 0
	text, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	b := append([]byte(snapshotHead), text...)
	b = append(b, strings.Repeat(" ", (snapshotPage-len(b)%snapshotPage)%snapshotPage)...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), nil
}

// Snapshot streams what etcd holds, of a voter that does not lead where there is
// one. A partial fault cuts the stream off in the middle.
func (e *etcdClient) Snapshot(ctx context.Context) (*providers.EtcdSnapshot, error) {
	return e.stream(ctx, e.cluster, func(c *cluster) (string, int64) {
		if from := e.h.w.snapshotSource(c); from != nil {
			return from.Name, e.h.w.revision()
		}
		return "", 0
	})
}

// stream begins to stream what a cluster holds, of the member that source names.
func (e *etcdClient) stream(ctx context.Context, of func() (*cluster, error), source func(*cluster) (string, int64)) (*providers.EtcdSnapshot, error) {
	const op = "etcd.snapshot"
	w, m := e.h.w, e.h.machine()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.connected(ctx, m); err != nil {
		return nil, err
	}
	kind := w.match(m.address, op, "")
	cut := w.failure(kind, m, op, "")
	if cut != nil && kind != FaultPartial {
		return nil, cut
	}
	c, err := of()
	if err != nil {
		return nil, err
	}
	b, err := c.snapshot()
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

// snapshotSource returns the first voter that runs, is not corrupt and does not lead,
// or the leader.
func (w *World) snapshotSource(c *cluster) *member {
	leader := w.leader(c)
	usable := slices.DeleteFunc(c.voters(), func(mb *member) bool { return !w.alive(mb) || slices.Contains(mb.Alarms, alarmCorrupt) })
	for _, mb := range usable {
		if mb != leader {
			return mb
		}
	}
	if len(usable) == 0 {
		return nil
	}
	return usable[0]
}

// broken is a stream that fails.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
