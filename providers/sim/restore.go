package sim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
)

// etcdStops is how long an operation waits for etcd to let go of its data.
const etcdStops = time.Minute

// restored returns the cluster that a snapshot holds, without members.
func restored(snapshot []byte) (*cluster, error) {
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
	c := &cluster{}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("the snapshot cannot be read: %w", err)
	}
	c.init()
	return c, nil
}

// setAside gives the data of a member that has stopped another name.
func (w *World) setAside(m *machine, dataDir, as string) (bool, error) {
	from, to := clean(dataDir)+"/member", clean(dataDir)+"/"+as
	if w.get(m, from) == nil {
		return false, nil
	}
	for waited := time.Duration(0); ; waited += time.Second {
		if running, p := w.podOf(m, compEtcd); running == nil || p.dataFolder != from {
			break
		}
		if waited >= etcdStops {
			return false, m.commandError("set etcd's data aside", 1, "an etcd still runs on "+from)
		}
		w.advance(time.Second)
	}
	for w.get(m, to) != nil {
		to += ".again"
	}
	for _, p := range append([]string{from}, w.tree(m, from)...) {
		f := w.get(m, p)
		w.removeOne(m, p)
		w.put(m, to+p[len(from):], f)
	}
	w.advance(timeFile)
	return true, nil
}

// restoreEtcd makes a member of a new cluster of a snapshot.
func (w *World) restoreEtcd(m *machine, op planner.RestoreEtcd, batch providers.Batch) (bool, error) {
	data := clean(op.DataDir) + "/member"
	if mark := w.get(m, planner.RestoredMark); mark.isRegular() && w.get(m, data) != nil && string(w.content(mark)) == op.SHA256+"\n" {
		return false, nil
	}
	snapshot, err := receiveWhole(op, batch)
	if err != nil {
		return false, m.commandError(op.Summary(), 1, err.Error())
	}
	c, err := restored(snapshot)
	if err != nil {
		return false, m.commandError(op.Summary(), 1, err.Error())
	}
	if _, err := w.setAside(m, op.DataDir, op.As); err != nil {
		return false, err
	}
	c.ID = w.derive(16, "restored", op.SHA256, op.PeerURL, m.next())
	mb := &member{ID: w.derive(16, "member", c.ID, op.PeerURL), Name: op.Name, PeerURL: op.PeerURL, Host: m.address}
	c.Members, c.Leader = []*member{mb}, mb.ID
	w.d.Clusters[c.ID] = c
	w.put(m, data, &file{Type: typeDirectory, Mode: "0700", Member: &memberRef{c.ID, mb.ID}})
	w.put(m, data+"/"+planner.RestoredData, w.contentFile([]byte(op.SHA256+"\n"), "0600", ""))
	w.put(m, planner.RestoredMark, w.contentFile([]byte(op.SHA256+"\n"), "0600", ""))
	w.forgetDead()
	w.advance(timeImage)
	return true, nil
}

func receiveWhole(op planner.RestoreEtcd, batch providers.Batch) ([]byte, error) {
	a, ok := batch.Artifacts[op.Artifact]
	if !ok {
		return nil, fmt.Errorf("internal error: nobody brought artifact %s", op.Artifact)
	}
	r, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != op.SHA256 {
		return nil, errors.New("the snapshot did not arrive whole")
	}
	return b, nil
}

// forgetDead drops the clusters of which no host has a member's data in its place.
func (w *World) forgetDead() {
	for _, id := range sortedKeys(w.d.Clusters) {
		c := w.d.Clusters[id]
		dead := len(c.Members) > 0
		for _, mb := range c.Members {
			m := w.d.Hosts[mb.Host]
			f := (*file)(nil)
			if m != nil {
				f = w.get(m, "/var/lib/etcd/member")
			}
			dead = dead && mb.Host != externalHost && (f == nil || f.Member == nil || f.Member.Cluster != id)
		}
		if dead {
			delete(w.d.Clusters, id)
		}
	}
}
