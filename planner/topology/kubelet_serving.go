package topology

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// API servers verify kubelets once every node has a certificate of the cluster's CA: logs and exec fail
// on a node without one. In a new cluster they do from the start. In a running one the kubelets get
// their certificates first, in the same plan, unless something holds the verification back. From then on
// it stays, until the setting is removed: first the argument of the API servers goes, then the
// certificates.

// KubeletServingBase returns the path of the certificate with which a node's kubelet serves, without
// .crt and .key.
func (c *Cluster) KubeletServingBase() string {
	return c.Certificates.Dir + "/" + kubeadm.KubeletServing
}

// VerifiesKubelets reports whether API servers verify the certificates of kubelets at the end of this
// plan.
func (c *Cluster) VerifiesKubelets() bool {
	return c.Certificates.KubeletServing && (c.Founding || c.VerifiedKubelets() || len(c.verificationHeld()) == 0)
}

// StartsVerifying reports whether API servers of a running cluster begin to verify the certificates of
// kubelets in this plan, which get theirs first.
func (c *Cluster) StartsVerifying() bool {
	return c.Certificates.KubeletServing && !c.Founding && !c.VerifiedKubelets() && c.VerifiesKubelets()
}

// StopsVerifying reports whether API servers cease to verify the certificates of kubelets in this plan,
// before kubelets sign their own again.
func (c *Cluster) StopsVerifying() bool {
	return !c.Certificates.KubeletServing && !c.Founding && c.VerifiedKubelets()
}

// VerifiedKubelets reports whether an API server verified the certificates of kubelets before this
// plan.
func (c *Cluster) VerifiedKubelets() bool {
	return slices.ContainsFunc(c.ControlPlanes(), func(n *Node) bool {
		return n.Report != nil && !n.Seen(state.KindStaticPod, Manifest("kube-apiserver")).Get("args").Get(kubeadm.VerifyKubelets).IsNull()
	})
}

// heldKey is what of a cluster's situation decides whether its API servers can begin to verify kubelets.
type heldKey struct {
	cluster               *config.Cluster
	report                *state.ClusterReport
	up, rotates, replaces bool
}

// verificationHeld returns why API servers of a running cluster cannot begin to verify kubelets.
func (c *Cluster) verificationHeld() []string {
	key := heldKey{c.Cluster, c.Report, c.Up != nil, c.Rotates(), len(c.AtOnce) > 0}
	held, ok := c.Fleet.Cache.held[key]
	if !ok {
		held = c.findHeld()
		c.Fleet.Cache.held[key] = held
	}
	return held
}

func (c *Cluster) findHeld() []string {
	switch {
	case c.Report == nil:
		return []string{"the API does not answer, which shows the cluster's nodes"}
	case c.Up != nil:
		return []string{"the version of Kubernetes changes in this plan"}
	case c.Rotates() || len(c.AtOnce) > 0:
		return []string{"a CA is replaced in this plan"}
	}
	var out []string
	if unmanaged := c.UnmanagedNodes(); len(unmanaged) > 0 {
		out = append(out, fmt.Sprintf("no node block of this configuration manages %s, whose kubelets serve with certificates of their own", strings.Join(unmanaged, ", ")))
	}
	for _, n := range c.Nodes {
		if n.Report == nil {
			out = append(out, n.Target.String()+" could not be observed")
			continue
		}
		// The restart of a kubelet waits for the static pods of its node, and what repairs one of them
		// would come after it.
		for _, component := range unanswering(n) {
			out = append(out, component+" on "+n.Target.String()+" does not serve")
		}
	}
	for _, n := range c.Nodes {
		if missing := unnamedAddresses(n); len(missing) > 0 {
			out = append(out, fmt.Sprintf("API servers reach the kubelet of %s at %s, which is not in its certificate: write it in advertise_addresses of the node, or as the kubelet's argument node-ip", n.Target, strings.Join(missing, ", ")))
		}
	}
	return out
}

// unanswering returns the components of a running control plane that are stopped, or that the API does not
// show as ready and that do not answer otherwise.
func unanswering(n *Node) []string {
	if !n.Runs() || !n.IsControlPlane() {
		return nil
	}
	return slices.DeleteFunc(n.StaticPods(), func(component string) bool {
		pod := n.Cluster.Report.StaticPods[component+"-"+n.NodeName]
		return n.Report.Files[Manifest(component)].Exists && (pod.Ready || pod.Alive)
	})
}

// VerificationHeldBack returns why API servers do not verify kubelets yet although the configuration
// asks for it; none if they do.
func (c *Cluster) VerificationHeldBack() []string {
	if !c.Certificates.KubeletServing || c.VerifiesKubelets() {
		return nil
	}
	return c.verificationHeld()
}

// unnamedAddresses returns the addresses at which API servers call the node's kubelet and that are not
// in its certificate.
func unnamedAddresses(n *Node) []string {
	if n.Cluster.Report == nil || n.Report == nil {
		return nil
	}
	in := n.input()
	var named []string
	for _, leaf := range kubeadm.Leaves(in) {
		if leaf.Name == kubeadm.KubeletServing {
			named = leaf.IPAddresses
		}
	}
	return slices.DeleteFunc(slices.Clone(n.Cluster.Report.Nodes[n.NodeName].InternalIPs), func(ip string) bool {
		return slices.ContainsFunc(named, func(a string) bool { return SameAddress(a, ip) })
	})
}

// ServesSigned reports whether the node's kubelet was observed to be configured with the certificate of
// the cluster's CA.
func (n *Node) ServesSigned() bool {
	return n.Report != nil && n.Seen(state.KindYAMLFile, KubeletConfig).Get("tlsCertFile").AsString() == n.Cluster.KubeletServingBase()+".crt"
}
