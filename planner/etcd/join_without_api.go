package etcd

import (
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/topology"
)

// JoinsWithoutAPI refuses to add members to the etcd of an existing cluster whose API does not
// answer, in a plan that does not repair it: without a quorum etcd accepts no member, and if quorum
// is lost for good every apply would fail the same way.
func JoinsWithoutAPI(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if v.Destroy || c.Seen != nil || c.Founding || c.Etcd.External != nil {
			continue
		}
		names, mends := joinersIn(c, p)
		if len(names) == 0 || mends {
			continue
		}
		diags = append(diags, diag.Errorf(joinsInTheDark, "%s would join cluster %q, but it is unknown whether etcd holds quorum: %s. "+
			"Without a quorum etcd accepts no member. Bring the API back first, and plan again; a host that has just been started needs a minute for that. "+
			"If a quorum of the members is lost for good, restore etcd from a snapshot; the missing ones join then:\n\n  %s",
			strings.Join(names, ", "), c.Label, observe.DarkTargets(c)[0].Reason, remedy.Restore.On("FILE")).At(c.Source).For(c.Target))
	}
	return diags
}

// joinersIn returns the nodes whose members a plan adds to etcd, and whether the plan also changes
// a control plane that has joined, which may bring the API back.
func joinersIn(c *topology.Cluster, p *planner.Plan) (names []string, mends bool) {
	for i := range p.Steps {
		s := &p.Steps[i]
		switch n := c.Node(s.Target); {
		case n == nil || !n.IsControlPlane():
		case planner.ChangesMembers(s):
			names = append(names, n.Target.String())
		case !n.Joins():
			mends = true
		}
	}
	return names, mends
}
