package providers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/snapshots"
	"github.com/kubewright/kubewright/state"
)

// SnapshotPath is the output of SnapshotEtcd.
const SnapshotPath = "snapshot"

// Snapshot is a snapshot of etcd on the operator's disk.
type Snapshot struct {
	snapshots.File
	snapshots.Digest
	// Member is the name of the sending member; empty for a snapshot that existed before.
	Member string
	// Local reports whether the member was asked alone, without a quorum.
	Local bool
}

// snapshot fetches a snapshot unless the interrupted plan that this run continues has taken
// one recently enough. It retries a stream that was cut off, but not a disk that is full.
func (w etcdWork) snapshot(ctx context.Context, op planner.SnapshotEtcd) error {
	var s Snapshot
	hear, end := w.listen()
	defer end()
	again := func(err error) bool { return passing(err) && !errors.Is(err, snapshots.ErrDisk) }
	err := w.retry(ctx, memberTime, again, func(ctx context.Context, e Etcd) (err error) {
		s, err = w.snapshotOnce(ctx, e, op, hear)
		return err
	})
	if err != nil {
		return err
	}
	w.outputs[SnapshotPath] = Output{Value: state.String(s.Path)}
	if s.Member == "" {
		w.log("the interrupted plan has taken a snapshot that is recent enough: " + s.Path)
		return nil
	}
	w.log(fmt.Sprintf("snapshot of %d bytes from member %s: %s", s.Size, s.Member, s.Path))
	return nil
}

// FetchSnapshot stores a snapshot of a cluster's etcd in a file, and chooses the name if
// the path is empty. It goes through a node, or another control plane of its cluster.
// Without a quorum the snapshot comes from a single member, and replaces no older snapshot.
func (p *Performer) FetchSnapshot(ctx context.Context, via state.Target, op planner.SnapshotEtcd, path string) (Snapshot, error) {
	var s Snapshot
	fetch := func(op planner.SnapshotEtcd, take func(Etcd) snapshotSource) error {
		return p.ThroughEtcd(ctx, via, func(ctx context.Context, e Etcd) (err error) {
			s, err = p.writeSnapshot(ctx, take(e), op, path, nil)
			return err
		})
	}
	err := fetch(op, func(e Etcd) snapshotSource { return e.Snapshot })
	if !Silent(err) || errors.Is(err, snapshots.ErrDisk) {
		return s, err
	}
	op.Keep = 0
	alone := fetch(op, func(e Etcd) snapshotSource { return e.LocalSnapshot })
	if errors.Is(alone, ErrHasLeader) || Silent(alone) {
		return Snapshot{}, err
	}
	s.Local = alone == nil
	return s, alone
}

// snapshotSource begins to stream a snapshot.
type snapshotSource func(context.Context) (*EtcdSnapshot, error)

// Silent reports whether etcd does not answer, as without a quorum, in contrast to one that
// could not be asked, such as one that refuses our certificate.
func Silent(err error) bool { return passing(err) && !errors.Is(err, ErrUntrusted) }

// snapshotOnce fetches a snapshot unless the interrupted plan has taken one. A snapshot
// from before that plan does not count: it does not cover the plan's changes.
func (w etcdWork) snapshotOnce(ctx context.Context, e Etcd, op planner.SnapshotEtcd, hear func(op int, line string)) (Snapshot, error) {
	since := w.continued(op.MaxAge)
	if since.IsZero() {
		return w.writeSnapshot(ctx, e.Snapshot, op, "", hear)
	}
	_, id, err := e.Members(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	if f, ok := snapshots.Between(w.Snapshots, op.Cluster, id, since, w.Clock.Now(), w.unseal()); ok {
		return Snapshot{File: f}, nil
	}
	return w.writeSnapshot(ctx, e.Snapshot, op, "", hear)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (p *Performer) writeSnapshot(ctx context.Context, take snapshotSource, op planner.SnapshotEtcd, path string, hear func(op int, line string)) (Snapshot, error) {
	if path == "" && p.Snapshots == "" {
		return Snapshot{}, errors.New("internal error: no folder for snapshots is known")
	}
	stream, err := take(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	defer stream.Close()
	name := snapshots.Name{Cluster: op.Cluster, Taken: p.Clock.Now(), Revision: stream.Revision, EtcdID: stream.EtcdID}
	var seal func(io.Writer) (io.WriteCloser, error)
	if name.Sealed = p.Sealing != nil && p.Sealing.Seals(op.Recipients); name.Sealed {
		seal = func(to io.Writer) (io.WriteCloser, error) { return p.Sealing.Encrypt(to, op.Recipients) }
	}
	if path == "" {
		path = filepath.Join(p.Snapshots, name.String())
		err = snapshots.MakeFolder(p.Snapshots)
	}
	var digest snapshots.Digest
	if err == nil {
		digest, err = snapshots.WriteSealed(path, &counted{Reader: stream, most: op.Most(), hear: hear}, seal)
	}
	if err != nil {
		return Snapshot{}, fmt.Errorf("cannot keep a snapshot of etcd as %s: %w", path, err)
	}
	if err := snapshots.Prune(p.Snapshots, op.Cluster, op.Keep); err != nil {
		return Snapshot{}, fmt.Errorf("a snapshot of etcd was kept as %s, but older ones beside it cannot be removed: %w", path, err)
	}
	return Snapshot{File: snapshots.File{Name: name, Path: path}, Digest: digest, Member: stream.Member}, nil
}

// Sealing encrypts snapshots in the operator's folder.
type Sealing interface {
	// Seals reports whether a snapshot is encrypted: because the state is, or to these recipients.
	Seals(recipients []string) bool
	// Encrypt encrypts what is written, and ends it when the result is closed.
	Encrypt(to io.Writer, recipients []string) (io.WriteCloser, error)
	Decrypt(from io.Reader) (io.Reader, error)
}

// unseal returns how encrypted snapshots are decrypted; nil if they cannot be.
func (p *Performer) unseal() func(io.Reader) (io.Reader, error) {
	if p.Sealing == nil {
		return nil
	}
	return p.Sealing.Decrypt
}

// counted reports how much of a stream has been read, unless hear is nil. It aborts a
// stream of more than most bytes, which would fill the operator's disk.
type counted struct {
	io.Reader
	most     int64
	received int64
	hear     func(op int, line string)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if c.received += int64(n); c.received > c.most {
		return 0, &Error{Kind: ErrProtocol, Do: "accept a snapshot of etcd", Cause: WithRemedy(
			fmt.Errorf("the member sends more than %.0f MiB, which is twice etcd's quota", mebibytes(c.most)),
			"if etcd's database is as large, give its quota as arg quota-backend-bytes in etcd { }. Otherwise take the member's host for compromised until you know better")}
	}
	if c.hear != nil {
		c.hear(0, fmt.Sprintf("received %.1f MiB", mebibytes(c.received)))
	}
	return n, err
}
