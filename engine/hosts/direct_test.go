package hosts

import (
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// TestDirectConnectionsOnlyToKnownAddresses checks that this machine connects itself only to addresses in the configuration or
// of recorded nodes.
func TestDirectConnectionsOnlyToKnownAddresses(t *testing.T) {
	t.Parallel()
	c := config.NewCluster("prod", "1.36.3")
	c.ControlPlaneEndpoint = "API.example.com:6443"
	c.Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://192.0.2.7:2379"}, HTTPEndpoints: []string{"https://metrics.example.com"}}
	cp := state.NodeKeyTarget("cp", "cp1")
	cfg := &config.Config{Clusters: []*config.Cluster{c}, Nodes: []*config.Node{{
		Target: cp, Cluster: "prod", Role: config.ControlPlane, Address: "cp1.example.com", AdvertiseAddresses: []string{"10.0.0.11", "fd00::0011"}, Connection: config.Connection{Host: "198.51.100.1"},
	}}}
	recorded := &state.State{Nodes: map[state.Target]*state.RecordedNode{cp: {Address: "10.0.0.99"}}}
	may := direct(cfg, recorded)
	for address, want := range map[string]bool{
		"cp1.example.com:22": true, "10.0.0.11:6443": true, "[fd00::11]:2379": true, "198.51.100.1:22": true, "api.example.com.:6443": true,
		"192.0.2.7:2379": true, "metrics.example.com:443": true, "10.0.0.99:6443": true, "[::ffff:10.0.0.11]:2379": true,
		"10.0.0.12:6443": false, "169.254.169.254:80": false, "example.com:443": false, "localhost:22": false, "127.0.0.1:2379": false, "10.0.0.11": false, "": false,
	} {
		if may(address) != want {
			t.Errorf("%s: %v, want %v", address, !want, want)
		}
	}
}
