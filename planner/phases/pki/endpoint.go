package pki

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// SharedURL returns the URL of the API that the configuration gives to workers.
func SharedURL(c *topology.Cluster) string {
	planes := c.ControlPlanes()
	if len(planes) == 0 {
		return ""
	}
	in := planes[0].Input()
	in.Node = &config.Node{Role: config.Worker}
	return kubeadm.KubeletServer(in)
}

// FormerHosts returns the host names that nodes and pods of the cluster still use for API servers and
// that the configuration no longer has. Supplied kubeconfigs are not considered: their server is the
// operator's choice.
func FormerHosts(c *topology.Cluster) []string {
	if c.Founding {
		return nil
	}
	wanted := SharedURL(c)
	var out []string
	note := func(server string) {
		if u, err := url.Parse(server); err == nil && server != wanted && u.Hostname() != "" {
			out = append(out, u.Hostname())
		}
	}
	for _, n := range c.Nodes {
		if n.Report == nil || c.Certificates.Supplied != "" {
			continue
		}
		path := topology.AdminConf
		if !n.IsControlPlane() {
			path = topology.KubeletConf
		}
		if k := n.Report.Files[path].Kubeconfig; k != nil {
			note(k.Server)
		}
	}
	if c.Report != nil {
		note(provenance.DocumentIn(c.Report.Objects[provenance.SystemConfigMap("kube-proxy")], "kubeconfig.conf").Get("clusters.0.cluster.server").AsString())
		note(provenance.DocumentIn(c.Report.Objects[state.ClusterInfo], state.ClusterInfoKey).Get("clusters.0.cluster.server").AsString())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// AbsentCallers returns the names that workers which could not be observed use for API servers,
// according to the state, and that the configuration no longer has, each with those workers. They turn
// to the new name when they are observed again.
func AbsentCallers(c *topology.Cluster) map[string][]string {
	v := c.Fleet
	if c.Founding || !topology.Observed(v) || v.Recorded == nil {
		return nil
	}
	out := map[string][]string{}
	for t, n := range v.Recorded.Nodes {
		if n.Cluster != c.Label || n.Role != string(config.Worker) || v.Reports[t] != nil || v.Forgets(t) || v.Abandons(t) {
			continue
		}
		for _, it := range topology.RecordedItems(v.Recorded, t) {
			server := it.Attributes.Get("server").AsString()
			if u, err := url.Parse(server); it.Address.ID() == topology.KubeletConf && err == nil && u.Hostname() != "" && server != SharedURL(c) {
				out[u.Hostname()] = append(out[u.Hostname()], t.String())
			}
		}
	}
	return out
}

// Leaves returns the certificates of a control plane. The API server's includes the names that
// unobserved nodes call it by.
func Leaves(n *topology.Node) []kubeadm.Certificate {
	out, absent := kubeadm.Leaves(n.Input()), slices.Sorted(maps.Keys(AbsentCallers(n.Cluster)))
	for i := range out {
		out[i] = alsoNamed(out[i], absent)
	}
	return out
}

// BothNames adds to an API server's certificate the former names that are still in use.
func BothNames(n *topology.Node, leaf kubeadm.Certificate) kubeadm.Certificate {
	return alsoNamed(leaf, FormerHosts(n.Cluster))
}

// alsoNamed adds names to an API server's certificate.
func alsoNamed(leaf kubeadm.Certificate, hosts []string) kubeadm.Certificate {
	if leaf.Name != "apiserver" {
		return leaf
	}
	for _, host := range hosts {
		if _, err := netip.ParseAddr(host); err != nil {
			leaf.DNSNames = AppendNew(leaf.DNSNames, host)
		} else {
			leaf.IPAddresses = AppendNew(leaf.IPAddresses, host)
		}
	}
	return leaf
}

func AppendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return topology.Sorted(append(slices.Clone(list), s))
}

// Issue returns the operation that issues a leaf certificate.
func Issue(n *topology.Node, leaf kubeadm.Certificate) planner.IssueCertificate {
	return planner.IssueCertificate{
		CA:         Signer(n.Cluster, leaf.CA),
		CommonName: leaf.CommonName, Organizations: leaf.Organizations, DNSNames: leaf.DNSNames, IPAddresses: leaf.IPAddresses,
		Usages: leaf.ExtendedUsages(), Algorithm: leaf.Algorithm, Validity: leaf.Validity, To: leaf.Base,
	}
}

// TurnSuperAdmin points the founder's emergency kubeconfig to the new endpoint. The phase kubeconfig
// does not correct the server in that file.
func TurnSuperAdmin(n *topology.Node) planner.Operations {
	if !n.Report.Files[SuperAdminConf].Exists {
		return nil
	}
	return planner.Operations{planner.SetKubeconfig{Path: SuperAdminConf, Server: SharedURL(n.Cluster)}}
}

// strandsSuperAdmin reports whether a certificate of the API server removes the name by which the
// emergency kubeconfig calls it: a move of the endpoint was interrupted after all clients had turned, and
// nothing else shows the former name any more.
func strandsSuperAdmin(n *topology.Node, issued planner.IssueCertificate) bool {
	if n.Report == nil || n.Report.Files[SuperAdminConf].Kubeconfig == nil {
		return false
	}
	u, err := url.Parse(n.Report.Files[SuperAdminConf].Kubeconfig.Server)
	if err != nil {
		return false
	}
	named := func(dns, addresses []string) bool {
		return slices.Contains(dns, u.Hostname()) || slices.Contains(addresses, u.Hostname())
	}
	return !named(issued.DNSNames, issued.IPAddresses) && slices.ContainsFunc(n.Report.Files[issued.To+".crt"].Certificates, func(c state.CertificateInfo) bool {
		return named(c.DNSNames, c.IPAddresses)
	})
}
