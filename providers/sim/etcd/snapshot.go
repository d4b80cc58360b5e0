package etcd

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// snapshotHead is the beginning of a simulated snapshot; no real database begins like this.
const snapshotHead = "kubewright simulated etcd snapshot 1\n"

// snapshotPage divides the size of a database, as etcd's pages do.
const snapshotPage = 512

// Snapshot returns a cluster's data followed by its hash. It has no membership: a restore
// names the members.
func (c *Cluster) Snapshot() ([]byte, error) {
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

// SnapshotSource returns the first voter that runs, is not corrupt and does not lead, or
// the leader.
func (c *Cluster) SnapshotSource() *Member {
	leader := c.currentLeader()
	usable := slices.DeleteFunc(c.Voters(), func(mb *Member) bool { return !c.all.alive(mb) || slices.Contains(mb.Alarms, AlarmCorrupt) })
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

// ReadSnapshot returns the cluster in a snapshot, without members.
func ReadSnapshot(snapshot []byte) (*Cluster, error) {
	end := len(snapshot) - sha256.Size
	if end < 0 {
		return nil, errors.New("snapshot missing hash")
	}
	if sum := sha256.Sum256(snapshot[:end]); !bytes.Equal(sum[:], snapshot[end:]) {
		return nil, fmt.Errorf("expected sha256 %x, got %x", snapshot[end:], sum)
	}
	text, ok := bytes.CutPrefix(snapshot[:end], []byte(snapshotHead))
	if !ok {
		return nil, errors.New("the snapshot is not of a simulated etcd")
	}
	c := &Cluster{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("the snapshot cannot be read: %w", err)
	}
	c.Initialize()
	return c, nil
}
