package phases

import (
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// kubeletCertificateItem is the certificate that a kubelet renews by itself as
// long as it runs and the API answers. Ours to renew it is only once it has
// ended, the CA that has signed it is gone, or the kubelet has lost it.
func (n *node) kubeletCertificateItem(phase string) state.Item {
	it := state.Item{
		Address: item(n.target, phase, "file", kubeletClientCert), Kind: state.KindCertificate, Partial: true,
		Attributes: attributes(planner.RenewalDue, false), Classes: shownOfCertificates,
	}
	if n.bereft() != "" {
		it.Attributes = with(it.Attributes, usableAttr, true)
	}
	return it
}

// observeKubeletCertificate looks whether a kubelet's certificate has ended, or is
// of no use to it.
func (v *View) observeKubeletCertificate(it *state.Item, f state.FileReport) state.Value {
	n, out := v.find(it.Address.Target), attributes(planner.RenewalDue, false)
	if len(f.Certificates) > 0 {
		c := f.Certificates[0]
		due := hasEnded(c, v.ObservedAt) || n != nil && n.report != nil && n.stranger()
		out = attributes(planner.RenewalDue, due, "not_after", rfc3339(c.NotAfter), daysLeft, leftOf(c, v.ObservedAt))
	}
	if n != nil {
		out = n.observeUsable(it.Address, out)
	}
	return out
}

func hasEnded(c state.CertificateInfo, now time.Time) bool {
	return !now.IsZero() && now.After(c.NotAfter)
}

// bereft says what a kubelet has lost of its identity in the cluster; empty when it
// has all of it, or never had one. It still runs with what it has read, but would not
// start again, and neither is given to it by joining once more, which needs a node
// that is not there. One whose certificate is in its kubeconfig is about to get its own.
func (n *node) bereft() string {
	if n.report == nil || n.cluster.externalCA() || !n.report.Files[kubeletConfig].Exists || !n.known() {
		return ""
	}
	conf, own := n.report.Files[kubeletConf], n.report.Files[kubeletClientCert]
	switch {
	case !conf.Exists && !own.Exists && n.report.Files[bootstrapConf].Exists:
		return "" // an apply was cut short as it joined: a Node that is there is of a former life of its host
	case !conf.Exists:
		return "its kubeconfig is gone"
	case conf.Kubeconfig == nil:
		return "its kubeconfig cannot be read"
	case conf.Kubeconfig.Client != nil || len(own.Certificates) > 0:
		return ""
	case own.Exists:
		return "its own cannot be read"
	}
	return "its own is gone"
}

// known tells that the cluster has the node: by the API, and where that is silent by
// what an apply has completed on it.
func (n *node) known() bool {
	if n.cluster.report != nil {
		_, ok := n.cluster.report.Nodes[n.name]
		return ok
	}
	phase := waitBootstrapPhase
	if n.isControlPlane() {
		phase = finalizePhase
	}
	recorded := n.cluster.view.recorded
	return recorded != nil && recorded.Find(item(n.target, phase, "file", kubeletConf)) != nil
}

// hasEnded tells that a kubelet's certificate is among the changes.
func (w work) hasEnded() bool {
	for _, c := range w.changes {
		if c.Address.ID() == kubeletClientCert {
			return true
		}
	}
	return false
}

// reviveKubelet gives a kubelet whose certificate has ended, or is lost, another one:
// it can ask for none any more, and would not even start. It takes what is in its
// kubeconfig over into its own file (client-go, util/certificate) and goes on
// from there, so neither API nor controller manager is needed.
func (n *node) reviveKubelet() []planner.Operation {
	own := n.report.Files[kubeletClientCert]
	ended := len(own.Certificates) > 0 && hasEnded(own.Certificates[0], n.cluster.view.ObservedAt)
	return n.replaceKubeletCertificate(n.cluster.signer(n.cluster.caBase()), "", own.Exists && !ended)
}

// replaceKubeletCertificate does that with a certificate of the CA. One that has
// not ended has to be taken away, or the kubelet stays with it; the node's
// identity is in its kubeconfig meanwhile. Trust is as of WriteKubeconfig.
func (n *node) replaceKubeletCertificate(ca planner.Signer, trust string, takeAway bool) []planner.Operation {
	k, t := kubeadm.KubeletKubeconfig(n.input()), n.cluster.Timeouts
	ops := []planner.Operation{planner.WriteKubeconfig{
		Path: kubeletConf, CA: ca, Trust: trust, Cluster: k.Cluster, Server: k.Server,
		User: k.User, CommonName: k.CommonName, Organizations: k.Organizations,
		Algorithm: n.cluster.Certificates.Algorithm, Validity: n.cluster.Certificates.Validity, Renew: true,
	}}
	if takeAway {
		ops = append(ops, planner.RemovePath{Path: kubeletClientCert})
	}
	return append(ops,
		planner.Unit{Unit: kubeletUnit, Action: "restart"},
		planner.Wait{For: planner.WaitFile, Name: kubeletClientCert, Files: []string{kubeletConf}, Timeout: t.KubeletHealthCheck},
		planner.SetKubeconfig{Path: kubeletConf, Server: k.Server, ClientCertificate: kubeletClientCert},
		planner.Wait{For: planner.WaitHTTP, URL: n.kubeletHealth(), Timeout: t.KubeletHealthCheck},
	)
}

// revivesImpact is what it means to those who use the cluster.
func (n *node) revivesImpact() string {
	certs, since := n.report.Files[kubeletClientCert].Certificates, n.bereft()
	switch {
	case since != "":
	case len(certs) > 0 && !hasEnded(certs[0], n.cluster.view.ObservedAt):
		since = "nobody trusts its own"
	default:
		since = "its own has ended"
	}
	return "gives the kubelet a certificate, since " + since + ", and restarts it; pods keep running"
}
