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

// rotatedPhases have what the stages of a rotation change, or have restart: who has
// lost something of it would not come up in the midst of them.
var rotatedPhases = []string{certsPhase, kubeconfigPhase, etcdPhase, controlPlanePhase, kubeletStartPhase, waitBootstrapPhase, finalizePhase}

// refuseDamaged refuses to begin a rotation while something that it changes is not as
// an apply has left it: its stages go before every other step, so that what they stop
// at would never be put right.
func (v *View) refuseDamaged(desired, observed *state.Snapshot) diag.Diagnostics {
	if v.RefreshOnly || !slices.ContainsFunc(v.clusters, (*cluster).beginsRotation) {
		return nil
	}
	changes := v.unignored(planner.Diff(desired, observed, v.recorded))
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		if !c.beginsRotation() {
			continue
		}
		if damage := c.damage(changes); len(damage) > 0 {
			diags.Append(diag.Errorf("Damage comes before a rotation", "%s: not all that this changes is as an apply has left it:\n\n  %s\n\nNothing is changed. Once begun, a rotation comes before every other repair, "+
				"and would stop at this. Apply without -%s first, which puts it right, then rotate:\n\n  kubewright apply",
				strings.Join(c.rotatingNames(), ", "), strings.Join(damage, "\n  "), ReplaceFlag).At(c.Source).For(c.target))
		}
	}
	return diags
}

// beginsRotation tells that this plan takes the first step of a rotation.
func (c *cluster) beginsRotation() bool { return c.rotates() && !c.rotationBegun() }

// damage says what of the changes puts right something that a rotation touches, a line each.
func (c *cluster) damage(changes []planner.Change) []string {
	var out []string
	for _, ch := range changes {
		n := c.node(ch.Address.Target)
		if n == nil || ch.Address.Waypoint != "" || !slices.Contains(rotatedPhases, ch.Address.Phase) || !n.isControlPlane() && c.clusterCA() == nil {
			continue
		}
		if what := n.damaged(ch); what != "" {
			out = append(out, fmt.Sprintf("%s (%s): %s", n.target, n.Address, what))
		}
	}
	return out
}

// damaged says what has become of the item of a change; empty when the change is for
// another reason, such as a renewal that is due or another configuration.
func (n *node) damaged(ch planner.Change) string {
	class := ch.Address.Class()
	if ch.Kind == state.KindKubeconfig {
		class = string(ch.Kind)
	}
	was, id := n.cluster.view.recorded.Find(ch.Address), fmt.Sprintf("%s %q", class, ch.Address.ID())
	switch since := n.bereft(); {
	case ch.Action == planner.Delete || ch.Action == planner.Forget || ch.OnlyRereads() || ch.Address.ID() == kubeletConf && since != "":
		return ""
	case ch.Address.ID() == kubeletClientCert && since != "":
		return fmt.Sprintf("the kubelet cannot start again, since %s (%s)", since, kubeletConf)
	case ch.Action == planner.Create && (was != nil || slices.Contains(neverNew, ch.Kind)):
		return id + " is missing"
	case ch.Action == planner.Create || was == nil:
		return ""
	}
	var changed []string
	for _, a := range ch.Attributes {
		if why := a.Before.AsString(); why != "" && (a.Path == "invalid" || a.Path == "key") {
			return id + ": " + why
		}
		if a.Path != planner.RenewalDue && !planner.NeverWanted(a.Path) && was.Attributes.Get(a.Path).Equal(a.After) {
			changed = append(changed, a.Path)
		}
	}
	switch {
	case len(changed) == 0:
		return ""
	case ch.Kind == state.KindUnit && slices.Contains(changed, "active"):
		return id + " does not run"
	}
	return fmt.Sprintf("%s was changed (%s)", id, strings.Join(changed, ", "))
}

// neverNew are the kinds of which every node that is in the cluster has all, recorded or not.
var neverNew = []state.Kind{state.KindStaticPod, state.KindKubeconfig, state.KindCertificate, state.KindKey}

// mends tells that a stage writes a kubeconfig anew that was lost since the rotation has
// begun, and that no stage before it in this plan does: there is nothing in it to change.
func (s *rotationStage) mends(r *rotation, n *node, path string) bool {
	return r.begun && n.report.Files[path].Kubeconfig == nil && (s.name == trustBoth || s.name == dropOld && r.dropping)
}

// issuer signs what is issued in a stage: as long as not all trust the new CA, the old one.
func (s *rotationStage) issuer(r *rotation) planner.Signer {
	if s.name == trustBoth {
		return s.cluster().signer(r.Base)
	}
	return r.signer()
}

// revive gives a kubelet that has lost its kubeconfig another one in a stage, behind
// the operations that bring it what it is to trust.
func (s *rotationStage) revive(n *node, ops []planner.Operation) planner.Step {
	c := s.cluster()
	ops = append(ops, n.replaceKubeletCertificate(s.issuer(c.clusterCA()), c.caFile(), n.report.Files[kubeletClientCert].Exists)...)
	return planner.Step{
		Via: c.seat, Impact: "gives the kubelet a kubeconfig and a certificate, since it has lost its own, and restarts it; pods keep running",
		Operations: append(ops, n.readyWait()...),
	}
}

// lostConf tells that a control plane has lost a kubeconfig of its controllers, so that
// who reads it does not run before a stage writes it anew.
func (n *node) lostConf() bool {
	return n.report.Files[controllerConf].Kubeconfig == nil || n.report.Files[schedulerConf].Kubeconfig == nil
}

// restarted is the waypoint at which static pods that were lost since a rotation has begun
// start again, and what reads certificates that were: its stages would wait for them.
const restarted = "restarted"

// restarting brings back lost static pods of a cluster, as waypoints do. A controller
// manager comes back in the first stage that tells it with what to sign.
func (v *View) restarting(place int) *waypoint {
	w := &waypoint{version: restarted, view: v, place: place, missing: planner.ReasonDrift}
	twin := v.twinView()
	for j, n := range w.cluster().nodes {
		items := n.lostPods()
		if twin != nil {
			v.seal(items, twin.clusters[place].nodes[j].lostPods())
		}
		w.items = append(w.items, items...)
	}
	return w
}

// lostPods are the static pods of a control plane whose manifests are gone. Without its
// kubeconfig a component does not run, so that they come back behind the stages then.
func (n *node) lostPods() []state.Item {
	if !n.isControlPlane() || n.lostConf() {
		return nil
	}
	return slices.DeleteFunc(slices.Concat(etcd.nodeItems(n), controlPlane.nodeItems(n)), func(it state.Item) bool {
		byStage := n.cluster.clusterCA() != nil && it.Address.ID() == manifest("kube-controller-manager")
		return it.Kind != state.KindStaticPod || n.report.Files[it.Address.ID()].Exists || byStage
	})
}

// restart adds the steps by which lost certificates are issued and lost static pods start,
// one control plane after the other.
func (b *builder) restart(c *cluster) []state.Address {
	var done []state.Address
	for _, n := range c.inOrder() {
		id := step(n.target, certsPhase)
		id.Waypoint = restarted
		b.addUpdate(id, planner.Step{Operations: n.issueLost(), Impact: "issues certificates that were lost, before the rotation goes on"}, nil)
		done = append(done, id)
	}
	for _, n := range c.inOrder() {
		member, plane := step(n.target, etcdPhase), step(n.target, controlPlanePhase)
		member.Waypoint, plane.Waypoint = restarted, restarted
		for _, id := range []state.Address{member, plane} {
			w := work{changes: b.changes[id], desired: b.desired}
			if w.empty() {
				continue
			}
			s := n.takesUp(w, id.Phase, taking{beyond: func(string) bool { return true }})
			if id == member && !n.report.Files[manifest("kube-apiserver")].Exists {
				// Its pod is shown when the API server, which starts behind it, is.
				s.Operations = append(fileOperations(w), n.healthWaits("etcd")...)
			}
			b.addUpdate(id, s, done)
			done = []state.Address{id}
		}
	}
	return done
}

// dropsMended drops from what fails the components that do not run before a rotation goes
// on, so that a proof ahead of its stages would never come. A controller manager does not
// start beside a file of both CAs before a stage tells it with what to sign. In one that has
// begun, what has not read its files is restarted by a stage, or behind the last; and who
// shows or holds what is not valid any more is trusted when a stage has issued another.
func (c *cluster) dropsMended(changes []planner.Change) {
	if len(c.stages) == 0 {
		return
	}
	begun := c.rotationBegun()
	for _, n := range c.controlPlanes() {
		c.failed[n.target] = slices.DeleteFunc(c.failed[n.target], func(component string) bool {
			return component == "kube-controller-manager" && c.toldToSign(n, changes) || begun && (n.unreadBy(component) || n.expired())
		})
	}
}

// toldToSign tells that a stage tells a control plane's controller manager with what to sign.
func (c *cluster) toldToSign(n *node, changes []planner.Change) bool {
	a := item(n.target, controlPlanePhase, "file", manifest("kube-controller-manager"))
	return slices.ContainsFunc(c.stages, func(s *rotationStage) bool {
		a.Waypoint = s.name
		return slices.ContainsFunc(changes, func(ch planner.Change) bool { return ch.Address == a })
	})
}

// unreadBy tells that a component has not read a file as it is now.
func (n *node) unreadBy(component string) bool {
	return slices.ContainsFunc(n.readersOf(""), func(r reader) bool {
		return r.component == component && slices.ContainsFunc(r.files(n), func(path string) bool { return n.report.Outdated(component, path) })
	})
}

// expired tells that something by which the components of a control plane are known, or
// know each other, is not valid any more: it has ended, or the CA that has signed it.
func (n *node) expired() bool {
	now, cas := n.cluster.view.ObservedAt, map[string]bool{}
	for _, a := range n.cluster.authorities {
		for _, ca := range n.report.Files[a.Base+".crt"].Certificates {
			cas[ca.KeyDigest] = hasEnded(ca, now)
		}
	}
	var shown []state.CertificateInfo
	for _, leaf := range kubeadm.Leaves(n.input()) {
		shown = append(shown, n.report.Files[leaf.Base+".crt"].Certificates...)
	}
	for _, path := range []string{controllerConf, schedulerConf} {
		if k := n.report.Files[path].Kubeconfig; k != nil && k.Client != nil {
			shown = append(shown, *k.Client)
		}
	}
	return slices.ContainsFunc(shown, func(c state.CertificateInfo) bool { return hasEnded(c, now) || cas[c.IssuerKeyDigest] })
}

// issueLost issues the certificates of a control plane that are not there, or without
// their keys, by those CAs that all trust at this point of a rotation.
func (n *node) issueLost() []planner.Operation {
	var ops []planner.Operation
	for _, leaf := range n.leaves() {
		whole := len(n.report.Files[leaf.Base+".crt"].Certificates) > 0 && keyFault(n.report, leaf.Base+".key") == ""
		if _, supplied := n.suppliedLeaf(leaf); whole || supplied {
			continue
		}
		op := n.issue(leaf)
		op.Renew = n.report.Files[leaf.Base+".crt"].Exists
		if r := n.cluster.rotation(leaf.CA); r != nil && r.reissuing {
			op.CA = r.signer()
		}
		ops = append(ops, op)
	}
	return ops
}
