package pki

import (
	"path"
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/keypair"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// clientFile is a file with which API servers connect to an external etcd, and that the operator
// provides.
type clientFile struct {
	path, field string
	// certificate is PEM; empty for the key.
	certificate string
}

// clientFiles returns the cluster's client files. The key comes before its certificate: an existing
// certificate means that the pair is complete.
func clientFiles(c *topology.Cluster) []clientFile {
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

// PKIFoldersAround returns the folders that hold certificates and keys of a node,
// and the folders around them.
func PKIFoldersAround(n *topology.Node) []string {
	var out []string
	for _, p := range KeyMaterialPaths(n) {
		out = append(out, foldersAround(p)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// FoldersOf returns the folders that paths lie in, in order.
func FoldersOf(paths []string) []string {
	var out []string
	for _, p := range paths {
		out = append(out, path.Dir(p))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// foldersAround returns the folders that contain a path, except for those at the root and others that
// belong to the whole machine.
func foldersAround(p string) []string {
	var out []string
	for dir := path.Dir(p); len(path.Dir(dir)) > 1; dir = path.Dir(dir) {
		if !state.WholeMachine(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// clientItems returns the desired client files. A certificate is compared by what distinguishes it from
// every other one; its key is replaced together with it.
func clientItems(n *topology.Node) []state.Item {
	var items []state.Item
	for _, f := range clientFiles(n.Cluster) {
		it := state.Item{
			Address: topology.ItemAddress(n.Target, topology.CertsPhase, "file", f.path), Kind: state.KindKey, Attributes: topology.Attributes("mode", KeyMode, "owner", topology.Root),
			Origin: map[string]state.Source{"": provenance.ClusterOrigin(n.Cluster, f.field)},
		}
		if certs, err := keypair.ParseCertificates([]byte(f.certificate)); err == nil {
			info := state.CertificateInfoOf(certs[0])
			it.Kind, it.Partial = state.KindCertificate, true
			it.Attributes = topology.Attributes("common_name", info.CommonName, "serial", info.Serial, "chain", topology.ChainSerials(certs), "not_after", RFC3339(info.NotAfter))
		}
		items = append(items, it)
	}
	return items
}

// clientOperations write the changed files, and the key together with its certificate.
func clientOperations(n *topology.Node, w topology.PhaseWork) []planner.Operation {
	changed := func(p string) bool {
		return slices.ContainsFunc(w.Changes, func(c planner.Change) bool { return c.Address.ID() == p })
	}
	e := n.Cluster.Etcd.External
	var ops []planner.Operation
	var files []planner.SecretFile
	for _, f := range clientFiles(n.Cluster) {
		if !changed(f.path) && !(f.path == e.KeyFile && changed(e.CertFile)) {
			continue
		}
		mode := "0644"
		if f.certificate == "" {
			mode = KeyMode
		}
		if dir := topology.EnsureFolder(path.Dir(f.path), "0755"); !slices.Contains(ops, planner.Operation(dir)) {
			ops = append(ops, dir)
		}
		files = append(files, BringFile(n.Cluster, f.path, mode, f.field))
	}
	if len(files) == 0 {
		return nil
	}
	return append(ops, planner.ImportSecrets{Files: files})
}

// checkClient reports a client certificate for an external etcd that has expired or expires soon: the
// operator has to renew it.
func checkClient(c *topology.Cluster) diag.Diagnostics {
	e, now := c.Etcd.External, c.Fleet.ObservedAt
	if e == nil || now.IsZero() {
		return nil
	}
	cert, err := keypair.ParseCertificate([]byte(e.CertContent))
	if err != nil {
		return nil // not given by the configuration
	}
	at := Place(c, "etcd.external.cert")
	switch {
	case now.After(cert.NotAfter):
		return diag.Diagnostics{diag.Errorf("Client certificate for etcd has expired", "The certificate %q expired on %s, and etcd refuses it. "+
			"Have it reissued, and provide the new one.", cert.Subject.CommonName, Date(cert.NotAfter)).At(at).For(c.Target)}
	case now.Add(c.Certificates.RenewBefore).After(cert.NotAfter):
		return diag.Diagnostics{diag.Warningf("Client certificate for etcd expires soon", "The certificate %q expires on %s. Have it reissued before that, "+
			"provide the new one, and run %s.", cert.Subject.CommonName, Date(cert.NotAfter), remedy.Apply).At(at).For(c.Target)}
	}
	return nil
}
