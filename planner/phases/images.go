package phases

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// images makes every image present before anything is disrupted.
var images = phase{
	name: imagesPhase,
	doc:  "makes all images present in the runtime",
	nodeItems: func(n *node) []state.Item {
		var items []state.Item
		for _, image := range kubeadm.Images(n.input()) {
			items = append(items, state.Item{
				Address: item(n.target, imagesPhase, "image", image), Kind: state.KindImage, Attributes: attributes("present", true),
			})
		}
		return items
	},
	nodeStep: func(n *node, w work) planner.Step {
		var ops []planner.Operation
		for _, c := range w.changes {
			if w.find(c) != nil {
				ops = append(ops, planner.LoadImage{Image: c.Address.ID(), Socket: n.criSocket(), Policy: n.pullPolicy()})
			}
		}
		return planner.Step{Operations: ops}
	},
	nodeNeeds: func(n *node) []state.Address { return []state.Address{step(n.target, preparePhase)} },
}

func (n *node) pullPolicy() string {
	if n.ImagePullPolicy != "" {
		return n.ImagePullPolicy
	}
	return n.cluster.ImagePullPolicy
}
