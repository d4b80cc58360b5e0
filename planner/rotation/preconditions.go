package rotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// rotationConflict is a change that conflicts with a rotation, or a missing observation, and the
// remedy.
type rotationConflict struct {
	why string
	way remedy.Text
}

// disturbed returns what conflicts with the rotation in this plan; nil if nothing does. While the
// API does not answer no stage continues, so unobserved nodes miss none.
func disturbed(c *topology.Cluster) *rotationConflict {
	for _, n := range c.Nodes {
		switch {
		case n.Report == nil && !RotationWaits(c):
			return &rotationConflict{fmt.Sprintf("%s could not be observed", n.Target), toLeaveFirst(c, n.Target)}
		case n.Report == nil:
		case c.Fleet.Replaces(n.Target):
			return renewed(c, n, "replaced")
		case n.Joins():
			return renewed(c, n, "")
		}
	}
	if d := departing(c); d != nil {
		return d
	}
	switch {
	case c.Up != nil && (c.Up.Raises || c.Up.Begun):
		return &rotationConflict{"the version would change", otherwise(c)}
	case len(pki.FormerHosts(c)) > 0:
		return &rotationConflict{"the endpoint would move", otherwise(c)}
	case c.Fleet.Targeted:
		return &rotationConflict{"the plan is restricted to targets", remedy.Textf("Plan without %s.", remedy.Only)}
	}
	return nil
}

// RotationWaits reports whether a rotation has begun, and does not continue in this plan: only an
// API that answers shows whether all components have picked up the new CA.
func RotationWaits(c *topology.Cluster) bool { return c.Report == nil && staticpod.RotationBegun(c) }

// otherwise returns the remedy for a change that cannot be made now.
func otherwise(c *topology.Cluster) remedy.Text {
	if staticpod.RotationBegun(c) {
		return "The rotation has begun: revert the change, apply until the rotation is complete, and make the change then."
	}
	return "Make one change after the other."
}

// renewed reports a node that would join, again or for the first time. A node whose host has lost
// everything of the cluster cannot revert that: it has to be removed, and can return when the
// rotation is complete.
func renewed(c *topology.Cluster, n *topology.Node, how string) *rotationConflict {
	d := &rotationConflict{fmt.Sprintf("%s would join", n.Target), otherwise(c)}
	x := c.Fleet.Replacements[n.Target]
	if how != "" {
		d.why = fmt.Sprintf("%s would be %s", n.Target, how)
	}
	lost := x != nil && x.Report == nil || x == nil && topology.Traceless(n.Report)
	if lost && staticpod.RotationBegun(c) && c.Fleet.RecordedNode(n.Target) {
		d.way = "Its host holds nothing of the cluster any more: remove its block, or its key, from the configuration; " + leavesFirstBy(c, n.Target) +
			"\n\nWhen the rotation is complete, add it back: it joins then."
	}
	return d
}

// departing reports a node that would be removed, or be forgotten while it keeps running.
func departing(c *topology.Cluster) *rotationConflict {
	for _, l := range c.Fleet.Departures() {
		switch {
		case l.Cluster != c || leavesFirst(c, l):
		case l.Acts():
			return &rotationConflict{fmt.Sprintf("%s would be removed", l.Target), otherwise(c)}
		case !RotationWaits(c):
			return &rotationConflict{fmt.Sprintf("%s would be removed, and could not be observed", l.Target), toLeaveFirst(c, l.Target)}
		}
	}
	for _, t := range c.Fleet.Forgotten() {
		if c.Fleet.RecordedNode(t) && c.Fleet.Recorded.Nodes[t].Cluster == c.Label {
			return &rotationConflict{fmt.Sprintf("the state would forget %s, which would keep the old CA", t), otherwise(c)}
		}
	}
	return nil
}

// unheard reports nodes in the API that neither the configuration nor the state has: joined by
// hand, or removed from the state. The rotation does not bring them a new CA. Workers do not matter
// for a CA that only control planes have.
func unheard(c *topology.Cluster) *rotationConflict {
	names := slices.DeleteFunc(c.UnmanagedNodes(), func(name string) bool {
		_, plane := c.Report.Nodes[name].Labels[kubeadm.ControlPlaneRole]
		return !plane && c.ClusterCA() == nil
	})
	if len(names) == 0 {
		return nil
	}
	return &rotationConflict{
		fmt.Sprintf("unmanaged nodes would be cut off (%s)", strings.Join(names, ", ")),
		"Restore the block of a node that an earlier apply joined: it is managed again then. " +
			"A node that was joined by hand, or is gone, has to be removed first: drain it, clean its host (kubeadm reset), " +
			"and delete its Node (kubectl delete node). It can join again when the rotation is complete.",
	}
}

// unreadyKubelets returns the nodes that a rotation of the cluster CA waits for before it begins:
// their Node is not Ready. Each stage restarts kubelets and waits until they are Ready, so it would
// stop there, and until the rotation is complete no node could even be removed. That does not
// refuse the plan, because a Node may be Ready a moment later, such as after a reboot. Some causes,
// such as an expired certificate, a stage would repair, but so does an apply before. A deleted Node
// is recreated when the first stage restarts its kubelet.
func unreadyKubelets(c *topology.Cluster) []*topology.Node {
	r := c.ClusterCA()
	if r == nil || r.Begun {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *topology.Node) bool { return !n.NodeCondition().IsDown() })
}

// warnUnready warns of these nodes.
func warnUnready(c *topology.Cluster) *diag.Diagnostic {
	var names []string
	for _, n := range unreadyKubelets(c) {
		names = append(names, n.Target.String())
	}
	if len(names) == 0 {
		return nil
	}
	return diag.Warningf("Node is not ready", "%s: the Node of %s is not Ready. While the CA is rotated each kubelet is restarted, "+
		"and its Node has to become Ready again. The rotation waits %s for that before it changes anything, and does not begin without it: "+
		"an incomplete rotation would keep nodes from being added and removed, and the version from changing. kubectl describe node shows what is wrong. "+
		"An apply without %s repairs what it can, and removes a node whose block is deleted.",
		topology.Rotation{Cluster: c.Target, CA: c.ClusterCA().Name}, strings.Join(names, ", "), c.Timeouts.KubeletHealthCheck, remedy.Replace).At(c.Source).For(c.Target)
}

// leavesFirst reports whether a node may be removed although a rotation has begun: its host is gone
// for good, or has nothing of the cluster any more, so that it does not need the new CA.
func leavesFirst(c *topology.Cluster, l topology.Departure) bool {
	return staticpod.RotationBegun(c) && !l.Replaced && (l.HostGone || l.Report != nil && topology.Traceless(l.Report))
}

// toLeaveFirst returns the remedy for a host that does not answer, including how to remove its node
// if it is gone for good.
func toLeaveFirst(c *topology.Cluster, t state.Target) remedy.Text {
	var takeOut remedy.Text
	if c.Fleet.Configured(t) {
		takeOut = "remove its block, or its key, from the configuration and "
	}
	return "Make it reachable, and run the same command again. If its host is gone for good, " + takeOut + "declare that: " + leavesFirstBy(c, t)
}

// leavesFirstBy returns the command that removes a node without its host.
func leavesFirstBy(c *topology.Cluster, t state.Target) remedy.Text {
	then := "its node is removed from the cluster through the others before the rotation continues"
	if !staticpod.RotationBegun(c) {
		then = "its node is removed from the cluster through the others, and the CA can be rotated after that"
	}
	command := remedy.Apply.With()
	if !c.Fleet.Answers(t) {
		command = command.With(remedy.GoneHost.Of(t))
	}
	return remedy.Textf("%s:\n\n  %s", then, command)
}

// departures returns the steps that remove nodes before a rotation continues. While a member joins
// etcd there are none: the join waits for the end of the rotation, and a removal may have to wait
// for the join.
func departures(c *topology.Cluster) []state.Address {
	if slices.ContainsFunc(etcd.MembershipChanges(c), func(a quorum.Act) bool { return a.Add }) {
		return nil
	}
	var out []state.Address
	for _, l := range c.Fleet.Departures() {
		if l.Cluster == c && l.Acts() {
			out = append(out, topology.StepAddress(l.Target, topology.ResetPhase))
		}
	}
	return out
}
