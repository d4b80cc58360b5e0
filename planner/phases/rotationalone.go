package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// disturbance is what would happen beside a rotation, or is not seen, and what to do
// about it.
type disturbance struct{ why, way string }

// disturbed says what else would happen in this plan, or what is not seen; nil for
// nothing. While the API is silent no stage goes on, and who is not seen misses none.
func (c *cluster) disturbed() *disturbance {
	for _, n := range c.nodes {
		switch {
		case n.report == nil && !c.rotationWaits():
			return &disturbance{fmt.Sprintf("%s could not be looked at", n.target), c.toLeaveFirst(n.target)}
		case n.report == nil:
		case c.view.replaces(n.target):
			return c.renewed(n, "replaced")
		case n.joins():
			return c.renewed(n, "")
		}
	}
	if d := c.departing(); d != nil {
		return d
	}
	switch {
	case c.up != nil && (c.up.raises || c.up.begun):
		return &disturbance{"the version would change", c.otherwise()}
	case len(c.formerHosts()) > 0:
		return &disturbance{"the endpoint would move", c.otherwise()}
	case c.view.targeted:
		return &disturbance{"the plan is for targets only", "Leave -target out."}
	}
	return nil
}

// rotationWaits tells that a rotation has begun, and does not go on in this plan: only
// an API that answers tells whether all have taken up the new CA.
func (c *cluster) rotationWaits() bool { return c.report == nil && c.rotationBegun() }

// otherwise is what to do about something that is not to be done now.
func (c *cluster) otherwise() string {
	if c.rotationBegun() {
		return "The rotation has begun: take the change back, apply until the rotation is complete, and make the change then."
	}
	return "Do one after the other."
}

// renewed speaks of a node that would join, again or for the first time. One whose
// host has lost all of the cluster cannot take that back: it leaves, and comes back
// when the rotation is complete.
func (c *cluster) renewed(n *node, how string) *disturbance {
	d := &disturbance{fmt.Sprintf("%s would join", n.target), c.otherwise()}
	x := c.view.replacements[n.target]
	if how != "" {
		d.why = fmt.Sprintf("%s would be %s", n.target, how)
	}
	lost := x != nil && x.report == nil || x == nil && traceless(n.report)
	if lost && c.rotationBegun() && c.view.recordedNode(n.target) {
		d.way = "Its host holds nothing of the cluster any more: take its block, or its key, out of the configuration; " + c.leavesFirstBy(n.target) +
			"\n\nWhen the rotation is complete, put it back: it joins then."
	}
	return d
}

// departing speaks of a node that would leave, or be forgotten while it goes on.
func (c *cluster) departing() *disturbance {
	for _, l := range c.view.leavers() {
		switch {
		case l.cluster != c || c.leavesFirst(l):
		case l.acts():
			return &disturbance{fmt.Sprintf("%s would leave", l.target), c.otherwise()}
		case !c.rotationWaits():
			return &disturbance{fmt.Sprintf("%s would leave, and could not be looked at", l.target), c.toLeaveFirst(l.target)}
		}
	}
	for _, t := range c.view.forgotten() {
		if c.view.recordedNode(t) && c.view.Recorded.Nodes[t].Cluster == c.Label {
			return &disturbance{fmt.Sprintf("the state would forget %s, which goes on with the old one", t), c.otherwise()}
		}
	}
	return nil
}

// unheard speaks of nodes that the API shows and that neither the configuration nor the
// state has: joined by hand, or forgotten by the state. Nobody here brings them a new CA.
// Of one that only control planes hold, workers need not hear.
func (c *cluster) unheard() *disturbance {
	if c.report == nil {
		return nil
	}
	known := map[string]bool{}
	for _, n := range c.nodes {
		known[n.name] = true
	}
	for _, l := range c.view.leavers() {
		known[l.Name] = known[l.Name] || l.cluster == c
	}
	var names []string
	for name, n := range c.report.Nodes {
		if _, plane := n.Labels[kubeadm.ControlPlaneRole]; !known[name] && (plane || c.clusterCA() != nil) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &disturbance{
		fmt.Sprintf("no block speaks of %s, which would be cut off", strings.Join(sorted(names), ", ")),
		"Give what an earlier apply has made its block back: it is known again then. What was joined by hand, or is gone, leaves first: " +
			"drain it, clean its host (kubeadm reset), and delete its Node (kubectl delete node). It can join again when the rotation is complete.",
	}
}

// unreadyKubelets are the nodes for which a rotation of the cluster's CA waits before it
// begins: their Node is not Ready. Each stage restarts kubelets and waits for that, so that
// it would stop there, and until it is complete no node could even leave. It is no reason to
// refuse the plan, for a Node may be Ready a moment later, as when its host has booted. Of
// what keeps one from it a stage would mend a certificate that has ended, say, and so does an
// apply before. A Node that was deleted comes back as the first stage restarts its kubelet.
func (c *cluster) unreadyKubelets() []*node {
	r := c.clusterCA()
	if r == nil || r.begun || c.report == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.nodes), func(n *node) bool {
		seen, known := c.report.Nodes[n.name]
		return !known || seen.Ready
	})
}

// warnUnready tells of them.
func (c *cluster) warnUnready() *diag.Diagnostic {
	var names []string
	for _, n := range c.unreadyKubelets() {
		names = append(names, n.target.String())
	}
	if len(names) == 0 {
		return nil
	}
	return diag.Warningf("Node is not ready", "%s: the Node is not Ready of %s. While the CA is rotated each kubelet is restarted, and waited for until its Node is Ready. "+
		"The rotation waits %s for that before it changes anything, and does not begin without it: half done it would keep nodes from coming and going, and the version from changing. "+
		"kubectl describe node shows what is wrong. An apply without -%s puts right what it can, and has a node leave whose block is taken out.",
		Rotation{c.target, c.clusterCA().Name}, strings.Join(names, ", "), c.Timeouts.KubeletHealthCheck, ReplaceFlag).At(c.Source).For(c.target)
}

// leavesFirst tells a node that may leave although a rotation has begun: its host is
// gone for good, or holds nothing of the cluster any more, so that there is nobody
// who would have to hear of the new CA.
func (c *cluster) leavesFirst(l leaver) bool {
	return c.rotationBegun() && !l.replaced && (l.gone || l.report != nil && traceless(l.report))
}

// toLeaveFirst says how the node of a host that does not answer leaves, if that is
// gone for good.
func (c *cluster) toLeaveFirst(t state.Target) string {
	takeOut := ""
	if c.view.configured(t) {
		takeOut = "take its block, or its key, out of the configuration and "
	}
	return "Bring it to answer, and run the same command again. If its host is gone for good, " + takeOut + "say so: " + c.leavesFirstBy(t)
}

// leavesFirstBy is the command by which a node leaves that has no host any more.
func (c *cluster) leavesFirstBy(t state.Target) string {
	then := "its node is taken out of the cluster through the others before the rotation goes on"
	if !c.rotationBegun() {
		then = "its node is taken out of the cluster through the others, and the CA can be rotated after that"
	}
	command := "kubewright apply"
	if !c.view.answers(t) {
		command += " " + AsFlags(t, ForgetUnreachableFlag)
	}
	return then + ":\n\n  " + command
}

// departures are the steps by which nodes leave before a rotation goes on. While
// somebody joins etcd none is: that waits for the end of the rotation, and who leaves
// may have to wait for that.
func (c *cluster) departures() []state.Address {
	if slices.ContainsFunc(c.acts(), func(a planner.Act) bool { return a.Add }) {
		return nil
	}
	var out []state.Address
	for _, l := range c.view.leavers() {
		if l.cluster == c && l.acts() {
			out = append(out, step(l.target, resetPhase))
		}
	}
	return out
}
