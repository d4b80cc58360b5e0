package staticpod

import (
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Health returns the cached kubeadm.Healthz of a component, for all steps that wait for it. It is empty
// where the component's manifest cannot be rendered.
func Health(n *topology.Node, component string) topology.Health {
	m, key := n.Cluster.Fleet.Cache, topology.HealthKey{Node: n, Component: component}
	h, ok := m.Health[key]
	if !ok {
		if tree, err := ManifestTree(n, component); err == nil {
			h.URL, h.Insecure = kubeadm.Healthz(n.Input(), component, tree)
		}
		m.Health[key] = h
	}
	return h
}

// StaticPod renders the manifest of a component. Etcd's is that of an existing member.
func StaticPod(n *topology.Node, component string) ([]byte, error) {
	m, key := n.Cluster.Fleet.Cache, topology.PodKey{In: n.Input(), Component: component}
	p, ok := m.Pods[key]
	if !ok {
		p.Content, p.Err = Rendered(key.In, component)
		m.Pods[key] = p
	}
	return p.Content, p.Err
}

// Rendered renders the manifest of a component; etcd's as that of an existing member.
func Rendered(in kubeadm.Input, component string) ([]byte, error) {
	if component == "etcd" {
		return kubeadm.EtcdPod(in, "", true)
	}
	return kubeadm.StaticPod(in, component)
}

// ManifestTree returns the parsed manifest of a component.
func ManifestTree(n *topology.Node, component string) (state.Value, error) {
	content, err := StaticPod(n, component)
	if err != nil {
		return state.Value{}, err
	}
	return n.Cluster.Fleet.Cache.Tree(state.KindStaticPod, content)
}

// KubeadmObjects returns the objects that kubeadm would create, rendered once for all phases; none
// while no primary was observed.
func KubeadmObjects(c *topology.Cluster) []kubeadm.Object {
	primary := c.PrimaryNode()
	if primary == nil || primary.Report == nil {
		return nil
	}
	m, key := c.Fleet.Cache, provenance.PrimaryInput(c)
	if _, ok := m.Objects[key]; !ok {
		m.Objects[key] = kubeadm.Objects(key)
	}
	return m.Objects[key]
}
