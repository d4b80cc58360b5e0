package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// A Node has one kubelet. Where a second one takes its name, both speak for it: pods
// that were evicted from the one go on at the other, and when the one leaves, and its
// Node with it, the other is in no cluster any more and does not know it.

// takenNames refuses names that another node of the cluster has still.
func (v *View) takenNames() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		for _, n := range c.nodes {
			if n.report == nil || n.name == "" {
				continue
			}
			if holder := n.formerHolder(); !holder.IsZero() {
				diags.Append(n.refuseFormerName(holder))
			} else if n.hijacks() {
				diags.Append(n.refuseTakenName())
			}
		}
	}
	return diags
}

// formerHolder is the other node that the state has by the name, whether it leaves, gets
// another name, or is left out; zero when there is none. One that is at the node's own
// address is refused as such.
func (n *node) formerHolder() state.Target {
	v := n.cluster.view
	if v.Recorded == nil {
		return state.Target{}
	}
	var holders []state.Target
	for t, was := range v.Recorded.Nodes {
		if t != n.target && was.Cluster == n.Cluster && was.Name == n.name && !sameAddress(was.Address, n.AdvertiseAddress()) && !v.forgets(t) {
			holders = append(holders, t)
		}
	}
	if len(holders) == 0 {
		return state.Target{}
	}
	return slices.MinFunc(holders, compareTargets)
}

func (n *node) refuseFormerName(holder state.Target) *diag.Diagnostic {
	way := fmt.Sprintf("Do it in two applies: first without %s, so that the old node leaves, then with it. Or give the new one another name.", n.target)
	if n.cluster.node(holder) != nil {
		way = "Give one of them a name that nobody has, and apply; the other one can have the name then."
	}
	return diag.Errorf(nameTaken, "%s (%s) would be node %q in Kubernetes, and %s has that name still. Nothing is changed on any host: "+
		"two kubelets would speak for one Node, and when the old one leaves the Node would go with it. %s", n.target, n.Address, n.name, holder, way).At(n.Source).For(n.target)
}

// hijacks tells that the node is to join by a name by which another kubelet is in the
// cluster and well. kubeadm refuses that too.
func (n *node) hijacks() bool {
	c := n.cluster
	if c.report == nil || !n.joining() || c.view.recordedNode(n.target) && c.view.Recorded.Nodes[n.target].Name == n.name {
		return false
	}
	there, taken := c.report.Nodes[n.name]
	return taken && there.Ready && !slices.Contains(there.InternalIPs, n.AdvertiseAddress())
}

func (n *node) refuseTakenName() *diag.Diagnostic {
	return diag.Errorf(nameTaken, "%s (%s) would join as node %q, and the cluster has a Node of that name which is Ready, at %s. Nothing is changed on any host: two kubelets would speak for one Node. "+
		"Give the node another name, with name in its block; or if the one that is there is not needed any more, drain it, stop its kubelet and delete it (kubectl delete node %s), and plan again.",
		n.target, n.Address, n.name, strings.Join(n.cluster.report.Nodes[n.name].InternalIPs, ", "), n.name).At(n.Source).For(n.target)
}

const nameTaken = "Node name is taken"
