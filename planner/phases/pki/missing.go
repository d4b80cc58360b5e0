package pki

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A CA and the service account key pair are made when a cluster is founded, and in
// a rotation that somebody asked for. Afterwards everything rests on them, so that
// one which is missing was lost: it is brought from a control plane that still has
// it, or put back by somebody, and never recreated.

// CompletePrimary takes another control plane for the primary, from which the others get
// what they lack, where the primary lacks something that all share.
func CompletePrimary(c *topology.Cluster) {
	if !hasLost(c) {
		return
	}
	var whole []*topology.Node
	for _, n := range c.ControlPlanes() {
		if n.Runs() && len(MissingKeyFiles(n)) == 0 {
			whole = append(whole, n)
		}
	}
	answers := slices.IndexFunc(whole, func(n *topology.Node) bool { return n.Serves() })
	switch {
	case answers >= 0:
		c.Primary = whole[answers].Target
	case len(whole) > 0:
		c.Primary = whole[0].Target
	}
}

// hasLost reports whether the primary of a cluster that lives lacks something that all share.
func hasLost(c *topology.Cluster) bool {
	primary := c.PrimaryNode()
	if c.Founding || c.Fleet.Destroy || primary == nil || primary.Report == nil || primary.Report.Marks == nil && !Unmarked(primary) {
		return false // a host that is not ours is refused for what it holds
	}
	if f := primary.Report.Files[topology.Manifest("kube-apiserver")]; f.Exists && !bytes.Contains(f.Content, []byte("="+c.CAFile())) {
		return false // another folder than the one that it was made with is refused as such
	}
	return len(MissingKeyFiles(primary)) > 0
}

// MissingKeyFiles returns the files that a control plane of a cluster that lives does not have,
// and that cannot be made of others: those of CAs of ours, and the key that signs
// the tokens of service accounts.
func MissingKeyFiles(n *topology.Node) []string {
	var out []string
	for _, a := range n.Cluster.Authorities {
		if a.KeyLocation != topology.Made {
			continue
		}
		out = append(out, a.Base+".crt", a.Base+".key")
	}
	out = append(out, n.ServiceAccountKey()+".key")
	return slices.DeleteFunc(out, func(path string) bool {
		f := n.Report.Files[path]
		return f.Exists && f.Invalid == "" && !anothersKey(n.Report, path)
	})
}

// HasNo says what is not on the host of what it lacks.
func HasNo(n *topology.Node, path string) string {
	switch {
	case !n.Report.Files[path].Exists:
		return "no " + path
	case anothersKey(n.Report, path):
		return "in " + path + " the key of another certificate"
	case strings.HasSuffix(path, ".key"):
		return "no private key in " + path
	}
	return "no certificate in " + path
}

// refuseLostCAs names what the primary lacks, as no control plane has all of it, and
// what would be recreated. A CA of which the key alone is missing is found where
// the CAs are checked.
func refuseLostCAs(c *topology.Cluster) diag.Diagnostics {
	if !hasLost(c) {
		return nil
	}
	primary := c.PrimaryNode()
	var diags diag.Diagnostics
	for _, path := range MissingKeyFiles(primary) {
		base, isKey := strings.CutSuffix(path, ".key")
		if isKey && base != primary.ServiceAccountKey() {
			continue
		}
		others := ""
		if len(primary.OtherControlPlanes()) > 0 {
			others = ", and no other control plane has all shared files"
		}
		rests := "all that it has signed depends on it, and a new one would not be trusted"
		if isKey {
			rests = "the tokens of all pods are signed with it, and would not be accepted with a new one"
		}
		diags = append(diags, diag.Errorf("PKI file is missing", "%s (%s) has %s%s. It is created when a cluster is bootstrapped, "+
			"and replaced only on request: %s. Restore it on %s, from a backup of %s.%s",
			primary.Target, primary.Address, HasNo(primary, path), others, rests, primary.Target, c.Certificates.Dir, whereElse(primary, path)).At(primary.Source).For(primary.Target))
	}
	return diags
}

// whereElse says where the certificate of a CA is kept as well, whose key is there.
func whereElse(n *topology.Node, path string) string {
	base, certificate := strings.CutSuffix(path, ".crt")
	if !certificate || !n.Report.Files[base+".key"].Exists {
		return ""
	}
	kept := ""
	switch base {
	case n.Cluster.CABase():
		kept = fmt.Sprintf("as certificate-authority-data in %s there (base64), and in the ConfigMap kube-root-ca.crt of every namespace", topology.AdminConf)
	case n.Cluster.Certificates.Dir + "/front-proxy-ca":
		kept = "as requestheader-client-ca-file in the ConfigMap extension-apiserver-authentication of the namespace kube-system"
	default:
		return ""
	}
	return " Its key is there, so that the certificate alone is enough: the cluster has it " + kept + "."
}

// WithLostKey adds to a certificate that its key is not beside it, or another one: half of a pair is
// as good as none. That of a CA of ours is brought whole (a controller manager signs by
// that of the cluster), and of what we can issue both are reissued, since whoever
// uses it would not start again. Keys that are to lie elsewhere are the operator's to give.
func WithLostKey(v *topology.Fleet, it *state.Item, attrs state.Value, r *state.Report) state.Value {
	if it.Address.Class() != "certificate" {
		return attrs
	}
	base := it.Address.ID()
	fault := KeyFault(r, base+".key")
	if fault == "" {
		return attrs
	}
	if n := v.Find(it.Address.Target); n == nil || !keepsKey(n, base) {
		return attrs
	}
	m := maps.Clone(attrs.AsMap())
	m["key"] = state.String(base + ".key " + fault)
	return state.Map(m)
}

// keepsKey reports whether the key of a pair is on the node's host, and of our making.
func keepsKey(n *topology.Node, base string) bool {
	if !n.IsControlPlane() {
		return false
	}
	if slices.ContainsFunc(n.Cluster.Authorities, func(a topology.CA) bool { return a.KeyLocation == topology.Made && a.Base == base }) {
		return true
	}
	return slices.ContainsFunc(kubeadm.Leaves(n.Input()), func(leaf kubeadm.Certificate) bool {
		_, supplied := SuppliedLeaf(n, leaf)
		return leaf.Base == base && !supplied
	})
}

// KeyFault says why a file is of no use as the private key of the certificate beside
// it; empty when it is one.
func KeyFault(r *state.Report, path string) string {
	switch f := r.Files[path]; {
	case !f.Exists:
		return "is missing"
	case f.Invalid != "":
		return "holds no private key"
	case anothersKey(r, path):
		return "belongs to another certificate"
	}
	return ""
}

// anothersKey tells a file with a private key that is of no certificate in the file
// beside it, as far as the host tells whose it is. While a CA is rotated several are there.
func anothersKey(r *state.Report, path string) bool {
	base, isKey := strings.CutSuffix(path, ".key")
	certificates, keys := r.Files[base+".crt"].Certificates, r.Files[path].PublicKeys
	return isKey && len(certificates) > 0 && len(keys) > 0 &&
		!slices.ContainsFunc(certificates, func(c state.CertificateInfo) bool { return c.KeyDigest == "" || c.KeyDigest == keys[0] })
}
