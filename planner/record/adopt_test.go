package record_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/record"
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

// foreign makes a cluster one that kubewright did not create, and that no state records.
func foreign(v *topology.Fleet) {
	v.Recorded = nil
	for _, r := range v.Reports {
		r.Marks = nil
	}
}

// holds makes a host hold another CA.
func holds(t state.Target, ca string) tt.Change {
	return tt.File(t, topology.KubeadmPKI+"/ca.crt", func(f *state.FileReport) {
		f.Certificates = []state.CertificateInfo{{CommonName: "kubernetes", IsCA: true, KeyDigest: ca}}
	})
}

// unmanaged adds a Node to the API that the configuration does not have.
func unmanaged(v *topology.Fleet) {
	v.ClusterReports[tt.Label].Nodes["old"] = state.NodeReport{Ready: true, KubeletVersion: "v1.36.3"}
}

// TestAdopt checks what the state learns of an existing cluster, and which clusters cannot be adopted.
func TestAdopt(t *testing.T) {
	t.Parallel()
	const title, all = "error: Cluster cannot be adopted", "nodes cp1=control-plane,10.0.0.11 w1=worker,10.0.1.11; clusters prod=ca-1,e1,v1.36.3"
	marked := tt.Host(tt.W(1), func(r *state.Report) { r.Marks = &state.Marks{Lineage: "l2", Cluster: "test", Node: tt.W(7)} })
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    string
		refused [][]string
	}{
		{"a cluster", nil, all, nil},
		{"a worker that has yet to join", []tt.Change{tt.Wiped(tt.W(1))}, "nodes cp1=control-plane,10.0.0.11; clusters prod=ca-1,e1,v1.36.3", nil},
		{"an unmanaged node", []tt.Change{unmanaged}, all, [][]string{{"warning: Cluster has unmanaged nodes", `Cluster "prod" is adopted without its unmanaged nodes: old.`}}},
		{"the API is silent", []tt.Change{tt.SilentAPI()}, "", [][]string{{title, `The API of cluster "prod" did not answer`, "cannot reach the API"}}},
		{"a host does not answer", []tt.Change{tt.Down(tt.W(1))}, "", [][]string{{title, "Not all hosts of cluster \"prod\" could be observed", `node.worker["w1"]: cannot connect to w1`}}},
		{"a host that a state has", []tt.Change{marked}, "", [][]string{{title, "already belong to a state of kubewright", `node.worker["w1"] (10.0.1.11): node.worker["w7"] of cluster "test", lineage l2`}}},
		{"a host of another name", []tt.Change{func(v *topology.Fleet) { delete(v.ClusterReports[tt.Label].Nodes, "w1") }}, "", [][]string{{title, `node.worker["w1"] (10.0.1.11): "w1"`, "it has cp1."}}},
		{"hosts of two clusters", []tt.Change{holds(tt.W(1), "ca-9")}, "", [][]string{{title, "have different CAs", `ca-1: node.cp["cp1"] (10.0.0.11)`, `ca-9: node.worker["w1"] (10.0.1.11)`}}},
		{"a control plane in the block of a worker", []tt.Change{tt.File(tt.W(1), topology.Manifest("kube-apiserver"), func(f *state.FileReport) { f.Exists = true })}, "", [][]string{
			{title, "Hosts have another role", `node.worker["w1"] (10.0.1.11): a control-plane`},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, diags := record.Adopt(tt.Running(1, 1, append([]tt.Change{foreign}, c.changes...)...), []string{tt.Label})
			if got := described(l); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			wantFindings(t, diags, c.refused...)
		})
	}
}

// TestAdoptRecordsWhatIsMissing checks that images and files that an adopted node lacks are recorded,
// so that they do not count as missing.
func TestAdoptRecordsWhatIsMissing(t *testing.T) {
	t.Parallel()
	const pause, proxy, sysctls = "images/image:registry.k8s.io/pause:3.10.2", "images/image:registry.k8s.io/kube-proxy:v1.36.3", "prepare/file:/etc/sysctl.d/99-kubewright.conf"
	l, diags := record.Adopt(tt.Running(1, 1, foreign, tt.Host(tt.W(1), func(r *state.Report) { r.Images = []string{"registry.k8s.io/kube-proxy:v1.36.3"} })), []string{tt.Label})
	wantFindings(t, diags)
	n := l.Nodes[tt.W(1)]
	if n == nil || n.Adopted == nil {
		t.Fatalf("got %+v, want an adopted node", n)
	}
	for name, want := range map[string]bool{pause: true, sysctls: true, proxy: false} {
		if slices.Contains(n.Adopted.Without, name) != want {
			t.Errorf("%s: missing is %v, want %v in %v", name, !want, want, n.Adopted.Without)
		}
	}
	if l, _ := record.Adopt(tt.Running(1, 1, foreign), []string{"other"}); !l.IsZero() {
		t.Errorf("got %s of a cluster that is not adopted", described(l))
	}
}

// TestImports checks what an import block adds to the state.
func TestImports(t *testing.T) {
	t.Parallel()
	imports := func(v *topology.Fleet) {
		v.Config.Imports = []config.Import{{To: state.ClusterTarget(tt.Label), ID: "ssh://10.0.0.11"}}
	}
	// later makes w1 be a node of an adopted cluster whose block was added later.
	later := func(v *topology.Fleet) {
		delete(v.Recorded.Nodes, tt.W(1))
		v.Reports[tt.W(1)].Marks = nil
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    string
	}{
		{"no import block", []tt.Change{foreign}, ""},
		{"a cluster", []tt.Change{foreign, imports}, "nodes cp1=control-plane,10.0.0.11 w1=worker,10.0.1.11; clusters prod=ca-1,e1,v1.36.3"},
		{"a cluster that is recorded", []tt.Change{imports}, ""},
		{"a cluster beside one that is recorded", []tt.Change{foreign, imports, func(v *topology.Fleet) {
			v.Recorded = &state.State{FormatVersion: 1, Lineage: "l1", Clusters: map[string]*state.RecordedCluster{"test": {CA: "ca-9"}}}
		}}, "nodes cp1=control-plane,10.0.0.11 w1=worker,10.0.1.11; clusters prod=ca-1,e1,v1.36.3"},
		{"a node of a recorded cluster", []tt.Change{imports, later}, "nodes w1=worker,10.0.1.11"},
		{"a node of another cluster", []tt.Change{imports, later, holds(tt.W(1), "ca-9")}, ""},
		{"the cluster is destroyed", []tt.Change{foreign, imports, func(v *topology.Fleet) { v.Destroy = true }}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l, diags := record.Imports(tt.Running(1, 1, c.changes...))
			if got := described(l); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			wantFindings(t, diags)
		})
	}
}

// TestRecover checks which state the marks of hosts give, and when they give none.
func TestRecover(t *testing.T) {
	t.Parallel()
	const title = "error: State cannot be recovered"
	lost := func(v *topology.Fleet) { v.Recorded = nil }
	marks := func(t state.Target, change func(*state.Marks)) tt.Change {
		return tt.Host(t, func(r *state.Report) { change(r.Marks) })
	}
	blank := func(v *topology.Fleet) {
		for _, n := range v.Config.Nodes {
			tt.Wiped(n.Target)(v)
		}
	}
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    string
		refused [][]string
	}{
		{"a cluster", nil, "l1, run 1, cp1 cp2 w1", nil},
		{"a control plane has seen a later run", []tt.Change{marks(tt.CP(2), func(m *state.Marks) { m.Token = 4 })}, "l1, run 4, cp1 cp2 w1", nil},
		{"a worker that has yet to join", []tt.Change{tt.Wiped(tt.W(1))}, "l1, run 1, cp1 cp2", nil},
		{"a control plane was reinstalled, and etcd lists it", []tt.Change{tt.Wiped(tt.CP(2))}, "l1, run 1, cp1 cp2 w1", nil},
		{"a worker with files of the cluster and no marks", []tt.Change{tt.Host(tt.W(1), func(r *state.Report) { r.Marks = nil })}, "l1, run 1, cp1 cp2 w1", nil},
		{"an unmanaged node", []tt.Change{unmanaged}, "l1, run 1, cp1 cp2 w1", [][]string{{"warning: Cluster has unmanaged nodes", "old"}}},
		{"a host does not answer", []tt.Change{tt.Down(tt.W(1))}, "", [][]string{{title, `node.worker["w1"] (10.0.1.11) could not be observed`}}},
		{"the API is silent", []tt.Change{tt.SilentAPI()}, "", [][]string{{title, `The API of cluster "prod" did not answer`}}},
		{"a host that is marked as another node", []tt.Change{marks(tt.W(1), func(m *state.Marks) { m.Node = tt.W(7) })}, "", [][]string{{title, `node.worker["w1"] (10.0.1.11) is node.worker["w7"] of cluster "prod" in the state that created it`}}},
		{"hosts of two states", []tt.Change{marks(tt.W(1), func(m *state.Marks) { m.Lineage = "l2" })}, "", [][]string{{title, "The hosts belong to different states", "l1: node.cp[\"cp1\"]", "l2: node.worker[\"w1\"]"}}},
		{"control planes of two clusters", []tt.Change{holds(tt.CP(2), "ca-9")}, "", [][]string{{title, "have different CAs", "ca-9: node.cp[\"cp2\"]"}}},
		{"a host of a foreign cluster", []tt.Change{holds(tt.W(1), "ca-9"), tt.Host(tt.W(1), func(r *state.Report) { r.Marks = nil })}, "", [][]string{{"error: Host belongs to another cluster", `node.worker["w1"]`}}},
		{"all hosts are blank", []tt.Change{blank, tt.SilentAPI()}, "", [][]string{{"error: Nothing to recover"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			st, diags := record.Recover(tt.Running(2, 1, append([]tt.Change{lost}, c.changes...)...))
			got := ""
			if st != nil {
				got = recovered(st)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			wantFindings(t, diags, c.refused...)
		})
	}
}

// recovered returns a state in one line.
func recovered(st *state.State) string {
	var names []string
	for t := range st.Nodes {
		names = append(names, topology.ShortName(t))
	}
	slices.Sort(names)
	return st.Lineage + ", run " + strconv.FormatInt(st.RunToken, 10) + ", " + strings.Join(names, " ")
}
