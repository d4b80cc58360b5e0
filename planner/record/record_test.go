package record_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// described returns what a state learns in one line.
func described(l state.Learned) string {
	var out []string
	note := func(what string, names []string) {
		if slices.Sort(names); len(names) > 0 {
			out = append(out, what+" "+strings.Join(names, " "))
		}
	}
	var items, gone, nodes, clusters, left []string
	for _, it := range l.Items {
		items = append(items, topology.ShortName(it.Address.Target)+"/"+it.Address.ID())
	}
	for _, a := range l.Gone {
		gone = append(gone, a.String())
	}
	for t, n := range l.Nodes {
		nodes = append(nodes, fmt.Sprintf("%s=%s,%s", topology.ShortName(t), n.Role, n.Address))
	}
	for label, c := range l.Clusters {
		clusters = append(clusters, fmt.Sprintf("%s=%s,%s,%s", label, c.CA, c.EtcdClusterID, c.Version))
	}
	for _, t := range l.Left {
		left = append(left, t.String())
	}
	note("items", items)
	note("gone", gone)
	note("nodes", nodes)
	note("clusters", clusters)
	note("left", left)
	note("seen", slices.Clone(l.Seen))
	return strings.Join(out, "; ")
}

func item(t state.Target, phase, name string, kind state.Kind, value string) state.Item {
	class, id, _ := strings.Cut(name, ":")
	return state.Item{Address: topology.ItemAddress(t, phase, class, id), Kind: kind, Attributes: state.FromGo(map[string]any{"value": value})}
}

func sysctl(t state.Target, value string) state.Item {
	return item(t, topology.PreparePhase, "sysctl:net.ipv4.ip_forward", state.KindSysctl, value)
}

func mark(t state.Target) state.Item {
	return item(t, topology.PreparePhase, "mark:kubewright", state.KindMark, "")
}

func snapshot(items ...state.Item) *state.Snapshot {
	s := &state.Snapshot{Items: items}
	s.Sort()
	return s
}

// result is an observation in which all items are as desired, except those that are open.
func result(items []state.Item, open ...state.Item) topology.Result {
	r := topology.Result{Plan: &planner.Plan{}, Desired: snapshot(slices.Clone(items)...), Observed: snapshot(slices.Clone(items)...), Open: map[state.Address]bool{}}
	for _, it := range open {
		r.Open[it.Address] = true
	}
	return r
}

// settled is a cluster of which the state has recorded everything.
func settled(v *topology.Fleet) {
	learned := record.Record(tt.Running(1, 2), result(nil))
	maps.Copy(v.Recorded.Nodes, learned.Nodes)
	maps.Copy(v.Recorded.Clusters, learned.Clusters)
}

// TestRecord checks what the state learns of an observation: the difference to what it records.
func TestRecord(t *testing.T) {
	t.Parallel()
	w1 := func(change func(*config.Node)) tt.Change {
		return func(v *topology.Fleet) {
			for _, n := range v.Config.Nodes {
				if n.Target == tt.W(1) {
					change(n)
				}
			}
		}
	}
	moves := w1(func(n *config.Node) { n.Address = "10.0.1.99" })
	const version = "clusters prod=ca-1,e1,v1.36.4"
	for _, c := range []struct {
		name    string
		changes []tt.Change
		items   []state.Item
		open    []state.Item
		want    string
	}{
		{"nothing is new", nil, nil, nil, ""},
		{"an item is as desired", nil, []state.Item{sysctl(tt.W(1), "1")}, nil, "items w1/net.ipv4.ip_forward"},
		{"it is recorded like this", []tt.Change{func(v *topology.Fleet) { v.Recorded.Items = []state.Item{sysctl(tt.W(1), "1")} }}, []state.Item{sysctl(tt.W(1), "1")}, nil, ""},
		{"another value is recorded", []tt.Change{func(v *topology.Fleet) { v.Recorded.Items = []state.Item{sysctl(tt.W(1), "0")} }}, []state.Item{sysctl(tt.W(1), "1")}, nil, "items w1/net.ipv4.ip_forward"},
		{"it differs from what is desired", nil, []state.Item{sysctl(tt.W(1), "1")}, []state.Item{sysctl(tt.W(1), "1")}, ""},
		{"an item of a host that never joined", []tt.Change{forgotten(tt.W(1))}, []state.Item{sysctl(tt.W(1), "1")}, nil, ""},
		{"the mark of a node that was removed from the state", []tt.Change{forgotten(tt.W(1))}, []state.Item{sysctl(tt.W(1), "1"), mark(tt.W(1))}, nil, "items w1/kubewright w1/net.ipv4.ip_forward; nodes w1=worker,10.0.1.11"},
		{"the mark of another state", []tt.Change{forgotten(tt.W(1))}, []state.Item{sysctl(tt.W(1), "1"), mark(tt.W(1))}, []state.Item{mark(tt.W(1))}, ""},
		{"the API has another version", []tt.Change{func(v *topology.Fleet) { v.ClusterReports[tt.Label].Version = "v1.36.4" }}, nil, nil, version},
		{"the API is silent", []tt.Change{tt.SilentAPI()}, nil, nil, ""},
		{"another etcd answers", []tt.Change{func(v *topology.Fleet) { v.ClusterReports[tt.Label].EtcdClusterID = "e2" }}, nil, nil, "clusters prod=ca-1,e2,v1.36.3"},
		{"the API does not tell its etcd", []tt.Change{func(v *topology.Fleet) { v.ClusterReports[tt.Label].EtcdClusterID = "" }}, nil, nil, ""},
		{"a worker has another address", []tt.Change{moves}, nil, nil, "nodes w1=worker,10.0.1.99"},
		{"another machine has the address of a worker", []tt.Change{moves, tt.Host(tt.W(1), func(r *state.Report) { r.Facts.MachineID = "other" })}, nil, nil, ""},
		{"a worker whose host is blank", []tt.Change{moves, tt.Wiped(tt.W(1))}, nil, nil, ""},
		{"a worker does not answer", []tt.Change{moves, tt.Down(tt.W(1))}, nil, nil, ""},
		{"a worker becomes a control plane", []tt.Change{moves, w1(func(n *config.Node) { n.Role = config.ControlPlane })}, nil, nil, ""},
		{"other programs", []tt.Change{tt.Host(tt.W(1), func(r *state.Report) { r.Programs = state.Programs{Files: "/usr/bin/kubelet"} })}, nil, nil, "nodes w1=worker,10.0.1.11"},
		{"a host key", []tt.Change{tt.Host(tt.W(1), func(r *state.Report) { r.HostKey = "ssh-ed25519 A" })}, nil, nil, "nodes w1=worker,10.0.1.11"},
		{"a node is protected", []tt.Change{w1(func(n *config.Node) { n.Lifecycle.PreventDestroy = true })}, nil, nil, "nodes w1=worker,10.0.1.11"},
		{"the cluster is protected", []tt.Change{tt.Cluster(func(c *config.Cluster) { c.Lifecycle.PreventDestroy = true })}, nil, nil, "clusters prod=ca-1,e1,v1.36.3"},
		{"a begun step is done", []tt.Change{func(v *topology.Fleet) { v.Recorded.Unseen = []string{`node.worker["w1"]/prepare`} }}, nil, nil, `seen node.worker["w1"]/prepare`},
		{"a cluster whose nodes and block are gone", []tt.Change{func(v *topology.Fleet) { v.Recorded.Clusters["test"] = &state.RecordedCluster{CA: "ca-9"} }}, nil, nil, "left cluster.test"},
		{"the host of a control plane is blank", []tt.Change{tt.Wiped(tt.CP(1))}, []state.Item{sysctl(tt.CP(1), "1")}, []state.Item{sysctl(tt.CP(1), "1")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(1, 2, append([]tt.Change{settled}, c.changes...)...)
			if got := described(record.Record(v, result(c.items, c.open...))); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// forgotten makes the state not record a node.
func forgotten(t state.Target) tt.Change {
	return func(v *topology.Fleet) { delete(v.Recorded.Nodes, t) }
}

// TestRecordKeepsOldCA checks that a cluster is identified by its old CA until another one has replaced
// it.
func TestRecordKeepsOldCA(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*topology.Cluster)
		want   string
	}{
		{"no rotation", func(c *topology.Cluster) { c.Cas[c.CABase()] = "ca-2" }, "ca-2"},
		{"in a rotation", func(c *topology.Cluster) {
			c.Rotating = []*topology.CARotation{{CA: c.Authority(c.CABase()), Old: "ca-0", New: "ca-2", Begun: true}}
		}, "ca-0"},
		{"an expired CA is replaced", func(c *topology.Cluster) { c.AtOnce = map[string]string{c.CABase(): "ca-0"} }, "ca-0"},
	} {
		v := tt.Running(1, 1, settled)
		c.change(v.Clusters[0])
		rec := record.Record(v, result(nil)).Clusters[tt.Label]
		if rec == nil || rec.CA != c.want {
			t.Errorf("%s: got %+v, want %s", c.name, rec, c.want)
		}
	}
}

// TestRecordForgets checks that items that a plan forgets are dropped.
func TestRecordForgets(t *testing.T) {
	t.Parallel()
	r := result(nil)
	r.Plan.Forgotten = []state.Address{sysctl(tt.W(1), "").Address}
	if got, want := described(record.Record(tt.Running(1, 2, settled), r)), `gone node.worker["w1"]/prepare/sysctl:net.ipv4.ip_forward`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestIdentifyRecordsNodes checks what is recorded of a node before its first change.
func TestIdentifyRecordsNodes(t *testing.T) {
	t.Parallel()
	restored := topology.StepAddress(tt.CP(1), topology.RestorePhase)
	restored.Waypoint = maintenance.RestoreDone
	for _, c := range []struct {
		name string
		step state.Address
		want string
	}{
		{"a step of a node", topology.StepAddress(tt.W(1), topology.PreparePhase), "nodes w1=worker,10.0.1.11"},
		{"its drain", topology.StepAddress(tt.W(1), topology.DrainPhase), ""},
		{"its reset", topology.StepAddress(tt.W(1), topology.ResetPhase), ""},
		{"a node without a block", topology.StepAddress(tt.W(9), topology.PreparePhase), ""},
		{"a step of the cluster", topology.StepAddress(state.ClusterTarget(tt.Label), topology.AddonPhase), ""},
		{"the end of a restore", restored, "nodes cp1=control-plane,10.0.0.11; clusters prod=ca-1,,v1.36.3"},
	} {
		got := record.Identify(tt.Running(1, 1), &planner.Step{ID: c.step, Phase: c.step.Phase, Target: c.step.Target})
		if text := described(got); text != c.want {
			t.Errorf("%s: got %q, want %q", c.name, text, c.want)
		}
		if n := got.Nodes[tt.W(1)]; n != nil && (n.Name != "w1" || n.MachineID != "w1" || n.Cluster != tt.Label || n.Connection.Get("host").AsString() != "10.0.1.11") {
			t.Errorf("%s: got %+v", c.name, n)
		}
	}
}

// TestTakenApart checks which clusters leave the state after a destroy.
func TestTakenApart(t *testing.T) {
	t.Parallel()
	p := &planner.Plan{Resources: []planner.ResourceChange{
		{Target: state.ClusterTarget("a"), Action: planner.Delete}, {Target: state.ClusterTarget("b"), Action: planner.Delete}, {Target: state.ClusterTarget("c"), Action: planner.NoOp}, {Target: tt.W(1), Action: planner.Delete},
	}}
	st := &state.State{Nodes: map[state.Target]*state.RecordedNode{tt.W(2): {Cluster: "b"}}}
	if got, want := described(record.TakenApart(p, st)), "left cluster.a"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestUnreplaced checks which -replace flags still apply after a part of the plan was done.
func TestUnreplaced(t *testing.T) {
	t.Parallel()
	w1, ca := tt.W(1).String(), "cluster.prod/ca"
	waypoint := func(t state.Target, phase, waypoint string) state.Address {
		return state.Address{Target: t, Phase: phase, Waypoint: waypoint}
	}
	for _, c := range []struct {
		name  string
		begun []state.Address
		want  []string
	}{
		{"nothing was begun", nil, []string{w1, ca}},
		{"the node was drained and reset", []state.Address{waypoint(tt.W(1), topology.DrainPhase, ""), waypoint(tt.W(1), topology.ResetPhase, "")}, []string{w1, ca}},
		{"the node joins", []state.Address{waypoint(tt.W(1), topology.ResetPhase, ""), waypoint(tt.W(1), topology.PreparePhase, "")}, []string{ca}},
		{"another node joins", []state.Address{waypoint(tt.W(2), topology.PreparePhase, "")}, []string{w1, ca}},
		{"the CA is being rotated", []state.Address{waypoint(tt.CP(1), topology.CertsPhase, topology.DropOld)}, []string{w1, ca}},
		{"its files are being removed", []state.Address{waypoint(tt.CP(1), topology.CertsPhase, rotation.Rotated)}, []string{w1}},
	} {
		if got := record.Unreplaced(tt.Config(1, 2), []string{w1, ca}, c.begun); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCertificates checks that the certificates on hosts are listed, and missing files are skipped.
func TestCertificates(t *testing.T) {
	t.Parallel()
	issued := func(t state.Target, path string, days int) tt.Change {
		return tt.File(t, path, func(f *state.FileReport) {
			f.Exists, f.Certificates = true, []state.CertificateInfo{{CommonName: "x", Issuer: "kubernetes", NotAfter: tt.Now.AddDate(0, 0, days)}}
		})
	}
	v := tt.Running(1, 1, issued(tt.CP(1), "/etc/kubernetes/pki/apiserver.crt", 10), issued(tt.W(1), topology.KubeletClientCert, -1))
	days := map[string]int{}
	for _, c := range record.Certificates(v) {
		days[topology.ShortName(c.Node)+" "+c.Path] = c.DaysLeft
	}
	for path, want := range map[string]int{"cp1 /etc/kubernetes/pki/apiserver.crt": 10, "w1 " + topology.KubeletClientCert: -1} {
		if got, there := days[path]; !there || got != want {
			t.Errorf("%s: got %d days, %v; want %d in %v", path, got, there, want, days)
		}
	}
	if _, there := days["cp1 /etc/kubernetes/pki/apiserver-etcd-client.crt"]; there {
		t.Error("a certificate that is missing is listed")
	}
}
