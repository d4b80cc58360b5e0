package rotation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/diff"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// rotatedPhases are the phases whose items the stages of a rotation change, or whose components
// they restart: a component that has lost one of those items would not come up during the rotation.
var rotatedPhases = []string{topology.CertsPhase, topology.KubeconfigPhase, topology.EtcdPhase, topology.ControlPlanePhase, topology.KubeletStartPhase, topology.WaitBootstrapPhase, topology.FinalizePhase}

// RefuseDamaged refuses to begin a rotation while something that it changes differs from what an
// apply has left: its stages come before every other step, so a stage that stops at it would
// prevent the repair.
func RefuseDamaged(v *topology.Fleet, desired, observed *state.Snapshot) diag.Diagnostics {
	if v.RefreshOnly || !slices.ContainsFunc(v.Clusters, beginsRotation) {
		return nil
	}
	changes := drift.Apply(diff.Changes(desired, observed, v.RecordedItems), drift.Ignored(v))
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if !beginsRotation(c) {
			continue
		}
		if damage := clusterDamage(c, changes); len(damage) > 0 {
			diags.Append(diag.Errorf("Cluster must be repaired before a rotation", "%s: the following differs from what the last apply left:\n\n  %s\n\n"+
				"Once begun, a rotation runs before every other repair, and would stop at this. Apply without %s first, which repairs it, then rotate:\n\n"+
				"  %s",
				strings.Join(rotatingNames(c), ", "), strings.Join(damage, "\n  "), remedy.Replace, remedy.Apply).At(c.Source).For(c.Target))
		}
	}
	return diags
}

// beginsRotation reports whether this plan begins a rotation.
func beginsRotation(c *topology.Cluster) bool { return c.Rotates() && !staticpod.RotationBegun(c) }

// clusterDamage lists the changes that repair something that a rotation affects, one per line.
func clusterDamage(c *topology.Cluster, changes []planner.Change) []string {
	var out []string
	for _, ch := range changes {
		n := c.Node(ch.Address.Target)
		if n == nil || ch.Address.Waypoint != "" || !slices.Contains(rotatedPhases, ch.Address.Phase) || !n.IsControlPlane() && c.ClusterCA() == nil {
			continue
		}
		if what := damaged(n, ch); what != "" {
			out = append(out, fmt.Sprintf("%s (%s): %s", n.Target, n.Address, what))
		}
	}
	return out
}

// damaged describes the damage of a changed item; empty if the change has another reason, such as a
// renewal that is due or a new configuration.
func damaged(n *topology.Node, ch planner.Change) string {
	class := ch.Address.Class()
	if ch.Kind == state.KindKubeconfig {
		class = string(ch.Kind)
	}
	was, id := n.Cluster.Fleet.RecordedItems.Find(ch.Address), fmt.Sprintf("%s %q", class, ch.Address.ID())
	switch since := n.MissingCredentials(); {
	case ch.Action == planner.Delete || ch.Action == planner.Forget || ch.OnlyRereads() || ch.Address.ID() == topology.KubeletConf && since != "":
		return ""
	case ch.Address.ID() == n.Cluster.KubeletServingBase() && was == nil:
		return "" // it is new in the configuration
	case ch.Address.ID() == topology.KubeletClientCert && since != "":
		return fmt.Sprintf("the kubelet cannot restart, because %s (%s)", since, topology.KubeletConf)
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
		return id + " is not running"
	}
	return fmt.Sprintf("%s was changed (%s)", id, strings.Join(changed, ", "))
}

// neverNew are the kinds of items that every node of the cluster has, recorded or not.
var neverNew = []state.Kind{state.KindStaticPod, state.KindKubeconfig, state.KindCertificate, state.KindKey}

// mends reports whether a stage rewrites a kubeconfig that was lost since the rotation has begun,
// and that no earlier stage of this plan rewrites: there is no file to modify.
func mends(s *topology.RotationStage, r *topology.CARotation, n *topology.Node, path string) bool {
	return r.Begun && n.Report.Files[path].Kubeconfig == nil && (s.Name == topology.TrustBoth || s.Name == topology.DropOld && r.Dropping)
}

// issuer returns the CA that signs in a stage: the old one until all components trust the new one.
func issuer(s *topology.RotationStage, r *topology.CARotation) planner.Signer {
	if s.Name == topology.TrustBoth {
		return pki.Signer(s.Cluster(), r.Base)
	}
	return signer(r)
}

// revive issues a new kubeconfig to a kubelet that has lost its own, in a stage, after the
// operations that bring the CAs to trust.
func revive(s *topology.RotationStage, n *topology.Node, ops []planner.Operation) planner.Step {
	c := s.Cluster()
	ops = append(ops, pki.ReplaceKubeletCertificate(n, issuer(s, c.ClusterCA()), c.CAFile(), n.Report.Files[topology.KubeletClientCert].Exists)...)
	return planner.Step{
		Via: c.Primary, Impact: "issues the kubelet a kubeconfig and a certificate, because it has lost its own, and restarts it; pods keep running",
		Operations: append(ops, pki.ReadyWait(n)...),
	}
}

// lostConf reports whether a control plane has lost a kubeconfig of its controllers, so that its
// readers do not run until a stage rewrites it.
func lostConf(n *topology.Node) bool {
	return n.Report.Files[pki.ControllerConf].Kubeconfig == nil || n.Report.Files[pki.SchedulerConf].Kubeconfig == nil
}

// restarted is the waypoint at which static pods that were lost since a rotation has begun start
// again, and so do the readers of lost certificates: the stages would wait for them.
const restarted = "restarted"

// restarting returns the waypoint that restores lost static pods of a cluster. The controller
// manager is restored in the first stage that sets its signing CA.
func restarting(v *topology.Fleet, place int) *topology.Waypoint {
	w := &topology.Waypoint{Version: restarted, Fleet: v, Place: place, Missing: planner.ReasonDrift}
	swapped := resolve.WithOtherSecrets(v)
	for j, n := range w.Cluster().Nodes {
		items := lostPods(n)
		if swapped != nil {
			sensitive.Seal(v, items, lostPods(swapped.Clusters[place].Nodes[j]))
		}
		w.Items = append(w.Items, items...)
	}
	return w
}

// lostPods returns the static pods of a control plane whose manifests are gone. Without its
// kubeconfig a component does not run, so such a pod is restored after the stages.
func lostPods(n *topology.Node) []state.Item {
	if !n.IsControlPlane() || lostConf(n) {
		return nil
	}
	return slices.DeleteFunc(slices.Concat(staticpod.Etcd.NodeItems(n), staticpod.ControlPlane.NodeItems(n)), func(it state.Item) bool {
		byStage := n.Cluster.ClusterCA() != nil && it.Address.ID() == topology.Manifest("kube-controller-manager")
		return it.Kind != state.KindStaticPod || n.Report.Files[it.Address.ID()].Exists || byStage
	})
}

// restart adds the steps that issue lost certificates and start lost static pods, one control plane
// after the other.
func restart(b *topology.Builder, c *topology.Cluster) []state.Address {
	var done []state.Address
	for _, n := range etcd.PrimaryFirst(c) {
		id := topology.StepAddress(n.Target, topology.CertsPhase)
		id.Waypoint = restarted
		addUpdate(b, id, planner.Step{Operations: issueLost(n), Impact: "issues lost certificates before the rotation continues"}, nil)
		done = append(done, id)
	}
	for _, n := range etcd.PrimaryFirst(c) {
		member, plane := topology.StepAddress(n.Target, topology.EtcdPhase), topology.StepAddress(n.Target, topology.ControlPlanePhase)
		member.Waypoint, plane.Waypoint = restarted, restarted
		for _, id := range []state.Address{member, plane} {
			w := topology.PhaseWork{Changes: b.Changes[id], Desired: b.Desired}
			if w.Empty() {
				continue
			}
			s := takesUp(n, w, id.Phase, staticpod.CertReload{Beyond: func(string) bool { return true }})
			if id == member && !n.Report.Files[topology.Manifest("kube-apiserver")].Exists {
				// Its pod is visible only through the API server, which starts after it.
				s.Operations = append(host.FileOperations(w), staticpod.HealthWaits(n, "etcd")...)
			}
			addUpdate(b, id, s, done)
			done = []state.Address{id}
		}
	}
	return done
}

// WithoutMended returns failing components of a cluster without those that its rotation repairs, so
// that no stage waits for a proof that cannot come before. A controller manager does not start with a file of both CAs
// until a stage sets its signing CA. In a rotation that has begun, a component that has not read
// its files is restarted by a stage, or after the last one; and an expired certificate is replaced
// when a stage issues another.
func WithoutMended(c *topology.Cluster, failed map[state.Target][]string, changes []planner.Change) map[state.Target][]string {
	if len(c.Stages) == 0 {
		return failed
	}
	begun, out := staticpod.RotationBegun(c), map[state.Target][]string{}
	for t, components := range failed {
		n := c.Node(t)
		out[t] = slices.DeleteFunc(slices.Clone(components), func(component string) bool {
			return component == "kube-controller-manager" && toldToSign(c, n, changes) || begun && (unreadBy(n, component) || expired(n))
		})
	}
	return out
}

// toldToSign reports whether a stage sets the signing CA of a control plane's controller manager.
func toldToSign(c *topology.Cluster, n *topology.Node, changes []planner.Change) bool {
	a := topology.ItemAddress(n.Target, topology.ControlPlanePhase, "file", topology.Manifest("kube-controller-manager"))
	return slices.ContainsFunc(c.Stages, func(s *topology.RotationStage) bool {
		a.Waypoint = s.Name
		return slices.ContainsFunc(changes, func(ch planner.Change) bool { return ch.Address == a })
	})
}

// unreadBy reports whether a component has not read the current version of a file.
func unreadBy(n *topology.Node, component string) bool {
	return slices.ContainsFunc(staticpod.ReadersOf(n, ""), func(r topology.CertConsumer) bool {
		return r.Component == component && slices.ContainsFunc(staticpod.FilesRead(r, n), func(path string) bool { return n.Report.Outdated(component, path) })
	})
}

// expired reports whether a certificate by which the components of a control plane identify
// themselves or trust each other has expired, or the CA that has signed it.
func expired(n *topology.Node) bool {
	now, cas := n.Cluster.Fleet.ObservedAt, map[string]bool{}
	for _, a := range n.Cluster.Authorities {
		for _, ca := range n.Report.Files[a.Base+".crt"].Certificates {
			cas[ca.KeyDigest] = pki.HasExpired(ca, now)
		}
	}
	var shown []state.CertificateInfo
	for _, leaf := range kubeadm.Leaves(n.Input()) {
		shown = append(shown, n.Report.Files[leaf.Base+".crt"].Certificates...)
	}
	for _, path := range []string{pki.ControllerConf, pki.SchedulerConf} {
		if k := n.Report.Files[path].Kubeconfig; k != nil && k.Client != nil {
			shown = append(shown, *k.Client)
		}
	}
	return slices.ContainsFunc(shown, func(c state.CertificateInfo) bool { return pki.HasExpired(c, now) || cas[c.IssuerKeyDigest] })
}

// issueLost issues the certificates of a control plane that are missing, or lack their keys, from
// the CAs that all components trust at this point of the rotation.
func issueLost(n *topology.Node) []planner.Operation {
	var ops []planner.Operation
	for _, leaf := range pki.Leaves(n) {
		whole := len(n.Report.Files[leaf.Base+".crt"].Certificates) > 0 && pki.KeyFault(n.Report, leaf.Base+".key") == ""
		if _, supplied := pki.SuppliedLeaf(n, leaf); whole || supplied {
			continue
		}
		op := pki.Issue(n, leaf)
		op.Renew = n.Report.Files[leaf.Base+".crt"].Exists
		if r := n.Cluster.Rotation(leaf.CA); r != nil && r.Reissuing {
			op.CA = signer(r)
		}
		ops = append(ops, op)
	}
	return ops
}
