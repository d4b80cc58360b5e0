package phases

import (
	"net"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// certs makes the CAs and the service account keys on the founder, brings
// them to the other control planes, and issues each control plane its leaves.
// What is the operator's is brought instead of made.
var certs = phase{
	name: certsPhase,
	nodeItems: func(n *node) []state.Item {
		if !n.isControlPlane() {
			return nil
		}
		var items []state.Item
		for _, ca := range n.cluster.authorities {
			items = append(items, n.authorityItem(certsPhase, ca))
		}
		for _, leaf := range n.leaves() {
			if s, ok := n.suppliedLeaf(leaf); ok {
				items = append(items, n.suppliedItem(s))
				continue
			}
			items = append(items, n.certificateItem(leaf))
		}
		items = append(items, n.clientItems()...)
		sa := n.serviceAccountKey()
		for _, suffix := range []string{".key", ".pub"} {
			it := state.Item{
				Address: item(n.target, certsPhase, "file", sa+suffix), Kind: state.KindKey,
				Attributes: attributes("mode", keyMode, "owner", root),
			}
			if suffix == ".pub" && n.adoption() != nil {
				it.Initial = []string{"mode"} // kubeadm join lets everybody read it, kubeadm init does not
			}
			items = append(items, it)
		}
		return items
	},
	nodeStep: certsStep,
	nodeNeeds: func(n *node) []state.Address {
		needs := []state.Address{step(n.target, preparePhase)}
		if n.target != n.cluster.seat {
			needs = append(needs, step(n.cluster.seat, certsPhase))
		}
		if n.upgrades() && n.cluster.up.raises && n.cluster.report != nil {
			// What a newer version's certificates no longer say is said by a role
			// binding there. While the API is silent it waits for them.
			needs = append(needs, step(n.cluster.target, tokenPhase))
		}
		return append(needs, n.turn()...)
	},
}

// shownOfCertificates are attributes of certificates and kubeconfigs that time
// or the configuration's wish changes, and no file.
var shownOfCertificates = map[string]state.Class{"not_after": state.Shown, "renew_before": state.Shown, daysLeft: state.Shown}

func (n *node) serviceAccountKey() string { return n.cluster.Certificates.Dir + "/sa" }

// authorityItem is the desired certificate of a CA. That of the operator's is
// compared by what tells it from every other.
func (n *node) authorityItem(phase string, a authority) state.Item {
	if a.certificate == nil {
		it := n.certificateItem(a.Certificate)
		it.Address = item(n.target, phase, "certificate", a.Base)
		// A CA that is there stays as it is: everything rests on it.
		it.Initial = []string{"algorithm", "usages", "dns_names", "common_name"}
		if _, ended := n.cluster.atOnce[a.Base]; !ended {
			it.Initial = append(it.Initial, planner.RenewalDue)
		}
		return it
	}
	info := state.CertificateInfoOf(a.certificate)
	it := state.Item{
		Address: item(n.target, phase, "certificate", a.Base), Kind: state.KindCertificate, Partial: true,
		Attributes: attributes("common_name", info.CommonName, "signed_by", info.KeyDigest, "serial", info.Serial, "chain", a.chain, "not_after", rfc3339(info.NotAfter), "usages", sorted(info.Usages)),
		Origin:     map[string]state.Source{"": n.cluster.origin(a.block + ".certificate")},
		// While it is rotated the stages bring it.
		CreateOnly: n.cluster.rotation(a.Base) != nil,
	}
	if phase == certsPhase && a.keyOnHosts() {
		return withKeyAccess(it)
	}
	return it
}

// certificateItem is a desired certificate. Who signs it is known once the CA exists.
func (n *node) certificateItem(c kubeadm.Certificate) state.Item {
	it := state.Item{Address: item(n.target, certsPhase, "certificate", c.Base), Kind: state.KindCertificate}
	if n.cluster.view.pathsOnly {
		return it
	}
	m := map[string]any{
		"common_name": c.CommonName, "algorithm": c.Algorithm, "usages": sorted(c.Usages),
		planner.RenewalDue: false, "renew_before": n.cluster.Certificates.RenewBefore.String(),
		"signed_by": n.cluster.signedBy(c.CA),
	}
	if !c.IsCA() {
		m["validity"] = c.Validity.String()
	}
	addList(m, "organizations", c.Organizations)
	addList(m, "dns_names", c.DNSNames)
	addList(m, "ip_addresses", c.IPAddresses)
	it.Attributes, it.Classes, it.Origin = state.FromGo(m), shownOfCertificates, n.certificateOrigins(c)
	return withKeyAccess(it)
}

// certificateOrigins tells where the values of a certificate come from, of its names
// and addresses each by itself.
func (n *node) certificateOrigins(c kubeadm.Certificate) map[string]state.Source {
	cl := n.cluster
	out := map[string]state.Source{
		"": cl.usual(), "algorithm": cl.origin("certificates.algorithm"), "validity": cl.origin("certificates.validity"),
		planner.RenewalDue: cl.origin("certificates.renew_before", "certificates.validity"),
	}
	setting, ok := sanSettings[c.Name]
	if !ok {
		return out
	}
	if s, ok := n.Origins["name"]; ok && c.CommonName == n.name {
		out["common_name"] = s
	}
	extra := map[string][]string{"apiserver": cl.APIServer.CertSANs, "etcd-server": cl.Etcd.ServerCertSANs, "etcd-peer": cl.Etcd.PeerCertSANs}[c.Name]
	for path, names := range map[string][]string{"dns_names": c.DNSNames, "ip_addresses": c.IPAddresses} {
		for _, name := range names {
			if !slices.ContainsFunc(extra, func(e string) bool { return strings.EqualFold(e, name) }) {
				out[state.JoinPath(path, name)] = n.nameOrigin(name)
				continue
			}
			out[state.JoinPath(path, name)] = cl.origin(setting)
			out[path] = cl.origin(setting) // also of those that are no longer in the list
		}
	}
	return out
}

// nameOrigin is where a name or address of a certificate comes from that no list of
// such has.
func (n *node) nameOrigin(name string) state.Source {
	c := n.cluster
	endpoint, _, _ := net.SplitHostPort(c.ControlPlaneEndpoint)
	own, named := n.Origins["name"]
	service := func(subnet string) bool {
		_, ips, err := net.ParseCIDR(strings.TrimSpace(subnet))
		return err == nil && ips.Contains(net.ParseIP(name))
	}
	switch {
	case strings.EqualFold(endpoint, name):
		return c.origin("control_plane_endpoint")
	case sameAddress(name, n.AdvertiseAddress()) || slices.ContainsFunc(n.AdvertiseAddresses, func(a string) bool { return sameAddress(name, a) }):
		return n.origin("advertise_addresses", "address")
	case name == n.name && named:
		return own
	case strings.HasSuffix(name, ".svc."+c.Network.DNSDomain):
		return c.origin("network.dns_domain")
	case slices.ContainsFunc(strings.Split(c.Network.ServiceSubnet, ","), service):
		return c.origin("network.service_subnet")
	}
	return c.usual()
}

// sanSettings are where the configuration adds names and addresses to certificates.
var sanSettings = map[string]string{"apiserver": "api_server.cert_sans", "etcd-server": "etcd.server_cert_sans", "etcd-peer": "etcd.peer_cert_sans"}

func certsStep(n *node, w work) planner.Step {
	if w.empty() {
		return planner.Step{}
	}
	ops := append(n.pkiFolders(), n.overtaken(w)...)
	if n.target == n.cluster.seat {
		ops = append(ops, n.foundCAs(w)...)
	} else if files := n.sharedFiles(w); len(files) > 0 {
		ops = append(ops, planner.CopySecrets{From: n.cluster.seat, Files: files})
		if keys := n.cluster.keys; keys.lasts() && keys.source != n.target && w.touches(n.serviceAccountKey()) {
			ops = append(ops, keys.bringNext())
		}
	}
	if files := n.broughtFiles(w); len(files) > 0 {
		ops = append(ops, planner.ImportSecrets{Files: files})
	}
	ops = append(ops, n.clientOperations(w)...)
	for _, leaf := range n.leaves() {
		i := slices.IndexFunc(w.changes, func(c planner.Change) bool { return c.Address.ID() == leaf.Base })
		if _, supplied := n.suppliedLeaf(leaf); i < 0 || supplied {
			continue
		}
		op := n.issue(n.bothNames(leaf))
		op.Renew = w.changes[i].Action != planner.Create
		ops = append(ops, op)
	}
	return planner.Step{Operations: ops}
}

func (n *node) pkiFolders() []planner.Operation {
	dir := n.cluster.Certificates.Dir
	ops := []planner.Operation{folder("/etc/kubernetes", "0755"), folder(dir, "0755")}
	if n.cluster.Etcd.External == nil {
		ops = append(ops, folder(dir+"/etcd", "0755"))
	}
	return ops
}

// foundCAs makes what all control planes share; what exists is kept.
func (n *node) foundCAs(w work) []planner.Operation {
	var ops []planner.Operation
	for _, ca := range n.cluster.authorities {
		if ca.custody == made && w.touches(ca.Base) {
			_, ended := n.cluster.atOnce[ca.Base]
			if ended {
				ops = append(ops, planner.BundleTrust{To: ca.endedFile(), Of: []string{ca.Base + ".crt"}})
			}
			ops = append(ops, planner.IssueCA{CommonName: ca.CommonName, Algorithm: ca.Algorithm, Validity: ca.Validity, To: ca.Base, Renew: ended})
		}
	}
	if sa := n.serviceAccountKey(); w.touches(sa) {
		ops = append(ops, planner.IssueKeyPair{Algorithm: n.algorithm(), To: sa})
	}
	return ops
}

// algorithm is that of new keys.
func (n *node) algorithm() string { return kubeadm.ServiceAccountKeys(n.input()).Algorithm }

// touches tells that a change concerns the file pair with this base path.
func (w work) touches(base string) bool {
	return slices.ContainsFunc(w.changes, func(c planner.Change) bool {
		id := c.Address.ID()
		return id == base || strings.TrimSuffix(strings.TrimSuffix(id, ".key"), ".pub") == base
	})
}

// broughtFiles are the operator's: CA certificates on every control plane, their
// keys where they are to lie there, and supplied certificates.
func (n *node) broughtFiles(w work) []planner.SecretFile {
	var files []planner.SecretFile
	for _, ca := range n.cluster.authorities {
		if ca.custody == made || !w.touches(ca.Base) {
			continue
		}
		if ca.custody == onHosts {
			// Before the certificate: one that exists means that the pair is whole.
			files = append(files, n.cluster.bring(ca.Base+".key", keyMode, ca.block+".key"))
		}
		files = append(files, n.cluster.bring(ca.Base+".crt", "0644", ca.block+".certificate"))
	}
	for _, leaf := range kubeadm.Leaves(n.input()) {
		if s, ok := n.suppliedLeaf(leaf); ok && w.touches(leaf.Base) {
			for _, f := range n.bring(s) {
				if !slices.Contains(files, f) {
					files = append(files, f)
				}
			}
		}
	}
	return files
}

// sharedFiles are the CAs and keys that a further control plane gets from the seat.
func (n *node) sharedFiles(w work) []planner.SecretFile {
	var files []planner.SecretFile
	add := func(path, mode string) {
		files = append(files, planner.SecretFile{Path: path, Mode: mode, Owner: root})
	}
	for _, ca := range n.cluster.authorities {
		if ca.custody == made && w.touches(ca.Base) {
			add(ca.Base+".crt", "0644")
			add(ca.Base+".key", keyMode)
		}
	}
	if sa := n.serviceAccountKey(); w.touches(sa) {
		add(sa+".key", keyMode)
		add(sa+".pub", keyMode)
	}
	return files
}

// place is where somebody looks who reads of a path of the cluster block: where it
// is written, what encloses that, or the block when nothing of it is written.
func (c *cluster) place(path string) state.Source {
	if s := c.Origins.Of(path); s.File != "" {
		return s
	}
	return c.Source
}

// minor cuts 1.36.3 to 1.36.
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return version
	}
	return parts[0] + "." + parts[1]
}
