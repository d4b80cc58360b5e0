package phases

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// HeldCertificate is a certificate that was seen on a host: in a file of its
// own, or inside a kubeconfig.
type HeldCertificate struct {
	Node state.Target
	// Host is the node's name, Address how the host is reached.
	Host, Address string
	Path          string
	// Name is the path as people call it: apiserver, etcd/peer, admin.conf.
	Name       string
	Kubeconfig bool
	CA         bool
	// CommonName and Organizations are the subject's, Issuer is the CA's name.
	CommonName    string
	Organizations []string
	Issuer        string
	NotAfter      time.Time
	// DaysLeft are whole days; negative when it has ended.
	DaysLeft int
	// Ended tells that it is not valid any more, Due that it is to be renewed.
	Ended, Due bool
	// RenewedBy is who renews it.
	RenewedBy Renewer
	// Invalid says why nothing can be told of it; the rest is empty then.
	Invalid string
}

// Renewer is who renews a certificate.
type Renewer string

// The renewers.
const (
	// ByApply: kubewright, with the next apply once it is due.
	ByApply Renewer = "apply"
	// ByKubelet: the kubelet by itself, while it runs.
	ByKubelet Renewer = "kubelet"
	// ByOperator: whoever supplies it.
	ByOperator Renewer = "operator"
	// ByRotation: an apply that is asked to rotate it: a CA that kubewright has made.
	ByRotation Renewer = "rotation"
	// ByNobody: nothing renews it.
	ByNobody Renewer = "nobody"
)

// listed is a file that may hold a certificate.
type listed struct {
	path string
	read state.Read
	by   Renewer
}

// renewer is who renews what the CA has signed.
func (a authority) renewer() Renewer {
	if a.custody == keyless {
		return ByOperator
	}
	return ByApply
}

// successor is who replaces the CA itself.
func (a authority) successor() Renewer {
	if a.custody == made {
		return ByRotation
	}
	return ByOperator
}

// certificateFiles are the files of a node that may hold a certificate, in the
// order in which kubeadm certs check-expiration has them.
func (n *node) certificateFiles() []listed {
	c, kubeconfig := n.cluster, state.ReadKubeconfig
	var out []listed
	if n.isControlPlane() {
		confs := c.authority(c.Certificates.Dir + "/ca").renewer()
		out = append(out, listed{adminConf, kubeconfig, confs}, listed{superAdminConf, kubeconfig, confs},
			listed{controllerConf, kubeconfig, confs}, listed{schedulerConf, kubeconfig, confs})
		for _, leaf := range kubeadm.Leaves(n.input()) {
			out = append(out, listed{leaf.Base + ".crt", state.ReadCertificate, c.authority(leaf.CA).renewer()})
		}
		if e := c.Etcd.External; e != nil && e.CertFile != "" {
			out = append(out, listed{e.CertFile, state.ReadCertificate, ByOperator}, listed{e.CAFile, state.ReadCertificate, ByOperator})
		}
		for _, ca := range c.authorities {
			out = append(out, listed{ca.Base + ".crt", state.ReadCertificate, ca.successor()})
		}
	} else {
		out = append(out, listed{c.caFile(), state.ReadCertificate, c.authority(c.caBase()).successor()})
	}
	kubelet := ByKubelet
	if ca := c.authority(c.Certificates.Dir + "/ca"); !ca.keyOnHosts() {
		kubelet = ca.renewer()
	}
	return append(out, listed{kubeletConf, kubeconfig, kubelet},
		listed{kubeletClientCert, state.ReadCertificate, ByKubelet},
		// What a kubelet has signed for itself it never signs anew, and nobody verifies it.
		listed{path.Dir(kubeletClientCert) + "/kubelet.crt", state.ReadCertificate, ByNobody})
}

// CertificateQueries says what to look at to list the certificates of all nodes
// of the configuration.
func CertificateQueries(cfg *config.Config, recorded *state.State) map[state.Target]state.Query {
	v := &View{Config: cfg, Recorded: recorded, pathsOnly: true}
	v.resolve()
	out := map[state.Target]state.Query{}
	for _, c := range v.clusters {
		for _, n := range c.nodes {
			var q state.Query
			for _, f := range n.certificateFiles() {
				q.Files = append(q.Files, state.FileQuery{Path: f.path, Read: f.read})
			}
			out[n.target] = normal(q)
		}
	}
	return out
}

// Certificates lists the certificates that hosts hold, by node in the order of
// the configuration. Files that are not there are left out.
func Certificates(v *View) []HeldCertificate {
	v.resolve()
	var out []HeldCertificate
	for _, c := range v.clusters {
		for _, n := range c.nodes {
			if n.report == nil {
				continue
			}
			for _, f := range n.certificateFiles() {
				if h, ok := n.held(f); ok {
					out = append(out, h)
				}
			}
		}
	}
	return out
}

func (n *node) held(f listed) (HeldCertificate, bool) {
	c, now := n.cluster, n.cluster.view.ObservedAt
	h := HeldCertificate{
		Node: n.target, Host: n.name, Address: n.Address, Path: f.path, Name: n.callName(f.path), Kubeconfig: f.read == state.ReadKubeconfig, RenewedBy: f.by,
	}
	report := n.report.Files[f.path]
	var info *state.CertificateInfo
	switch {
	case !report.Exists:
		return h, false
	case report.Kubeconfig != nil && report.Kubeconfig.Client == nil:
		return h, false // it names a file, which is listed by itself, or has a token
	case report.Kubeconfig != nil:
		info = report.Kubeconfig.Client
	case len(report.Certificates) > 0:
		info = &report.Certificates[0]
	default:
		h.Invalid = report.Invalid
		return h, true
	}
	h.CA, h.CommonName, h.Organizations, h.Issuer = info.IsCA, info.CommonName, slices.Clone(info.Organizations), info.Issuer
	h.NotAfter, h.DaysLeft, h.Ended = info.NotAfter, leftOf(*info, now), now.After(info.NotAfter)
	// What a kubelet or nobody renews is nobody's work here, but for a CA.
	h.Due = due(*info, c.Certificates.RenewBefore, now) && (f.by == ByApply || f.by == ByOperator)
	if info.IsCA && (f.by == ByRotation || f.by == ByOperator) {
		h.Due = due(*info, c.Certificates.Validity, now) // it has to last longer than what it signs
	}
	return h, true
}

// callName is a path as people call it.
func (n *node) callName(p string) string {
	if rest, ok := strings.CutPrefix(p, n.cluster.Certificates.Dir+"/"); ok {
		return strings.TrimSuffix(rest, ".crt")
	}
	return path.Base(p)
}
