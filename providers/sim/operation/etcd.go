package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
)

// etcdStops is how long an operation waits for etcd to stop.
const etcdStops = time.Minute

// setAside renames the data of a stopped member.
func (do Operations) setAside(dataDir, as string) (bool, error) {
	from, to := file.Clean(dataDir)+"/member", file.Clean(dataDir)+"/"+as
	if do.m.File(from) == nil {
		return false, nil
	}
	for waited := time.Duration(0); ; waited += time.Second {
		if running, p := do.m.Processes().Pod(staticpod.Etcd); running == nil || p.DataFolder != from {
			break
		}
		if waited >= etcdStops {
			return false, do.m.CommandError("set etcd's data aside", 1, "an etcd still runs on "+from)
		}
		do.servers.Advance(time.Second)
	}
	for do.m.File(to) != nil {
		to += ".again"
	}
	for _, p := range append([]string{from}, do.m.Tree(from)...) {
		f := do.m.File(p)
		do.m.RemoveOne(p)
		do.m.Put(to+p[len(from):], f)
	}
	do.servers.Advance(machine.TimeFile)
	return true, nil
}

// restoreEtcd makes a new cluster with one member from a snapshot.
func (do Operations) restoreEtcd(op planner.RestoreEtcd, batch providers.Batch) (bool, error) {
	data := file.Clean(op.DataDir) + "/member"
	if mark := do.m.File(planner.RestoredMark); mark.IsRegular() && do.m.File(data) != nil && string(do.servers.Content(mark)) == op.SHA256+"\n" {
		return false, nil
	}
	snapshot, err := receiveWhole(op, batch)
	if err != nil {
		return false, do.m.CommandError(op.Summary(), 1, err.Error())
	}
	c, err := etcd.ReadSnapshot(snapshot)
	if err != nil {
		return false, do.m.CommandError(op.Summary(), 1, err.Error())
	}
	if _, err := do.setAside(op.DataDir, op.As); err != nil {
		return false, err
	}
	c.ID = do.servers.Derive(16, "restored", op.SHA256, op.PeerURL, do.m.NextNumber())
	mb := &etcd.Member{ID: do.servers.Derive(16, "member", c.ID, op.PeerURL), Name: op.Name, PeerURL: op.PeerURL, Host: do.m.Address}
	c.Members, c.Leader = []*etcd.Member{mb}, mb.ID
	do.servers.Add(c.ID, c)
	do.m.Put(data, &file.File{Type: file.Directory, Mode: "0700", Member: &file.EtcdData{Cluster: c.ID, ID: mb.ID}})
	do.m.Put(data+"/"+planner.RestoredData, do.servers.NewFile([]byte(op.SHA256+"\n"), "0600", ""))
	do.m.Put(planner.RestoredMark, do.servers.NewFile([]byte(op.SHA256+"\n"), "0600", ""))
	do.servers.ForgetDead()
	do.servers.Advance(machine.TimeImage)
	return true, nil
}

func receiveWhole(op planner.RestoreEtcd, batch providers.Batch) ([]byte, error) {
	a, ok := batch.Artifacts[op.Artifact]
	if !ok {
		return nil, fmt.Errorf("internal error: missing artifact %s", op.Artifact)
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
