package topology

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Departure is a recorded node that is being removed from its cluster.
type Departure struct {
	Target state.Target
	*state.RecordedNode
	Report *state.Report
	// Cluster is nil if its block is gone as well.
	Cluster  *Cluster
	Recorded *state.State
	// Replaced reports whether the node joins again on the same host in this plan: kubewright keeps
	// managing the host, with its software and settings.
	Replaced bool
	// HostGone reports whether the host has nothing to remove, or no longer exists: the node is
	// only removed from the cluster.
	HostGone bool
	// Abandoned reports whether the user has declared the host gone.
	Abandoned bool
	// Whole reports whether the whole cluster is destroyed: no node is drained and no membership
	// changed.
	Whole bool
}

// Departures lists the recorded nodes that the configuration no longer has, or all in a destroy.
func (v *Fleet) Departures() []Departure {
	if v.Recorded == nil {
		return nil
	}
	var out []Departure
	for t := range v.Recorded.Nodes {
		if !v.stays(t) && !v.Forgets(t) {
			out = append(out, v.DepartureOf(t))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Target.String() < out[j].Target.String() })
	return out
}

// stays reports whether a recorded node remains a node of its cluster, on the same host.
func (v *Fleet) stays(t state.Target) bool {
	if v.Destroy || v.Replacements[t] != nil {
		return false
	}
	c := v.recordedClusterOf(t)
	return c != nil && c.Node(t) != nil
}

// recordedClusterOf returns the cluster that a recorded node was in, or nil if its block is gone.
func (v *Fleet) recordedClusterOf(t state.Target) *Cluster {
	return v.ClusterOf(state.ClusterTarget(v.Recorded.Nodes[t].Cluster))
}

// DepartureOf returns a recorded node as a departure.
func (v *Fleet) DepartureOf(t state.Target) Departure {
	n := v.Recorded.Nodes[t]
	l := Departure{Target: t, RecordedNode: n, Report: v.Report(t), Recorded: v.Recorded, Cluster: v.recordedClusterOf(t), Whole: v.Destroy}
	l.Whole = l.Whole || l.Cluster == nil || len(l.Cluster.ControlPlanes()) == 0
	if r := v.Replacements[t]; r != nil {
		l.Replaced, l.Report, l.HostGone = true, r.Report, r.Report == nil
	}
	if l.Abandoned = v.Abandons(t); l.Abandoned || l.given() {
		l.Report, l.HostGone = nil, true
	}
	return l
}

// given reports whether the host was already reset: kubewright's marker, which is removed last, is
// gone, and so is everything of Kubernetes, and no kubelet runs. The state may be older than that,
// and the host may belong to another owner. If the cluster stays, another machine is checked
// separately; if it is destroyed, only what is left of it is removed.
func (l Departure) given() bool {
	return !l.Replaced && l.Report != nil && Blank(l.Report) && l.Report.Units[KubeletUnit].Active != "active" &&
		(l.Whole || !OtherMachine(l.RecordedNode, l.Report))
}

// Acts reports whether the plan does anything for the departing node. A host that was not observed
// is not reset: the previous settings to restore are stored on the host itself.
func (l Departure) Acts() bool { return l.Report != nil || l.HostGone }

// IsHost reports whether host is the name or the address of the departing node.
func (l Departure) IsHost(host string) bool { return SameAddress(host, l.Address) || host == l.Name }

func (l Departure) PeerURL() string { return kubeadm.PeerURL(l.Address) }

func MarksOf(r *state.Report) *state.Marks {
	if r == nil {
		return nil
	}
	return r.Marks
}

// adoptedMarks returns the markers of an adopted host that has none yet, while its node is
// replaced. The previous condition of the host is unknown, except that folders shared with other
// software stay.
func (l Departure) adoptedMarks() *state.Marks {
	m := &state.Marks{Format: state.MarksFormat, Cluster: l.RecordedNode.Cluster, Node: l.Target, Before: map[string]string{}}
	for _, p := range FoldersBefore {
		if f := l.Report.Files[p]; f.Exists && !slices.Contains(FoldersOfKubernetes, p) {
			m.Before["folder:"+p] = f.Mode + " " + f.Owner
		}
	}
	return m
}

// RecordedItems returns the recorded items of one target. Items are sorted by address, so those of
// a target are adjacent, with the prefix TARGET/.
func RecordedItems(recorded *state.State, t state.Target) []state.Item {
	prefix := t.String() + "/"
	from, _ := slices.BinarySearchFunc(recorded.Items, prefix, func(it state.Item, p string) int {
		return strings.Compare(it.Address.String(), p)
	})
	to := from
	for to < len(recorded.Items) && recorded.Items[to].Address.Target == t {
		to++
	}
	return recorded.Items[from:to]
}

// OtherMachine reports whether a host is known to be another machine than the one that joined.
func OtherMachine(was *state.RecordedNode, r *state.Report) bool {
	return was.MachineID != "" && r.Facts.MachineID != "" && was.MachineID != r.Facts.MachineID
}

// UnmanagedNodes returns the names of the nodes in the API, in order, that no block of the
// configuration has and that do not depart in this plan: they were joined by hand, or are no longer in
// the state.
func (c *Cluster) UnmanagedNodes() []string {
	if c.Report == nil {
		return nil
	}
	known := map[string]bool{}
	for _, n := range c.Nodes {
		known[n.NodeName] = true
	}
	for _, l := range c.Fleet.Departures() {
		known[l.Name] = known[l.Name] || l.Cluster == c
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.Report.Nodes)), func(name string) bool { return known[name] })
}
