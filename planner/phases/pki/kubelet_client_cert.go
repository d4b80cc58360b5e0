package pki

import (
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// KubeletCertificateItem returns the certificate that a kubelet renews by itself as long as it runs and
// the API answers. kubewright renews it only once it has expired, the CA that signed it is gone, or the
// kubelet has lost it.
func KubeletCertificateItem(n *topology.Node, phase string) state.Item {
	it := state.Item{
		Address: topology.ItemAddress(n.Target, phase, "file", topology.KubeletClientCert), Kind: state.KindCertificate, Partial: true,
		Attributes: topology.Attributes(planner.RenewalDue, false), Classes: shownOfCertificates,
	}
	if n.MissingCredentials() != "" {
		it.Attributes = topology.WithAttribute(it.Attributes, UsableAttr, true)
	}
	return it
}

// ObserveKubeletCertificate reports whether a kubelet's certificate has expired or is of no use to it.
func ObserveKubeletCertificate(v *topology.Fleet, it *state.Item, f state.FileReport) state.Value {
	n, out := v.Find(it.Address.Target), topology.Attributes(planner.RenewalDue, false)
	if len(f.Certificates) > 0 {
		c := f.Certificates[0]
		due := HasExpired(c, v.ObservedAt) || n != nil && n.Report != nil && unmanagedNode(n)
		out = topology.Attributes(planner.RenewalDue, due, "not_after", RFC3339(c.NotAfter), DaysLeft, WholeDaysLeft(c, v.ObservedAt))
	}
	if n != nil {
		out = observeUsable(n, it.Address, out)
	}
	return out
}

func HasExpired(c state.CertificateInfo, now time.Time) bool {
	return !now.IsZero() && now.After(c.NotAfter)
}

// RenewsKubelet reports whether a kubelet's certificate is among the changes.
func RenewsKubelet(w topology.PhaseWork) bool {
	for _, c := range w.Changes {
		if c.Address.ID() == topology.KubeletClientCert {
			return true
		}
	}
	return false
}

// ReviveKubelet gives another certificate to a kubelet whose certificate has expired or is lost: the
// kubelet cannot request one any more, and would not even start. It copies the one in its kubeconfig
// into its own file (client-go, util/certificate) and continues from there, so that neither API nor
// controller manager is needed.
func ReviveKubelet(n *topology.Node) []planner.Operation {
	own := n.Report.Files[topology.KubeletClientCert]
	ended := len(own.Certificates) > 0 && HasExpired(own.Certificates[0], n.Cluster.Fleet.ObservedAt)
	return ReplaceKubeletCertificate(n, Signer(n.Cluster, n.Cluster.CABase()), "", own.Exists && !ended)
}

// ReplaceKubeletCertificate does that with a certificate of the given CA. A certificate that has not
// expired has to be removed, or the kubelet keeps it; the node's identity is in its kubeconfig
// meanwhile. Trust is that of WriteKubeconfig.
func ReplaceKubeletCertificate(n *topology.Node, ca planner.Signer, trust string, takeAway bool) []planner.Operation {
	k, t := kubeadm.KubeletKubeconfig(n.Input()), n.Cluster.Timeouts
	ops := []planner.Operation{planner.WriteKubeconfig{
		Path: topology.KubeletConf, CA: ca, Trust: trust, Cluster: k.Cluster, Server: k.Server,
		User: k.User, CommonName: k.CommonName, Organizations: k.Organizations,
		Algorithm: n.Cluster.Certificates.Algorithm, Validity: n.Cluster.Certificates.Validity, Renew: true,
	}}
	if takeAway {
		ops = append(ops, planner.RemovePath{Path: topology.KubeletClientCert})
	}
	ops = append(ops,
		planner.Unit{Unit: topology.KubeletUnit, Action: "restart"},
		planner.Wait{For: planner.WaitFile, Name: topology.KubeletClientCert, Files: []string{topology.KubeletConf}, Timeout: t.KubeletHealthCheck},
		planner.SetKubeconfig{Path: topology.KubeletConf, Server: k.Server, ClientCertificate: topology.KubeletClientCert},
	)
	return append(ops, HealthWait(n)...)
}

// RevivesImpact returns the impact of such a renewal.
func RevivesImpact(n *topology.Node) string {
	certs, since := n.Report.Files[topology.KubeletClientCert].Certificates, n.MissingCredentials()
	switch {
	case since != "":
	case len(certs) > 0 && !HasExpired(certs[0], n.Cluster.Fleet.ObservedAt):
		since = "its own is not trusted"
	default:
		since = "its own has expired"
	}
	return "issues the kubelet a certificate, because " + since + ", and restarts it; pods keep running"
}
