package pki

import (
	"fmt"
	"net"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// WorkerCA returns the cluster's CA certificate on a worker; on control planes the phase certs has it.
func WorkerCA(n *topology.Node) []state.Item {
	if n.IsControlPlane() {
		return nil
	}
	ca := n.Cluster.Authority(n.Cluster.Certificates.Dir + "/ca")
	if ca.X509 != nil {
		return []state.Item{authorityItem(n, topology.KubeletStartPhase, ca)}
	}
	want := map[string]state.Value{"signed_by": SignedBy(n.Cluster, ca.Base)}
	it := state.Item{Address: topology.ItemAddress(n.Target, topology.KubeletStartPhase, "certificate", ca.Base), Kind: state.KindCertificate, Partial: true}
	if _, ended := n.Cluster.AtOnce[ca.Base]; ended {
		want[planner.RenewalDue] = state.Bool(false)
		it.Classes = shownOfCertificates
	}
	it.Attributes = state.Map(want)
	return []state.Item{it}
}

// BringCA writes the CA's certificate to a worker.
func BringCA(n *topology.Node) []planner.Operation {
	dir := n.Cluster.Certificates.Dir
	ops := []planner.Operation{topology.EnsureFolder("/etc/kubernetes", "0755"), topology.EnsureFolder(dir, "0755")}
	if ca := n.Cluster.Authority(dir + "/ca"); ca.X509 != nil {
		return append(ops, planner.ImportSecrets{Files: []planner.SecretFile{BringFile(n.Cluster, ca.Base+".crt", "0644", ca.Block+".certificate")}})
	}
	return append(ops, planner.CopySecrets{From: n.Cluster.Primary, Files: []planner.SecretFile{{Path: dir + "/ca.crt", Mode: "0644", Owner: topology.Root}}})
}

// ServerOrigin returns the setting behind the server of a kubeconfig: the endpoint of the cluster, or
// the address of the control plane whose own API server is used.
func ServerOrigin(n *topology.Node, server string) state.Source {
	c := n.Cluster
	if c.ControlPlaneEndpoint != "" && strings.Contains(server, c.ControlPlaneEndpoint) {
		return provenance.ClusterOrigin(c, "control_plane_endpoint")
	}
	host, _, _ := net.SplitHostPort(strings.TrimPrefix(server, "https://"))
	for _, o := range append([]*topology.Node{n}, c.ControlPlanes()...) {
		if topology.SameAddress(o.AdvertiseAddress(), host) {
			return provenance.NodeOrigin(o, "advertise_addresses", "address")
		}
	}
	return provenance.ClusterOrigin(c, "control_plane_endpoint")
}

// KubeletConfig renders the kubelet's config.yaml of a node.
func KubeletConfig(n *topology.Node) []byte {
	if !provenance.Plain(n) {
		return topology.Must(kubeadm.KubeletConfig(n.Input()))
	}
	m, key := n.Cluster.Fleet.Cache, provenance.KubeletKey(n)
	content, ok := m.Kubelets[key]
	if !ok {
		content = topology.Must(kubeadm.KubeletConfig(input(key)))
		m.Kubelets[key] = content
	}
	return content
}

// input is built from the key alone: what is not in the key cannot be rendered.
func input(k topology.KubeletKey) kubeadm.Input {
	return kubeadm.Input{
		Cluster: k.Cluster, Node: &config.Node{Role: config.Worker},
		Facts: &state.Facts{SystemdResolved: k.Resolved, CRISocket: k.Socket},
	}
}

// UsableAttr is the attribute of a kubelet's certificate that says whether the kubelet would find it,
// and its kubeconfig, at its start.
const UsableAttr = "usable"

// ImplicitAttribute returns the recorded value of an attribute that is normally left out. A
// refresh-only apply or an interrupted apply has recorded it; null for none.
func ImplicitAttribute(v *topology.Fleet, a state.Address, name string) state.Value {
	was := v.RecordedItems.Find(a)
	if was == nil {
		return state.Null()
	}
	return was.Attributes.Get(name)
}

// observeUsable adds whether a kubelet has its credentials, where that is desired or recorded.
func observeUsable(n *topology.Node, a state.Address, seen state.Value) state.Value {
	if n.MissingCredentials() == "" && ImplicitAttribute(n.Cluster.Fleet, a, UsableAttr).IsNull() {
		return seen
	}
	return topology.WithAttribute(seen, UsableAttr, n.MissingCredentials() == "")
}

// KubeletChanges reports whether the node's kubelet gets another version.
func KubeletChanges(n *topology.Node) bool { return NewKubeletVersion(n) != "" }

func NewKubeletVersion(n *topology.Node) string {
	if n.Cluster.Up == nil {
		return ""
	}
	return n.Cluster.Up.Turns[n.Target]
}

// KubeletHealth returns the URL of the kubelet's health check; empty if healthzPort is 0, which turns
// it off.
func KubeletHealth(n *topology.Node) string {
	tree, err := n.Cluster.Fleet.Cache.Tree(state.KindYAMLFile, KubeletConfig(n))
	topology.Must(nil, err)
	address, port := kubeadm.KubeletHealthz(tree)
	if port == 0 {
		return ""
	}
	return fmt.Sprintf("http://%s:%d/healthz", bracket(address), port)
}

// HealthWait waits for the kubelet's health check. Like kubeadm it does not, if there is none.
func HealthWait(n *topology.Node) []planner.Operation {
	url := KubeletHealth(n)
	if url == "" {
		return nil
	}
	return []planner.Operation{planner.Wait{For: planner.WaitHTTP, URL: url, Timeout: n.Cluster.Timeouts.KubeletHealthCheck}}
}
