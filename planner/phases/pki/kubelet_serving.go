package pki

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// The certificate with which a kubelet serves is made in the phase certs, like the others, and the
// kubelet reloads it (1.31: ReloadKubeletServerCertificateFile). A running kubelet restarts when it begins
// or ceases to use it: then the step of its certificate comes right before, or right after. Certificates
// of control planes wait for API servers otherwise, which wait until all kubelets have theirs. Where other
// certificates of the node change as well, the step of the kubelet does it.

// servingTurns reports whether the certificate of a running kubelet is made or removed out of the turn of
// the others, because of when the kubelet begins or ceases to use it.
func servingTurns(n *topology.Node, w topology.PhaseWork, c planner.Change) bool {
	if c.Address.ID() != n.Cluster.KubeletServingBase() || n.Joins() || n.IsFounder() {
		return false
	}
	reconfigured := slices.ContainsFunc(w.Peer(topology.KubeletStartPhase), func(c planner.Change) bool { return c.Address.ID() == topology.KubeletConfig })
	return reconfigured && (c.Action == planner.Delete || c.Action == planner.Create && n.IsControlPlane() && n.Cluster.StartsVerifying())
}

// leftToKubelet reports whether the step of the kubelet makes a change of the phase certs.
func leftToKubelet(n *topology.Node, w topology.PhaseWork, c planner.Change) bool {
	return servingTurns(n, w, c) && len(w.Peer(topology.CertsPhase)) > 1
}

// OrderServing orders the steps of the certificates with which running kubelets begin or cease to serve.
func OrderServing(b *topology.Builder, c *topology.Cluster) {
	for _, n := range c.Nodes {
		if n.Report == nil {
			continue
		}
		id, start := topology.StepAddress(n.Target, topology.CertsPhase), topology.StepAddress(n.Target, topology.KubeletStartPhase)
		w := b.Work(id)
		if len(w.Changes) != 1 || !servingTurns(n, w, w.Changes[0]) {
			continue
		}
		if w.Changes[0].Action == planner.Create {
			b.Draft.Edges[id] = []state.Address{topology.StepAddress(n.Target, topology.PreparePhase)}
			b.After(start, id)
			continue
		}
		former := b.Draft.Edges[id]
		for other, needs := range b.Draft.Edges {
			if i := slices.Index(needs, id); i >= 0 {
				b.Draft.Edges[other] = slices.Concat(needs[:i], needs[i+1:], former)
			}
		}
		b.Draft.Edges[id] = []state.Address{start}
	}
}

// left returns whether the step of a kubelet makes such a change, and the change's action.
func left(n *topology.Node, w topology.PhaseWork) (planner.Action, bool) {
	for _, c := range w.Peer(topology.CertsPhase) {
		if leftToKubelet(n, w, c) {
			return c.Action, true
		}
	}
	return "", false
}

// BeginServing returns the operations that give a kubelet the certificate that it is about to serve with.
func BeginServing(n *topology.Node, w topology.PhaseWork) []planner.Operation {
	if action, ok := left(n, w); !ok || action == planner.Delete {
		return nil
	}
	ops := []planner.Operation{topology.EnsureFolder("/etc/kubernetes", "0755"), topology.EnsureFolder(n.Cluster.Certificates.Dir, "0755")}
	for _, leaf := range kubeadm.Leaves(n.Input()) {
		if leaf.Name != kubeadm.KubeletServing {
			continue
		}
		if s, ok := SuppliedLeaf(n, leaf); ok {
			return append(ops, planner.ImportSecrets{Files: bring(n, s)})
		}
		op := Issue(n, leaf)
		op.Renew = n.Report.Files[leaf.Base+".crt"].Exists
		ops = append(ops, op)
	}
	return ops
}

// EndServing returns the operations that remove the certificate that a kubelet has ceased to serve with.
func EndServing(n *topology.Node, w topology.PhaseWork) []planner.Operation {
	if action, ok := left(n, w); ok && action == planner.Delete {
		return removeServing(n)
	}
	return nil
}

func removeServing(n *topology.Node) []planner.Operation {
	base := n.Cluster.KubeletServingBase()
	return []planner.Operation{planner.RemovePath{Path: base + ".key"}, planner.RemovePath{Path: base + ".crt"}}
}

// dropServing removes the certificate in the phase certs, when the kubelet does not use it any more.
func dropServing(n *topology.Node, w topology.PhaseWork) []planner.Operation {
	for _, c := range w.Changes {
		if c.Address.ID() == n.Cluster.KubeletServingBase() && c.Action == planner.Delete {
			return removeServing(n)
		}
	}
	return nil
}

// showServing waits until a running kubelet serves a renewed certificate.
func showServing(n *topology.Node, w topology.PhaseWork, s *planner.Step) {
	if !n.Cluster.Certificates.KubeletServing || !ChangesPair(w, n.Cluster.KubeletServingBase()) || !n.ServesSigned() || n.NodeCondition() != state.NodeReady {
		return
	}
	s.Operations = append(s.Operations, ServingWait(n))
	if len(w.Changes) == 1 {
		s.Impact = "the kubelet loads its certificate without a restart"
	}
}

// ServingWait waits until a kubelet serves the certificate in its file.
func ServingWait(n *topology.Node) planner.Operation {
	return planner.Wait{
		For: planner.WaitServed, URL: fmt.Sprintf("https://%s:%s", bracket(n.AdvertiseAddress()), KubeletPort(n)), Name: n.Cluster.KubeletServingBase() + ".crt",
		Timeout: n.Cluster.Timeouts.UpgradeManifests,
	}
}

// KubeletPort returns the port at which a kubelet serves.
func KubeletPort(n *topology.Node) string {
	tree, err := n.Cluster.Fleet.Cache.Tree(state.KindYAMLFile, KubeletConfig(n))
	topology.Must(nil, err)
	if port := tree.Get("port").AsString(); port != "" {
		return port
	}
	return "10250"
}

// WarnUnverified warns of API servers that do not verify kubelets yet although the configuration asks
// for it, and of nodes whose kubelets they do not trust.
func WarnUnverified(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if v.Destroy || c.Disowned || !c.Certificates.KubeletServing {
			continue
		}
		at := Place(c, "certificates.kubelet_serving")
		if held := c.VerificationHeldBack(); len(held) > 0 {
			diags.Append(diag.Warningf("Kubelets are not verified yet", "API servers of cluster %q do not verify the certificates of kubelets yet: %s. "+
				"Logs and exec would fail otherwise. The first apply after that is resolved sets --%s.", c.Label, strings.Join(held, "; "), kubeadm.VerifyKubelets).At(at).For(c.Target))
			continue
		}
		if unmanaged := c.UnmanagedNodes(); len(unmanaged) > 0 {
			diags.Append(diag.Warningf("Kubelets are not trusted", "API servers of cluster %q verify the certificates of kubelets, and no node block of this configuration manages %s: logs and exec fail there. "+
				"Write node blocks for them, or give their kubelets certificates of the cluster's CA.", c.Label, strings.Join(unmanaged, ", ")).At(at).For(c.Target))
		}
	}
	return diags
}
