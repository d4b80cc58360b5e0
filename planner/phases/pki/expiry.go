package pki

import (
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// HeldCertificate is an observed certificate on a host: in its own file, or inside a kubeconfig.
type HeldCertificate struct {
	Node state.Target
	// Host is the node's name, Address how the host is reached.
	Host, Address string
	Path          string
	// Name is the short form of the path: apiserver, etcd/peer, admin.conf.
	Name       string
	Kubeconfig bool
	CA         bool
	// CommonName and Organizations are the subject's, Issuer is the CA's name.
	CommonName    string
	Organizations []string
	Issuer        string
	NotAfter      time.Time
	// DaysLeft are whole days; negative when the certificate has expired.
	DaysLeft int
	// Ended reports whether it has expired, Due whether it has to be renewed.
	Ended, Due bool
	// RenewedBy is who renews it.
	RenewedBy planner.Renewer
	// Invalid says why the certificate cannot be read; the other fields are empty then.
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
	Path string
	Read state.Read
	by   planner.Renewer
}

// renewer returns who renews the certificates that the CA has signed.
func renewer(a topology.CA) planner.Renewer {
	if a.KeyLocation == topology.Keyless {
		return planner.ByOperator
	}
	return planner.ByApply
}

// successor returns who replaces the CA itself.
func successor(a topology.CA) planner.Renewer {
	if a.KeyLocation == topology.Made {
		return planner.ByRotation
	}
	return planner.ByOperator
}

// CertificateFiles returns the files of a node that may hold a certificate, in the order of kubeadm
// certs check-expiration.
func CertificateFiles(n *topology.Node) []listed {
	c, kubeconfig := n.Cluster, state.ReadKubeconfig
	var out []listed
	if n.IsControlPlane() {
		confs := renewer(c.Authority(c.Certificates.Dir + "/ca"))
		out = append(out, listed{topology.AdminConf, kubeconfig, confs}, listed{SuperAdminConf, kubeconfig, confs},
			listed{ControllerConf, kubeconfig, confs}, listed{SchedulerConf, kubeconfig, confs})
		out = append(out, leafFiles(n)...)
		if e := c.Etcd.External; e != nil && e.CertFile != "" {
			out = append(out, listed{e.CertFile, state.ReadCertificate, planner.ByOperator}, listed{e.CAFile, state.ReadCertificate, planner.ByOperator})
		}
		for _, ca := range c.Authorities {
			out = append(out, listed{ca.Base + ".crt", state.ReadCertificate, successor(ca)})
		}
	} else {
		out = append(leafFiles(n), listed{c.CAFile(), state.ReadCertificate, successor(c.Authority(c.CABase()))})
	}
	kubelet := planner.ByKubelet
	if ca := c.Authority(c.Certificates.Dir + "/ca"); !ca.KeyOnHosts() {
		kubelet = renewer(ca)
	}
	return append(out, listed{topology.KubeletConf, kubeconfig, kubelet},
		listed{topology.KubeletClientCert, state.ReadCertificate, kubelet},
		// With serverTLSBootstrap the kubelet requests this one; without, it signs its own.
		listed{path.Dir(topology.KubeletClientCert) + "/kubelet-server-current.pem", state.ReadCertificate, planner.ByKubelet},
		// A kubelet does not renew its self-signed certificate, and no client verifies it.
		listed{path.Dir(topology.KubeletClientCert) + "/kubelet.crt", state.ReadCertificate, planner.NotRenewed})
}

func leafFiles(n *topology.Node) []listed {
	var out []listed
	for _, leaf := range kubeadm.Leaves(n.Input()) {
		out = append(out, listed{leaf.Base + ".crt", state.ReadCertificate, renewer(n.Cluster.Authority(leaf.CA))})
	}
	return out
}

// copiedFrom returns the file that a certificate is renewed in: its own, except for the copy that a
// kubelet keeps of the certificate in its kubeconfig where the CA is external.
func copiedFrom(n *topology.Node, file string) string {
	if file == topology.KubeletClientCert && n.Cluster.ExternalCA() {
		return topology.KubeletConf
	}
	return file
}

// CertificatesQuery adds the files whose expiry the plan reports. A file that is observed for another
// reason is read in the way that reason needs.
func CertificatesQuery(n *topology.Node, q *state.Query) {
	asked := map[string]bool{}
	for _, f := range q.Files {
		asked[f.Path] = true
	}
	for _, f := range CertificateFiles(n) {
		if !asked[f.Path] {
			q.Files = append(q.Files, state.FileQuery{Path: f.Path, Read: f.Read})
		}
	}
}

// CertificateExpiry returns the certificates on the hosts of the configuration, and whether the plan
// reissues each.
func CertificateExpiry(v *topology.Fleet, p *planner.Plan) []planner.CertificateEnd {
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
	for _, c := range v.Clusters {
		for _, n := range c.Nodes {
			for _, h := range Certificates(n) {
				if h.Invalid != "" || h.NotAfter.IsZero() {
					continue // reported elsewhere, where the plan repairs it
				}
				ids, source := changed[n.Target], copiedFrom(n, h.Path)
				out = append(out, planner.CertificateEnd{
					Cluster: c.Target, Node: n.Target, Host: h.Host, Path: h.Path, Kind: h.Kind(), NotAfter: h.NotAfter.UTC(), DaysLeft: h.DaysLeft,
					RenewedBy: h.RenewedBy, Due: h.Due, Changed: v.Replacements[n.Target] != nil || ids[source] || ids[strings.TrimSuffix(source, ".crt")] || dropsOld(n, p, source),
				})
			}
		}
	}
	return out
}

// dropsOld reports whether the plan replaces the CA in a file by the new one, as the last stage of its
// rotation does.
func dropsOld(n *topology.Node, p *planner.Plan, path string) bool {
	last := topology.StepAddress(n.Target, topology.CertsPhase)
	if !n.IsControlPlane() {
		last.Phase = topology.KubeletStartPhase
	}
	last.Waypoint = topology.DropOld
	return n.Cluster.Rotation(strings.TrimSuffix(path, ".crt")) != nil && p.Step(last) != nil
}

// Certificates returns the certificates on the node's host, as far as they were observed.
func Certificates(n *topology.Node) []HeldCertificate {
	if n.Report == nil {
		return nil
	}
	var out []HeldCertificate
	for _, f := range CertificateFiles(n) {
		if h, ok := held(n, f); ok {
			out = append(out, h)
		}
	}
	return out
}

func held(n *topology.Node, f listed) (HeldCertificate, bool) {
	c, now := n.Cluster, n.Cluster.Fleet.ObservedAt
	h := HeldCertificate{
		Node: n.Target, Host: n.NodeName, Address: n.Address, Path: f.Path, Name: callName(n, f.Path), Kubeconfig: f.Read == state.ReadKubeconfig, RenewedBy: f.by,
	}
	report := n.Report.Files[f.Path]
	var info *state.CertificateInfo
	switch {
	case !report.Exists:
		return h, false
	case report.Kubeconfig != nil && report.Kubeconfig.Client == nil:
		return h, false // it refers to a file, which is listed separately, or has a token
	case report.Kubeconfig != nil:
		info = report.Kubeconfig.Client
	case len(report.Certificates) > 0:
		info = inForce(c, f.Path, report.Certificates)
	default:
		h.Invalid = report.Invalid
		return h, true
	}
	h.CA, h.CommonName, h.Organizations, h.Issuer = info.IsCA, info.CommonName, slices.Clone(info.Organizations), info.Issuer
	h.NotAfter, h.DaysLeft, h.Ended = info.NotAfter, WholeDaysLeft(*info, now), now.After(info.NotAfter)
	switch {
	case f.by == planner.ByApply, f.by == planner.ByOperator:
		h.Due = Due(*info, c.Certificates.RenewBefore, now)
	case f.by == planner.ByKubelet:
		// A running kubelet renews it before nine tenths of its lifetime are over.
		h.Due = Due(*info, info.NotAfter.Sub(info.NotBefore)/10, now)
	}
	if info.IsCA && (f.by == planner.ByRotation || f.by == planner.ByOperator) {
		h.Due = Due(*info, c.Certificates.Validity, now) // it has to outlast what it signs
	}
	return h, true
}

// ExpiresWithin reports whether the operator has to act on the certificate within a duration from now: it
// expires by then, or cannot be read. A certificate that the kubelet renews by itself counts only
// once the kubelet should have renewed it, and one that no client verifies never.
func (h HeldCertificate) ExpiresWithin(d time.Duration, now time.Time) bool {
	switch {
	case h.Invalid != "":
		return true
	case h.RenewedBy == planner.NotRenewed:
		return false
	case h.RenewedBy == planner.ByKubelet:
		return h.Due
	}
	return now.Add(d).After(h.NotAfter)
}

// callName returns the short form of a path.
func callName(n *topology.Node, p string) string {
	if rest, ok := strings.CutPrefix(p, n.Cluster.Certificates.Dir+"/"); ok {
		return strings.TrimSuffix(rest, ".crt")
	}
	return path.Base(p)
}

// DaysLeft is the attribute with the whole days until a certificate expires; negative when it has
// expired.
const DaysLeft = "days_left"

// Due reports whether a certificate is to be renewed.
func Due(c state.CertificateInfo, before time.Duration, now time.Time) bool {
	return !now.IsZero() && now.Add(before).After(c.NotAfter)
}

func WholeDaysLeft(c state.CertificateInfo, now time.Time) int {
	return int(math.Floor(c.NotAfter.Sub(now).Hours() / 24))
}
