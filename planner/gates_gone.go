package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/state"
)

// GoneGate is the gate that refuses to take a node out of its cluster without its host,
// as one that is gone for good, while its kubelet or its member of etcd is heard of. A
// host that nobody can log in to, or that only we do not reach, goes on otherwise, with
// its pods and with the keys of the cluster.
const GoneGate = "node-gone"

// GoneAllows is that gate: it refuses the step where the nodes of the API, or etcd's
// members, as a fresh observation shows them, tell that the node which it removes lives.
func GoneAllows(step *Step, nodes map[string]state.NodeReport, members []state.EtcdMember) error {
	life := SignsOfLife(removedNode(step), nodes, RemovedMember(step), members)
	if len(life) == 0 {
		return nil
	}
	return fmt.Errorf("refused: %s is removed as a node whose host is gone for good, but %s. Switch the host off; or plan again without declaring it gone", step.Target, strings.Join(life, ", and "))
}

// SignsOfLife returns what API and etcd show of a node that is not gone: it has a kubelet
// that is heard of, or a member of etcd that answers. Of what is empty nothing is looked
// for.
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

// removedNode returns the name of the Node that the step deletes; empty when it deletes none.
func removedNode(step *Step) string {
	for _, op := range step.Operations {
		if d, ok := op.(DeleteObject); ok && d.Ref.Kind == "Node" {
			return d.Ref.Name
		}
	}
	return ""
}
