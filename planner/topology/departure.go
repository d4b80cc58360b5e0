package topology

import (
	"slices"
	"sort"
	"strings"

	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// Departure is a node that is recorded and is to leave its cluster.
type Departure struct {
	Target state.Target
	*state.RecordedNode
	Report *state.Report
	// Cluster is nil when its block is gone as well.
	Cluster  *Cluster
	Recorded *state.State
	// Replaced reports whether the node joins again on the same host in this plan: the
	// host stays ours, with its software and settings.
	Replaced bool
	// HostGone reports whether there is nothing on the host to take away, or no host any
	// more: only the cluster is rid of the node.
	HostGone bool
	// Abandoned reports whether it is gone because somebody has said so of its host.
	Abandoned bool
	// Whole reports whether the whole cluster goes: nothing is drained and no
	// membership is changed.
	Whole bool
}

// Departures lists the recorded nodes that no block refers to any more, or all in a destroy.
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

// stays reports whether a recorded node goes on as a node of its cluster, on the same host.
func (v *Fleet) stays(t state.Target) bool {
	if v.Destroy || v.Replacements[t] != nil {
		return false
	}
	c := v.recordedClusterOf(t)
	return c != nil && c.Node(t) != nil
}

// recordedClusterOf returns the cluster that a recorded node was in, or nil where no block
// refers to it any more.
func (v *Fleet) recordedClusterOf(t state.Target) *Cluster {
	return v.ClusterOf(state.ClusterTarget(v.Recorded.Nodes[t].Cluster))
}

// DepartureOf returns a recorded node as one that leaves.
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

// given reports whether the host was given back already: our mark, which is the last thing to
// go, is not there, nothing of Kubernetes is, and no kubelet runs. The state may be older
// than that, and whatever is on the host somebody else's. Another machine is referred to
// where the cluster stays, and with the cluster goes only what is left of it.
func (l Departure) given() bool {
	return !l.Replaced && l.Report != nil && Blank(l.Report) && l.Report.Units[KubeletUnit].Active != "active" &&
		(l.Whole || !OtherMachine(l.RecordedNode, l.Report))
}

// Acts reports whether something is done for the departing node. A host that was not seen is
// not reset: what was there before us, which is to be put back, stands on the
// host itself.
func (l Departure) Acts() bool { return l.Report != nil || l.HostGone }

// IsHost reports whether a name or an address is the departing node's own.
func (l Departure) IsHost(host string) bool { return SameAddress(host, l.Address) || host == l.Name }

func (l Departure) PeerURL() string { return kubeadm.PeerURL(l.Address) }

func MarksOf(r *state.Report) *state.Marks {
	if r == nil {
		return nil
	}
	return r.Marks
}

// adoptedMarks returns those of an adopted host that has none yet, while its node is
// replaced. Of what was there before nothing is known but that folders which
// others use as well stay.
func (l Departure) adoptedMarks() *state.Marks {
	m := &state.Marks{Format: state.MarksFormat, Cluster: l.RecordedNode.Cluster, Node: l.Target, Before: map[string]string{}}
	for _, p := range FoldersBefore {
		if f := l.Report.Files[p]; f.Exists && !slices.Contains(FoldersOfKubernetes, p) {
			m.Before["folder:"+p] = f.Mode + " " + f.Owner
		}
	}
	return m
}

// RecordedItems returns those of one target. Items are sorted by address, and those
// of a target stand together behind TARGET/.
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

// OtherMachine tells a host that is known to be another machine than the one that joined.
func OtherMachine(was *state.RecordedNode, r *state.Report) bool {
	return was.MachineID != "" && r.Facts.MachineID != "" && was.MachineID != r.Facts.MachineID
}
