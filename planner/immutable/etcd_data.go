package immutable

import (
	"fmt"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
)

// checkEtcdMoved refuses a patch of etcd's pod that moves its data to another folder of the host:
// the member would start without data. A member whose folder was already changed, by hand or by a
// failed apply, may return to its data.
func checkEtcdMoved(c *topology.Cluster) diag.Diagnostics {
	if c.Etcd.External != nil {
		return nil
	}
	var diags diag.Diagnostics
	for _, n := range c.ControlPlanes() {
		had, wants, moved := staticpod.EtcdMoved(n)
		if !moved || staticpod.ReturnsToFormerData(n, wants) {
			continue
		}
		patches := kubeadm.Patches(n.Input(), "etcd")
		if len(patches) == 0 {
			continue // the argument or the setting is refused
		}
		text := fmt.Sprintf("the data of etcd on %s in %s, and the patch moves it to %s", n.Target, staticpod.FolderName(had), staticpod.FolderName(wants))
		diags = append(diags, refuseFixed(c, c.Fleet.Config.Secrets.Text(text), dependsOnIt, patches[len(patches)-1].Source))
	}
	return diags
}
