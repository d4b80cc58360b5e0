package ownership_test

import (
	"testing"

	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// recordedCA makes the state record another CA of the cluster.
func recordedCA(ca string) tt.Change {
	return func(v *topology.Fleet) { v.Recorded.Clusters[tt.Label].CA = ca }
}

// etcds makes the members on the hosts of control planes belong to etcds with these IDs.
func etcds(ids ...string) tt.Change {
	return func(v *topology.Fleet) {
		v.Etcds = map[state.Target]state.EtcdIdentity{}
		for i, id := range ids {
			v.Etcds[tt.CP(i+1)] = state.EtcdIdentity{ClusterID: id}
		}
	}
}

// answers makes the API answer from another etcd.
func answers(id string) tt.Change {
	return func(v *topology.Fleet) { v.ClusterReports[tt.Label].EtcdClusterID = id }
}

// TestCheckIdentityRefusesAnotherCluster checks that a cluster is identified by its CA and its etcd.
func TestCheckIdentityRefusesAnotherCluster(t *testing.T) {
	t.Parallel()
	former := func(v *topology.Fleet) { v.Recorded.Clusters[tt.Label].Version = "" }
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"the recorded one", nil, nil},
		{"another CA", []tt.Change{recordedCA("ca-0")}, [][]string{
			{"error: Cluster CA differs from the state", `The state records cluster "prod" with the CA ca-0, but node.cp["cp1"] (10.0.0.11) holds the CA ca-1.`, "⟨forget cluster.prod⟩"},
		}},
		{"another CA before an API was observed", []tt.Change{recordedCA("ca-1"), holds(tt.CP(1), "ca-5"), holds(tt.CP(2), "ca-5"), holds(tt.CP(3), "ca-5"), holds(tt.W(1), "ca-5"), former}, nil},
		{"a rotation has replaced the recorded CA", []tt.Change{recordedCA("ca-0"), marked(tt.CP(1), func(m *state.Marks) { m.FormerCAs = []string{"ca-0"} })}, nil},
		{"a worker holds another CA", []tt.Change{holds(tt.W(1), "ca-9")}, [][]string{
			{"error: Host belongs to another cluster", `node.worker["w1"] (10.0.1.11) is marked as a node of cluster "prod", but it holds the CA ca-9, which the cluster does not know: according to node.cp["cp1"] it is ca-1.`},
		}},
		{"a worker got the new CA first in a rotation", []tt.Change{holds(tt.W(1), "ca-2"), holds(tt.CP(1), "ca-1", "ca-2")}, nil},
		{"a worker without its CA file", []tt.Change{tt.File(tt.W(1), topology.KubeadmPKI+"/ca.crt", func(f *state.FileReport) { *f = state.FileReport{} })}, nil},
		{"another etcd answers", []tt.Change{answers("e2")}, [][]string{
			{"error: Etcd cluster differs from the state", `Cluster "prod": the etcd that answers is e2, and the state records e1`, "⟨restore FILE⟩", "⟨forget cluster.prod⟩"},
		}},
		{"another etcd answers while the cluster is destroyed", []tt.Change{answers("e2"), func(v *topology.Fleet) { v.Destroy = true }}, nil},
		{"another etcd answers while it is restored", []tt.Change{answers("e2"), func(v *topology.Fleet) { v.Restores = true }}, nil},
		{"a control plane came back without its data", []tt.Change{etcds("e1", "e1", "e2")}, [][]string{
			{"error: Etcd was bootstrapped again", `The etcd of node.cp["cp3"] (10.0.0.13) is e2, and that of cluster "prod" is e1`, `⟨apply +replace=node.cp["cp3"]⟩`},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, ownership.CheckIdentity(tt.Running(3, 1, c.changes...).Clusters[0]), c.want...)
		})
	}
}

// TestCheckIdentityRefusesDesertedHosts checks that no cluster is bootstrapped while hosts still
// belong to an earlier one.
func TestCheckIdentityRefusesDesertedHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"a worker is left", []tt.Change{withoutState}, [][]string{
			{"error: Hosts belong to an earlier cluster", `node.cp["cp1"] (10.0.0.11) holds nothing of cluster "prod"`, `node.worker["w1"] (10.0.1.11): CA ca-1`, "clean each of these hosts (kubeadm reset)"},
		}},
		{"a worker that the state records", nil, [][]string{{"error: Hosts belong to an earlier cluster", "reset its hosts and apply again: ⟨destroy⟩"}}},
		{"all hosts are blank", []tt.Change{withoutState, tt.Wiped(tt.W(1))}, nil},
		{"the cluster is destroyed", []tt.Change{withoutState, func(v *topology.Fleet) { v.Destroy = true }}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster := tt.Running(1, 1, append([]tt.Change{tt.Wiped(tt.CP(1)), tt.SilentAPI()}, c.changes...)...).Clusters[0]
			cluster.Founding = true
			wantFindings(t, ownership.CheckIdentity(cluster), c.want...)
		})
	}
}

// TestVouchedFollowsRotations checks by which CAs a cluster is known.
func TestVouchedFollowsRotations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		changes []tt.Change
		ca      string
		want    bool
	}{
		{"its own", nil, "ca-1", true},
		{"one that no control plane has", nil, "ca-2", false},
		{"the new one of a rotation", []tt.Change{holds(tt.CP(2), "ca-1", "ca-2")}, "ca-2", true},
		{"one that only a foreign host has", []tt.Change{holds(tt.CP(2), "ca-2")}, "ca-2", false},
		{"the new one, over a host that has both", []tt.Change{holds(tt.CP(1), "ca-1", "ca-2"), holds(tt.CP(2), "ca-2", "ca-3")}, "ca-3", true},
	} {
		cluster := tt.Running(2, 0, c.changes...).Clusters[0]
		got := false
		for _, ca := range ownership.Vouched([]string{"ca-1"}, ownership.ControlPlaneReports(cluster), cluster.CABase()) {
			got = got || ca == c.ca
		}
		if got != c.want {
			t.Errorf("%s: known is %v, want %v", c.name, got, c.want)
		}
	}
}

// TestDeparturesOnForeignHostsAreNotReset checks that a host is reset only if it is the one that joined.
func TestDeparturesOnForeignHostsAreNotReset(t *testing.T) {
	t.Parallel()
	const w2 = `node.worker["w2"] (10.0.1.12) is being removed from cluster "prod"`
	otherMachine := tt.Host(tt.W(2), func(r *state.Report) { r.Facts.MachineID = "other" })
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    [][]string
	}{
		{"the host that joined", nil, nil},
		{"it was reset already", []tt.Change{tt.Wiped(tt.W(2))}, nil},
		{"a host that does not answer", []tt.Change{tt.Down(tt.W(2))}, nil},
		{"a host of another state", []tt.Change{marked(tt.W(2), func(m *state.Marks) { m.Lineage = "l2" })}, [][]string{
			{"error: Host belongs to another state", w2, `its host is node.worker["w2"] of cluster "prod" in the state with lineage l2`},
		}},
		{"a host that is marked as another node", []tt.Change{marked(tt.W(2), func(m *state.Marks) { m.Node = tt.W(1) })}, [][]string{
			{"error: Host is another node", w2, `the host at its address is marked as node.worker["w1"], which is a node as well: the reset would remove that one.`},
		}},
		{"a blank machine at its address", []tt.Change{tt.Wiped(tt.W(2)), otherMachine}, [][]string{
			{"error: Host is another machine", w2, "its host has the machine id other and no kubewright mark; the host that joined had w2", `⟨+gone-host=node.worker["w2"]⟩`},
		}},
		{"a machine with files of a cluster at its address", []tt.Change{unmarked(tt.W(2)), otherMachine}, [][]string{
			{"error: Host is another machine", w2, `⟨forget node.worker["w2"]⟩`},
		}},
		{"a host of another cluster", []tt.Change{holds(tt.W(2), "ca-9")}, [][]string{
			{"error: Host belongs to another cluster", w2, "its host is to be reset, but it holds the CA ca-9, which that cluster does not know"},
		}},
		{"a control plane that is recorded as a worker", []tt.Change{tt.File(tt.W(2), topology.Manifest("kube-apiserver"), func(f *state.FileReport) { f.Exists = true })}, [][]string{
			{"error: Host is a control plane", w2, "is recorded as a worker, but its host runs an API server (/etc/kubernetes/manifests/kube-apiserver.yaml)"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantFindings(t, ownership.StrayDepartures(tt.Running(2, 2, append(c.changes, tt.Without(tt.W(2)))...)), c.want...)
		})
	}
}

// TestRefuseSilentNamesRemedy checks what is said of control planes that do not answer.
func TestRefuseSilentNamesRemedy(t *testing.T) {
	t.Parallel()
	down := []tt.Change{tt.Down(tt.CP(3))}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		known   bool
		want    []string
		not     string
	}{
		{"a running cluster", down, true, []string{`Cluster "prod": cannot observe node.cp["cp3"]`, "so this cluster is not planned", `node.cp["cp3"]: cannot connect to cp3`, `⟨apply +gone-host=node.cp["cp3"]⟩`}, ""},
		{"a cluster that does not exist", append(down, tt.SilentAPI()), false, []string{"A cluster is bootstrapped only after every control plane was observed to be blank"}, "+gone-host"},
		{"a host that refuses the login", append(down, func(v *topology.Fleet) {
			u := v.Unobserved[tt.CP(3)]
			u.Answered, u.Remedy = true, "correct the user"
			v.Unobserved[tt.CP(3)] = u
		}), true, []string{"To do: correct the user."}, "+gone-host"},
		{"while etcd is restored", append(down, tt.SilentAPI(), func(v *topology.Fleet) { v.Restores = true }), true, []string{`⟨restore +gone-host=node.cp["cp3"] FILE⟩`}, "⟨apply"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cluster := tt.Running(3, 0, c.changes...).Clusters[0]
			got := ownership.RefuseSilent(cluster, []*topology.Node{cluster.Node(tt.CP(3))}, c.known, "")
			wantFindings(t, got, append([]string{"error: Control plane could not be observed"}, c.want...))
			wantWithout(t, got, c.not)
		})
	}
}

// TestRefuseLostNamesTheWay checks what is said of a recorded cluster that no host holds.
func TestRefuseLostNamesTheWay(t *testing.T) {
	t.Parallel()
	wantFindings(t, ownership.RefuseLost(tt.Running(1, 0, tt.Wiped(tt.CP(1))).Clusters[0]), []string{
		"error: Cluster is missing from its hosts", `Cluster "prod" is recorded in the state (CA ca-1), but no control plane holds any of it.`, "⟨forget cluster.prod⟩",
	})
}
