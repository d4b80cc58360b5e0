package etcd

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
)

// Clusters are the etcd clusters of a world, with the data stored in each.
type Clusters struct {
	*machine.Fleet
	ByID map[string]*Cluster
}

// NewClusters returns the clusters of a fleet.
func NewClusters(f *machine.Fleet, byID map[string]*Cluster) *Clusters {
	e := &Clusters{Fleet: f, ByID: map[string]*Cluster{}}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		e.Add(id, byID[id])
	}
	return e
}

// Add adds a cluster to the world.
func (e *Clusters) Add(id string, c *Cluster) {
	c.all = e
	e.ByID[id] = c
}

// List returns all clusters, by ID.
func (e *Clusters) List() []*Cluster {
	out := make([]*Cluster, 0, len(e.ByID))
	for _, id := range slices.Sorted(maps.Keys(e.ByID)) {
		out = append(out, e.ByID[id])
	}
	return out
}

// alive reports whether a member runs, with or without a quorum.
func (e *Clusters) alive(mb *Member) bool {
	if mb.Host == ExternalHost {
		return true
	}
	m := e.Hosts[mb.Host]
	if m == nil || m.Conditions.Unreachable && m.Off {
		return false
	}
	ep, runs := e.ProcessOn(m)
	if !runs || e.Now.Before(ep.pod.Started.Add(staticpod.StartupTime(staticpod.Etcd))) {
		return false
	}
	return ep.Member() == mb && ep.Fault() == nil
}

// ExternalHost is the host of members of an etcd that is not in the world.
const ExternalHost = "external"

// At returns the cluster that answers at an endpoint, as a host dials it. An endpoint of no
// host is an external etcd, which always works.
func (e *Clusters) At(m *machine.Machine, endpoint string, all []string) (*Cluster, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("invalid endpoint %q", endpoint)
	}
	target := e.Find(u.Hostname())
	if slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname()) {
		target = m
	}
	if target == nil {
		return e.External(all), nil
	}
	ep, runs := e.ProcessOn(target)
	switch {
	case !runs || !slices.Contains(staticpod.Ports(staticpod.Etcd, ep.manifest), staticpod.Number(u.Port())):
		return nil, fmt.Errorf("dial tcp %s: connect: connection refused", u.Host)
	case target.Processes().PodFault(staticpod.Etcd) != nil:
		return nil, target.Processes().PodFault(staticpod.Etcd)
	case ep.Fault() != nil:
		return nil, ep.Fault()
	}
	if ep.Member().Learner {
		return nil, errors.New("etcdserver: rpc not supported for learner")
	}
	return ep.Cluster(), nil
}

// External returns the etcd at endpoints outside the world.
func (e *Clusters) External(endpoints []string) *Cluster {
	sorted := slices.Sorted(slices.Values(endpoints))
	id := e.Derive(16, append([]string{"external etcd"}, sorted...)...)
	if c := e.ByID[id]; c != nil {
		return c
	}
	c := &Cluster{ID: id}
	for i, endpoint := range sorted {
		c.Members = append(c.Members, &Member{
			ID: e.Derive(16, "member", id, endpoint), Name: fmt.Sprintf("etcd-%d", i), Host: ExternalHost,
			PeerURL: strings.Replace(endpoint, ":2379", ":2380", 1), ClientURLs: []string{endpoint},
		})
	}
	c.Leader = c.Members[0].ID
	c.Initialize()
	e.Add(id, c)
	return c
}

// StorageOf returns the etcd cluster in which an API server stores its objects.
func (e *Clusters) StorageOf(m *machine.Machine, p *staticpod.Manifest) (*Cluster, error) {
	endpoints := strings.Split(p.Flag("etcd-servers", ""), ",")
	if file, ok := p.Arg("etcd-certfile"); ok {
		if _, err := m.Certificates().At(file, m.Certificates().PathIfPresent(p.Flag("etcd-keyfile", ""))); err != nil {
			return nil, err
		}
	}
	last := errors.New("no etcd servers given")
	for _, endpoint := range endpoints {
		c, err := e.At(m, endpoint, endpoints)
		if err != nil {
			last = err
			continue
		}
		return c, nil
	}
	return nil, last
}

// ForgetDead drops the clusters without a member's data on any host.
func (e *Clusters) ForgetDead() {
	for _, c := range e.List() {
		dead := len(c.Members) > 0
		for _, mb := range c.Members {
			dead = dead && mb.Host != ExternalHost && !holdsMember(e.Hosts[mb.Host], c.ID)
		}
		if dead {
			delete(e.ByID, c.ID)
		}
	}
}

// holdsMember reports whether a host has a member's data of a cluster, in whatever folder.
func holdsMember(m *machine.Machine, cluster string) bool {
	if m == nil {
		return false
	}
	for p, f := range m.Files {
		if f != nil && f.Member != nil && f.Member.Cluster == cluster && path.Base(p) == "member" {
			return true
		}
	}
	return false
}

// version returns the version in a member's image.
func (e *Clusters) version(mb *Member) string {
	m := e.Hosts[mb.Host]
	if m == nil {
		return ""
	}
	_, p := m.Processes().Pod(staticpod.Etcd)
	version, _, _ := strings.Cut(p.Tag(), "-")
	return strings.TrimPrefix(version, "v")
}

// WithNode returns the cluster that has a node, or nil.
func (e *Clusters) WithNode(node string) *Cluster {
	for _, c := range e.List() {
		if c.Nodes[node] != nil {
			return c
		}
	}
	return nil
}

// Revision returns etcd's revision: because of leases it grows with time.
func (e *Clusters) Revision() int64 { return 1 + int64(e.Now.Sub(Epoch)/time.Second) }

// Epoch is the time at which a new world begins.
var Epoch = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
