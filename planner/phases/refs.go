package phases

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// parseRef reads what state.ObjectRef.String prints. The API version may hold
// a slash, the kind begins with a capital letter and the group does not.
func parseRef(s string) state.ObjectRef {
	parts := strings.Split(s, "/")
	i := 0
	for i < len(parts) && (parts[i] == "" || parts[i][0] < 'A' || parts[i][0] > 'Z') {
		i++
	}
	r := state.ObjectRef{APIVersion: strings.Join(parts[:i], "/")}
	rest := parts[i:]
	switch len(rest) {
	case 2:
		r.Kind, r.Name = rest[0], rest[1]
	case 3:
		r.Kind, r.Namespace, r.Name = rest[0], rest[1], rest[2]
	}
	return r
}

// ClusterQuery says what to look at in a cluster: what is desired or recorded of it.
// replace are nodes that are to leave it and to join again.
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
		known := &cluster{Cluster: c, view: &View{Recorded: recorded}, target: state.ClusterTarget(label)}
		for _, r := range known.refsOfBlocks() {
			add(r)
		}
		for _, a := range c.Addons {
			for _, o := range a.Objects {
				add(refOf(o.Value))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(known.foreignNamespaces())) {
			add(namespaceRef(name))
		}
	}
	q.PodsOn, q.Evicting = leaving(cfg, recorded, label, replace), evicting(cfg, recorded, label)
	if recorded != nil {
		for i := range recorded.Items {
			it := &recorded.Items[i]
			if it.Kind == state.KindObject && it.Address.Target.Name == label {
				add(parseRef(it.Address.ID()))
			}
		}
	}
	return q
}

// observeInCluster looks an item up in what the API shows.
func (v *View) observeInCluster(it *state.Item) (state.Value, bool) {
	c := v.clusterOf(it.Address.Target)
	if c == nil || c.report == nil {
		return state.Value{}, false
	}
	switch it.Kind {
	case state.KindObject:
		ref := parseRef(it.Address.ID())
		o, ok := c.report.Objects[ref]
		if !ok {
			return state.Value{}, false
		}
		switch {
		case ref == state.ClusterInfo:
			return c.observeClusterInfo(it, o), true
		case tokenID(it.Address) != "":
			return v.tokenAttributes(it, o), true
		case ref == certsSecret && it.Address.Phase == uploadCertsPhase:
			return v.certsAttributes(it, o), true
		}
		return c.withLeftRules(ref, c.withStaleProxies(ref, objectAttributes(ref, c.withOmitted(it.Address.Target, ref, o)))), true
	case state.KindEtcdMember:
		for _, m := range c.report.Members {
			if len(m.PeerURLs) > 0 && m.PeerURLs[0] == it.Address.ID() {
				return attributes("voter", !m.Learner), true
			}
		}
		return state.Value{}, false
	case state.KindNodeObject:
		n, ok := c.report.Nodes[it.Address.ID()]
		return nodeAttributes(n.Labels, n.Annotations, n.Taints), ok
	}
	return state.Value{}, false
}

func (v *View) clusterOf(t state.Target) *cluster {
	for _, c := range v.clusters {
		if t.Type != state.TypeNode && t.Name == c.Label {
			return c
		}
		if t.Type == state.TypeNode && c.node(t) != nil {
			return c
		}
	}
	return nil
}
