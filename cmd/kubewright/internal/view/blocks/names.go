package blocks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// nodeNames are the names of a node.
type nodeNames struct {
	// title is the shortest that is unique on the screen.
	title string
	all   []string
}

// nodeNamesOf returns a node's key, addresses and Kubernetes name from the plan.
func nodeNamesOf(plan *outline.Index, c planner.ResourceChange) nodeNames {
	n := nodeNames{title: ui.Clean(c.Target.String())}
	if c.Target.Type != state.TypeNode {
		return n
	}
	add := func(s string) {
		if s != "" && !slices.Contains(n.all, s) {
			n.all = append(n.all, s)
		}
	}
	add(n.title)
	add(strings.ReplaceAll(n.title, `"`, `\"`)) // as JSON has it
	if c.Target.Keyed {
		n.title = ui.Clean(c.Target.Key)
		if strings.Trim(n.title, "0123456789") != "" { // a number may stand for anything: 2 lines, mode 0644
			add(n.title)
		}
	}
	address, _, _ := strings.Cut(ui.Clean(c.Note), ",")
	add(address)
	for a := range strings.SplitSeq(ui.Clean(c.After["advertise_addresses"]), ",") {
		add(a)
	}
	for _, i := range plan.StepsOf[c.Target] {
		for _, op := range plan.Steps[i].Operations {
			add(ui.Clean(nodeName(op)))
		}
	}
	for _, i := range plan.ChangesOf[c.Target] {
		if ch := &plan.Changes[i]; ch.Kind == state.KindNodeObject {
			id := ch.Address.ID()
			add(ui.Clean(id[strings.LastIndex(id, "/")+1:]))
		}
	}
	slices.SortFunc(n.all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return n
}

// nodeName returns the Kubernetes name of the node in an operation.
func nodeName(op planner.Operation) string {
	switch o := op.(type) {
	case planner.PatchNode:
		return o.Node
	case planner.Drain:
		return o.Node
	case planner.Cordon:
		return o.Node
	case planner.AddEtcdMember:
		return o.Name
	case planner.Wait:
		if o.For == planner.WaitNodeReady || o.For == planner.WaitNodeRegistered {
			return o.Name
		}
	}
	return ""
}
