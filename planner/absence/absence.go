package absence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Absence is what a running cluster shows of its control planes that could not be observed.
type Absence struct {
	// Planes are these control planes: those of the configuration, and those that depart.
	Planes []state.Target
	// Doubt is a clause that says why the cluster is not planned without them; empty if it is.
	Doubt string

	cluster *topology.Cluster
	// voters are the members of etcd with a vote, healthy of which answer; none with an external etcd.
	voters, healthy int
}

// Vouched reports whether control planes of a cluster are missing, and the others are planned without
// them.
func Vouched(c *topology.Cluster) bool {
	a := Of(c)
	return a != nil && a.Doubt == ""
}

// plane is a control plane that could not be observed.
type plane struct {
	target  state.Target
	peerURL string
}

// Of returns the absence of control planes from a cluster; nil if all of them were observed, and in
// a destroy, which preserves nothing.
//
// The other control planes are planned only while the cluster accounts for the missing ones: its API
// answers, etcd holds quorum and lists a member on each of them, and no member fails on a host that
// was observed. A host that etcd does not know may hold anything, and a member that fails elsewhere
// has another cause than a lost host. A member may answer although its host does not: nothing that
// is planned depends on it.
func Of(c *topology.Cluster) *Absence {
	if c.Fleet.Destroy || c.Fleet.Restores {
		return nil
	}
	silent := silentPlanes(c)
	if len(silent) == 0 {
		return nil
	}
	a := &Absence{cluster: c}
	for _, p := range silent {
		a.Planes = append(a.Planes, p.target)
	}
	for _, m := range c.Voters() {
		a.voters++
		if m.Healthy {
			a.healthy++
		}
	}
	a.Doubt = a.doubt(silent)
	return a
}

// silentPlanes returns the control planes of a cluster that could not be observed.
func silentPlanes(c *topology.Cluster) []plane {
	var out []plane
	for _, n := range c.ControlPlanes() {
		if n.Report == nil && !n.Refused() {
			out = append(out, plane{n.Target, n.PeerURL()})
		}
	}
	for _, l := range c.Fleet.Departures() {
		if l.Cluster == c && !l.Whole && !l.Acts() && l.Role == string(config.ControlPlane) {
			out = append(out, plane{l.Target, l.PeerURL()})
		}
	}
	return out
}

func (a *Absence) doubt(silent []plane) string {
	c := a.cluster
	if !slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool { return n.Report != nil }) {
		return "none of its control planes answers, so that nothing shows what is missing"
	}
	if len(c.AtOnce) > 0 || c.Report == nil {
		return fmt.Sprintf("the API of the cluster does not answer either (%s), so that nothing shows what is missing",
			cmp.Or(c.Fleet.ClusterErrors[c.Label], "it was not asked"))
	}
	if len(c.Rotating) > 0 || c.Keys.Acts() || staticpod.RotationBegun(c) {
		return "a CA or key of the cluster is being rotated, and every host has to take part in that"
	}
	if c.Etcd.External != nil {
		return ""
	}
	if a.voters == 0 {
		return fmt.Sprintf("etcd does not say who its members are (%s)", cmp.Or(c.Seen.EtcdUnobserved, "it listed none"))
	}
	if a.healthy < a.quorum() {
		return fmt.Sprintf("etcd has no quorum: %d of %d members answer, and quorum is %d", a.healthy, a.voters, a.quorum())
	}
	for _, p := range silent {
		if c.MemberCondition(p.peerURL) < quorum.VoterDown {
			return fmt.Sprintf("etcd lists no voting member at %s, so that it does not say what became of %s", p.peerURL, p.target)
		}
	}
	for _, m := range c.Voters() {
		known := slices.ContainsFunc(silent, func(p plane) bool { return slices.Contains(m.PeerURLs, p.peerURL) })
		if !m.Healthy && !known {
			return fmt.Sprintf("etcd also misses the member %s, which is on none of these hosts", cmp.Or(m.Name, strings.Join(m.PeerURLs, ", ")))
		}
	}
	return ""
}

// quorum is how many members have to be healthy.
func (a *Absence) quorum() int { return a.voters/2 + 1 }

// Names returns the short names of the missing control planes for a sentence: cp2, cp3.
func (a *Absence) Names() string {
	var out []string
	for _, t := range a.Planes {
		out = append(out, topology.ShortName(t))
	}
	return strings.Join(out, ", ")
}

// verb returns is or are for the missing control planes.
func (a *Absence) verb() string {
	if len(a.Planes) > 1 {
		return "are"
	}
	return "is"
}

// Quorum returns a clause about etcd without the missing control planes.
func (a *Absence) Quorum() string {
	if a.cluster.Etcd.External != nil {
		return "the API answers, on an external etcd"
	}
	return fmt.Sprintf("%d of %d members of etcd answer, quorum is %d", a.healthy, a.voters, a.quorum())
}
