package phases

import (
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// kubeletCertificateItem is the certificate that a kubelet renews by itself as
// long as it runs and the API answers. Ours to renew it is only once it has
// ended, or the CA that has signed it is gone. One that is not there has not.
func (n *node) kubeletCertificateItem(phase string) state.Item {
	return state.Item{
		Address: item(n.target, phase, "file", kubeletClientCert), Kind: state.KindCertificate, Partial: true,
		Attributes: attributes(planner.RenewalDue, false), Classes: shownOfCertificates,
	}
}

// observeKubeletCertificate looks whether a kubelet's certificate has ended, or is
// of no use to it.
func (v *View) observeKubeletCertificate(it *state.Item, f state.FileReport) state.Value {
	if len(f.Certificates) == 0 {
		return attributes(planner.RenewalDue, false)
	}
	c, n := f.Certificates[0], v.find(it.Address.Target)
	due := hasEnded(c, v.ObservedAt) || n != nil && n.report != nil && n.stranger()
	return attributes(planner.RenewalDue, due, "not_after", rfc3339(c.NotAfter), daysLeft, leftOf(c, v.ObservedAt))
}

func hasEnded(c state.CertificateInfo, now time.Time) bool {
	return !now.IsZero() && now.After(c.NotAfter)
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

// reviveKubelet gives a kubelet whose certificate has ended another one: it can
// ask for none any more, and would not even start. It takes what is in its
// kubeconfig over into its own file (client-go, util/certificate) and goes on
// from there, so neither API nor controller manager is needed.
func (n *node) reviveKubelet() []planner.Operation {
	certs := n.report.Files[kubeletClientCert].Certificates
	lives := len(certs) > 0 && !hasEnded(certs[0], n.cluster.view.ObservedAt)
	return n.replaceKubeletCertificate(n.cluster.signer(n.cluster.caBase()), "", lives)
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
	certs := n.report.Files[kubeletClientCert].Certificates
	if len(certs) > 0 && !hasEnded(certs[0], n.cluster.view.ObservedAt) {
		return "gives the kubelet a certificate, since nobody trusts its own, and restarts it; pods keep running"
	}
	return "gives the kubelet a certificate, since its own has ended, and restarts it; pods keep running"
}
