package phases

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// describe adds to clusters and nodes what the state remembers and what their blocks
// say. Of an addon there is nothing to say.
func (v *View) describe(resources []planner.ResourceChange) {
	for i := range resources {
		r := &resources[i]
		r.Before = v.traitsBefore(r.Target)
		if r.Action != planner.Delete && r.Action != planner.Forget {
			r.After = v.traitsAfter(r.Target)
		}
	}
}

// standing are the clusters, their addons and the nodes that the state has, as a plan
// shows them that changes none of them but may be for their names in the state.
func (v *View) standing() []planner.ResourceChange {
	var out []planner.ResourceChange
	seen, before := map[state.Target]bool{}, v.movedFrom()
	add := func(t state.Target, note string) {
		if !seen[t] {
			seen[t] = true
			traits := v.traitsBefore(t)
			out = append(out, planner.ResourceChange{Target: t, Action: planner.NoOp, Note: note, MovedFrom: before[t], Before: traits, After: traits})
		}
	}
	if v.Recorded == nil {
		return nil
	}
	for label, c := range v.Recorded.Clusters {
		add(state.ClusterTarget(label), "Kubernetes "+strings.TrimPrefix(c.Version, "v"))
	}
	for t, n := range v.Recorded.Nodes {
		add(t, n.Address+", "+n.Role)
	}
	for _, it := range v.Recorded.Items {
		add(it.Address.Target, "")
	}
	slices.SortFunc(out, func(a, b planner.ResourceChange) int { return compareTargets(a.Target, b.Target) })
	return out
}

func (v *View) traitsBefore(t state.Target) map[string]string {
	if v.Recorded == nil {
		return nil
	}
	if c := v.Recorded.Clusters[t.Name]; c != nil && t.Type == state.TypeCluster {
		return traits{"kubernetes_version": strings.TrimPrefix(c.Version, "v")}.known() // the cluster says v1.36.3, blocks 1.36.3
	}
	if n := v.Recorded.Nodes[t]; n != nil {
		return traits{"cluster": n.Cluster, "role": n.Role, "name": n.Name, "address": n.Address}.known()
	}
	return nil
}

func (v *View) traitsAfter(t state.Target) map[string]string {
	for _, c := range v.clusters {
		if c.target == t {
			return traits{"kubernetes_version": c.KubernetesVersion}.known()
		}
	}
	if n := v.find(t); n != nil {
		own := traits{"cluster": n.cluster.Label, "role": string(n.Role), "name": n.name, "address": n.Address}
		if !slices.Equal(n.AdvertiseAddresses, []string{n.Address}) {
			own["advertise_addresses"] = strings.Join(n.AdvertiseAddresses, ",")
		}
		return own.known()
	}
	return nil
}

// traits are what tells clusters and nodes apart, by the names of their blocks' settings.
type traits map[string]string

// known leaves out what nobody knows yet, such as the name of a host that was not seen.
func (t traits) known() map[string]string {
	maps.DeleteFunc(t, func(_, value string) bool { return value == "" })
	return t
}
