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

// CAs and the service account key pair are created when a cluster is bootstrapped, and in a rotation on
// request. From then on everything depends on them, so that a missing one was lost: it is copied from a
// control plane that still has it, or an operator restores it, and it is never recreated.

// CompletePrimary returns the primary of a cluster; if it lacks a file that all control planes share,
// another one, from which the others get what they lack.
func CompletePrimary(c *topology.Cluster) state.Target {
	if !hasLost(c) {
		return c.Primary
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
		return whole[answers].Target
	case len(whole) > 0:
		return whole[0].Target
	}
	return c.Primary
}

// hasLost reports whether the primary of a running cluster lacks a file that all control planes share.
func hasLost(c *topology.Cluster) bool {
	primary := c.PrimaryNode()
	if c.Founding || c.Fleet.Destroy || primary == nil || primary.Report == nil || primary.Report.Marks == nil && !Unmarked(primary) {
		return false // a host that is not ours is refused by another check
	}
	if f := primary.Report.Files[topology.Manifest("kube-apiserver")]; f.Exists && !bytes.Contains(f.Content, []byte("="+c.CAFile())) {
		return false // another certificate folder than the original one is refused by another check
	}
	return len(MissingKeyFiles(primary)) > 0
}

// MissingKeyFiles returns the files that a control plane of a running cluster lacks and that cannot be
// derived from others: those of CAs of ours, and the key that signs the tokens of service accounts.
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

// HasNo describes what the host has instead of a file that it lacks.
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

// refuseLostCAs reports the files that the primary lacks, since no control plane has all of them and
// they would be recreated. checkAuthorities finds a CA of which only the key is missing.
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

// whereElse says where the cluster keeps another copy of a CA certificate whose key is there.
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

// WithLostKey adds to a certificate that its key is missing or belongs to another certificate: half a
// pair is useless. A CA of ours is copied as a pair (a controller manager signs with the cluster's).
// Certificates that kubewright can issue are reissued with their key, since the component that reads
// them would not start again. The operator has to provide keys that are kept elsewhere.
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

// keepsKey reports whether the pair's key is kept on the node's host, and kubewright has created it.
func keepsKey(n *topology.Node, base string) bool {
	if n.IsControlPlane() && slices.ContainsFunc(n.Cluster.Authorities, func(a topology.CA) bool { return a.KeyLocation == topology.Made && a.Base == base }) {
		return true
	}
	return slices.ContainsFunc(kubeadm.Leaves(n.Input()), func(leaf kubeadm.Certificate) bool {
		_, supplied := SuppliedLeaf(n, leaf)
		return leaf.Base == base && !supplied
	})
}

// KeyFault says why a file is of no use as the private key of the certificate beside it; empty when it
// fits.
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

// anothersKey reports whether a private key belongs to no certificate in the file beside it, as far as
// the host shows. During a CA rotation that file has several certificates.
func anothersKey(r *state.Report, path string) bool {
	base, isKey := strings.CutSuffix(path, ".key")
	certificates, keys := r.Files[base+".crt"].Certificates, r.Files[path].PublicKeys
	return isKey && len(certificates) > 0 && len(keys) > 0 &&
		!slices.ContainsFunc(certificates, func(c state.CertificateInfo) bool { return c.KeyDigest == "" || c.KeyDigest == keys[0] })
}
