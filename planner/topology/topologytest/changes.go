package topologytest

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Down makes a node's host not answer: its kubelet does not report and its etcd member is
// unhealthy.
func Down(t state.Target) Change {
	return func(v *topology.Fleet) {
		delete(v.Reports, t)
		v.Unobserved[t] = state.Unobserved{Target: t, Reason: "cannot connect to " + t.Key}
		if c := v.ClusterReports[Label]; c != nil {
			n := c.Nodes[NodeName(t)]
			n.Ready, n.Silent = false, true
			c.Nodes[NodeName(t)] = n
		}
		MemberDown(t)(v)
	}
}

// MemberDown makes a control plane's etcd member not answer.
func MemberDown(t state.Target) Change {
	return Members(func(members []state.EtcdMember) []state.EtcdMember {
		for i := range members {
			if members[i].Name == NodeName(t) {
				members[i].Healthy, members[i].Leader, members[i].Version = false, false, ""
			}
		}
		return members
	})
}

// Members changes the members that etcd reports.
func Members(change func([]state.EtcdMember) []state.EtcdMember) Change {
	return func(v *topology.Fleet) {
		if c := v.ClusterReports[Label]; c != nil {
			c.Members = change(c.Members)
		}
	}
}

// SilentAPI makes the API not answer, so that the members of etcd are unknown as well.
func SilentAPI() Change {
	return func(v *topology.Fleet) {
		delete(v.ClusterReports, Label)
		v.ClusterErrors[Label] = "cannot reach the API"
	}
}

// Without removes the block of a node from the configuration.
func Without(t state.Target) Change {
	return func(v *topology.Fleet) {
		v.Config.Nodes = slices.DeleteFunc(v.Config.Nodes, func(n *config.Node) bool { return n.Target == t })
	}
}

// Joins makes a control plane blank and unknown to API, etcd and state: it is new.
func Joins(t state.Target) Change {
	return func(v *topology.Fleet) {
		v.Reports[t] = Blank(9, 0).Reports[t]
		delete(v.Recorded.Nodes, t)
		delete(v.ClusterReports[Label].Nodes, NodeName(t))
		delete(v.ClusterReports[Label].StaticPods, "kube-apiserver-"+NodeName(t))
		Members(func(members []state.EtcdMember) []state.EtcdMember {
			return slices.DeleteFunc(members, func(m state.EtcdMember) bool { return m.Name == NodeName(t) })
		})(v)
	}
}

// Cluster changes the block of the cluster.
func Cluster(change func(*config.Cluster)) Change {
	return func(v *topology.Fleet) { change(v.Config.Clusters[0]) }
}

// Node changes the API's report of a node.
func Node(t state.Target, change func(*state.NodeReport)) Change {
	return func(v *topology.Fleet) {
		n := v.ClusterReports[Label].Nodes[NodeName(t)]
		change(&n)
		v.ClusterReports[Label].Nodes[NodeName(t)] = n
	}
}

// File changes a host's report of a file.
func File(t state.Target, path string, change func(*state.FileReport)) Change {
	return func(v *topology.Fleet) {
		f := v.Reports[t].Files[path]
		change(&f)
		v.Reports[t].Files[path] = f
	}
}

// Pods adds pods to the nodes that they name.
func Pods(pods ...state.PodReport) Change {
	return func(v *topology.Fleet) {
		c := v.ClusterReports[Label]
		c.Pods = append(c.Pods, pods...)
	}
}

// Host changes the report of a host.
func Host(t state.Target, change func(*state.Report)) Change {
	return func(v *topology.Fleet) { change(v.Reports[t]) }
}

// Wiped makes a host blank: it has neither files of a cluster nor kubewright's marks.
func Wiped(t state.Target) Change {
	return func(v *topology.Fleet) {
		v.Reports[t] = &state.Report{Facts: v.Reports[t].Facts, Files: map[string]state.FileReport{}, Units: map[string]state.UnitReport{}}
	}
}

// Record changes what the state records of a node.
func Record(t state.Target, change func(*state.RecordedNode)) Change {
	return func(v *topology.Fleet) { change(v.Recorded.Nodes[t]) }
}

// Manifests makes the manifests of a control plane's components have a version, and arguments.
func Manifests(t state.Target, version string, args ...string) Change {
	return func(v *topology.Fleet) {
		for _, component := range topology.ControlPlaneVersions {
			content := "spec:\n  containers:\n  - name: " + component + "\n    image: registry.k8s.io/" + component + ":v" + version + "\n    command:\n    - " + component + "\n"
			for _, a := range args {
				content += "    - " + a + "\n"
			}
			File(t, topology.Manifest(component), func(f *state.FileReport) { f.Content = []byte(content) })(v)
		}
	}
}

// Kubelet makes the API report a version of a node's kubelet.
func Kubelet(t state.Target, version string) Change {
	return Node(t, func(n *state.NodeReport) { n.KubeletVersion = "v" + version })
}

// Installed makes the kubelet on a host have a version.
func Installed(t state.Target, version string) Change {
	return Host(t, func(r *state.Report) { r.Facts.KubeletVersion = version })
}

// From makes a cluster run a version, which the last apply has left: its configuration and the
// kubelets that are installed on its hosts keep theirs.
func From(version string) Change {
	return func(v *topology.Fleet) {
		v.ClusterReports[Label].Version, v.Recorded.Clusters[Label].Version = "v"+version, "v"+version
		for _, n := range v.Config.Nodes {
			Kubelet(n.Target, version)(v)
			if n.Role == config.ControlPlane {
				Manifests(n.Target, version)(v)
			}
		}
	}
}

// To makes the configuration ask for a version.
func To(version string) Change {
	return Cluster(func(c *config.Cluster) { c.KubernetesVersion = version })
}
