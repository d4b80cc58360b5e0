package observe

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// ClusterQuery returns the query of a cluster: everything that is desired or recorded there.
// replace are nodes that are removed from it and join again.
func ClusterQuery(cfg *config.Config, recorded *state.State, label string, replace ...state.Target) state.ClusterQuery {
	q := state.ClusterQuery{}
	seen := map[state.ObjectRef]bool{}
	add := func(r state.ObjectRef) {
		if !seen[r] {
			seen[r] = true
			q.Objects = append(q.Objects, r)
		}
	}
	if c := cfg.Cluster(label); c != nil {
		q.Etcd, q.Kubelet = c.Etcd.External == nil, c.KubernetesVersion
		if planes := cfg.NodesOf(label, config.ControlPlane); len(planes) > 0 {
			for _, o := range kubeadm.Objects(kubeadm.Input{Cluster: c, Node: planes[0], Facts: &state.Facts{}}) {
				add(o.Ref)
			}
		}
		known := &topology.Cluster{Cluster: c, Fleet: &topology.Fleet{Recorded: recorded}, Target: state.ClusterTarget(label)}
		for _, r := range objects.RefsOfBlocks(known) {
			add(r)
		}
		for _, a := range c.Addons {
			for _, o := range a.Objects {
				add(objects.RefOf(o.Value))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(objects.ForeignNamespaces(known))) {
			add(objects.NamespaceRef(name))
		}
	}
	q.PodsOn, q.Evicting = slices.Concat(topology.LeavingNodeNames(cfg, recorded, label, replace), kubelet.NodesWithCommitments(cfg, recorded, label)), kubelet.NoExecuteTaints(cfg, recorded, label)
	// Without a control plane in the configuration the whole cluster is destroyed.
	q.Losses = len(cfg.NodesOf(label, config.ControlPlane)) == 0
	if recorded != nil {
		for i := range recorded.Items {
			it := &recorded.Items[i]
			if it.Kind == state.KindObject && it.Address.Target.Name == label {
				add(objects.ParseRef(it.Address.ID()))
			}
		}
	}
	return q
}

// observeInCluster returns the attributes of an item in the report of the API.
func observeInCluster(v *topology.Fleet, it *state.Item) (state.Value, bool) {
	c := v.ClusterOf(it.Address.Target)
	if c == nil || c.Report == nil {
		return state.Value{}, false
	}
	switch it.Kind {
	case state.KindObject:
		ref := objects.ParseRef(it.Address.ID())
		o, ok := c.Report.Objects[ref]
		if !ok {
			return state.Value{}, false
		}
		switch {
		case ref == state.ClusterInfo:
			return objects.ObserveClusterInfo(c, it, o), true
		case objects.TokenID(it.Address) != "":
			return objects.TokenAttributes(v, it, o), true
		case ref == objects.CertsSecret && it.Address.Phase == topology.UploadCertsPhase:
			return objects.CertsAttributes(v, it, o), true
		}
		return objects.WithLeftRules(c, ref, objects.WithStaleProxies(c, ref, provenance.ObjectAttributes(ref, objects.WithOmitted(c, it.Address.Target, ref, o)))), true
	case state.KindEtcdMember:
		for _, m := range c.Report.Members {
			if len(m.PeerURLs) > 0 && m.PeerURLs[0] == it.Address.ID() {
				return topology.Attributes("voter", !m.Learner), true
			}
		}
		return state.Value{}, false
	case state.KindNodeObject:
		n, ok := c.Report.Nodes[it.Address.ID()]
		return kubelet.ObservedNode(v.Find(it.Address.Target), n), ok
	}
	return state.Value{}, false
}
