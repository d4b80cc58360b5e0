package pipeline

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Describe adds to clusters and nodes their recorded and their desired traits. Addons have none.
func Describe(v *topology.Fleet, resources []planner.ResourceChange) {
	for i := range resources {
		r := &resources[i]
		r.Before = drift.TraitsBefore(v, r.Target)
		if r.Action != planner.Delete && r.Action != planner.Forget {
			r.After = traitsAfter(v, r.Target)
		}
	}
}

func traitsAfter(v *topology.Fleet, t state.Target) map[string]string {
	for _, c := range v.Clusters {
		if c.Target == t {
			return drift.Traits{"kubernetes_version": c.KubernetesVersion}.Known()
		}
	}
	if n := v.Find(t); n != nil {
		own := drift.Traits{"cluster": n.Cluster.Label, "role": string(n.Role), "name": n.NodeName, "address": n.Address}
		if !slices.Equal(n.AdvertiseAddresses, []string{n.Address}) {
			own["advertise_addresses"] = strings.Join(n.AdvertiseAddresses, ",")
		}
		return own.Known()
	}
	return nil
}
