package sim

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// member is a member of an etcd cluster.
type member struct {
	ID         string   `json:"id"`
	Name       string   `json:"name,omitempty"` // empty until it has started
	PeerURL    string   `json:"peer_url"`
	ClientURLs []string `json:"client_urls,omitempty"`
	Learner    bool     `json:"learner,omitempty"`
	// Host is the address of the host that holds its data.
	Host string `json:"host,omitempty"`
	// Synced is when a learner has caught up.
	Synced time.Time `json:"synced,omitzero"`
	// Garbage is what the database holds that is not in use, in bytes: what was
	// compacted, until the member is defragmented.
	Garbage int64    `json:"garbage,omitempty"`
	Alarms  []string `json:"alarms,omitempty"`
}

// stepEtcd lets an etcd pod found its cluster or join it.
func (w *World) stepEtcd(m *machine) (changed, done bool) {
	running, p := w.podOf(m, compEtcd)
	if running == nil {
		return false, true
	}
	if mb := w.memberOf(m, p); mb != nil {
		return false, w.publish(running, w.d.Clusters[w.get(m, p.dataFolder).Member.Cluster], mb)
	}
	if w.d.Now.Before(running.Started.Add(startup(compEtcd))) || w.etcdFiles(m, p) != nil {
		return false, false
	}
	if w.get(m, p.dataFolder) != nil && w.get(m, p.dataFolder).Member != nil {
		return false, true // removed from its cluster: it exits
	}
	if p.flag("initial-cluster-state", "new") == "existing" {
		return w.joinEtcd(m, p), false
	}
	return w.foundEtcd(m, p), false
}

// memberOf returns the member that a host's data is of, or nil.
func (w *World) memberOf(m *machine, p *manifest) *member {
	f := w.get(m, p.dataFolder)
	if f == nil || f.Member == nil {
		return nil
	}
	c := w.d.Clusters[f.Member.Cluster]
	if c == nil {
		return nil
	}
	return c.member(f.Member.ID)
}

func (c *cluster) member(id string) *member {
	for _, mb := range c.Members {
		if mb.ID == id {
			return mb
		}
	}
	return nil
}

func (c *cluster) voters() []*member {
	return slices.DeleteFunc(slices.Clone(c.Members), func(mb *member) bool { return mb.Learner })
}

// etcdFiles checks etcd's certificates.
func (w *World) etcdFiles(m *machine, p *manifest) error {
	if running, _ := w.podOf(m, compEtcd); running != nil && running.Exited != "" {
		return errors.New(running.Exited)
	}
	for _, flags := range [][3]string{{"cert-file", "key-file", "trusted-ca-file"}, {"peer-cert-file", "peer-key-file", "peer-trusted-ca-file"}} {
		file, ok := p.arg(flags[0])
		if !ok {
			continue
		}
		cert, err := w.certificateAt(m, file, w.unlessGone(m, p.flag(flags[1], "")))
		if err != nil {
			return err
		}
		if ca, ok := p.arg(flags[2]); ok && !w.stillTrusts(m, ca, cert) {
			return fmt.Errorf("x509: %s is signed by unknown authority", file)
		}
	}
	return nil
}

// foundEtcd makes a cluster of one member, or of those that initial-cluster names.
func (w *World) foundEtcd(m *machine, p *manifest) bool {
	initial := initialCluster(p)
	own := p.flag("initial-advertise-peer-urls", "")
	if _, ok := initial[own]; !ok {
		return false
	}
	for _, id := range sortedKeys(w.d.Clusters) {
		if c := w.d.Clusters[id]; len(initial) > 1 && c.foundedWith(initial) {
			mb := c.withPeer(own)
			w.startMember(m, p, c, mb)
			return true
		}
	}
	n := m.next()
	c := &cluster{ID: w.derive(16, "etcd", m.address, n)}
	c.init()
	for _, url := range sortedKeys(initial) {
		c.Members = append(c.Members, &member{ID: w.derive(16, "member", c.ID, url), PeerURL: url})
	}
	w.d.Clusters[c.ID] = c
	w.startMember(m, p, c, c.withPeer(own))
	c.Leader = c.withPeer(own).ID
	return true
}

// foundedWith reports whether a cluster waits for the last of these founders.
func (c *cluster) foundedWith(initial map[string]string) bool {
	if len(c.Members) != len(initial) {
		return false
	}
	for _, mb := range c.Members {
		if _, ok := initial[mb.PeerURL]; !ok {
			return false
		}
	}
	return slices.ContainsFunc(c.Members, func(mb *member) bool { return mb.Host == "" })
}

// joinEtcd starts a member that was added before.
func (w *World) joinEtcd(m *machine, p *manifest) bool {
	own := p.flag("initial-advertise-peer-urls", "")
	initial := initialCluster(p)
	for _, id := range sortedKeys(w.d.Clusters) {
		c := w.d.Clusters[id]
		mb := c.withPeer(own)
		if mb == nil || mb.Host != "" || !w.hasQuorum(c) || !c.matches(initial) || !w.peersTrust(m, p, c) {
			continue
		}
		w.startMember(m, p, c, mb)
		return true
	}
	return false
}

// matches is etcd's check of initial-cluster against the members that it knows.
func (c *cluster) matches(initial map[string]string) bool {
	if len(c.Members) != len(initial) {
		return false
	}
	for _, mb := range c.Members {
		if _, ok := initial[mb.PeerURL]; !ok {
			return false
		}
	}
	return true
}

// peersTrust reports whether a new member and those that run trust each other.
func (w *World) peersTrust(m *machine, p *manifest, c *cluster) bool {
	file, ok := p.arg("peer-cert-file")
	if !ok {
		return true
	}
	mine, err := w.certificateAt(m, file, "")
	if err != nil {
		return false
	}
	for _, mb := range c.Members {
		other := w.d.Hosts[mb.Host]
		if other == nil {
			continue
		}
		_, op := w.podOf(other, compEtcd)
		if op == nil {
			continue
		}
		theirs, err := w.certificateAt(other, op.flag("peer-cert-file", ""), "")
		if err != nil || !w.stillTrusts(other, op.flag("peer-trusted-ca-file", ""), mine) || !w.stillTrusts(m, p.flag("peer-trusted-ca-file", ""), theirs) {
			return false
		}
	}
	return true
}

func (w *World) startMember(m *machine, p *manifest, c *cluster, mb *member) {
	mb.Name, mb.Host = p.flag("name", "default"), m.address
	mb.ClientURLs = strings.Split(p.flag("advertise-client-urls", ""), ",")
	mb.Synced = w.d.Now.Add(time.Second)
	w.put(m, p.dataFolder, &file{Type: typeDirectory, Mode: "0700", Member: &memberRef{c.ID, mb.ID}})
}

// withPeer returns the member with the peer URL, or nil.
func (c *cluster) withPeer(peerURL string) *member {
	for _, mb := range c.Members {
		if mb.PeerURL == peerURL {
			return mb
		}
	}
	return nil
}

// initialCluster maps peer URLs to names.
func initialCluster(p *manifest) map[string]string {
	out := map[string]string{}
	for entry := range strings.SplitSeq(p.flag("initial-cluster", ""), ",") {
		if name, url, ok := strings.Cut(entry, "="); ok {
			out[url] = name
		}
	}
	return out
}

// etcdFault says why a host's own member does not answer, or nil.
func (w *World) etcdFault(m *machine) error {
	_, p := w.podOf(m, compEtcd)
	if p == nil {
		return errors.New("connection refused")
	}
	if err := w.etcdFiles(m, p); err != nil {
		return err
	}
	f := w.get(m, p.dataFolder)
	if f == nil || f.Member == nil {
		return errors.New("etcd has not started: it has no cluster")
	}
	if w.memberOf(m, p) == nil {
		return errors.New("the member has been permanently removed from the cluster")
	}
	return nil
}

// alive reports whether a member runs, whether or not it has a quorum.
func (w *World) alive(mb *member) bool {
	if mb.Host == externalHost {
		return true
	}
	m := w.d.Hosts[mb.Host]
	if m == nil || m.Conditions.Unreachable && m.Off {
		return false
	}
	running, p := w.podOf(m, compEtcd)
	if running == nil || w.d.Now.Before(running.Started.Add(startup(compEtcd))) {
		return false
	}
	return w.memberOf(m, p) == mb && w.etcdFault(m) == nil
}

// hasQuorum reports whether a majority of the voters runs.
func (w *World) hasQuorum(c *cluster) bool {
	voters := c.voters()
	missing := len(voters)/2 + 1
	for _, mb := range voters {
		if missing > 0 && w.alive(mb) {
			missing--
		}
	}
	return missing == 0
}

// leader returns the member that leads; leadership moves when it is gone.
func (w *World) leader(c *cluster) *member {
	if !w.hasQuorum(c) {
		return nil
	}
	if mb := c.member(c.Leader); mb != nil && !mb.Learner && w.alive(mb) {
		return mb
	}
	for _, mb := range c.voters() {
		if w.alive(mb) {
			c.Leader = mb.ID
			return mb
		}
	}
	return nil
}

// externalHost is the host of members of an etcd that is not in the world.
const externalHost = "external"

// etcdAt returns the cluster that answers at an endpoint, as a host dials it. An
// endpoint that is no host's is an etcd of somebody else's that always works.
func (w *World) etcdAt(m *machine, endpoint string, all []string) (*cluster, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("invalid endpoint %q", endpoint)
	}
	target := w.find(u.Hostname())
	if slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname()) {
		target = m
	}
	if target == nil {
		return w.externalEtcd(all), nil
	}
	running, p := w.podOf(target, compEtcd)
	switch {
	case running == nil || !slices.Contains(ports(compEtcd, p), number(u.Port())):
		return nil, fmt.Errorf("dial tcp %s: connect: connection refused", u.Host)
	case w.fault(target, compEtcd) != nil:
		return nil, w.fault(target, compEtcd)
	}
	mb := w.memberOf(target, p)
	if mb.Learner {
		return nil, errors.New("etcdserver: rpc not supported for learner")
	}
	return w.d.Clusters[w.get(target, p.dataFolder).Member.Cluster], nil
}

// externalEtcd returns the etcd at endpoints outside the world.
func (w *World) externalEtcd(endpoints []string) *cluster {
	sorted := slices.Sorted(slices.Values(endpoints))
	id := w.derive(16, append([]string{"external etcd"}, sorted...)...)
	if c := w.d.Clusters[id]; c != nil {
		return c
	}
	c := &cluster{ID: id}
	for i, endpoint := range sorted {
		c.Members = append(c.Members, &member{
			ID: w.derive(16, "member", id, endpoint), Name: fmt.Sprintf("etcd-%d", i), Host: externalHost,
			PeerURL: strings.Replace(endpoint, ":2379", ":2380", 1), ClientURLs: []string{endpoint},
		})
	}
	c.Leader = c.Members[0].ID
	c.init()
	w.d.Clusters[id] = c
	return c
}
