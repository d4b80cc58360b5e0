package preflight_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// external makes the cluster have an external etcd.
func external(change func(*config.ExternalEtcd)) tt.Change {
	return tt.Cluster(func(c *config.Cluster) {
		c.Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://10.0.2.1:2379"}, CAFile: "/etc/etcd/ca.crt", CertFile: "/etc/etcd/client.crt", KeyFile: "/etc/etcd/client.key"}
		change(c.Etcd.External)
	})
}

// TestPreflightChecksExternalEtcd checks what is said of an external etcd before a cluster is
// bootstrapped on it.
func TestPreflightChecksExternalEtcd(t *testing.T) {
	t.Parallel()
	observed := func(e topology.ExternalEtcd) tt.Change {
		return func(v *topology.Fleet) { v.ExternalEtcds = map[string]*topology.ExternalEtcd{tt.Label: &e} }
	}
	report := func(version string, keys int64) topology.ExternalEtcd {
		var e topology.ExternalEtcd
		e.Versions, e.Keys = map[string]string{"https://10.0.2.1:2379": version}, keys
		return e
	}
	failed := report("3.6.8", 0)
	failed.Err = fmt.Errorf("connection refused")
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"a new and empty one", []tt.Change{observed(report("3.6.8", 0))}, nil},
		{"the oldest that fits", []tt.Change{observed(report("3.5.24", 0))}, nil},
		{"an older one", []tt.Change{observed(report("3.5.9", 0))}, [][]string{refused("ExternalEtcdVersion", "the external etcd at https://10.0.2.1:2379 is 3.5.9, but Kubernetes 1.36.3 needs at least 3.5.24.")}},
		{"one that holds a cluster", []tt.Change{observed(report("3.6.8", 7))}, [][]string{refused("ExternalEtcdData", "7 keys begin with /registry/", "etcdctl del --prefix /registry/")}},
		{"one that does not answer", []tt.Change{observed(failed)}, [][]string{refused("ExternalEtcdVersion", "the external etcd was queried from this host: connection refused.")}},
		{"hosts that forward no connection", []tt.Change{observed(topology.ExternalEtcd{Blind: true})}, [][]string{refused("ExternalEtcdVersion", "this host's sshd does not forward connections")}},
		{"a certificate that is missing", []tt.Change{path(tt.CP(1), "/etc/etcd/client.crt", state.FileReport{})}, [][]string{refused("ExternalEtcdClientCertificates", "there is no /etc/etcd/client.crt, without which")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Blank(1, 0, append([]tt.Change{external(func(*config.ExternalEtcd) {})}, c.changes...)...)
			v.Clusters[0].Founding = true
			wantFindings(t, preflight.Preflight(v), c.want...)
		})
	}
}

// TestEtcdClientPaths checks which files of an external etcd have to be on the control planes.
func TestEtcdClientPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change tt.Change
		target state.Target
		want   []string
	}{
		{"a stacked etcd", func(*topology.Fleet) {}, tt.CP(1), nil},
		{"on a control plane", external(func(*config.ExternalEtcd) {}), tt.CP(1), []string{"/etc/etcd/ca.crt", "/etc/etcd/client.crt", "/etc/etcd/client.key"}},
		{"on a worker", external(func(*config.ExternalEtcd) {}), tt.W(1), nil},
		{"the configuration has some of them", external(func(e *config.ExternalEtcd) { e.CAContent, e.KeyContent = "PEM", state.NewSecret([]byte("key")) }), tt.CP(1), []string{"/etc/etcd/client.crt"}},
		{"without TLS", external(func(e *config.ExternalEtcd) { e.CAFile, e.CertFile, e.KeyFile = "", "", "" }), tt.CP(1), nil},
	} {
		if got := preflight.EtcdClientPaths(tt.Blank(1, 1, c.change).Find(c.target)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestPorts checks on which ports the components of a node listen.
func TestPorts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change tt.Change
		target state.Target
		want   []int
	}{
		{"a worker", func(*topology.Fleet) {}, tt.W(1), []int{10248, 10250}},
		{"a control plane", func(*topology.Fleet) {}, tt.CP(1), []int{2379, 2380, 6443, 10248, 10250, 10257, 10259}},
		{"one with an external etcd", external(func(*config.ExternalEtcd) {}), tt.CP(1), []int{6443, 10248, 10250, 10257, 10259}},
		{"one with another port", tt.Cluster(func(c *config.Cluster) { c.BindPort = 443 }), tt.CP(1), []int{443, 2379, 2380, 10248, 10250, 10257, 10259}},
	} {
		if got := preflight.Ports(tt.Blank(1, 1, c.change).Find(c.target)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestDemandedVolumes checks which volumes have to exist before a component starts.
func TestDemandedVolumes(t *testing.T) {
	t.Parallel()
	v := tt.Blank(1, 1, tt.Cluster(func(c *config.Cluster) {
		c.APIServer.Volumes = []config.Volume{{Name: "a", HostPath: "/a/", PathType: "Directory"}, {Name: "b", HostPath: "/b", PathType: "DirectoryOrCreate"}}
		c.Scheduler.Volumes = []config.Volume{{Name: "c", HostPath: "/c", PathType: "File"}, {Name: "d", HostPath: "/d"}}
	}))
	var got []string
	for _, volume := range preflight.DemandedVolumes(v.Find(tt.CP(1))) {
		got = append(got, volume.Name+"="+volume.HostPath)
	}
	if want := []string{"a=/a", "c=/c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if list := preflight.DemandedVolumes(v.Find(tt.W(1))); len(list) > 0 {
		t.Errorf("a worker: got %v, want none", list)
	}
}

// TestRegistryPrefix checks below which prefix of etcd the API server has its keys.
func TestRegistryPrefix(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{"": "/registry/", "/clusters/prod": "/clusters/prod/", "/clusters/prod/": "/clusters/prod/"} {
		c := config.NewCluster(tt.Label, tt.Version)
		if prefix != "" {
			c.APIServer.Args = []config.Arg{{Name: "etcd-prefix", Value: prefix}}
		}
		if got := preflight.RegistryPrefix(c); got != want {
			t.Errorf("%q: got %s, want %s", prefix, got, want)
		}
	}
}
