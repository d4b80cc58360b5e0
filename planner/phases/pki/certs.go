package pki

import (
	"net"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Certs creates the CAs and the service account keys on the founder, copies them to the other control
// planes, and issues the leaf certificates of each node. Files that the operator provides are written
// instead of created.
var Certs = topology.Phase{
	Name: topology.CertsPhase,
	NodeItems: func(n *topology.Node) []state.Item {
		var items []state.Item
		for _, ca := range n.Cluster.Authorities {
			if n.IsControlPlane() {
				items = append(items, authorityItem(n, topology.CertsPhase, ca))
			}
		}
		for _, leaf := range Leaves(n) {
			if s, ok := SuppliedLeaf(n, leaf); ok {
				items = append(items, suppliedItem(n, s))
				continue
			}
			items = append(items, certificateItem(n, leaf))
		}
		if !n.IsControlPlane() {
			return items
		}
		items = append(items, clientItems(n)...)
		sa := n.ServiceAccountKey()
		for _, suffix := range []string{".key", ".pub"} {
			it := state.Item{
				Address: topology.ItemAddress(n.Target, topology.CertsPhase, "file", sa+suffix), Kind: state.KindKey,
				Attributes: topology.Attributes("mode", KeyMode, "owner", topology.Root),
			}
			if suffix == ".pub" && Adoption(n) != nil {
				it.Initial = []string{"mode"} // kubeadm join makes it world-readable, kubeadm init does not
			}
			items = append(items, it)
		}
		return items
	},
	NodeStep: certsStep,
	NodeNeeds: func(n *topology.Node) []state.Address {
		needs := []state.Address{topology.StepAddress(n.Target, topology.PreparePhase)}
		if n.Target != n.Cluster.Primary {
			needs = append(needs, topology.StepAddress(n.Cluster.Primary, topology.CertsPhase))
		}
		if n.Upgrades() && n.Cluster.Up.Raises && n.Cluster.Report != nil {
			// A role binding there grants the rights that a newer version's certificates no longer
			// carry. While the API does not answer, the binding waits for the certificates.
			needs = append(needs, topology.StepAddress(n.Cluster.Target, topology.TokenPhase))
		}
		return append(needs, n.Turn()...)
	},
}

// shownOfCertificates are attributes of certificates and kubeconfigs that change with time or with the
// configuration, while the file stays the same.
var shownOfCertificates = map[string]state.Class{"not_after": state.Shown, "renew_before": state.Shown, DaysLeft: state.Shown}

// authorityItem returns the desired certificate of a CA. The operator's is compared by what
// distinguishes it from every other certificate.
func authorityItem(n *topology.Node, phase string, a topology.CA) state.Item {
	if a.X509 == nil {
		it := certificateItem(n, a.Certificate)
		it.Address = topology.ItemAddress(n.Target, phase, "certificate", a.Base)
		// An existing CA stays as it is: everything depends on it.
		it.Initial = []string{"algorithm", "usages", "dns_names", "common_name"}
		if _, ended := n.Cluster.AtOnce[a.Base]; !ended {
			it.Initial = append(it.Initial, planner.RenewalDue)
		}
		return it
	}
	info := state.CertificateInfoOf(a.X509)
	it := state.Item{
		Address: topology.ItemAddress(n.Target, phase, "certificate", a.Base), Kind: state.KindCertificate, Partial: true,
		Attributes: topology.Attributes("common_name", info.CommonName, "signed_by", info.KeyDigest, "serial", info.Serial, "chain", a.Chain, "not_after", RFC3339(info.NotAfter), "usages", topology.Sorted(info.Usages)),
		Origin:     map[string]state.Source{"": provenance.ClusterOrigin(n.Cluster, a.Block+".certificate")},
		// During a rotation the stages write it.
		CreateOnly: n.Cluster.Rotation(a.Base) != nil,
	}
	if phase == topology.CertsPhase && a.KeyOnHosts() {
		return withKeyAccess(it)
	}
	return it
}

// certificateItem returns a desired certificate. Its signer is known once the CA exists.
func certificateItem(n *topology.Node, c kubeadm.Certificate) state.Item {
	it := state.Item{Address: topology.ItemAddress(n.Target, topology.CertsPhase, "certificate", c.Base), Kind: state.KindCertificate}
	if !topology.Observed(n.Cluster.Fleet) {
		return it
	}
	m := map[string]any{
		"common_name": c.CommonName, "algorithm": c.Algorithm, "usages": topology.Sorted(c.Usages),
		planner.RenewalDue: false, "renew_before": n.Cluster.Certificates.RenewBefore.String(),
		"signed_by": SignedBy(n.Cluster, c.CA),
	}
	if !c.IsCA() {
		m["validity"] = c.Validity.String()
	}
	topology.AddList(m, "organizations", c.Organizations)
	topology.AddList(m, "dns_names", c.DNSNames)
	topology.AddList(m, "ip_addresses", c.IPAddresses)
	it.Attributes, it.Classes, it.Origin = state.FromGo(m), shownOfCertificates, certificateOrigins(n, c)
	return withKeyAccess(it)
}

// certificateOrigins returns the settings that a certificate's values come from, for each of its names
// and addresses separately.
func certificateOrigins(n *topology.Node, c kubeadm.Certificate) map[string]state.Source {
	cl := n.Cluster
	out := map[string]state.Source{
		"": provenance.Usual(cl), "algorithm": provenance.ClusterOrigin(cl, "certificates.algorithm"), "validity": provenance.ClusterOrigin(cl, "certificates.validity"),
		planner.RenewalDue: provenance.ClusterOrigin(cl, "certificates.renew_before", "certificates.validity"),
	}
	setting, ok := sanSettings[c.Name]
	if !ok {
		return out
	}
	if s, ok := n.Origins["name"]; ok && c.CommonName == n.NodeName {
		out["common_name"] = s
	}
	extra := map[string][]string{"apiserver": cl.APIServer.CertSANs, "etcd-server": cl.Etcd.ServerCertSANs, "etcd-peer": cl.Etcd.PeerCertSANs}[c.Name]
	for path, names := range map[string][]string{"dns_names": c.DNSNames, "ip_addresses": c.IPAddresses} {
		for _, name := range names {
			if !slices.ContainsFunc(extra, func(e string) bool { return strings.EqualFold(e, name) }) {
				out[state.JoinPath(path, name)] = nameOrigin(n, name)
				continue
			}
			out[state.JoinPath(path, name)] = provenance.ClusterOrigin(cl, setting)
			out[path] = provenance.ClusterOrigin(cl, setting) // also of those that are no longer in the list
		}
	}
	return out
}

// nameOrigin returns the origin of a name or address in a certificate that is in no list of additional
// names.
func nameOrigin(n *topology.Node, name string) state.Source {
	c := n.Cluster
	endpoint, _, _ := net.SplitHostPort(c.ControlPlaneEndpoint)
	own, named := n.Origins["name"]
	service := func(subnet string) bool {
		_, ips, err := net.ParseCIDR(strings.TrimSpace(subnet))
		return err == nil && ips.Contains(net.ParseIP(name))
	}
	switch {
	case strings.EqualFold(endpoint, name):
		return provenance.ClusterOrigin(c, "control_plane_endpoint")
	case topology.SameAddress(name, n.AdvertiseAddress()) || slices.ContainsFunc(n.AdvertiseAddresses, func(a string) bool { return topology.SameAddress(name, a) }):
		return provenance.NodeOrigin(n, "advertise_addresses", "address")
	case name == n.NodeName && named:
		return own
	case strings.HasSuffix(name, ".svc."+c.Network.DNSDomain):
		return provenance.ClusterOrigin(c, "network.dns_domain")
	case slices.ContainsFunc(strings.Split(c.Network.ServiceSubnet, ","), service):
		return provenance.ClusterOrigin(c, "network.service_subnet")
	}
	return provenance.Usual(c)
}

// sanSettings are the settings that add names and addresses to certificates.
var sanSettings = map[string]string{"apiserver": "api_server.cert_sans", "etcd-server": "etcd.server_cert_sans", "etcd-peer": "etcd.peer_cert_sans"}

func certsStep(n *topology.Node, w topology.PhaseWork) planner.Step {
	w.Changes = slices.DeleteFunc(slices.Clone(w.Changes), func(c planner.Change) bool { return leftToKubelet(n, w, c) })
	if w.Empty() {
		return planner.Step{}
	}
	ops := append(pkiFolders(n), overtaken(n, w)...)
	if n.Target == n.Cluster.Primary {
		ops = append(ops, foundCAs(n, w)...)
	} else if files := sharedFiles(n, w); len(files) > 0 {
		ops = append(ops, planner.CopySecrets{From: n.Cluster.Primary, Files: files})
		if keys := n.Cluster.Keys; lasts(keys) && keys.Source != n.Target && ChangesPair(w, n.ServiceAccountKey()) {
			ops = append(ops, CopyNextKeys(keys))
		}
	}
	if files := broughtFiles(n, w); len(files) > 0 {
		ops = append(ops, planner.ImportSecrets{Files: files})
	}
	ops = append(ops, clientOperations(n, w)...)
	for _, leaf := range Leaves(n) {
		i := slices.IndexFunc(w.Changes, func(c planner.Change) bool { return c.Address.ID() == leaf.Base })
		if _, supplied := SuppliedLeaf(n, leaf); i < 0 || supplied {
			continue
		}
		op := Issue(n, BothNames(n, leaf))
		op.Renew = w.Changes[i].Action != planner.Create
		if leaf.Name == "apiserver" && strandsSuperAdmin(n, op) {
			ops = append(ops, TurnSuperAdmin(n)...)
		}
		ops = append(ops, op)
	}
	s := planner.Step{Operations: append(ops, dropServing(n, w)...)}
	showServing(n, w, &s)
	return s
}

func pkiFolders(n *topology.Node) []planner.Operation {
	dir := n.Cluster.Certificates.Dir
	ops := []planner.Operation{topology.EnsureFolder("/etc/kubernetes", "0755"), topology.EnsureFolder(dir, "0755")}
	if n.IsControlPlane() && n.Cluster.Etcd.External == nil {
		ops = append(ops, topology.EnsureFolder(dir+"/etcd", "0755"))
	}
	return ops
}

// foundCAs creates what all control planes share; existing files are kept.
func foundCAs(n *topology.Node, w topology.PhaseWork) []planner.Operation {
	var ops []planner.Operation
	if n.Cluster.Restored != nil && n.Cluster.Founding {
		return restoredCAs(n, w)
	}
	for _, ca := range n.Cluster.Authorities {
		if ca.KeyLocation == topology.Made && ChangesPair(w, ca.Base) {
			_, ended := n.Cluster.AtOnce[ca.Base]
			if ended {
				ops = append(ops, planner.BundleTrust{To: ExpiredFile(ca), Of: []string{ca.Base + ".crt"}})
			}
			ops = append(ops, planner.IssueCA{CommonName: ca.CommonName, Algorithm: ca.Algorithm, Validity: ca.Validity, To: ca.Base, Renew: ended})
		}
	}
	if sa := n.ServiceAccountKey(); ChangesPair(w, sa) {
		ops = append(ops, planner.IssueKeyPair{Algorithm: Algorithm(n), To: sa})
	}
	return ops
}

// Algorithm returns the algorithm of new keys.
func Algorithm(n *topology.Node) string { return kubeadm.ServiceAccountKeys(n.Input()).Algorithm }

// ChangesPair reports whether a change concerns the file pair with this base path.
func ChangesPair(w topology.PhaseWork, base string) bool {
	return slices.ContainsFunc(w.Changes, func(c planner.Change) bool {
		id := c.Address.ID()
		return id == base || strings.TrimSuffix(strings.TrimSuffix(id, ".key"), ".pub") == base
	})
}

// broughtFiles returns the files that the operator provides: CA certificates on every control plane,
// their keys where they are kept on hosts, and supplied certificates.
func broughtFiles(n *topology.Node, w topology.PhaseWork) []planner.SecretFile {
	var files []planner.SecretFile
	for _, ca := range n.Cluster.Authorities {
		if ca.KeyLocation == topology.Made || !ChangesPair(w, ca.Base) {
			continue
		}
		if ca.KeyLocation == topology.OnHosts {
			// The key comes before the certificate: an existing certificate means that the pair is
			// complete.
			files = append(files, BringFile(n.Cluster, ca.Base+".key", KeyMode, ca.Block+".key"))
		}
		files = append(files, BringFile(n.Cluster, ca.Base+".crt", "0644", ca.Block+".certificate"))
	}
	for _, leaf := range kubeadm.Leaves(n.Input()) {
		if s, ok := SuppliedLeaf(n, leaf); ok && ChangesPair(w, leaf.Base) {
			for _, f := range bring(n, s) {
				if !slices.Contains(files, f) {
					files = append(files, f)
				}
			}
		}
	}
	return files
}

// sharedFiles returns the CAs and keys that another control plane gets from the primary.
func sharedFiles(n *topology.Node, w topology.PhaseWork) []planner.SecretFile {
	var files []planner.SecretFile
	add := func(path, mode string) {
		files = append(files, planner.SecretFile{Path: path, Mode: mode, Owner: topology.Root})
	}
	for _, ca := range n.Cluster.Authorities {
		if ca.KeyLocation == topology.Made && ChangesPair(w, ca.Base) {
			add(ca.Base+".crt", "0644")
			add(ca.Base+".key", KeyMode)
		}
	}
	if sa := n.ServiceAccountKey(); ChangesPair(w, sa) {
		add(sa+".key", KeyMode)
		add(sa+".pub", KeyMode)
	}
	return files
}

// Place returns the source of a path of the cluster block for an error message: where the path is
// written, else the enclosing setting, else the block.
func Place(c *topology.Cluster, path string) state.Source {
	if s := c.Origins.Of(path); s.File != "" {
		return s
	}
	return c.Source
}

func bracket(ip string) string {
	if strings.Contains(ip, ":") {
		return "[" + ip + "]"
	}
	return ip
}
