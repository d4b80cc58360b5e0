package ownership

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A Node has one kubelet. If a second kubelet takes its name, both report for it: pods that were
// evicted from one continue on the other, and when the first host is removed with its Node, the
// other one silently drops out of the cluster.

// TakenNames refuses names that another node of the cluster still has.
func TakenNames(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		for _, n := range c.Nodes {
			if n.Report == nil || n.NodeName == "" {
				continue
			}
			if holder := formerHolder(n); !holder.IsZero() {
				diags.Append(refuseFormerName(n, holder))
			} else if hijacks(n) {
				diags.Append(refuseTakenName(n))
			}
		}
	}
	return diags
}

// formerHolder returns the other recorded node with the name, whether it is removed, renamed, or
// left out of the plan; zero if there is none. A node at the same address is refused elsewhere.
func formerHolder(n *topology.Node) state.Target {
	v := n.Cluster.Fleet
	if v.Recorded == nil {
		return state.Target{}
	}
	var holders []state.Target
	for t, was := range v.Recorded.Nodes {
		if t != n.Target && was.Cluster == n.Node.Cluster && was.Name == n.NodeName && !topology.SameAddress(was.Address, n.AdvertiseAddress()) && !v.Forgets(t) {
			holders = append(holders, t)
		}
	}
	if len(holders) == 0 {
		return state.Target{}
	}
	return slices.MinFunc(holders, topology.CompareTargets)
}

func refuseFormerName(n *topology.Node, holder state.Target) *diag.Diagnostic {
	way := fmt.Sprintf("Use two applies: first without %s, so that the old node is removed, then with it. Or give the new one another name.", n.Target)
	if n.Cluster.Node(holder) != nil {
		way = "Give one of them an unused name and apply; the other one can take the name then."
	}
	return diag.Errorf(nameTaken, "%s (%s) would be node %q in Kubernetes, but %s still has that name: two kubelets would report for one Node, "+
		"and removing the old node would delete the Node of the new one. %s", n.Target, n.Address, n.NodeName, holder, way).At(n.Source).For(n.Target)
}

// hijacks reports whether the node is about to join with the name of another, Ready node of the
// cluster. kubeadm refuses that too.
func hijacks(n *topology.Node) bool {
	c := n.Cluster
	if c.Report == nil || !n.Joining() || c.Fleet.RecordedNode(n.Target) && c.Fleet.Recorded.Nodes[n.Target].Name == n.NodeName {
		return false
	}
	there, taken := c.Report.Nodes[n.NodeName]
	return taken && there.Ready && !slices.Contains(there.InternalIPs, n.AdvertiseAddress())
}

func refuseTakenName(n *topology.Node) *diag.Diagnostic {
	return diag.Errorf(nameTaken, "%s (%s) would join as node %q, but the cluster has a Node of that name which is Ready, at %s: "+
		"two kubelets would report for one Node. Give the node another name, with name in its block; or if the existing one is no longer needed, drain it, "+
		"stop its kubelet and delete it (kubectl delete node %s), and plan again.",
		n.Target, n.Address, n.NodeName, strings.Join(n.Cluster.Report.Nodes[n.NodeName].InternalIPs, ", "), n.NodeName).At(n.Source).For(n.Target)
}

const nameTaken = "Node name is taken"
