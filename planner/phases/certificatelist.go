package phases

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
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
	RenewedBy planner.Renewer
	// Invalid says why nothing can be told of it; the rest is empty then.
	Invalid string
}

// Kind is ca, certificate or kubeconfig.
func (h HeldCertificate) Kind() string {
	switch {
	case h.Kubeconfig:
		return "kubeconfig"
	case h.CA:
		return "ca"
	}
	return "certificate"
}

// listed is a file that may hold a certificate.
type listed struct {
	path string
	read state.Read
	by   planner.Renewer
}

// renewer is who renews what the CA has signed.
func (a authority) renewer() planner.Renewer {
	if a.custody == keyless {
		return planner.ByOperator
	}
	return planner.ByApply
}

// successor is who replaces the CA itself.
func (a authority) successor() planner.Renewer {
	if a.custody == made {
		return planner.ByRotation
	}
	return planner.ByOperator
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
			out = append(out, listed{e.CertFile, state.ReadCertificate, planner.ByOperator}, listed{e.CAFile, state.ReadCertificate, planner.ByOperator})
		}
		for _, ca := range c.authorities {
			out = append(out, listed{ca.Base + ".crt", state.ReadCertificate, ca.successor()})
		}
	} else {
		out = append(out, listed{c.caFile(), state.ReadCertificate, c.authority(c.caBase()).successor()})
	}
	kubelet := planner.ByKubelet
	if ca := c.authority(c.Certificates.Dir + "/ca"); !ca.keyOnHosts() {
		kubelet = ca.renewer()
	}
	return append(out, listed{kubeletConf, kubeconfig, kubelet},
		listed{kubeletClientCert, state.ReadCertificate, kubelet},
		// With serverTLSBootstrap it asks for one; without, it signs one for itself.
		listed{path.Dir(kubeletClientCert) + "/kubelet-server-current.pem", state.ReadCertificate, planner.ByKubelet},
		// What a kubelet has signed for itself it never signs anew, and nobody verifies it.
		listed{path.Dir(kubeletClientCert) + "/kubelet.crt", state.ReadCertificate, planner.ByNobody})
}

// copiedFrom is the file by which a certificate is renewed: its own, but for the copy that
// a kubelet keeps of what is in its kubeconfig below an external CA.
func (n *node) copiedFrom(file string) string {
	if file == kubeletClientCert && n.cluster.externalCA() {
		return kubeletConf
	}
	return file
}

// certificatesQuery adds the files of which the plan tells when what they hold ends.
// What is looked at for another reason is read as that wants.
func (n *node) certificatesQuery(q *state.Query) {
	asked := map[string]bool{}
	for _, f := range q.Files {
		asked[f.Path] = true
	}
	for _, f := range n.certificateFiles() {
		if !asked[f.path] {
			q.Files = append(q.Files, state.FileQuery{Path: f.path, Read: f.read})
		}
	}
}

// certificateEnds are the certificates on the hosts of the configuration, and
// whether the plan issues others.
func (v *View) certificateEnds(p *planner.Plan) []planner.CertificateEnd {
	changed := map[state.Target]map[string]bool{}
	for _, c := range p.Changes {
		if c.OnlyAccess() {
			continue
		}
		if changed[c.Address.Target] == nil {
			changed[c.Address.Target] = map[string]bool{}
		}
		changed[c.Address.Target][c.Address.ID()] = true
	}
	var out []planner.CertificateEnd
	for _, c := range v.clusters {
		for _, n := range c.nodes {
			for _, h := range n.certificates() {
				if h.Invalid != "" || h.NotAfter.IsZero() {
					continue // the plan tells of it elsewhere, where it is to be mended
				}
				ids, source := changed[n.target], n.copiedFrom(h.Path)
				out = append(out, planner.CertificateEnd{
					Cluster: c.target, Node: n.target, Host: h.Host, Path: h.Path, Kind: h.Kind(), NotAfter: h.NotAfter.UTC(), DaysLeft: h.DaysLeft,
					RenewedBy: h.RenewedBy, Due: h.Due, Changed: v.replacements[n.target] != nil || ids[source] || ids[strings.TrimSuffix(source, ".crt")] || n.dropsOld(p, source),
				})
			}
		}
	}
	return out
}

// dropsOld tells that the plan puts a new CA in the place of the one in a file, as the last
// stage of its rotation does.
func (n *node) dropsOld(p *planner.Plan, path string) bool {
	last := step(n.target, certsPhase)
	if !n.isControlPlane() {
		last.Phase = kubeletStartPhase
	}
	last.Waypoint = dropOld
	return n.cluster.rotation(strings.TrimSuffix(path, ".crt")) != nil && p.Step(last) != nil
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
			out = append(out, n.certificates()...)
		}
	}
	return out
}

// certificates are those that the node's host holds, as far as it was looked at.
func (n *node) certificates() []HeldCertificate {
	if n.report == nil {
		return nil
	}
	var out []HeldCertificate
	for _, f := range n.certificateFiles() {
		if h, ok := n.held(f); ok {
			out = append(out, h)
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
		info = c.inForce(f.path, report.Certificates)
	default:
		h.Invalid = report.Invalid
		return h, true
	}
	h.CA, h.CommonName, h.Organizations, h.Issuer = info.IsCA, info.CommonName, slices.Clone(info.Organizations), info.Issuer
	h.NotAfter, h.DaysLeft, h.Ended = info.NotAfter, leftOf(*info, now), now.After(info.NotAfter)
	switch {
	case f.by == planner.ByApply, f.by == planner.ByOperator:
		h.Due = due(*info, c.Certificates.RenewBefore, now)
	case f.by == planner.ByKubelet:
		// A kubelet that runs has renewed it before nine tenths of its time are over.
		h.Due = due(*info, info.NotAfter.Sub(info.NotBefore)/10, now)
	}
	if info.IsCA && (f.by == planner.ByRotation || f.by == planner.ByOperator) {
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
