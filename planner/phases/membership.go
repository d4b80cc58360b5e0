package phases

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// lostMembers refuses a control plane that etcd counts as a member which has
// run, on a host that holds no data of it: a reinstalled host, or another one
// at its address. A member that comes back without what it has promised to
// remember can make the others lose acknowledged writes, so it has to be
// removed before the host joins anew (etcd: runtime reconfiguration).
func (c *cluster) lostMembers() diag.Diagnostics {
	var diags diag.Diagnostics
	if c.report == nil || c.Etcd.External != nil {
		return nil
	}
	for _, n := range c.controlPlanes() {
		if n.report == nil || n.report.Files[n.etcdData()].Exists {
			continue
		}
		i := slices.IndexFunc(c.report.Members, func(m state.EtcdMember) bool {
			return m.Name != "" && slices.Contains(m.PeerURLs, n.peerURL())
		})
		if i < 0 {
			continue
		}
		m := c.report.Members[i]
		diags = append(diags, diag.Errorf("Etcd member has lost its data",
			"Etcd counts %s (%s) as member %s, but the host holds no data of it: it was reinstalled, or another host has its address. "+
				"Nothing is changed: a member that comes back without its data can make the cluster lose writes. "+
				"While the others hold quorum, take the member out, and plan again:\n\n"+
				"  etcdctl member remove %s   (on another control plane, in its etcd container)",
			n.target, n.Address, m.Name, m.ID).At(n.Source).For(n.target))
	}
	return diags
}
