package kubelet

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// WarnSettings warns of settings with which kubelets start, and the cluster does not work as it did:
// pods that ask another DNS service than the cluster's, and requests that nothing approves.
func WarnSettings(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if v.Destroy || c.Disowned {
			continue
		}
		var elsewhere, unapproved []*topology.Node
		for _, n := range c.Nodes {
			if c.Kubelet.Config.IsNull() && n.Kubelet.Config.IsNull() && len(c.Patches)+len(n.Patches) == 0 {
				continue
			}
			tree, err := v.Cache.Tree(state.KindYAMLFile, pki.KubeletConfig(n))
			topology.Must(nil, err)
			if !c.DNS.Disabled && asksElsewhere(tree.Get("clusterDNS"), kubeadm.DNSAddress(n.Input())) {
				elsewhere = append(elsewhere, n)
			}
			if tree.Get("serverTLSBootstrap").AsBool() {
				unapproved = append(unapproved, n)
			}
		}
		if len(elsewhere) > 0 {
			n := elsewhere[0]
			diags.Append(diag.Warningf("Pods do not ask the cluster's DNS", "clusterDNS of %s does not have %s, the address of the cluster's DNS service: pods there resolve no names of Services, unless what they ask instead forwards them. "+
				"Leave clusterDNS out, or write that address.", drain.Names(elsewhere), kubeadm.DNSAddress(n.Input())).At(pki.Place(c, "kubelet.config")).For(c.Target))
		}
		if len(unapproved) > 0 {
			diags.Append(diag.Warningf("Requests for serving certificates wait for an approval", "serverTLSBootstrap has the kubelets of %s request the certificates that they serve with, and nothing in a new cluster approves such requests (kubectl get csr): until they are approved, logs and exec fail there. "+
				"Write certificates { kubelet_serving = true } instead, or run what approves them.", drain.Names(unapproved)).At(pki.Place(c, "kubelet.config")).For(c.Target))
		}
	}
	return diags
}

// asksElsewhere reports whether pods ask other addresses than that of the cluster's DNS service. A
// link-local one is a cache of the node, which asks it.
func asksElsewhere(asked state.Value, service string) bool {
	list := asked.AsList()
	return len(list) > 0 && !slices.ContainsFunc(list, func(a state.Value) bool {
		ip, err := netip.ParseAddr(strings.TrimSpace(a.AsString()))
		return a.AsString() == service || err == nil && (ip.IsLinkLocalUnicast() || ip.String() == service)
	})
}
