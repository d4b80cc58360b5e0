package etcd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
)

// Process is the etcd that runs on a machine.
type Process struct {
	all      *Clusters
	m        *machine.Machine
	pod      *machine.StaticPod
	manifest *staticpod.Manifest
}

// ProcessOn returns the etcd that runs on a machine; false if none does.
func (e *Clusters) ProcessOn(m *machine.Machine) (Process, bool) {
	running, p := m.Processes().Pod(staticpod.Etcd)
	return Process{e, m, running, p}, running != nil
}

// Step lets an etcd bootstrap its cluster or join it. It reports whether anything changed,
// and whether this machine alone will cause no further change.
func (ep Process) Step() (changed, done bool) {
	if mb := ep.Member(); mb != nil {
		return false, ep.Cluster().publish(ep.pod, mb)
	}
	if ep.all.Now.Before(ep.pod.Started.Add(staticpod.StartupTime(staticpod.Etcd))) || ep.checkFiles() != nil {
		return false, false
	}
	if ep.Removed() {
		return false, true // removed from its cluster: it exits
	}
	if ep.manifest.Flag("initial-cluster-state", "new") == "existing" {
		return ep.join(), false
	}
	return ep.found(), false
}

// Member returns the member whose data is on the machine, or nil.
func (ep Process) Member() *Member {
	c := ep.Cluster()
	if c == nil {
		return nil
	}
	return c.Member(ep.m.File(ep.manifest.DataFolder).Member.ID)
}

// Cluster returns the cluster whose data is on the machine, or nil.
func (ep Process) Cluster() *Cluster {
	f := ep.m.File(ep.manifest.DataFolder)
	if f == nil || f.Member == nil {
		return nil
	}
	return ep.all.ByID[f.Member.Cluster]
}

// Removed reports whether the data belongs to a member that was removed from its cluster.
func (ep Process) Removed() bool {
	f := ep.m.File(ep.manifest.DataFolder)
	return f != nil && f.Member != nil && ep.Member() == nil
}

// Renumber gives the member another ID, as if it had been removed and had joined again.
func (ep Process) Renumber(id string) {
	data, mb := *ep.m.File(ep.manifest.DataFolder), ep.Member() // files are immutable: others may hold the same one
	data.Member = &file.EtcdData{Cluster: data.Member.Cluster, ID: id}
	mb.ID = id
	ep.m.Put(ep.manifest.DataFolder, &data)
}

// checkFiles returns why etcd refuses its certificates, or nil.
func (ep Process) checkFiles() error {
	if ep.pod.Exited != "" {
		return errors.New(ep.pod.Exited)
	}
	for _, flags := range [][3]string{{"cert-file", "key-file", "trusted-ca-file"}, {"peer-cert-file", "peer-key-file", "peer-trusted-ca-file"}} {
		file, ok := ep.manifest.Arg(flags[0])
		if !ok {
			continue
		}
		cert, err := ep.m.Certificates().At(file, ep.m.Certificates().PathIfPresent(ep.manifest.Flag(flags[1], "")))
		if err != nil {
			return err
		}
		if ca, ok := ep.manifest.Arg(flags[2]); ok && !ep.m.Certificates().StillTrusts(ca, cert) {
			return fmt.Errorf("x509: %s is signed by unknown authority", file)
		}
	}
	return nil
}

// found bootstraps a cluster of one member, or of those in initial-cluster.
func (ep Process) found() bool {
	initial := ep.initialCluster()
	own := ep.manifest.Flag("initial-advertise-peer-urls", "")
	if _, ok := initial[own]; !ok {
		return false
	}
	for _, c := range ep.all.List() {
		if len(initial) > 1 && c.foundedWith(initial) {
			mb := c.memberAt(own)
			ep.start(c, mb)
			return true
		}
	}
	n := ep.m.NextNumber()
	c := &Cluster{ID: ep.all.Derive(16, "etcd", ep.m.Address, n)}
	c.Initialize()
	for _, url := range slices.Sorted(maps.Keys(initial)) {
		c.Members = append(c.Members, &Member{ID: ep.all.Derive(16, "member", c.ID, url), PeerURL: url})
	}
	ep.all.Add(c.ID, c)
	ep.start(c, c.memberAt(own))
	c.Leader = c.memberAt(own).ID
	return true
}

// join starts a member that was added before.
func (ep Process) join() bool {
	own := ep.manifest.Flag("initial-advertise-peer-urls", "")
	initial := ep.initialCluster()
	for _, c := range ep.all.List() {
		mb := c.memberAt(own)
		if mb == nil || mb.Host != "" || !c.HasQuorum() || !c.matches(initial) || !ep.trustsPeers(c) {
			continue
		}
		ep.start(c, mb)
		return true
	}
	return false
}

// trustsPeers reports whether a new member and the running ones trust each other.
func (ep Process) trustsPeers(c *Cluster) bool {
	file, ok := ep.manifest.Arg("peer-cert-file")
	if !ok {
		return true
	}
	mine, err := ep.m.Certificates().At(file, "")
	if err != nil {
		return false
	}
	for _, mb := range c.Members {
		other := ep.all.Hosts[mb.Host]
		if other == nil {
			continue
		}
		_, op := other.Processes().Pod(staticpod.Etcd)
		if op == nil {
			continue
		}
		theirs, err := other.Certificates().At(op.Flag("peer-cert-file", ""), "")
		if err != nil || !other.Certificates().StillTrusts(op.Flag("peer-trusted-ca-file", ""), mine) || !ep.m.Certificates().StillTrusts(ep.manifest.Flag("peer-trusted-ca-file", ""), theirs) {
			return false
		}
	}
	return true
}

// start makes the process a member of a cluster.
func (ep Process) start(c *Cluster, mb *Member) {
	mb.Name, mb.Host = ep.manifest.Flag("name", "default"), ep.m.Address
	mb.ClientURLs = strings.Split(ep.manifest.Flag("advertise-client-urls", ""), ",")
	mb.Synced = ep.all.Now.Add(time.Second)
	ep.m.Put(ep.manifest.DataFolder, &file.File{Type: file.Directory, Mode: "0700", Member: &file.EtcdData{Cluster: c.ID, ID: mb.ID}})
}

// initialCluster maps peer URLs to names.
func (ep Process) initialCluster() map[string]string {
	out := map[string]string{}
	for entry := range strings.SplitSeq(ep.manifest.Flag("initial-cluster", ""), ",") {
		if name, url, ok := strings.Cut(entry, "="); ok {
			out[url] = name
		}
	}
	return out
}

// Fault returns why the member does not answer, or nil.
func (ep Process) Fault() error {
	if err := ep.checkFiles(); err != nil {
		return err
	}
	f := ep.m.File(ep.manifest.DataFolder)
	if f == nil || f.Member == nil {
		return errors.New("etcd has not started: it has no cluster")
	}
	if ep.Member() == nil {
		return errors.New("the member has been permanently removed from the cluster")
	}
	return nil
}
