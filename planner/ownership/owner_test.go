package ownership_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// wantFindings checks that there are as many findings as wanted, each with its severity, title and
// words.
func wantFindings(t *testing.T, got diag.Diagnostics, want ...[]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("got  %d findings: %v\nwant %d: %q", len(got), got, len(want), want)
		return
	}
	for i, d := range got {
		for _, words := range want[i] {
			if !strings.Contains(d.String(), words) {
				t.Errorf("got  %s\nwant %q in it", d, words)
			}
		}
	}
}

// marked changes kubewright's marks on a host.
func marked(t state.Target, change func(*state.Marks)) tt.Change {
	return tt.Host(t, func(r *state.Report) { change(r.Marks) })
}

func unmarked(t state.Target) tt.Change { return tt.Host(t, func(r *state.Report) { r.Marks = nil }) }

// holds makes a host hold other CAs in the file of the cluster's CA.
func holds(t state.Target, cas ...string) tt.Change {
	return tt.File(t, topology.KubeadmPKI+"/ca.crt", func(f *state.FileReport) {
		f.Certificates = nil
		for _, ca := range cas {
			f.Certificates = append(f.Certificates, state.CertificateInfo{CommonName: "kubernetes", IsCA: true, KeyDigest: ca})
		}
	})
}

// unrecorded makes the state not record a node.
func unrecorded(t state.Target) tt.Change {
	return func(v *topology.Fleet) { delete(v.Recorded.Nodes, t) }
}

// recordedIn makes the state record nodes in another cluster.
func recordedIn(label string, targets ...state.Target) tt.Change {
	return func(v *topology.Fleet) {
		v.Recorded.Clusters[label] = &state.RecordedCluster{CA: "ca-9"}
		for _, t := range targets {
			v.Recorded.Nodes[t].Cluster = label
		}
	}
}

func withoutState(v *topology.Fleet) { v.Recorded = nil }

// renamed gives the block of a node another name, on the same host.
func renamed(from, to state.Target) tt.Change {
	return func(v *topology.Fleet) {
		v.Reports[to] = v.Reports[from]
		for _, n := range v.Config.Nodes {
			if n.Target == from {
				n.Target = to
			}
		}
	}
}

// TestCheckOwnerRefusesHostsOfOthers checks which hosts belong to another state, cluster or node.
func TestCheckOwnerRefusesHostsOfOthers(t *testing.T) {
	t.Parallel()
	const w1 = `node.worker["w1"] (10.0.1.11)`
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"all hosts are the recorded ones", nil, nil},
		{"a blank host", []tt.Change{tt.Wiped(tt.W(1)), unrecorded(tt.W(1))}, nil},
		{"a host that does not answer", []tt.Change{tt.Down(tt.W(1))}, nil},
		{"a host that is marked as another node", []tt.Change{marked(tt.W(1), func(m *state.Marks) { m.Node = tt.W(2) })}, [][]string{
			{"error: Host is another node", w1 + ` is marked as node.worker["w2"], which is a node as well.`},
		}},
		{"a host that is marked as a node that no longer exists", []tt.Change{marked(tt.W(1), func(m *state.Marks) { m.Node = tt.W(9) })}, nil},
		{"two blocks have swapped addresses", []tt.Change{marked(tt.W(1), func(m *state.Marks) { m.Node = tt.W(2) }), marked(tt.W(2), func(m *state.Marks) { m.Node = tt.W(1) })}, [][]string{
			{"error: Host is another node", `node.worker["w1"]`}, {"error: Host is another node", `node.worker["w2"]`},
		}},
		{"a host of another state", []tt.Change{marked(tt.W(1), func(m *state.Marks) { m.Lineage = "l2" })}, [][]string{
			{"error: Host belongs to another state", w1 + ` is node.worker["w1"] of cluster "prod" in the state with lineage l2; the state here has lineage l1.`},
		}},
		{"a host of another cluster of this state", []tt.Change{recordedIn("test"), marked(tt.W(1), func(m *state.Marks) { m.Cluster = "test" })}, [][]string{
			{"error: Host belongs to another cluster", w1 + ` is a node of cluster "test". Destroy it there before it joins "prod".`},
		}},
		{"the cluster was renamed since the host was marked", []tt.Change{marked(tt.W(1), func(m *state.Marks) { m.Cluster = "former" })}, nil},
		{"a recorded host has lost its marks", []tt.Change{unmarked(tt.W(1))}, [][]string{
			{"error: Host belongs to another cluster", w1 + ` is recorded as a node of cluster "prod"`, "but not /var/lib/kubewright", `⟨apply +replace=node.worker["w1"]⟩`},
		}},
		{"a host of a cluster that is unknown", []tt.Change{unmarked(tt.W(1)), unrecorded(tt.W(1))}, [][]string{
			{"error: Host belongs to another cluster", w1 + " holds files of a Kubernetes cluster that kubewright did not create: /etc/kubernetes/kubelet.conf, /etc/kubernetes/pki/ca.crt."},
		}},
		{"the state file is missing", []tt.Change{withoutState}, [][]string{
			{"error: State file is missing", "a state with lineage l1", `node.cp["cp1"] (10.0.0.11): node.cp["cp1"] of cluster "prod"`, `node.worker["w2"] (10.0.1.12)`, "⟨recover⟩"},
		}},
		{"an adopted host without marks", []tt.Change{unmarked(tt.W(1)), tt.Record(tt.W(1), func(n *state.RecordedNode) { n.Adopted = &state.Adoption{} })}, nil},
		{"an adopted host with another CA", []tt.Change{unmarked(tt.W(1)), tt.Record(tt.W(1), func(n *state.RecordedNode) { n.Adopted = &state.Adoption{} }), holds(tt.W(1), "ca-9")}, [][]string{
			{"error: Host belongs to another cluster", w1 + ` holds the CA ca-9, and cluster "prod" was adopted with the CA ca-1.`},
		}},
		{"the state records the node in another cluster", []tt.Change{recordedIn("test", tt.W(1))}, [][]string{
			{"error: Host belongs to another cluster", `The state records these nodes in cluster "test", but the configuration has them in "prod":`, w1, "A host changes its cluster by leaving one and joining the other: remove these nodes"},
		}},
		{"the block of the cluster was renamed", []tt.Change{recordedIn("test", tt.CP(1), tt.CP(2), tt.W(1), tt.W(2)), func(v *topology.Fleet) { delete(v.Recorded.Clusters, tt.Label) }}, [][]string{
			{"error: Host belongs to another cluster", `in cluster "test"`, w1, "moved { from = cluster.test to = cluster.prod }"},
		}},
		{"the block of the node was renamed", []tt.Change{renamed(tt.W(1), tt.W(9))}, [][]string{
			{"error: Host is another node", `10.0.1.11 is the host of node.worker["w1"] in the state, which is no longer in the configuration`, `moved { from = node.worker["w1"] to = node.worker["w9"] }`},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, ownership.CheckOwner(tt.Running(2, 2, c.changes...).Clusters[0]), c.want...)
		})
	}
}

// TestNewerMarkersAreRefused checks that a host is refused whose marks this version cannot read.
func TestNewerMarkersAreRefused(t *testing.T) {
	t.Parallel()
	newer := func(m *state.Marks) { m.Format = state.MarksFormat + 1 }
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"this format", nil, nil},
		{"an older format", []tt.Change{marked(tt.W(1), func(m *state.Marks) { m.Format = 0 })}, nil},
		{"a newer format", []tt.Change{marked(tt.W(1), newer)}, [][]string{{"error: Host was marked by a newer version", `node.worker["w1"] (10.0.1.11)`, "have format 2, and this version supports formats up to 1"}}},
		{"a newer format on a host that is removed", []tt.Change{marked(tt.W(1), newer), tt.Without(tt.W(1))}, [][]string{{"error: Host was marked by a newer version", `node.worker["w1"] (10.0.1.11)`}}},
		{"marks that cannot be read", []tt.Change{marked(tt.W(1), func(m *state.Marks) { m.Unreadable = "marks.json ends too early" })}, [][]string{{"error: Host mark cannot be read", "marks.json ends too early"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, ownership.NewerMarks(tt.Running(1, 1, c.changes...)), c.want...)
		})
	}
}

// TestDuplicateNodeNamesAreRefused checks that no two kubelets report for one Node.
func TestDuplicateNodeNamesAreRefused(t *testing.T) {
	t.Parallel()
	named := func(t state.Target, name string) tt.Change {
		return func(v *topology.Fleet) {
			for _, n := range v.Config.Nodes {
				if n.Target == t {
					n.Name = name
				}
			}
		}
	}
	// joins makes w2 a new host, while the API has a Node with its name at an address.
	joins := func(address string, ready bool) []tt.Change {
		return []tt.Change{tt.Wiped(tt.W(2)), unrecorded(tt.W(2)), tt.Node(tt.W(2), func(n *state.NodeReport) { n.Ready, n.InternalIPs = ready, []string{address} })}
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"each has its own", nil, nil},
		{"a node takes the name of another one", []tt.Change{named(tt.W(2), "w1")}, [][]string{
			{"error: Node name is taken", `node.worker["w2"] (10.0.1.12) would be node "w1" in Kubernetes, but node.worker["w1"] still has that name`, "Give one of them an unused name"},
		}},
		{"a node takes the name of one that is removed", []tt.Change{named(tt.W(2), "w1"), tt.Without(tt.W(1))}, [][]string{
			{"error: Node name is taken", `but node.worker["w1"] still has that name`, `Use two applies: first without node.worker["w2"]`},
		}},
		{"a node takes the name of one that is forgotten", []tt.Change{named(tt.W(2), "w1"), tt.Without(tt.W(1)), func(v *topology.Fleet) {
			v.Config.Removals = []config.Removal{{From: tt.W(1)}}
		}}, nil},
		{"a host joins with the name of a Ready node", joins("10.9.9.9", true), [][]string{
			{"error: Node name is taken", `node.worker["w2"] (10.0.1.12) would join as node "w2"`, "which is Ready, at 10.9.9.9", "kubectl delete node w2"},
		}},
		{"a host joins with the name of a node that is not Ready", joins("10.9.9.9", false), nil},
		{"a host joins again", joins("10.0.1.12", true), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, ownership.TakenNames(tt.Running(1, 2, c.changes...)), c.want...)
		})
	}
}

// TestForgottenNodesAreFound checks which nodes the hosts show and the state does not record, and
// what is said of them.
func TestForgottenNodesAreFound(t *testing.T) {
	t.Parallel()
	destroy := func(v *topology.Fleet) { v.Destroy = true }
	// forgotten makes the state record nothing of the cluster.
	forgotten := func(v *topology.Fleet) {
		v.Recorded.Nodes, v.Recorded.Clusters = map[state.Target]*state.RecordedNode{}, map[string]*state.RecordedCluster{}
	}
	for _, c := range []struct {
		name           string
		changes        []tt.Change
		want           string
		warns, refuses [][]string
	}{
		{"all are recorded", nil, "", nil, nil},
		{"one was removed from the state", []tt.Change{unrecorded(tt.W(1))}, `node.worker["w1"]`, [][]string{{"warning: Node is not in the state", `node.worker["w1"]. An apply records them again`}}, nil},
		{"one of a cluster that is destroyed", []tt.Change{unrecorded(tt.W(1)), destroy}, `node.worker["w1"]`, [][]string{{"warning: Node is not in the state", "They are left as they are."}}, nil},
		{"a blank host", []tt.Change{unrecorded(tt.W(1)), tt.Wiped(tt.W(1))}, "", nil, nil},
		{"a host of another state", []tt.Change{unrecorded(tt.W(1)), marked(tt.W(1), func(m *state.Marks) { m.Lineage = "l2" })}, "", nil, nil},
		{"a cluster that is destroyed was removed from the state", []tt.Change{forgotten, destroy}, `node.cp["cp1"] node.worker["w1"]`, [][]string{{"warning: Node is not in the state"}}, [][]string{
			{"error: Hosts are not in the state", `Hosts of this configuration belong to cluster "prod"`, `node.cp["cp1"] (10.0.0.11) node.worker["w1"] (10.0.1.11)`},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(1, 1, c.changes...)
			var names []string
			for _, target := range ownership.Unremembered(v) {
				names = append(names, target.String())
			}
			if got := strings.Join(names, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			wantFindings(t, ownership.WarnForgotten(v), c.warns...)
			wantFindings(t, ownership.CheckForgotten(v.Clusters[0]), c.refuses...)
		})
	}
}

// wantWithout checks that no finding has the words; no words are in none.
func wantWithout(t *testing.T, got diag.Diagnostics, words string) {
	t.Helper()
	for _, d := range got {
		if words != "" && strings.Contains(d.String(), words) {
			t.Errorf("got  %s\nwant no %q in it", d, words)
		}
	}
}
