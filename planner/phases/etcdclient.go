package phases

import (
	"path"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// clientFile is a file by which the API servers reach an external etcd, when it
// is the operator's to be brought.
type clientFile struct {
	path, field string
	// certificate is PEM; empty for the key.
	certificate string
}

// clientFiles are those of the cluster. The key comes before its certificate:
// one that is there means that the pair is whole.
func (c *cluster) clientFiles() []clientFile {
	e := c.Etcd.External
	if e == nil {
		return nil
	}
	var out []clientFile
	for _, f := range []struct {
		clientFile
		given bool
	}{
		{clientFile{e.CAFile, "etcd.external.ca", e.CAContent}, e.CAContent != ""},
		{clientFile{e.KeyFile, "etcd.external.key", ""}, !e.KeyContent.IsZero()},
		{clientFile{e.CertFile, "etcd.external.cert", e.CertContent}, e.CertContent != ""},
	} {
		if f.given {
			out = append(out, f.clientFile)
		}
	}
	return out
}

// pkiFoldersAround are the folders that hold certificates and keys of a node,
// and the folders around them.
func (n *node) pkiFoldersAround() []string {
	var out []string
	for _, p := range n.pkiPaths() {
		out = append(out, foldersAround(p)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// foldersOf are the folders that paths lie in, in order.
func foldersOf(paths []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, path.Dir(p))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// foldersAround are the folders that a path lies in, without those at the root and
// others that belong to the whole machine.
func foldersAround(p string) []string {
	var out []string
	for dir := path.Dir(p); len(path.Dir(dir)) > 1; dir = path.Dir(dir) {
		if !state.WholeMachine(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// clientItems are the desired files. Of the certificates what tells each from
// every other is compared; the key is its certificate's.
func (n *node) clientItems() []state.Item {
	var items []state.Item
	for _, f := range n.cluster.clientFiles() {
		it := state.Item{
			Address: item(n.target, certsPhase, "file", f.path), Kind: state.KindKey, Attributes: attributes("mode", keyMode, "owner", root),
			Origin: map[string]state.Source{"": n.cluster.origin(f.field)},
		}
		if certs, err := config.ParseCertificates([]byte(f.certificate)); err == nil {
			info := state.CertificateInfoOf(certs[0])
			it.Kind, it.Partial = state.KindCertificate, true
			it.Attributes = attributes("common_name", info.CommonName, "serial", info.Serial, "chain", chainOf(certs), "not_after", rfc3339(info.NotAfter))
		}
		items = append(items, it)
	}
	return items
}

// clientOperations bring the files among the changes, and the key with its certificate.
func (n *node) clientOperations(w work) []planner.Operation {
	changed := func(p string) bool {
		return slices.ContainsFunc(w.changes, func(c planner.Change) bool { return c.Address.ID() == p })
	}
	e := n.cluster.Etcd.External
	var ops []planner.Operation
	var files []planner.SecretFile
	for _, f := range n.cluster.clientFiles() {
		if !changed(f.path) && !(f.path == e.KeyFile && changed(e.CertFile)) {
			continue
		}
		mode := "0644"
		if f.certificate == "" {
			mode = keyMode
		}
		if dir := folder(path.Dir(f.path), "0755"); !slices.Contains(ops, planner.Operation(dir)) {
			ops = append(ops, dir)
		}
		files = append(files, n.cluster.bring(f.path, mode, f.field))
	}
	if len(files) == 0 {
		return nil
	}
	return append(ops, planner.ImportSecrets{Files: files})
}

// checkClient tells of a client certificate for an external etcd that has
// expired or ends soon: it is the operator's to renew.
func (c *cluster) checkClient() diag.Diagnostics {
	e, now := c.Etcd.External, c.view.ObservedAt
	if e == nil || now.IsZero() {
		return nil
	}
	cert, err := config.ParseCertificate([]byte(e.CertContent))
	if err != nil {
		return nil // none is given
	}
	at := c.place("etcd.external.cert")
	switch {
	case now.After(cert.NotAfter):
		return diag.Diagnostics{diag.Errorf("Client certificate for etcd has expired", "The certificate %q was valid until %s, and etcd refuses it. "+
			"Have it issued anew and give that.", cert.Subject.CommonName, date(cert.NotAfter)).At(at).For(c.target)}
	case now.Add(c.Certificates.RenewBefore).After(cert.NotAfter):
		return diag.Diagnostics{diag.Warningf("Client certificate for etcd ends soon", "The certificate %q is valid until %s. "+
			"Have it issued anew before that, give the new one, and run kubewright apply.", cert.Subject.CommonName, date(cert.NotAfter)).At(at).For(c.target)}
	}
	return nil
}
