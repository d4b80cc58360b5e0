package pki

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// CAExpired reports whether the CA on the primary has expired.
func CAExpired(c *topology.Cluster, a topology.CA) bool {
	ca := present(c, a)
	return ca != nil && HasExpired(*ca, c.Fleet.ObservedAt)
}

// present returns the CA on the primary; nil when it is missing there.
func present(c *topology.Cluster, a topology.CA) *state.CertificateInfo {
	primary := c.PrimaryNode()
	if primary == nil || primary.Report == nil {
		return nil
	}
	return inForce(c, a.Base+".crt", primary.Report.Files[a.Base+".crt"].Certificates)
}

// inForce returns the effective certificate of those in a file: the first, or during a CA rotation the
// new one after it, as soon as most control planes use certificates that the new one has signed. The
// API answers and etcd has its quorum then, even when the old CA has expired.
func inForce(c *topology.Cluster, path string, certs []state.CertificateInfo) *state.CertificateInfo {
	if len(certs) == 0 {
		return nil
	}
	for i := range certs[1:] {
		if next := &certs[i+1]; mostlyBelow(c, path, next.KeyDigest) {
			return next
		}
	}
	return &certs[0]
}

// mostlyBelow reports whether, on most control planes, the CA with this identity has signed all
// certificates of the CA in the file.
func mostlyBelow(c *topology.Cluster, path, ca string) bool {
	planes, below := c.ControlPlanes(), 0
	for _, n := range planes {
		if n.Report == nil {
			continue
		}
		leaves := slices.DeleteFunc(kubeadm.Leaves(n.Input()), func(l kubeadm.Certificate) bool { return l.CA+".crt" != path })
		other := slices.ContainsFunc(leaves, func(l kubeadm.Certificate) bool {
			certs := n.Report.Files[l.Base+".crt"].Certificates
			return len(certs) == 0 || certs[0].IssuerKeyDigest != ca
		})
		if len(leaves) > 0 && !other {
			below++
		}
	}
	return 2*below > len(planes)
}

// NeededByAPI reports whether the API cannot answer without the CA.
func NeededByAPI(a topology.CA) bool { return a.Name != "front-proxy-ca" }

// overtaken returns the operations that remove the files of a rotation that had begun when its CA was
// replaced at once: the next rotation would continue with them.
func overtaken(n *topology.Node, w topology.PhaseWork) []planner.Operation {
	var ops []planner.Operation
	for _, a := range n.Cluster.Authorities {
		next := n.CADigestsIn(a.NextBase() + ".crt")
		if a.KeyLocation != topology.Made || !ChangesPair(w, a.Base) || n.Cluster.Rotation(a.Base) != nil || len(next) == 0 || !slices.Contains(n.CADigestsIn(a.Base+".crt"), next[0]) {
			continue // a next CA that is not trusted yet may not come from this rotation
		}
		for _, path := range RotationPaths(a) {
			ops = append(ops, planner.RemovePath{Path: path})
		}
	}
	return ops
}

// unmanagedNode reports whether an apply that replaced the CA was interrupted before the node's
// kubelet: the expired CA has signed its certificate, or a CA that the primary does not trust has
// signed it and the API does not show the node as Ready.
func unmanagedNode(n *topology.Node) bool {
	c := n.Cluster
	primary := c.PrimaryNode()
	certs := n.Report.Files[topology.KubeletClientCert].Certificates
	if primary == nil || primary.Report == nil || len(certs) == 0 || c.Founding {
		return false
	}
	trusted := primary.CADigestsIn(c.CAFile())
	if len(trusted) == 0 || slices.Contains(trusted, certs[0].IssuerKeyDigest) {
		return false
	}
	return n.NodeCondition() != state.NodeReady || certs[0].IssuerKeyDigest == CAsReplacedHalfway(c)[c.CABase()]
}

// checkExpired reports a CA that kubewright has created and that has expired.
func checkExpired(c *topology.Cluster, a topology.CA, ca state.CertificateInfo) *diag.Diagnostic {
	at := Place(c, "certificates.ca_validity")
	if _, ok := c.AtOnce[a.Base]; ok {
		return diag.Warningf("Expired CA is replaced", "The CA %q (%s.crt) expired on %s, and nothing that it has signed is trusted. "+
			"It is replaced by a new one over SSH alone, together with everything below it; the API answers again when that is done. "+
			"Kubeconfigs that were created by hand stop working, and pods outside this configuration's addons have to be restarted.", ca.CommonName, a.Base, Date(ca.NotAfter)).At(at).For(c.Target)
	}
	if c.Rotation(a.Base) != nil && c.Rotates() {
		return nil // the front proxy's CA, which is being rotated
	}
	rotate, carries := rotateExpired(c)
	if !carries {
		return warnExpiredProxy(c, a, ca)
	}
	return diag.Errorf("CA certificate has expired", "The CA %q (%s.crt) expired on %s: nothing that it has signed is trusted any more. "+
		"Replace it by a new one; that works over SSH and needs no API:\n\n  %s",
		ca.CommonName, a.Base, Date(ca.NotAfter), rotate).At(at).For(c.Target)
}

// rotateExpired returns the remedy that replaces all expired CAs of ours; carries reports whether one of
// them keeps the API from answering.
func rotateExpired(c *topology.Cluster) (r remedy.Remedy, carries bool) {
	r = remedy.Apply.With()
	for _, a := range c.Authorities {
		if a.KeyLocation == topology.Made && CAExpired(c, a) {
			r = r.With(remedy.Rotate.Of(topology.Rotation{Cluster: c.Target, CA: a.Name}))
			carries = carries || NeededByAPI(a)
		}
	}
	return r, carries
}

// warnExpiredProxy reports that only the front proxy's CA has expired. It is a warning: the rotation
// needs an API that answers, every node and its own plan, and what prevents one of these has to be
// repaired before.
func warnExpiredProxy(c *topology.Cluster, a topology.CA, ca state.CertificateInfo) *diag.Diagnostic {
	return diag.Warningf("CA certificate has expired", "The CA %q (%s.crt) expired on %s. API servers answer without it, but extension API servers behind them, "+
		"such as metrics.k8s.io, do not trust what it has signed. Rotate it while the API answers, in a plan that leaves nodes and versions as they are:\n\n"+
		"  %s",
		ca.CommonName, a.Base, Date(ca.NotAfter), remedy.Apply.With(remedy.Rotate.Of(topology.Rotation{Cluster: c.Target, CA: a.Name}))).At(Place(c, "certificates.ca_validity")).For(c.Target)
}

// ExpiredFile returns where the certificate of a CA that is replaced at once is kept until the
// replacement is complete.
func ExpiredFile(a topology.CA) string { return topology.ExpiredFile(a.Base) }

// CAsReplacedHalfway returns, by base path, the identities of the expired CAs whose replacement at once
// by an earlier apply was interrupted.
func CAsReplacedHalfway(c *topology.Cluster) map[string]string {
	primary := c.PrimaryNode()
	if c.Founding || c.Fleet.Destroy || primary == nil {
		return nil
	}
	out := map[string]string{}
	for _, a := range c.Authorities {
		ended, now := primary.CADigestsIn(ExpiredFile(a)), primary.CADigestsIn(a.Base+".crt")
		if len(ended) > 0 && (len(now) == 0 || now[0] != ended[0]) {
			out[a.Base] = ended[0]
		}
	}
	return out
}
