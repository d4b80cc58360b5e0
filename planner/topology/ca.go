package topology

import (
	"crypto/x509"
	"slices"

	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// keyLocation says who holds a CA's key, and so who can sign below it.
type keyLocation int

const (
	// Made: kubewright makes the CA. Its key is on the control planes.
	Made keyLocation = iota
	// OnHosts: the CA is the operator's and its key is brought to the control planes.
	OnHosts
	// WithOperator: the key stays with the operator, and the performer signs with it.
	WithOperator
	// Keyless: nobody here has the key. What it signed is supplied.
	Keyless
)

// CA is one of a cluster's CAs, and what the configuration says of it.
type CA struct {
	kubeadm.Certificate
	KeyLocation keyLocation
	// Block is its block below certificates: ca, front_proxy_ca, etcd_ca.
	Block string
	// X509 is the operator's; nil for a CA that kubewright makes.
	X509 *x509.Certificate
	// Chain are the serials of what is given behind it.
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

// KeyOnHosts reports whether the CA's key lies on the control planes.
func (a CA) KeyOnHosts() bool { return a.KeyLocation == Made || a.KeyLocation == OnHosts }

// ExternalCA reports whether no key of the cluster's CA lies on the control planes,
// so that nothing in the cluster signs kubelets' certificates.
func (c *Cluster) ExternalCA() bool {
	return !c.Authority(c.Certificates.Dir + "/ca").KeyOnHosts()
}

// registered reports whether the node runs in the cluster as far as can be seen: a
// node that did not bootstrap has no certificate that would show it.
func (n *Node) registered() bool {
	if !n.Report.Files[KubeletConf].Exists || !n.Report.Files[KubeletConfig].Exists || n.Report.Units[KubeletUnit].Active != "active" {
		return false
	}
	if n.Cluster.Report == nil {
		return true
	}
	_, ok := n.Cluster.Report.Nodes[n.NodeName]
	return ok
}

// Kept is what a host has of a supply of which nothing is in the folder.
type Kept struct {
	state.CertificateInfo
	// Conf is nil for a certificate.
	Conf *state.KubeconfigInfo
}

// NextBase returns where the new CA lies, without .crt and .key, until it takes the old one's place.
func (a CA) NextBase() string { return NextBase(a.Base) }

// OldFile returns the old CA's certificate alone.
func (a CA) OldFile() string { return OldFile(a.Base) }

// CADigestsIn returns the identities of the CAs in a file on the host: of a kubeconfig those
// that it trusts.
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

// ClusterIdentities returns the identities by which a cluster goes, as one of its hosts shows them:
// the CAs that it holds, one that is being replaced, and those whose place its CA has
// taken before, which the mark tells as long as it refers to the CA that is there.
func ClusterIdentities(r *state.Report, base string) []string {
	held := CADigestsIn(r, base+".crt")
	if len(held) == 0 {
		return nil
	}
	return slices.Concat(held, CADigestsIn(r, OldFile(base)), CADigestsIn(r, ExpiredFile(base)), FormerCAs(r, held))
}

// FormerCAs returns those whose place one of the CAs has taken, as the mark tells.
func FormerCAs(r *state.Report, cas []string) []string {
	if m := MarksOf(r); m != nil && slices.Contains(cas, m.ClusterCA) {
		return m.FormerCAs
	}
	return nil
}

// ChainSerials returns the serials of the certificates behind the first.
func ChainSerials(certs []*x509.Certificate) []string {
	var out []string
	for _, c := range certs[1:] {
		out = append(out, state.CertificateInfoOf(c).Serial)
	}
	return out
}
