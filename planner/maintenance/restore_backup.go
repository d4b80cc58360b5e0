package maintenance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// RestoreBackup plans to bring a cluster back from a backup on blank control planes: they are set up as
// when the cluster was bootstrapped, with the CAs and keys of the backup, and etcd starts with its data.
// Workers are left to an apply. An interrupted restore continues.
func RestoreBackup(v *topology.Fleet, header planner.Plan, options planner.Options, c *config.Cluster) (topology.Result, diag.Diagnostics) {
	if d := refuseOccupied(v, c); d != nil {
		return topology.Result{}, diag.Diagnostics{d}
	}
	if d := RefuseOtherCA(v, c); d != nil {
		return topology.Result{}, diag.Diagnostics{d}
	}
	v = v.WithState(withoutControlPlanes(v.Recorded, c.Label), v.Imported)
	for _, n := range v.Config.Nodes {
		if n.Cluster != c.Label || n.Role != config.ControlPlane {
			options.Excludes = append(options.Excludes, planner.Selector{Target: n.Target})
		}
	}
	result, diags := pipeline.Plan(v, header, options)
	return result, append(diag.Diagnostics{diag.Warningf("Changes after the backup are lost", "Cluster %q comes back as it was when %s was taken: objects created since are gone, and those deleted since are back. "+
		"When this is done, run %s, which joins the workers.", c.Label, c.Restored.Backup, remedy.Apply).At(c.Source)}, diags...)
}

// refuseOccupied refuses control planes that are not blank, unless this restore has begun there.
func refuseOccupied(v *topology.Fleet, c *config.Cluster) *diag.Diagnostic {
	var lines []string
	for _, n := range v.Config.NodesOf(c.Label, config.ControlPlane) {
		r := v.Reports[n.Target]
		switch {
		case r == nil:
		case topology.RestoredFrom(r) == c.Restored.SHA256:
			return nil
		case !topology.Traceless(r):
			lines = append(lines, fmt.Sprintf("  %s (%s)", n.Target, n.Address))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return diag.Errorf("Control planes are not blank", "A backup is restored onto blank hosts, and these hold files of a cluster:\n\n%s\n\n"+
		"If the cluster works, nothing has to be restored. If its etcd has lost its quorum and these hosts still have its CA, rebuild etcd alone, from a snapshot: %s. "+
		"If nothing there is needed any more, clean the hosts (kubeadm reset), and run the same command again.", strings.Join(lines, "\n"), remedy.Restore.On("FILE")).At(c.Source)
}

// RefuseOtherCA refuses a backup of another cluster, judged by its CA: that of the state, and those of
// the hosts that are left.
func RefuseOtherCA(v *topology.Fleet, c *config.Cluster) *diag.Diagnostic {
	if v.Recorded != nil && v.Recorded.Clusters[c.Label] != nil {
		if ca := v.Recorded.Clusters[c.Label].CA; ca != "" && ca != c.Restored.CA {
			return diag.Errorf("Backup is of another cluster", "%s has the CA %s, and the state knows that of cluster %q as %s. "+
				"Use a backup of this cluster. If the CA was rotated since, only a later backup fits the nodes that are left.", c.Restored.Backup, topology.Short(c.Restored.CA), c.Label, topology.Short(ca)).At(c.Source)
		}
	}
	for _, n := range v.Config.Nodes {
		r := v.Reports[n.Target]
		if n.Cluster != c.Label || n.Role == config.ControlPlane || r == nil {
			continue
		}
		if cas := topology.CADigestsIn(r, c.Certificates.Dir+"/ca.crt"); len(cas) > 0 && !slices.Contains(cas, c.Restored.CA) {
			return diag.Errorf("Backup is of another cluster", "%s has the CA %s, and %s (%s) trusts %s. "+
				"Use a backup of the cluster that this host is part of, or clean the host (kubeadm reset).", c.Restored.Backup, topology.Short(c.Restored.CA), n.Target, n.Address, topology.Short(cas[0])).At(c.Source).For(n.Target)
		}
	}
	return nil
}

// withoutControlPlanes returns a state that does not record a cluster and its control planes, which are
// gone.
func withoutControlPlanes(st *state.State, label string) *state.State {
	if st == nil {
		return nil
	}
	out := *st
	out.Clusters, out.Nodes = maps.Clone(st.Clusters), maps.Clone(st.Nodes)
	delete(out.Clusters, label)
	gone := map[state.Target]bool{state.ClusterTarget(label): true}
	for t, n := range st.Nodes {
		if n.Cluster == label && n.Role == string(config.ControlPlane) {
			gone[t] = true
			delete(out.Nodes, t)
		}
	}
	out.Items = slices.DeleteFunc(slices.Clone(st.Items), func(it state.Item) bool { return gone[it.Address.Target] })
	return &out
}
