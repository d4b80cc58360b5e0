package kubeadm

import (
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/cache"
)

// Certificate is the specification of a certificate.
type Certificate struct {
	// Name is the name of kubeadm's phase: ca, apiserver, etcd-server …
	Name string
	// Base is the path of the pair without .crt and .key.
	Base string
	// CA is the base path of the signing CA, CAName its common name. For a CA they are its own.
	CA, CAName    string
	CommonName    string
	Organizations []string
	// DNSNames are sorted. IPAddresses are in kubeadm's order and canonical.
	DNSNames    []string
	IPAddresses []string
	// Usages are all usages, in the words of state.CertificateInfo.
	Usages    []string
	Algorithm string
	Validity  time.Duration
}

// IsCA reports whether the certificate signs others.
func (c Certificate) IsCA() bool { return c.Base == c.CA }

// ExtendedUsages returns those of the usages that are "server auth" or "client auth".
func (c Certificate) ExtendedUsages() []string {
	return slices.DeleteFunc(slices.Clone(c.Usages), func(u string) bool { return u != serverAuth && u != clientAuth })
}

const (
	serverAuth = "server auth"
	clientAuth = "client auth"
)

// Usages of keys: kubeadm gives every leaf the first two, also with ECDSA keys.
var (
	leafUsages = []string{"digital signature", "key encipherment"}
	caUsages   = append(slices.Clone(leafUsages), "cert sign")
)

// KeyPair is a private key with its public key beside it: BASE.key and BASE.pub.
type KeyPair struct {
	Base      string
	Algorithm string
}

// ServiceAccountKeys returns the key pair that signs and verifies service account tokens.
func ServiceAccountKeys(in Input) KeyPair {
	s := in.settings()
	return KeyPair{Base: s.pki("sa"), Algorithm: s.algorithm()}
}

// The common names of the CAs, by base name.
var caNames = map[string]string{"ca": "kubernetes", "front-proxy-ca": "front-proxy-ca", "etcd/ca": "etcd-ca"}

// CAs lists the certificate authorities in kubeadm's order; an external etcd has its own.
func CAs(in Input) []Certificate {
	s := in.settings()
	bases := []string{"ca", "front-proxy-ca", "etcd/ca"}
	names := []string{"ca", "front-proxy-ca", "etcd-ca"}
	if s.Etcd.External != nil {
		bases = bases[:2]
	}
	var out []Certificate
	for i, base := range bases {
		cn := caNames[base]
		out = append(out, Certificate{
			Name: names[i], Base: s.pki(base), CA: s.pki(base), CAName: cn, CommonName: cn, DNSNames: []string{cn},
			Usages: slices.Clone(caUsages), Algorithm: s.algorithm(), Validity: s.Certificates.CAValidity,
		})
	}
	return out
}

// KubeletServing is the name of the certificate with which a kubelet serves. kubeadm has none: there a
// kubelet signs its own.
const KubeletServing = "kubelet-server"

// Leaves lists the certificates of a node: those of a control plane in kubeadm's order, then that of
// the kubelet if it does not sign its own.
func Leaves(in Input) []Certificate {
	s := in.settings()
	var out []Certificate
	if s.controlPlane() {
		out = s.controlPlaneLeaves()
	}
	if s.Certificates.KubeletServing {
		serving := s.leaf(KubeletServing, KubeletServing, "ca", "system:node:"+s.name, serverAuth)
		serving.Organizations = []string{"system:nodes"}
		serving.DNSNames, serving.IPAddresses = kubelet{s}.sans()
		out = append(out, serving)
	}
	return out
}

func (s *settings) controlPlaneLeaves() []Certificate {
	out := []Certificate{
		s.leaf("apiserver", "apiserver", "ca", "kube-apiserver", serverAuth),
		s.leaf("apiserver-kubelet-client", "apiserver-kubelet-client", "ca", "kube-apiserver-kubelet-client", clientAuth),
		s.leaf("front-proxy-client", "front-proxy-client", "front-proxy-ca", "front-proxy-client", clientAuth),
	}
	out[0].DNSNames, out[0].IPAddresses = apiServer{s}.sans()
	if !s.release.plainClient {
		out[1].Organizations = []string{clusterAdmins}
	}
	if s.Etcd.External != nil {
		return out
	}
	server := s.leaf("etcd-server", "etcd/server", "etcd/ca", s.name, serverAuth, clientAuth)
	server.DNSNames, server.IPAddresses = etcdMember{s}.sans(s.Etcd.ServerCertSANs)
	peer := s.leaf("etcd-peer", "etcd/peer", "etcd/ca", s.name, serverAuth, clientAuth)
	peer.DNSNames, peer.IPAddresses = etcdMember{s}.sans(s.Etcd.PeerCertSANs)
	return append(out, server, peer,
		s.leaf("etcd-healthcheck-client", "etcd/healthcheck-client", "etcd/ca", "kube-etcd-healthcheck-client", clientAuth),
		s.leaf("apiserver-etcd-client", "apiserver-etcd-client", "etcd/ca", "kube-apiserver-etcd-client", clientAuth))
}

func (s *settings) leaf(name, base, ca, commonName string, usages ...string) Certificate {
	return Certificate{
		Name: name, Base: s.pki(base), CA: s.pki(ca), CAName: caNames[ca], CommonName: commonName,
		Usages:    append(slices.Clone(leafUsages), usages...),
		Algorithm: s.algorithm(), Validity: s.Certificates.Validity,
	}
}

// splitSANs splits names from addresses and drops duplicates. Values that are neither are dropped,
// like in kubeadm, which warns of them.
func splitSANs(sans []string) (dns, ips []string) {
	for _, s := range sans {
		_, err := netip.ParseAddr(s)
		switch {
		case err == nil:
			if ip := state.CanonicalIP(s); !slices.Contains(ips, ip) {
				ips = append(ips, ip)
			}
		case dnsName.Of(s):
			dns = append(dns, s)
		}
	}
	slices.Sort(dns)
	return slices.Compact(dns), ips
}

// dnsName reports whether a certificate may hold a name as a DNS name.
var dnsName = cache.New(func(s string) bool {
	return len(validation.IsDNS1123Subdomain(s)) == 0 || len(validation.IsWildcardDNS1123Subdomain(s)) == 0
})
