// Package topologytest makes running clusters as values: the reports of their hosts, API and etcd
// and the state, which a test changes to its scenario, such as three control planes of which one is
// down.
//
// It renders no files and simulates nothing: the reports have what identifies a node. Whole lives
// of clusters are tested in package pipeline.
package topologytest

import (
	"fmt"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Version is the version of the clusters, and Label their label.
const (
	Version = "1.36.3"
	Label   = "prod"
)

// Now is the time of the observation.
var Now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// Change changes the configuration, the observation or the state before the fleet is resolved.
type Change func(*topology.Fleet)

// CP returns the target of a control plane, from 1.
func CP(i int) state.Target { return state.NodeKeyTarget("cp", fmt.Sprint("cp", i)) }

// W returns the target of a worker, from 1.
func W(i int) state.Target { return state.NodeKeyTarget("worker", fmt.Sprint("w", i)) }

// NodeName returns the name of a target's Node object.
func NodeName(t state.Target) string { return t.Key }

// Config returns a configuration with the given numbers of control planes and workers.
func Config(planes, workers int) *config.Config {
	c := config.NewCluster(Label, Version)
	c.ControlPlaneEndpoint = "api.example.com:6443"
	c.Network.PodSubnet = "10.244.0.0/16"
	cfg := &config.Config{Clusters: []*config.Cluster{c}}
	add := func(t state.Target, role config.Role, address string) {
		cfg.Nodes = append(cfg.Nodes, &config.Node{Target: t, Cluster: Label, Role: role, Address: address, Connection: config.Connection{Type: "ssh"}})
	}
	for i := 1; i <= planes; i++ {
		add(CP(i), config.ControlPlane, fmt.Sprint("10.0.0.", 10+i))
	}
	for i := 1; i <= workers; i++ {
		add(W(i), config.Worker, fmt.Sprint("10.0.1.", 10+i))
	}
	return cfg
}

// Blank returns a fleet of prepared, blank hosts without a state.
func Blank(planes, workers int, changes ...Change) *topology.Fleet {
	v := &topology.Fleet{
		Config: Config(planes, workers), Reports: map[state.Target]*state.Report{}, Unobserved: map[state.Target]state.Unobserved{},
		ClusterReports: map[string]*state.ClusterReport{}, ClusterErrors: map[string]string{}, Request: topology.Request{ObservedAt: Now},
	}
	for _, n := range v.Config.Nodes {
		v.Reports[n.Target] = &state.Report{Files: map[string]state.FileReport{}, Units: map[string]state.UnitReport{}, Facts: state.Facts{
			Hostname: NodeName(n.Target), MachineID: n.Target.Key, Arch: "amd64", Systemd: true, CgroupV2: true, CPUs: 2, MemoryBytes: 4 << 30,
			CRISocket: "unix:///run/containerd/containerd.sock", CRISockets: []string{"unix:///run/containerd/containerd.sock"},
			KubeletVersion: Version, CADirs: []string{"/etc/ssl/certs"},
		}}
	}
	return resolved(v, changes)
}

// Running returns the fleet of a cluster that an apply has completed: all nodes are ready,
// all members healthy, and the state has recorded them. The first control plane is the
// primary, unless a change takes its report away.
func Running(planes, workers int, changes ...Change) *topology.Fleet {
	running := func(v *topology.Fleet) {
		report := &state.ClusterReport{Version: "v" + Version, Nodes: map[string]state.NodeReport{}, StaticPods: map[string]state.StaticPodReport{}, EtcdClusterID: "e1"}
		v.ClusterReports[Label] = report
		v.Recorded = &state.State{
			FormatVersion: 1, Lineage: "l1", FingerprintKey: "k1", Nodes: map[state.Target]*state.RecordedNode{},
			Clusters: map[string]*state.RecordedCluster{Label: {CA: authority.KeyDigest, EtcdClusterID: "e1", Version: "v" + Version}},
		}
		for _, n := range v.Config.Nodes {
			join(v, n, report)
		}
		for _, change := range changes {
			change(v)
		}
	}
	return Blank(planes, workers, running).WithSituations(func(c *topology.Cluster) topology.Situation {
		for _, n := range c.ControlPlanes() {
			if n.Report != nil {
				return c.WithPrimary(n.Target, false).WithCAs(c.CADigests(n))
			}
		}
		return c.WithCAs(c.CADigests(nil))
	})
}

func resolved(v *topology.Fleet, changes []Change) *topology.Fleet {
	for _, change := range changes {
		change(v)
	}
	return resolve.NewFleet(v)
}

// authority is the CA of the cluster.
var authority = state.CertificateInfo{
	CommonName: "kubernetes", IsCA: true, Algorithm: "RSA-2048", Issuer: "kubernetes", KeyDigest: "ca-1", IssuerKeyDigest: "ca-1",
	NotBefore: Now.AddDate(-1, 0, 0), NotAfter: Now.AddDate(9, 0, 0),
}

// join adds what shows that a node belongs to the cluster.
func join(v *topology.Fleet, n *config.Node, report *state.ClusterReport) {
	client := state.CertificateInfo{
		CommonName: "system:node:" + NodeName(n.Target), Organizations: []string{"system:nodes"}, Issuer: authority.CommonName, IssuerKeyDigest: authority.KeyDigest,
		Algorithm: "ECDSA-P256", NotBefore: Now.AddDate(0, -1, 0), NotAfter: Now.AddDate(0, 11, 0), KeyDigest: "kubelet-" + n.Target.Key,
	}
	r := v.Reports[n.Target]
	put := func(path string, f state.FileReport) {
		f.Exists, f.Type = true, "file"
		r.Files[path] = f
	}
	put(topology.KubeadmPKI+"/ca.crt", state.FileReport{Certificates: []state.CertificateInfo{authority}})
	put(topology.KubeletConf, state.FileReport{Kubeconfig: &state.KubeconfigInfo{Server: "https://api.example.com:6443", CAs: []state.CertificateInfo{authority}}})
	put(topology.KubeletClientCert, state.FileReport{Certificates: []state.CertificateInfo{client}})
	put(topology.KubeletConfig, state.FileReport{})
	r.Units[topology.KubeletUnit] = state.UnitReport{Active: "active"}
	r.Marks = &state.Marks{Format: 1, Lineage: "l1", Cluster: Label, Node: n.Target, Founder: n.Target == CP(1), ClusterCA: authority.KeyDigest, Token: 1}
	report.Nodes[NodeName(n.Target)] = state.NodeReport{Ready: true, InternalIPs: []string{n.Address}, KubeletVersion: "v" + Version}
	v.Recorded.Nodes[n.Target] = &state.RecordedNode{Cluster: Label, Role: string(n.Role), Name: NodeName(n.Target), Address: n.Address, MachineID: n.Target.Key}
	if n.Role != config.ControlPlane {
		return
	}
	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		put(topology.Manifest(component), state.FileReport{})
		report.StaticPods[component+"-"+NodeName(n.Target)] = state.StaticPodReport{Running: true, Ready: true, Started: Now.AddDate(0, -1, 0)}
	}
	put("/etc/kubernetes/admin.conf", state.FileReport{Kubeconfig: &state.KubeconfigInfo{CAs: []state.CertificateInfo{authority}}})
	put(topology.KubeadmPKI+"/ca.key", state.FileReport{PublicKeys: []string{authority.KeyDigest}})
	r.Files["/var/lib/etcd/member"] = state.FileReport{Exists: true, Type: "directory", Entries: 2}
	report.Members = append(report.Members, state.EtcdMember{
		ID: fmt.Sprint("m-", n.Target.Key), Name: NodeName(n.Target), PeerURLs: []string{kubeadm.PeerURL(n.Address)}, Healthy: true,
		Leader: n.Target == CP(1), Version: "3.6.8", DBSize: 8 << 20, DBInUse: 6 << 20,
	})
}
