package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// GoneGate is the gate that refuses to remove a node as gone for good, that is without reaching its
// host, while its kubelet or its etcd member still reports. A host that only lacks a login, or that
// only kubewright cannot reach, would keep running, with its pods and with the keys of the cluster.
const GoneGate = "node-gone"

// GoneAllows evaluates GoneGate: it refuses the step when the nodes of the API or the members of
// etcd, freshly observed, show that the node to be removed is alive.
func GoneAllows(step *Step, nodes map[string]state.NodeReport, members []state.EtcdMember) error {
	life := SignsOfLife(removedNode(step), nodes, RemovedMember(step), members)
	if len(life) == 0 {
		return nil
	}
	return fmt.Errorf("refused: %s is removed as a node whose host is gone for good, but %s. Switch the host off; or plan again without declaring it gone", step.Target, strings.Join(life, ", and "))
}

// SignsOfLife returns what API and etcd show of a node that is not gone: a kubelet that reports, or
// an etcd member that answers. An empty name or peerURL matches nothing.
func SignsOfLife(name string, nodes map[string]state.NodeReport, peerURL string, members []state.EtcdMember) []string {
	var out []string
	if n, there := nodes[name]; there && !n.Silent {
		out = append(out, fmt.Sprintf("the kubelet of node %q reports to the API", name))
	}
	for _, m := range members {
		if peerURL != "" && m.Healthy && slices.Contains(m.PeerURLs, peerURL) {
			out = append(out, fmt.Sprintf("the etcd member %s answers", cmp.Or(m.Name, peerURL)))
		}
	}
	return out
}

// removedNode returns the name of the Node that the step deletes, or "" when it deletes none.
func removedNode(step *Step) string {
	for _, op := range step.Operations {
		if d, ok := op.(DeleteObject); ok && d.Ref.Kind == "Node" {
			return d.Ref.Name
		}
	}
	return ""
}
