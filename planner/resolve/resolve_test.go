package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki/pkitest"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// block changes the block of a node.
func block(t state.Target, change func(*config.Node)) tt.Change {
	return func(v *topology.Fleet) {
		for _, n := range v.Config.Nodes {
			if n.Target == t {
				change(n)
			}
		}
	}
}

// replaced makes a node be removed and join again.
func replaced(t state.Target) tt.Change {
	return func(v *topology.Fleet) {
		v.Replacements = map[state.Target]*topology.Replacement{t: {Reason: planner.ReasonRequested, Report: v.Reports[t]}}
	}
}

// TestFleetNamesNodes checks where the name of a Node comes from.
func TestFleetNamesNodes(t *testing.T) {
	t.Parallel()
	named := block(tt.W(1), func(n *config.Node) { n.Name = "configured" })
	hostname := tt.Host(tt.W(1), func(r *state.Report) { r.Facts.Hostname = "host" })
	was := tt.Record(tt.W(1), func(n *state.RecordedNode) { n.Name = "recorded" })
	for _, c := range []struct {
		name  string
		fleet *topology.Fleet
		want  string
	}{
		{"the host's", tt.Blank(1, 1, hostname), "host"},
		{"the recorded one", tt.Running(1, 1, hostname, was), "recorded"},
		{"the configured one", tt.Running(1, 1, hostname, was, named), "configured"},
		{"the recorded one of a host that does not answer", tt.Running(1, 1, was, tt.Down(tt.W(1))), "recorded"},
		{"a new host that does not answer", tt.Blank(1, 1, tt.Down(tt.W(1))), ""},
		{"a new host that was refused", tt.Blank(1, 1, func(v *topology.Fleet) { v.Refused = map[string]bool{tt.W(1).String(): true} }), ""},
	} {
		if got := c.fleet.Find(tt.W(1)).NodeName; got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestFleetOrdersNodes checks that control planes come first, and that each cluster has its own nodes.
func TestFleetOrdersNodes(t *testing.T) {
	t.Parallel()
	v := tt.Blank(2, 2, func(v *topology.Fleet) {
		slices.Reverse(v.Config.Nodes)
		v.Config.Clusters = append(v.Config.Clusters, config.NewCluster("test", tt.Version))
		v.Config.Nodes[0].Cluster = "test"
	})
	for i, want := range []string{"cp2 cp1 w1", "w2"} {
		var names []string
		for _, n := range v.Clusters[i].Nodes {
			names = append(names, topology.ShortName(n.Target))
			if v.Clusters[i].Node(n.Target) != n || n.Cluster != v.Clusters[i] {
				t.Errorf("%s is not found in %s", n.Target, v.Clusters[i].Target)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %q, want %q", v.Clusters[i].Target, got, want)
		}
	}
}

// TestFleetDropsRecordedItems checks that what the state records of nodes that join again is no longer
// theirs.
func TestFleetDropsRecordedItems(t *testing.T) {
	t.Parallel()
	recorded := func(v *topology.Fleet) {
		for _, target := range []state.Target{tt.W(1), tt.CP(3)} { // not in order
			v.Recorded.Items = append(v.Recorded.Items, state.Item{Address: topology.ItemAddress(target, topology.PreparePhase, "file", "/etc/x"), Attributes: state.Map(nil)})
		}
	}
	left := func(v *topology.Fleet) {
		delete(v.ClusterReports[tt.Label].Nodes, "cp3")
		v.ClusterReports[tt.Label].Members = v.ClusterReports[tt.Label].Members[:2]
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    string
	}{
		{"all stay", nil, "cp3 w1"},
		{"a worker is replaced", []tt.Change{replaced(tt.W(1))}, "cp3"},
		{"a control plane returns after its state was restored", []tt.Change{tt.Wiped(tt.CP(3)), left}, "w1"},
		{"its host is blank and etcd lists it", []tt.Change{tt.Wiped(tt.CP(3))}, "cp3 w1"},
		{"the API is silent", []tt.Change{tt.Wiped(tt.CP(3)), left, tt.SilentAPI()}, "cp3 w1"},
		{"the cluster is destroyed", []tt.Change{tt.Wiped(tt.CP(3)), left, func(v *topology.Fleet) { v.Destroy = true }}, "cp3 w1"},
	} {
		v := tt.Running(3, 1, append([]tt.Change{recorded}, c.changes...)...)
		var names []string
		for _, it := range v.RecordedItems.Items {
			names = append(names, topology.ShortName(it.Address.Target))
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestFleetFindsAuthorities checks which CAs a cluster has, and who holds their keys.
func TestFleetFindsAuthorities(t *testing.T) {
	t.Parallel()
	made := pkitest.NewCA(t, "example-ca", "ECDSA", tt.Now)
	given := func(change func(*config.GivenCA)) tt.Change {
		return tt.Cluster(func(c *config.Cluster) {
			c.Certificates.CA = config.GivenCA{Certificate: string(made.Certificate)}
			change(&c.Certificates.CA)
		})
	}
	key := state.NewSecret(made.Key)
	for _, c := range []struct {
		name     string
		change   tt.Change
		count    int
		ca       string
		onHosts  bool
		external bool
	}{
		{"kubewright makes all", func(*topology.Fleet) {}, 3, "kubernetes", true, false},
		{"the operator's, whose key is copied to the hosts", given(func(g *config.GivenCA) { g.Key, g.OnHosts = key, true }), 3, "example-ca", true, false},
		{"the operator's, whose key stays with them", given(func(g *config.GivenCA) { g.Key = key }), 3, "example-ca", false, true},
		{"without a key", given(func(*config.GivenCA) {}), 3, "example-ca", false, true},
		{"the etcd is external", tt.Cluster(func(c *config.Cluster) { c.Etcd.External = &config.ExternalEtcd{} }), 2, "kubernetes", true, false},
	} {
		cluster := tt.Blank(1, 0, c.change).Clusters[0]
		a := cluster.Authority(cluster.CABase())
		if len(cluster.Authorities) != c.count || a.CommonName != c.ca || a.KeyOnHosts() != c.onHosts || cluster.ExternalCA() != c.external || a.Block != "certificates.ca" {
			t.Errorf("%s: got %d CAs, %s with its key on hosts %v, external %v; want %d CAs, %s with %v, %v",
				c.name, len(cluster.Authorities), a.CommonName, a.KeyOnHosts(), cluster.ExternalCA(), c.count, c.ca, c.onHosts, c.external)
		}
		if c.ca == "example-ca" && a.Algorithm != "ECDSA-P256" {
			t.Errorf("%s: got %s, want the algorithm of the given CA, ECDSA-P256", c.name, a.Algorithm)
		}
	}
}

// TestFleetLeavesItsInput checks that neither configuration nor observation are changed.
func TestFleetLeavesItsInput(t *testing.T) {
	t.Parallel()
	cfg := tt.Config(1, 1)
	cfg.Clusters[0].Kubelet.Config = state.FromGo(map[string]any{"maxPods": 110})
	cfg.Nodes[1].Lifecycle.IgnoreChanges = []config.Ignored{{Path: []string{"kubelet", "config", "maxPods"}}}
	v := tt.Running(1, 1, func(v *topology.Fleet) {
		v.Config = cfg
		hasFile(tt.W(1), topology.KubeletConfig, "maxPods: 200\n")(v)
	})
	resolve.NewFleet(v)
	if got := cfg.Clusters[0].Kubelet.Config.Get("maxPods").AsString(); got != "110" || !cfg.Nodes[1].Kubelet.Config.IsNull() {
		t.Errorf("got maxPods = %s of the cluster and %v of the node, want 110 and none", got, cfg.Nodes[1].Kubelet.Config.Go())
	}
}
