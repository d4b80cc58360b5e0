package etcd

import (
	"slices"
	"time"

	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// Member is a member of an etcd cluster.
type Member struct {
	ID         string   `json:"id"`
	Name       string   `json:"name,omitempty"` // empty until it has started
	PeerURL    string   `json:"peer_url"`
	ClientURLs []string `json:"client_urls,omitempty"`
	Learner    bool     `json:"learner,omitempty"`
	// Host is the address of the host that holds its data.
	Host string `json:"host,omitempty"`
	// Synced is when a learner has caught up.
	Synced time.Time `json:"synced,omitzero"`
	// Garbage is the unused part of the database, in bytes: compacted data, until the
	// member is defragmented.
	Garbage int64    `json:"garbage,omitempty"`
	Alarms  []string `json:"alarms,omitempty"`
}

// Cluster is the data of one etcd: its members and the API's objects.
type Cluster struct {
	ID      string    `json:"id"` // etcd's cluster ID
	Members []*Member `json:"members,omitempty"`
	Leader  string    `json:"leader,omitempty"`
	// Revision is etcd's revision when it last had a quorum.
	Revision int64 `json:"revision,omitempty"`
	// History is the deleted and overwritten data, in bytes, and since when. Every member
	// holds it until etcd is compacted.
	History int64     `json:"history,omitempty"`
	Since   time.Time `json:"since,omitzero"`

	// Data is the data that API servers store in it.
	store.Data

	all *Clusters
}

// Member returns the member with an ID, or nil.
func (c *Cluster) Member(id string) *Member {
	for _, mb := range c.Members {
		if mb.ID == id {
			return mb
		}
	}
	return nil
}

// Voters returns the members that are not learners.
func (c *Cluster) Voters() []*Member {
	return slices.DeleteFunc(slices.Clone(c.Members), func(mb *Member) bool { return mb.Learner })
}

// foundedWith reports whether a cluster still waits for the last of these founders.
func (c *Cluster) foundedWith(initial map[string]string) bool {
	if len(c.Members) != len(initial) {
		return false
	}
	for _, mb := range c.Members {
		if _, ok := initial[mb.PeerURL]; !ok {
			return false
		}
	}
	return slices.ContainsFunc(c.Members, func(mb *Member) bool { return mb.Host == "" })
}

// matches is etcd's check of initial-cluster against the known members.
func (c *Cluster) matches(initial map[string]string) bool {
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

// memberAt returns the member with the peer URL, or nil.
func (c *Cluster) memberAt(peerURL string) *Member {
	for _, mb := range c.Members {
		if mb.PeerURL == peerURL {
			return mb
		}
	}
	return nil
}

// HasQuorum reports whether a majority of the voters runs.
func (c *Cluster) HasQuorum() bool {
	voters := c.Voters()
	missing := len(voters)/2 + 1
	for _, mb := range voters {
		if missing > 0 && c.all.alive(mb) {
			missing--
		}
	}
	return missing == 0
}

// currentLeader returns the leader; leadership moves when it is gone.
func (c *Cluster) currentLeader() *Member {
	if !c.HasQuorum() {
		return nil
	}
	if mb := c.Member(c.Leader); mb != nil && !mb.Learner && c.all.alive(mb) {
		return mb
	}
	for _, mb := range c.Voters() {
		if c.all.alive(mb) {
			c.Leader = mb.ID
			return mb
		}
	}
	return nil
}

// Wake marks the hosts of all nodes of a cluster.
func (c *Cluster) Wake() {
	for _, n := range c.Nodes {
		if n.Host != "" {
			c.all.WakeHost(n.Host)
		}
	}
}

// External reports whether the etcd is not in the world.
func (c *Cluster) External() bool { return len(c.Members) > 0 && c.Members[0].Host == ExternalHost }

// TrustsClient reports whether a member trusts the client's certificate.
func (c *Cluster) TrustsClient(client *state.CertificateInfo) bool {
	return slices.ContainsFunc(c.Members, func(mb *Member) bool {
		m := c.all.Hosts[mb.Host]
		if m == nil || !c.all.alive(mb) {
			return false
		}
		_, p := m.Processes().Pod(staticpod.Etcd)
		ca, ok := p.Arg("trusted-ca-file")
		return !ok || m.Certificates().Trusts(ca, client)
	})
}

// MemberOn returns the member on a host, or nil.
func (c *Cluster) MemberOn(m *machine.Machine) *Member {
	if i := slices.IndexFunc(c.Members, func(mb *Member) bool { return mb.Host == m.Address }); i >= 0 {
		return c.Members[i]
	}
	return nil
}
