package pipeline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TestMovedBlockMergesOnlyTheSameNode checks that a moved block only merges two targets that are the same node.
func TestMovedBlockMergesOnlyTheSameNode(t *testing.T) {
	t.Parallel()
	node := func(key string) state.Target { return state.NodeKeyTarget("worker", key) }
	at := state.Source{File: "main.hcl", Line: 40, Column: 1}
	recorded := &state.State{
		Clusters: map[string]*state.RecordedCluster{"prod": {}, "test": {}},
		Nodes:    map[state.Target]*state.RecordedNode{node("w1"): {Cluster: "prod"}, node("w2"): {Cluster: "prod"}},
	}
	for name, c := range map[string]struct {
		to      state.Target
		cluster string
		want    finding
	}{
		"onto another": {node("w2"), "prod", finding{diag.Error, "Moved onto an existing target", "main.hcl:40", `node.worker["w2"]`, []string{
			`The state records both node.worker["w1"] and node.worker["w2"]`, "Delete the moved block if they are two", "removed block",
		}}},
		"elsewhere": {node("w3"), "test", finding{diag.Error, "Moved into another cluster", "main.hcl:40", `node.worker["w3"]`, []string{
			`node.worker["w1"] is a node of cluster "prod", and node.worker["w3"] is declared for cluster "test"`, "delete the moved block",
		}}},
	} {
		cfg := &config.Config{
			Nodes: []*config.Node{{Target: c.to, Cluster: c.cluster}},
			Moves: []config.Move{{From: node("w1"), To: c.to, Source: at}},
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, diags := ownership.Moves(cfg, recorded)
			wantFindings(t, diags, c.want)
		})
	}
}

// TestMovedBlockStillDeclaredIsRefused checks that a moved block for a whole block is refused if a recorded key of
// it is still declared, unless another block takes its name.
func TestMovedBlockStillDeclaredIsRefused(t *testing.T) {
	t.Parallel()
	block := func(name string) state.Target { return state.NodeTarget(name) }
	key := func(name, key string) *config.Node {
		return &config.Node{Target: state.NodeKeyTarget(name, key), Cluster: "prod"}
	}
	recorded := &state.State{
		Clusters: map[string]*state.RecordedCluster{"prod": {}},
		Nodes:    map[state.Target]*state.RecordedNode{key("worker", "w1").Target: {Cluster: "prod"}, key("old", "w1").Target: {Cluster: "prod"}},
	}
	moves := []config.Move{{From: block("worker"), To: block("pool"), Source: state.Source{File: "main.hcl", Line: 40, Column: 1}}}
	for name, c := range map[string]struct {
		cfg  *config.Config
		want []finding
	}{
		"it does":       {&config.Config{Nodes: []*config.Node{key("worker", "w1"), key("pool", "w1")}, Moves: moves}, []finding{{diag.Error, "Moved object still exists", "main.hcl:40", `node.worker["w1"]`, []string{`This says that node.worker["w1"] is now node.pool["w1"], but node.worker["w1"] is still declared. Remove its block or its key, or this moved block`}}}},
		"of other keys": {&config.Config{Nodes: []*config.Node{key("worker", "w2"), key("pool", "w1")}, Moves: moves}, nil},
		"of another":    {&config.Config{Nodes: []*config.Node{key("worker", "w1"), key("pool", "w1")}, Moves: append(slices.Clip(moves), config.Move{From: block("old"), To: block("worker")})}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, diags := ownership.Moves(c.cfg, recorded)
			if len(diags) != len(c.want) {
				t.Errorf("got %v", diags)
			}
			wantFindings(t, diags, c.want...)
		})
	}
}

// TestDuplicateHostsAreRefused checks that two blocks for one host are refused, even in two clusters, each of
// which would be bootstrapped there; and so are two hosts with one node name.
func TestDuplicateHostsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		other string // other is the worker's cluster
		seen  func(control, worker *state.Report)
		want  []finding
	}{
		"one machine": {"prod", func(control, worker *state.Report) { worker.Facts.MachineID = control.Facts.MachineID }, []finding{
			{diag.Error, "Two nodes share one host", "main.hcl:12", `node.worker["w1"]`, []string{
				`node.cp["cp1"] (10.0.0.11) and node.worker["w1"] (10.0.0.21) have the same machine id cp1`, "/etc/machine-id",
			}},
		}},
		"one machine in two clusters": {"test", func(control, worker *state.Report) {
			worker.Facts.MachineID, worker.Facts.Hostname = control.Facts.MachineID, control.Facts.Hostname
		}, []finding{
			{diag.Error, "Two nodes share one host", "main.hcl:12", `node.worker["w1"]`, []string{"have the same machine id cp1"}},
		}},
		"one name": {"prod", func(control, worker *state.Report) { worker.Facts.Hostname = control.Facts.Hostname }, []finding{
			{diag.Error, "Two nodes have the same name", "main.hcl:12", `node.worker["w1"]`, []string{
				`node.cp["cp1"] (10.0.0.11) and node.worker["w1"] (10.0.0.21) would both be node "cp1" in Kubernetes`, "set name in its node block",
			}},
		}},
		"one name in two clusters": {"test", func(control, worker *state.Report) { worker.Facts.Hostname = control.Facts.Hostname }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := cluster(1, 1)
			second := config.NewCluster("test", "1.36.3")
			second.ControlPlaneEndpoint, second.Network.PodSubnet = "test.example.com:6443", "10.245.0.0/16"
			cfg.Clusters = append(cfg.Clusters, second)
			if c.other == "test" {
				cfg.Nodes[1].Cluster, cfg.Nodes[1].Role = c.other, config.ControlPlane
			} else {
				cfg.Clusters = cfg.Clusters[:1]
			}
			v := blankHosts(places(cfg))
			c.seen(v.Reports[cfg.Nodes[0].Target], v.Reports[cfg.Nodes[1].Target])
			_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{SkipPhases: []string{"preflight"}})
			wantFindings(t, diags, c.want...)
		})
	}
}

// TestFlagsThatDoNotApplyAreReported checks that flags on targets to which they cannot apply are reported.
func TestFlagsThatDoNotApplyAreReported(t *testing.T) {
	t.Parallel()
	worker, other := state.NodeKeyTarget("worker", "w1"), state.NodeKeyTarget("worker", "w9")
	for name, c := range map[string]struct {
		spoil func(*operator)
		want  finding
	}{
		"replace a host that is off": {func(o *operator) { o.edit("10.0.0.21", "power off"); o.replace = []state.Target{worker} }, finding{
			diag.Error, "Host could not be observed", "main.hcl:12", `node.worker["w1"]`, []string{
				`⟨+replace=node.worker["w1"]⟩: `, "a node is replaced only on a host that answers.", `⟨+gone-host=node.worker["w1"]⟩`, "remove its block",
			},
		}},
		"replace what is not there": {func(o *operator) { o.replace = []state.Target{other} }, finding{
			diag.Error, "Nothing to replace", "", "", []string{`⟨+replace=node.worker["w9"]⟩: the configuration has no such node.`},
		}},
		"accept alone": {func(o *operator) { o.accept = []state.Target{worker} }, finding{
			diag.Error, "New host is accepted without a replacement", "", `node.worker["w1"]`, []string{`⟨+new-host=node.worker["w1"]⟩ requires ⟨+replace=node.worker["w1"]⟩`},
		}},
		"forget what is not there": {func(o *operator) { o.forget = []state.Target{other} }, finding{
			diag.Error, "Nothing to forget", "", "", []string{`⟨+gone-host=node.worker["w9"]⟩: the state records no such node`},
		}},
		"forget before there is a state": {func(o *operator) { o.recorded = nil; o.leave("cp1", "w1"); o.forget = []state.Target{other} }, finding{
			diag.Error, "Nothing to forget", "", "", []string{`the state records no such node`},
		}},
		"forget what has a block": {func(o *operator) { o.edit("10.0.0.21", "power off"); o.forget = []state.Target{worker} }, finding{
			diag.Error, "Node is still in the configuration", "", `node.worker["w1"]`, []string{"Remove its block or its key first", `⟨+replace=node.worker["w1"] +new-host=node.worker["w1"]⟩`},
		}},
		"forget what answers": {func(o *operator) { o.leave("w1"); o.forget = []state.Target{worker} }, finding{
			diag.Error, "Host is still alive", "", `node.worker["w1"]`, []string{`node.worker["w1"] (10.0.0.21) is declared gone for good, but it answers.`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 1, 1)
			places(o.config)
			c.spoil(o)
			wantFindings(t, o.diagnose(), c.want)
		})
	}
}

// TestBootstrapRefusesEmptiedRecordedHosts checks that no cluster is bootstrapped on hosts that a state knows and that are
// empty except perhaps for our marker, and that the remedy in the text works.
func TestBootstrapRefusesEmptiedRecordedHosts(t *testing.T) {
	t.Parallel()
	for name, marks := range map[string]bool{"reset by kubeadm": true, "emptied": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 1, 1)
			places(o.config)
			for _, n := range o.config.Nodes {
				o.edit(n.Address, "unit kubelet stop", "file /etc/kubernetes delete", "file /var/lib/kubelet delete", "power reboot")
				if !marks {
					o.edit(n.Address, "foreign")
				}
			}
			o.world.Advance(time.Minute)
			o.edit("10.0.0.11", "file /var/lib/etcd delete")
			wantFindings(t, o.diagnose(), finding{diag.Error, "Cluster is missing from its hosts", "main.hcl:1", "cluster.prod", []string{
				`Cluster "prod" is recorded in the state (CA `, "A recorded cluster is not bootstrapped a second time", "⟨forget cluster.prod⟩",
			}})
			o.recorded.Nodes, o.recorded.Clusters, o.recorded.Items = nil, nil, nil
			o.must(o.apply())
			o.wantNothing()
		})
	}
}

// TestRecoverReportsUnknownParts checks that a state is rebuilt from hosts whose cluster can be determined, and
// that unknown parts are reported.
func TestRecoverReportsUnknownParts(t *testing.T) {
	t.Parallel()
	base := founded(t, 2, 1)
	refused := finding{diag.Error, "State cannot be recovered", "main.hcl:1", "cluster.prod", nil}
	foreign := finding{diag.Error, "Host belongs to another cluster", "main.hcl:13", `node.worker["w1"]`, []string{
		`node.worker["w1"] (10.0.0.21) holds files of a Kubernetes cluster that kubewright did not create`, "says how to go on:\n\n  ⟨import ssh://10.0.0.21⟩",
	}}
	for name, c := range map[string]struct {
		before func(*operator)
		seen   func(*operator, *topology.Fleet)
		want   finding
	}{
		"a node without a block": {func(o *operator) { o.leave("w1") }, nil, finding{diag.Warning, "Cluster has unmanaged nodes", "main.hcl:1", "cluster.prod", []string{
			`Cluster "prod" has unmanaged nodes: host-10-0-0-21.`, "kubewright leaves them alone", "add its block, move the new state away and recover again",
		}}},
		"no kubeconfig": {nil, func(_ *operator, v *topology.Fleet) { delete(v.ClusterReports, "prod") }, refused.saying(
			`The API of cluster "prod" did not answer`, "recovered only while it runs: no control plane has an administrator's kubeconfig (/etc/kubernetes/admin.conf).",
		)},
		"two clusters": {nil, func(o *operator, v *topology.Fleet) { otherCA(v, o.config.Nodes[1]) }, refused.saying(
			`The control planes of cluster "prod" have different CAs`, `  othercaother: node.cp["cp2"] (10.0.0.12)`, "correct their addresses",
		)},
		"another node": {nil, func(o *operator, v *topology.Fleet) {
			mark(v, o.config.Nodes[2], func(m *state.Marks) { m.Cluster, m.Node = "test", state.NodeTarget("x") })
		}, finding{diag.Error, "State cannot be recovered", "main.hcl:13", `node.worker["w1"]`, []string{
			`node.worker["w1"] (10.0.0.21) is node.x of cluster "test" in the state that created it, and node.worker["w1"] of cluster "prod" in this configuration. Use the configuration that created it, or correct the addresses here`,
		}}},
		"without a mark, silent": {nil, func(o *operator, v *topology.Fleet) {
			v.Reports[o.config.Nodes[1].Target].Marks = nil
			delete(v.ClusterReports, "prod")
		}, refused.saying(`The API of cluster "prod" did not answer`)},
		"without a mark, of another cluster": {nil, func(o *operator, v *topology.Fleet) {
			v.Reports[o.config.Nodes[2].Target].Marks = nil
			otherCA(v, o.config.Nodes[2])
		}, foreign},
		"without a mark, no node": {nil, func(o *operator, v *topology.Fleet) {
			v.Reports[o.config.Nodes[2].Target].Marks = nil
			delete(v.ClusterReports["prod"].Nodes, "host-10-0-0-21")
		}, foreign},
		"two states": {nil, func(o *operator, v *topology.Fleet) { v.Reports[o.config.Nodes[2].Target].Marks.Lineage = "l2" }, finding{
			diag.Error, "State cannot be recovered", "", "", []string{"The hosts belong to different states", `  l2: node.worker["w1"] (10.0.0.21)`, "Remove the hosts of other states from this configuration"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			if c.before != nil {
				c.before(o)
			}
			o.recorded = nil
			places(o.config)
			v := o.observe()
			if c.seen != nil {
				c.seen(o, v)
			}
			_, diags := record.Recover(v)
			wantFindings(t, diags, c.want)
		})
	}
}

// otherCA changes the observed CA of a host to another one than that of the others.
func otherCA(v *topology.Fleet, n *config.Node) {
	see(v, n, pkiDir+"ca.crt", func(f *state.FileReport) { f.Certificates[0].KeyDigest = "othercaotherca" })
}

// TestAdoptRefusesUnsuitableHosts checks that only hosts of one running cluster that nothing else manages are
// adopted.
func TestAdoptRefusesUnsuitableHosts(t *testing.T) {
	t.Parallel()
	base := founded(t, 2, 1)
	for name, c := range map[string]struct {
		seen func(*topology.Fleet, *config.Node)
		says []string
	}{
		"off": {func(v *topology.Fleet, worker *config.Node) {
			delete(v.Reports, worker.Target)
			v.Unobserved[worker.Target] = state.Unobserved{Target: worker.Target, Reason: "connection refused", Remedy: "check that the host is up"}
		}, []string{`Not all hosts of cluster "prod" could be observed`, `  node.worker["w1"]: connection refused`, "To do: check that the host is up."}},
		"ours": {func(v *topology.Fleet, worker *config.Node) {
			v.Reports[worker.Target].Marks = &state.Marks{Cluster: "test", Node: worker.Target, Lineage: "l7"}
		}, []string{`Hosts of cluster "prod" already belong to a state of kubewright`, `  node.worker["w1"] (10.0.0.21): node.worker["w1"] of cluster "test", lineage l7`, "⟨recover⟩"}},
		"another name": {
			func(v *topology.Fleet, worker *config.Node) { v.Reports[worker.Target].Facts.Hostname = "other" },
			[]string{`cluster "prod" has no nodes of their names: it has host-10-0-0-11, host-10-0-0-12, host-10-0-0-21.`, `  node.worker["w1"] (10.0.0.21): "other"`, "or set the attribute name of the nodes"},
		},
		"a control plane as a worker": {
			func(v *topology.Fleet, worker *config.Node) {
				see(v, worker, "/etc/kubernetes/manifests/kube-apiserver.yaml", func(f *state.FileReport) { f.Exists = true })
			},
			[]string{`Hosts have another role in cluster "prod" than in their blocks.`, `  node.worker["w1"] (10.0.0.21): a control-plane`},
		},
		"a worker as a control plane": {
			func(_ *topology.Fleet, worker *config.Node) { worker.Role = config.ControlPlane },
			[]string{`Hosts have another role in cluster "prod" than in their blocks.`, `  node.worker["w1"] (10.0.0.21): a worker`, "Give each the role that it has"},
		},
		"another CA": {otherCA, []string{`The hosts of cluster "prod" have different CAs`, `  othercaother: node.worker["w1"] (10.0.0.21)`}},
		"silent API": {
			func(v *topology.Fleet, _ *config.Node) {
				delete(v.ClusterReports, "prod")
				v.ClusterErrors["prod"] = "connection refused"
			},
			[]string{`The API of cluster "prod" did not answer, and a cluster is adopted only while it runs: connection refused. Start it, and run the same command again.`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			o.recorded = nil
			v := o.observe()
			for _, r := range v.Reports {
				r.Marks = nil
			}
			places(o.config)
			c.seen(v, o.config.Nodes[2])
			_, diags := record.Adopt(v, []string{"prod"})
			wantFindings(t, diags, finding{diag.Error, "Cluster cannot be adopted", "main.hcl:1", "cluster.prod", c.says})
		})
	}
}

// TestAdoptKeepsImmutableSettings checks that a block cannot change immutable settings when a cluster is adopted: the
// cluster's own configuration and its hosts determine them.
func TestAdoptKeepsImmutableSettings(t *testing.T) {
	t.Parallel()
	base := founded(t, 2, 1)
	for name, c := range map[string]struct {
		says func(*config.Cluster)
		want string
	}{
		"etcd": {func(c *config.Cluster) {
			c.Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://10.0.0.5:2379"}}
		}, "was made with stacked etcd, and the configuration has external"},
		"dns_domain": {func(c *config.Cluster) { c.Network.DNSDomain = "corp.example" }, `network.dns_domain = "cluster.local", and the configuration has "corp.example"`},
		"bind_port":  {func(c *config.Cluster) { c.BindPort = 7443 }, `bind_port = "6443", and the configuration has "7443"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			c.says(o.config.Clusters[0])
			o.recorded = nil
			v := o.observe()
			for _, r := range v.Reports {
				r.Marks = nil
			}
			learned, diags := record.Adopt(v, []string{"prod"})
			if d := (finding{diag.Error, "Setting is immutable", "main.hcl:1", "cluster.prod", []string{c.want}}).in(diags); d == nil {
				t.Errorf("the cluster is adopted:\n%s", printedFindings(diags))
			}
			if len(learned.Nodes)+len(learned.Clusters) > 0 {
				t.Errorf("the state records %d nodes", len(learned.Nodes))
			}
		})
	}
}

// TestRecoverKeepsRoleOfHost checks that a node is recovered with the role that its host has, so that another
// role in its block is a change.
func TestRecoverKeepsRoleOfHost(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	o.config.Nodes[2].Role = config.Worker
	o.recorded = nil
	st, diags := record.Recover(o.observe())
	wantFindings(t, diags)
	if role := st.Nodes[o.config.Nodes[2].Target].Role; role != string(config.ControlPlane) {
		t.Errorf("the control plane is recovered as a %s", role)
	}
}

// TestClusterWithoutAdminKubeconfigIsRepaired checks that a cluster whose founder was replaced, and on which no host has
// admin.conf any more, counts as existing: it gets the files, and is not bootstrapped again.
func TestClusterWithoutAdminKubeconfigIsRepaired(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	o.replace = []state.Target{o.config.Nodes[0].Target}
	o.must(o.apply())
	for i := range 3 {
		o.edit(address(i+1), "file /etc/kubernetes/admin.conf delete")
	}
	p, err := o.plan()
	o.must(err)
	for _, c := range p.Changes {
		if !strings.HasSuffix(c.Address.Item, "/admin.conf") {
			t.Errorf("more than a kubeconfig changes: %s %s", c.Action, c.Address)
		}
	}
	o.must(o.carryOut())
	o.wantNothing()
}
