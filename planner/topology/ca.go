package topology

import (
	"crypto/x509"
	"slices"

	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// keyLocation says who holds a CA's key, and so who can sign with it.
type keyLocation int

const (
	// Made: kubewright makes the CA. Its key is on the control planes.
	Made keyLocation = iota
	// OnHosts: the CA is the operator's and its key is copied to the control planes.
	OnHosts
	// WithOperator: the key stays with the operator, and the performer signs with it.
	WithOperator
	// Keyless: the key is not available here. The operator supplies what it signed.
	Keyless
)

// CA is one of a cluster's CAs, with its configuration.
type CA struct {
	kubeadm.Certificate
	KeyLocation keyLocation
	// Block is the name of its block below certificates: ca, front_proxy_ca, etcd_ca.
	Block string
	// X509 is the operator's certificate; nil for a CA that kubewright makes.
	X509 *x509.Certificate
	// Chain are the serials of the certificates that follow it in the configuration.
	Chain []string
}

// Authority returns the CA with the base path.
func (c *Cluster) Authority(base string) CA {
	for _, a := range c.Authorities {
		if a.Base == base {
			return a
		}
	}
	panic("internal error: there is no CA " + base)
}

// KeyOnHosts reports whether the CA's key is on the control planes.
func (a CA) KeyOnHosts() bool { return a.KeyLocation == Made || a.KeyLocation == OnHosts }

// ExternalCA reports whether the key of the cluster CA is not on the control planes, so that
// nothing in the cluster signs kubelet certificates.
func (c *Cluster) ExternalCA() bool {
	return !c.Authority(c.Certificates.Dir + "/ca").KeyOnHosts()
}

// Kept is a supplied certificate or kubeconfig on a host that the folder does not contain.
type Kept struct {
	state.CertificateInfo
	// Conf is nil for a certificate.
	Conf *state.KubeconfigInfo
}

// NextBase returns the path of the new CA, without .crt and .key, until it replaces the old one.
func (a CA) NextBase() string { return NextBase(a.Base) }

// OldFile returns the path of the file with only the old CA's certificate.
func (a CA) OldFile() string { return OldFile(a.Base) }

// CADigestsIn returns the identities of the CAs in a file on the host; for a kubeconfig those that
// it trusts.
func CADigestsIn(r *state.Report, path string) []string {
	if r == nil {
		return nil
	}
	f := r.Files[path]
	if f.Kubeconfig != nil {
		return f.Kubeconfig.CAKeyDigests()
	}
	var out []string
	for _, c := range f.Certificates {
		out = append(out, c.KeyDigest)
	}
	return out
}

// ClusterIdentities returns the identities of a cluster, as observed on one of its hosts: the CAs
// in its file, one that is being replaced, and former CAs that the marker lists, provided that it
// refers to the current CA.
func ClusterIdentities(r *state.Report, base string) []string {
	held := CADigestsIn(r, base+".crt")
	if len(held) == 0 {
		return nil
	}
	return slices.Concat(held, CADigestsIn(r, OldFile(base)), CADigestsIn(r, ExpiredFile(base)), FormerCAs(r, held))
}

// FormerCAs returns the former CAs in the marker, if it refers to one of the given CAs.
func FormerCAs(r *state.Report, cas []string) []string {
	if m := MarksOf(r); m != nil && slices.Contains(cas, m.ClusterCA) {
		return m.FormerCAs
	}
	return nil
}

// ChainSerials returns the serials of the certificates after the first.
func ChainSerials(certs []*x509.Certificate) []string {
	var out []string
	for _, c := range certs[1:] {
		out = append(out, state.CertificateInfoOf(c).Serial)
	}
	return out
}
