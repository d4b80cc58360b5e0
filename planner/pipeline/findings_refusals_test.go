package pipeline_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// wantSaid checks that these findings are among the diagnostics, and compares their texts with the
// recorded ones.
func wantSaid(t testing.TB, diags diag.Diagnostics, want ...finding) {
	t.Helper()
	for _, w := range want {
		if d := w.in(diags); d == nil {
			t.Errorf("%s %q at %q of %q is not among\n%s", w.severity, w.summary, w.at, w.of, printedFindings(diags))
		} else {
			w.check(t, d)
			show(t, d)
		}
	}
}

// silence makes the cluster's API not answer.
func silence(v *topology.Fleet) {
	delete(v.ClusterReports, "prod")
	v.ClusterErrors["prod"] = "connection refused"
}

// TestEtcdAlarmRefusesChanges checks that an alarm of etcd is reported, and that changes to its cluster are
// refused.
func TestEtcdAlarmRefusesChanges(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	for name, c := range map[string]struct {
		severity diag.Severity
		change   func(o *operator)
	}{
		"nothing to do":          {diag.Warning, func(*operator) {}},
		"a worker leaves":        {diag.Error, func(o *operator) { o.leave("w1") }},
		"a control plane leaves": {diag.Error, func(o *operator) { o.leave("cp1") }},
		"one that has it leaves": {diag.Error, func(o *operator) { o.leave("cp3") }},
		"one that has it is new": {diag.Error, func(o *operator) { o.replace = []state.Target{o.config.Nodes[2].Target} }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			c.change(o)
			v := o.observe()
			v.ClusterReports["prod"].Members[0].Alarms = []string{quorum.AlarmNoSpace}
			v.ClusterReports["prod"].Members[2].Alarms = []string{quorum.AlarmCorrupt}
			_, diags := o.planOf(v, planner.Options{})
			wantNotSaid(t, diags, "Plan would lose etcd quorum")
			wantNotSaid(t, diags, "Etcd would lose quorum")
			wantSaid(t, diags, finding{c.severity, "Etcd has an alarm", "main.hcl:1", "", []string{
				"etcd has raised alarms: host-10-0-0-11 NOSPACE, host-10-0-0-13 CORRUPT.", "⟨apply +replace=NODE⟩", "⟨defragment⟩",
			}})
		})
	}
}

// TestEtcdUnknownVoterDownIsReported checks that a voter of etcd that does not answer and belongs to no node is
// reported, and no other one.
func TestEtcdUnknownVoterDownIsReported(t *testing.T) {
	t.Parallel()
	const title = "Unknown etcd member is down"
	base := founded(t, 3, 0)
	for name, c := range map[string]struct {
		member state.EtcdMember
		told   bool
	}{
		"lost":           {state.EtcdMember{ID: "8e9e05c52164694d", Name: "cp9", PeerURLs: []string{"https://10.0.0.19:2380"}}, true},
		"answers":        {state.EtcdMember{ID: "8e9e05c52164694d", Name: "cp9", PeerURLs: []string{"https://10.0.0.19:2380"}, Healthy: true}, false},
		"does not count": {state.EtcdMember{ID: "8e9e05c52164694d", Name: "cp9", PeerURLs: []string{"https://10.0.0.19:2380"}, Learner: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			v := o.observe()
			v.ClusterReports["prod"].Members = append(v.ClusterReports["prod"].Members, c.member)
			_, diags := o.planOf(v, planner.Options{})
			if !c.told {
				wantNotSaid(t, diags, title)
				return
			}
			wantSaid(t, diags, finding{diag.Warning, title, "main.hcl:1", "cluster.prod", []string{
				`Member cp9 (8e9e05c52164694d, https://10.0.0.19:2380) of the etcd of cluster "prod" does not answer`, "of 4 voters 3 have to answer", "etcdctl member remove 8e9e05c52164694d",
			}})
		})
	}
	for name, change := range map[string]func(o *operator, v *topology.Fleet){
		"a control plane's": func(*operator, *topology.Fleet) {},
		"of a node that leaves and is not heard": func(o *operator, v *topology.Fleet) {
			t := o.config.Nodes[2].Target
			o.leave("cp3")
			delete(v.Reports, t)
			v.Unobserved[t] = state.Unobserved{Target: t, Reason: "connection refused"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			v := o.observe()
			v.ClusterReports["prod"].Members[2].Healthy = false
			change(o, v)
			_, diags := o.planOf(v, planner.Options{})
			wantNotSaid(t, diags, title)
		})
	}
}

// wantNotSaid checks that there is no finding with this title.
func wantNotSaid(t *testing.T, diags diag.Diagnostics, title string) {
	t.Helper()
	if slices.ContainsFunc(diags, func(d *diag.Diagnostic) bool { return d.Summary == title }) {
		t.Errorf("reported: %s", printedFindings(diags))
	}
}

// TestEtcdSeparateClusterIsReported checks the findings about a member that has bootstrapped a separate etcd: where no
// quorum answers, where another etcd answers, and for commands that only observe.
func TestEtcdSeparateClusterIsReported(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 0)
	places(base.config)
	t.Run("no other etcd answers", func(t *testing.T) {
		t.Parallel()
		o := base.copy(t)
		o.edit("10.0.0.11", "file /var/lib/etcd/member delete")
		o.world.Advance(time.Minute)
		v := o.observe()
		silence(v)
		_, diags := o.planOf(v, planner.Options{})
		wantSaid(t, diags, finding{diag.Error, "Etcd was bootstrapped again", "main.hcl:11", `node.cp["cp1"]`, []string{
			`The cluster's data is still on node.cp["cp2"], node.cp["cp3"], and no quorum of its members answers: keep that data`, "⟨restore FILE⟩",
		}})
		show(t, etcd.AstrayEtcds(v, "prod")...)
		if said := etcd.AstrayEtcds(v, "prod"); len(said) != 1 || !strings.Contains(said[0].Detail, `⟨apply +replace=node.cp["cp1"]⟩`) {
			t.Errorf("a command that only observes reports %v", said)
		}
	})
	t.Run("another one answers", func(t *testing.T) {
		t.Parallel()
		v := base.copy(t).observe()
		cl := v.ClusterReports["prod"]
		cl.EtcdClusterID, cl.Members, v.Etcds = "deadbeef", cl.Members[:1], nil
		_, diags := base.planOf(v, planner.Options{})
		wantSaid(t, diags, finding{diag.Error, "Etcd was bootstrapped again", "main.hcl:12", `node.cp["cp2"]`, []string{
			"The etcd that answers is deadbeef, and that of the state ", "Keep that data. If the recorded etcd is only down, bring it back, and plan again.", "⟨restore FILE⟩",
		}})
	})
	t.Run("one has lost its data in the dark", func(t *testing.T) {
		t.Parallel()
		o := base.copy(t)
		o.edit("10.0.0.13", "file /var/lib/etcd/member delete")
		v := o.observe()
		silence(v)
		_, diags := o.planOf(v, planner.Options{})
		wantSaid(t, diags, finding{diag.Error, "Etcd member has lost its data", "main.hcl:13", `node.cp["cp3"]`, []string{
			"No quorum answers now. Bring the other members back first, and then remove the node and join it again:", "If their data is lost as well, restore etcd from a snapshot",
		}})
	})
}

// forgetNode removes a node from the state, as state rm does.
func (o *operator) forgetNode(node state.Target) {
	o.recorded.Nodes = maps.Clone(o.recorded.Nodes)
	delete(o.recorded.Nodes, node)
	o.recorded.Items = slices.DeleteFunc(slices.Clone(o.recorded.Items), func(it state.Item) bool { return it.Address.Target == node })
}

// TestEtcdForgottenMemberRejoinsAfterCleanup checks that a control plane that etcd does not list and that the state has
// forgotten joins as a new one after it was cleaned by hand.
func TestEtcdForgottenMemberRejoinsAfterCleanup(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	places(o.config)
	o.removeMember("https://10.0.0.13:2380")
	o.forgetNode(o.config.Nodes[2].Target)
	wantSaid(t, o.diagnose(), finding{diag.Error, "Etcd does not list this member", "main.hcl:13", `node.cp["cp3"]`, []string{
		"The state does not record the node any more. Clean the host (kubeadm reset there), and plan again: it joins as a new one.", "⟨+replace⟩",
	}})
	o.edit("10.0.0.13", "unit kubelet stop", "file /etc/kubernetes delete", "file /var/lib/kubelet delete", "file /var/lib/etcd delete", "power reboot")
	o.world.Advance(time.Minute)
	o.must(o.apply())
	o.wantNothing()
}

// TestEtcdRestoreWithLostDataDoesNotContinue checks that a restore whose data was lost before it finished does not continue
// without it, and starts again when a user asks for that as the text says.
func TestEtcdRestoreWithLostDataDoesNotContinue(t *testing.T) {
	t.Parallel()
	const sha = "0123456789abcdef"
	from := maintenance.EtcdRestore{Cluster: "prod", Artifact: "good.db", SHA256: sha}
	base := founded(t, 3, 0)
	places(base.config)
	for name, c := range map[string]struct {
		there bool
		says  string
	}{
		"gone":       {false, "had its data, but it is gone (/var/lib/etcd/member)."},
		"other data": {true, "had its data, but other data is there now: etcd has started with empty data, or the data was replaced by hand (/var/lib/etcd/member)."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			v := o.observe()
			see(v, o.config.Nodes[0], "/var/lib/etcd/member", func(f *state.FileReport) { f.Exists = c.there })
			see(v, o.config.Nodes[0], planner.RestoredMark, func(f *state.FileReport) { f.Exists, f.Content = true, []byte(sha+"\n") })
			_, diags := maintenance.Restore(v, planner.Plan{}, from)
			wantSaid(t, diags, finding{diag.Error, "Restored data is lost", "main.hcl:11", `node.cp["cp1"]`, []string{
				c.says, "First check that no other control plane holds it", "delete /var/lib/kubewright/etcd-restored on that host, and run the same command again.",
			}})
			r, diags := maintenance.Restore(o.observe(), planner.Plan{}, from)
			if diags.HasErrors() {
				t.Fatalf("the restore does not start again: %s", printedFindings(diags))
			}
			impacts := map[string]bool{}
			for _, s := range r.Plan.Steps {
				impacts[s.Impact] = true
			}
			for _, want := range []string{
				"stops the API server and etcd here; the data of etcd is set aside", "creates etcd's data from good.db", "starts etcd with one member, and the API server",
				"joins etcd and starts the API server", "completes the restore",
			} {
				if !impacts[want] {
					t.Errorf("no step %s:\n%v", want, impacts)
				}
			}
		})
	}
}

// TestEtcdRestoreRefusedOverWorkingCluster checks that no restore is planned over a working cluster, or beside a control
// plane of which it is unknown whether it still runs.
func TestEtcdRestoreRefusedOverWorkingCluster(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	places(o.config)
	v := o.observe()
	_, diags := maintenance.Restore(v, planner.Plan{}, maintenance.EtcdRestore{Cluster: "prod", Artifact: "good.db", SHA256: "0123456789abcdef", Answers: v.ClusterReports["prod"].Members})
	wantSaid(t, diags, finding{diag.Error, "Restore refused: etcd has quorum", "main.hcl:1", "cluster.prod", []string{
		`The etcd of cluster "prod" answers: a quorum of its members is there (host-10-0-0-11, host-10-0-0-12, host-10-0-0-13).`, "give ⟨+overwrite⟩: a snapshot of now is taken first",
	}})
	away := o.config.Nodes[1].Target
	o.leave("cp2")
	v = o.observe()
	delete(v.Reports, away)
	delete(v.Unobserved, away)
	_, diags = maintenance.Restore(v, planner.Plan{}, maintenance.EtcdRestore{Cluster: "prod", Artifact: "good.db", SHA256: "0123456789abcdef"})
	wantSaid(t, diags, finding{diag.Error, "Control plane would keep its old etcd member", "main.hcl:1", "cluster.prod", []string{
		`node.cp["cp2"] (10.0.0.12): no longer in the configuration, and its host is not observed`, `⟨restore +gone-host=node.cp["cp2"] FILE⟩`,
	}})
}

// ownershipCase is a situation in which a host belongs to another owner than it seems.
type ownershipCase struct {
	before func(*operator)
	seen   func(*topology.Fleet, *config.Node)
	want   finding
}

// ownerships returns the cases about the ownership of a host.
func ownerships() map[string]ownershipCase {
	const worker = `node.worker["w1"]`
	renamed := func(o *operator) {
		o.config.Clusters[0].Label = "other"
		for _, n := range o.config.Nodes {
			n.Cluster = "other"
		}
	}
	return map[string]ownershipCase{
		"another node": {nil, func(v *topology.Fleet, w *config.Node) {
			mark(v, w, func(m *state.Marks) { m.Node = state.NodeKeyTarget("cp", "cp2") })
		}, finding{diag.Error, "Host is another node", "main.hcl:13", worker, []string{
			worker + ` (10.0.0.21) is marked as node.cp["cp2"], which is a node as well.`, "Correct the addresses; if the blocks were renamed, declare that with moved blocks.",
		}}},
		"another state": {nil, func(v *topology.Fleet, w *config.Node) { mark(v, w, func(m *state.Marks) { m.Lineage = "l9" }) }, finding{
			diag.Error, "Host belongs to another state", "main.hcl:13", worker, []string{
				`is ` + worker + ` of cluster "prod" in the state with lineage l9; the state here has lineage `, "Use the folder and state that created it, or use another host.",
			},
		}},
		"another cluster": {func(o *operator) {
			o.recorded.Clusters = map[string]*state.RecordedCluster{"prod": o.recorded.Clusters["prod"], "test": {CA: "9f2c"}}
		}, func(v *topology.Fleet, w *config.Node) { mark(v, w, func(m *state.Marks) { m.Cluster = "test" }) }, finding{
			diag.Error, "Host belongs to another cluster", "main.hcl:13", worker, []string{`is a node of cluster "test". Destroy it there before it joins "prod".`},
		}},
		"the cluster has another name": {renamed, nil, finding{diag.Error, "Host belongs to another cluster", "main.hcl:1", "cluster.other", []string{
			`The state records these nodes in cluster "prod", but the configuration has them in "other"`, "If that cluster was renamed, declare it:", "    from = cluster.prod", "destroy the existing one first",
		}}},
		"a node of another cluster": {func(o *operator) {
			second := config.NewCluster("test", "1.36.3")
			second.ControlPlaneEndpoint, second.Source = "test.example.com:6443", state.Source{File: "main.hcl", Line: 2, Column: 1}
			o.config.Clusters = append(o.config.Clusters, second)
			o.recorded.Clusters = map[string]*state.RecordedCluster{"prod": o.recorded.Clusters["prod"], "test": {CA: "9f2c"}}
			o.config.Nodes[2].Cluster, o.config.Nodes[2].Role = "test", config.ControlPlane
		}, nil, finding{diag.Error, "Host belongs to another cluster", "main.hcl:2", "cluster.test", []string{
			`The state records these nodes in cluster "prod", but the configuration has them in "test"`, "remove these nodes from the configuration, apply, and add them back.",
		}}},
		"a node with another name": {func(o *operator) { o.config.Nodes[2].Target.Key = "w9" }, nil, finding{
			diag.Error, "Host is another node", "main.hcl:13", `node.worker["w9"]`, []string{
				`10.0.0.21 is the host of node.worker["w1"] in the state, which is no longer in the configuration and would be removed from this host`, "If the node was renamed to node.worker[\"w9\"], declare it:",
				"If it is another node, apply without it first, so that the old one is removed.",
			},
		}},
		"a node with another name in another cluster": {func(o *operator) {
			second := config.NewCluster("test", "1.36.3")
			second.ControlPlaneEndpoint, second.Source = "test.example.com:6443", state.Source{File: "main.hcl", Line: 2, Column: 1}
			o.config.Clusters = append(o.config.Clusters, second)
			o.config.Nodes[2].Cluster, o.config.Nodes[2].Role, o.config.Nodes[2].Target.Key = "test", config.ControlPlane, "w9"
		}, nil, finding{diag.Error, "Host is another node", "main.hcl:13", `node.worker["w9"]`, []string{
			`10.0.0.21 is the host of node.worker["w1"] in the state`, `node.worker["w1"] is a node of cluster "prod", and node.worker["w9"] is one of "test". A host changes its cluster by leaving one and joining the other:`,
			"apply without this node first, so that the old one is removed, and add it back.",
		}}},
		"a node with another name in a cluster with another name": {func(o *operator) { renamed(o); o.config.Nodes[2].Target.Key = "w9" }, nil, finding{
			diag.Error, "Host is another node", "main.hcl:13", `node.worker["w9"]`, []string{
				`node.worker["w1"] is a node of cluster "prod", and node.worker["w9"] is one of "other". If that cluster was renamed, declare it:`, "    from = cluster.prod", "destroy the existing one first",
			},
		}},
		"forgotten": {func(o *operator) { o.forgetNode(o.config.Nodes[2].Target) }, nil, finding{diag.Warning, "Node is not in the state", "", "", []string{
			"Hosts that carry the mark of this state are not recorded in it: " + worker + ". An apply records them again and changes only what this plan shows. Until then, removing a block leaves its node running.",
		}}},
		"forgotten, and to be destroyed": {func(o *operator) { o.forgetNode(o.config.Nodes[2].Target); o.destroy = true }, nil, finding{diag.Warning, "Node is not in the state", "", "", []string{"They are left as they are. To destroy them as well, run ⟨apply⟩ first, which records them again."}}},
		"all forgotten, and to be destroyed": {func(o *operator) { o.forgetAll(o.config.Nodes...); o.destroy = true }, nil, finding{
			diag.Error, "Hosts are not in the state", "main.hcl:1", "cluster.prod", []string{
				`Hosts of this configuration belong to cluster "prod", which the state does not record, so a destroy would leave it running`, "To destroy it, run ⟨apply⟩ first, which records it again. To keep it",
			},
		}},
	}
}

// TestHostsOfOtherOwnersAreReported checks that hosts of another node, cluster or state, or that the state has
// forgotten, are reported with their owner and what to do.
func TestHostsOfOtherOwnersAreReported(t *testing.T) {
	t.Parallel()
	base := founded(t, 2, 1)
	for name, c := range ownerships() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			if c.before != nil {
				c.before(o)
			}
			v := o.observe()
			if c.seen != nil {
				c.seen(v, o.config.Nodes[2])
			}
			_, diags := o.planOf(v, planner.Options{})
			wantSaid(t, diags, c.want)
		})
	}
}

// TestRefusedRemovalNamesRemedy checks that a refused removal says how the node can be removed.
func TestRefusedRemovalNamesRemedy(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 0)
	places(base.config)
	o := base.copy(t)
	for _, n := range o.config.Nodes {
		o.replace = append(o.replace, n.Target)
	}
	wantSaid(t, o.diagnose(), finding{diag.Error, "No control plane would remain", "main.hcl:1", "cluster.prod", []string{
		`this plan removes every control plane, but new ones join through one that remains. Use two plans: add or replace some first, then the rest`,
	}})
	// As the text says: some first, then the rest.
	for _, n := range o.config.Nodes {
		o.replace = []state.Target{n.Target}
		o.must(o.apply())
	}
	o = base.copy(t)
	o.config.Clusters[0].ControlPlaneEndpoint = "10.0.0.13:6443"
	o.leave("cp3")
	wantSaid(t, o.diagnose(), finding{diag.Error, "Host of the endpoint would be removed", "main.hcl:1", `node.cp["cp3"]`, []string{
		`node.cp["cp3"] is the host of control_plane_endpoint = "10.0.0.13:6443": without it the other control planes cannot be reached.`, "Move the endpoint first",
	}})
}

// TestRefusedRotationNamesRemedy checks that a refusal to begin a rotation says how to begin it.
func TestRefusedRotationNamesRemedy(t *testing.T) {
	t.Parallel()
	made, yours := founded(t, 2, 0), newOperator(t, withCAs(t, 1, 0, false, "ECDSA"))
	cfg, _ := withExternalEtcd(t, "/etc/etcd-client")
	external := newOperator(t, cfg)
	external.recorded = &state.State{Lineage: "l1"}
	yours.must(yours.apply())
	alone := func(why, way string) finding {
		return finding{diag.Error, "CA rotation cannot be combined with other changes", "main.hcl:1", "cluster.prod", []string{"cluster.prod/ca: " + why + ". ", way}}
	}
	for name, c := range map[string]struct {
		base    *operator
		rotate  string
		before  func(*operator)
		seen    func(*topology.Fleet)
		options planner.Options
		want    finding
	}{
		"no such CA": {made, "other", nil, nil, planner.Options{}, finding{
			diag.Error, "Nothing to rotate", "main.hcl:1", "cluster.prod", []string{"⟨+rotate=cluster.prod/other⟩: there is no such CA. There are ca, front-proxy-ca, etcd-ca, service-account."},
		}},
		"external etcd": {external, "etcd-ca", nil, nil, planner.Options{}, finding{
			diag.Error, "Nothing to rotate", "main.hcl:1", "cluster.prod", []string{"⟨+rotate=cluster.prod/etcd-ca⟩: the etcd of this cluster is external, and so is its CA."},
		}},
		"a key that an operator keeps": {yours, "ca", nil, nil, planner.Options{}, finding{diag.Error, "CA is managed outside kubewright", "main.hcl:1", "cluster.prod", []string{
			`whose key is not on the control planes. kubewright rotates only CAs whose keys are there: during a rotation the cluster itself signs with the old key and then with the new one.`,
			"have its certificate reissued for the same key and provide that.",
		}}},
		"the API is silent": {made, "ca", nil, silence, planner.Options{}, finding{diag.Error, "API does not answer", "main.hcl:1", "cluster.prod", []string{
			"a CA is rotated only while the API answers", "Repair the cluster first (the API did not answer: connection refused).",
		}}},
		"another version": {made, "ca", func(o *operator) { o.config.Clusters[0].KubernetesVersion = "1.37.1"; o.kubelets("1.37.1") }, nil, planner.Options{}, alone("the version would change", "Make one change after the other.")},
		"another endpoint": {made, "ca", func(o *operator) {
			o.config.Clusters[0].ControlPlaneEndpoint = "moved.example.com:6443"
		}, nil, planner.Options{}, alone("the endpoint would move", "Make one change after the other.")},
		"targets": {
			made, "ca", nil, nil,
			planner.Options{Targets: []planner.Selector{{Target: state.NodeKeyTarget("cp", "cp1")}}},
			alone("the plan is restricted to targets", "Plan without ⟨+only⟩"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := c.base.copy(t)
			places(o.config)
			o.rotate = []topology.Rotation{rotationOf(t, c.rotate)}
			if c.before != nil {
				c.before(o)
			}
			v := o.observe()
			if c.seen != nil {
				c.seen(v)
			}
			_, diags := o.planOf(v, c.options)
			wantSaid(t, diags, c.want)
		})
	}
}

// TestRotationWarnsOfExpiredCAsAndUnknownTokens checks the notes of a rotation about CAs that have expired, and about tokens that
// could not be observed.
func TestRotationWarnsOfExpiredCAsAndUnknownTokens(t *testing.T) {
	t.Parallel()
	base := founded(t, 2, 0)
	places(base.config)
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		o := base.copy(t)
		o.world.Advance(11 * 365 * 24 * time.Hour)
		for _, ca := range []string{"ca", "front-proxy-ca", "etcd-ca"} {
			o.rotate = append(o.rotate, rotationOf(t, ca))
		}
		v := o.observe()
		silence(v)
		r, diags := o.planOf(v, planner.Options{})
		wantSaid(t, diags, finding{diag.Warning, "Expired CA is replaced", "main.hcl:1", "cluster.prod", []string{
			"and nothing that it has signed is trusted. It is replaced by a new one over SSH alone, together with everything below it; the API answers again when that is done.",
		}})
		if r.Plan == nil || !slices.ContainsFunc(r.Plan.Steps, func(s planner.Step) bool { return s.Impact == "removes the expired CA" }) {
			t.Errorf("the old CA is not removed:\n%s", describe(r.Plan))
		}
	})
	t.Run("tokens were not seen", func(t *testing.T) {
		t.Parallel()
		o := base.copy(t)
		o.rotate = []topology.Rotation{rotationOf(t, "service-account")}
		p, err := o.plan()
		o.must(err)
		if !slices.ContainsFunc(p.Steps, func(s planner.Step) bool {
			return strings.Contains(s.Impact, "signs tokens with the new service account key")
		}) {
			t.Errorf("the plan does not say which key signs the tokens:\n%s", describe(p))
		}
		o.must(o.carryOut())
		o.world.Advance(30 * 24 * time.Hour)
		o.rotate = nil
		v := o.observe()
		v.ClusterReports["prod"].TokensSeen = false
		_, diags := o.planOf(v, planner.Options{})
		wantSaid(t, diags, finding{diag.Warning, "Rotation is paused", "main.hcl:1", "cluster.prod", []string{"the Secrets with tokens were observed"}})
	})
}

// TestClientKubeconfigRefusedWithoutSigner checks that no kubeconfig is issued where this machine cannot sign it.
func TestClientKubeconfigRefusedWithoutSigner(t *testing.T) {
	t.Parallel()
	keyless := withoutKeys(t, 1, 0).config
	for label, want := range map[string]string{
		"prod": `this machine cannot sign for cluster "prod": the key of its CA "Example ca" is kept elsewhere. Have a client certificate with CN=ann issued by the holder of that key`,
		"test": `cluster "test" has no control planes in the configuration`,
	} {
		if _, err := pki.ClientKubeconfig(keyless, label, "ann", nil, time.Hour); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// TestHealthCheckAddressCannotBeSensitive checks that the addresses of health checks, which every plan shows, may not
// be sensitive.
func TestHealthCheckAddressCannotBeSensitive(t *testing.T) {
	t.Parallel()
	o := newOperator(t, places(cluster(1, 0)))
	o.config.Clusters[0].Scheduler.Args = []config.Arg{{Name: "bind-address", Value: "127.7.7.7"}}
	o.config.Clusters[0].Sensitive = map[string]bool{`scheduler.arg["bind-address"]`: true}
	wantSaid(t, o.diagnose(), finding{diag.Error, "Value cannot be sensitive", "main.hcl:11", `node.cp["cp1"]`, []string{
		`the components of node.cp["cp1"] are derived from a sensitive value`, "Wrap addresses and ports in nonsensitive().",
	}})
}

// TestInstallRefusesOtherRuntime checks that a host with another container runtime than the one that would be
// installed, or that images would be loaded into, is refused with a remedy.
func TestInstallRefusesOtherRuntime(t *testing.T) {
	t.Parallel()
	const crio = "unix:///var/run/crio/crio.sock"
	packaged := func(runtime string) *operator {
		o := newOperator(t, cluster(1, 0))
		fromPackages(o.config)
		o.config.Clusters[0].Install.Packages.Runtime = runtime
		return o
	}
	brought := func() *operator {
		o, f := airGapped(t, cluster(1, 0))
		o.bring(f)
		return o
	}
	for name, c := range map[string]struct {
		o    *operator
		want []string
	}{
		"a package": {packaged(config.DefaultRuntimePackage), []string{
			"install.packages would install " + config.DefaultRuntimePackage + ", but the host has another container runtime.", `To do: set runtime = "" in install.packages, or remove the other runtime from the host. To continue anyway`,
		}},
		"no package": {packaged(""), nil},
		"artifacts": {brought(), []string{
			"the artifacts include containerd, but the host has another container runtime: " + crio + ".", "To do: remove containerd from the artifacts, or the other runtime from the host.",
			"image archives can be loaded into containerd only, but the host has another runtime.", "To do: load them there yourself, or remove images/ from the artifacts and pull.",
		}},
	} {
		n := c.o.config.Nodes[0]
		v := c.o.observe()
		v.Reports[n.Target].Facts.CRISockets, v.Reports[n.Target].Facts.CRISocket = []string{crio}, crio
		_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
		said := printedFindings(diags)
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, said)
			}
		}
		if c.want == nil && strings.Contains(said, "another container runtime") {
			t.Errorf("%s: its remedy was applied, and it still says\n%s", name, said)
		}
	}
}

// TestVolumeTypeMismatchIsRefused checks that a volume that requires a folder is refused where there is a socket.
func TestVolumeTypeMismatchIsRefused(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 0))
	volume("/etc/audit", "Directory")(o.config)
	v := o.observe()
	see(v, o.config.Nodes[0], "/etc/audit", func(f *state.FileReport) { f.Exists, f.Type = true, "other" })
	_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	wantSaid(t, diags, finding{diag.Error, "Host is not ready for Kubernetes", "", `node.cp["cp1"]`, []string{
		"/etc/audit is neither a file nor a directory, but the volume audit requires one of type Directory: the kubelet would not start the component.",
		"To do: create it on every control plane, or remove path_type if it may be missing.",
	}})
}

// TestStepsShowImpacts checks that steps show what they mean for users of the cluster.
func TestStepsShowImpacts(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	settings := func(o *operator) {
		o.config.Clusters[0].APIServer.Args = []config.Arg{{Name: "event-ttl", Value: "2h"}}
		o.config.Clusters[0].Etcd.Args = []config.Arg{{Name: "snapshot-count", Value: "5000"}}
	}
	for want, c := range map[string]struct {
		before func(*operator)
		seen   func(*operator, *topology.Fleet)
	}{
		"stops the kubelet, removes all containers and every file of Kubernetes; software and settings of the host are kept": {
			func(o *operator) { o.replace = []state.Target{state.NodeKeyTarget("worker", "w1")} }, nil,
		},
		"restarts kube-proxy, one node after another; established connections are kept": {
			func(o *operator) { o.config.Clusters[0].ControlPlaneEndpoint = "moved.example.com:6443" }, nil,
		},
		"; whether the API is served elsewhere is unknown":   {settings, func(_ *operator, v *topology.Fleet) { silence(v) }},
		"; whether the other members hold quorum is unknown": {settings, func(_ *operator, v *topology.Fleet) { silence(v) }},
		"issues the kubelet a certificate, because its own is not trusted, and restarts it; pods keep running": {nil, func(o *operator, v *topology.Fleet) {
			see(v, o.config.Nodes[3], "/var/lib/kubelet/pki/kubelet-client-current.pem", func(f *state.FileReport) { f.Certificates[0].IssuerKeyDigest = "another" })
			n := v.ClusterReports["prod"].Nodes["host-10-0-0-21"]
			n.Ready = false
			v.ClusterReports["prod"].Nodes["host-10-0-0-21"] = n
		}},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			if c.before != nil {
				c.before(o)
			}
			v := o.observe()
			if c.seen != nil {
				c.seen(o, v)
			}
			r, diags := o.planOf(v, planner.Options{})
			if r.Plan == nil || impacts(r.Plan, want) == 0 {
				t.Errorf("no step has this impact:\n%s%s", printedFindings(diags), describe(r.Plan))
			}
		})
	}
	o := base.copy(t)
	for _, component := range []string{"kube-controller-manager", "kube-scheduler"} {
		breaking[component](o.config.Clusters[0], config.Arg{Name: "audit-policy-file", Value: absentFile})
	}
	if err := o.apply(); err == nil {
		t.Fatal("the apply did not fail")
	}
	p, err := o.plan()
	o.must(err)
	if impacts(p, "waits until kube-controller-manager, kube-scheduler run here as in their manifests, before another control plane is changed") != 1 {
		t.Errorf("no step has this impact:\n%s", describe(p))
	}
	v := base.copy(t).observe()
	v.ClusterReports["prod"].Members[0].Alarms = []string{quorum.AlarmNoSpace}
	r, diags := maintenance.Defragment(v, planner.Plan{}, planner.Options{}, "prod")
	if diags.HasErrors() || impacts(r.Plan, "drops deleted and overwritten revisions, which no API server can under the alarm; watches of clients start again") != 1 {
		t.Errorf("%s%s", printedFindings(diags), describe(r.Plan))
	}
}

// TestPlanShowsNotes checks a plan's notes beside its steps.
func TestPlanShowsNotes(t *testing.T) {
	t.Parallel()
	o := running(t, 1, 0, "1.34.9")
	o.config.Clusters[0].KubernetesVersion = "1.36.3"
	o.edit("10.0.0.11", "file /etc/kubernetes/manifests/kube-scheduler.yaml delete")
	p, err := o.plan()
	o.must(err)
	if !slices.ContainsFunc(p.Changes, func(c planner.Change) bool { return c.Reason == "an earlier apply did not finish" }) {
		t.Errorf("want the reason that an upgrade has stopped the pod:\n%s", describe(p))
	}
	o = newOperator(t, cluster(1, 1))
	p, err = o.plan()
	o.must(err)
	made := 0
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			if token, ok := op.(planner.CreateToken); ok && token.Description == "kubewright: for the join of host-10-0-0-21" {
				made++
			}
		}
	}
	if made != 1 {
		t.Errorf("%d tokens have a description", made)
	}
	o = newOperator(t, cluster(1, 0))
	s, err := planner.ParseSelector("prepare", pipeline.Names())
	o.must(err)
	r, _ := pipeline.Plan(o.observe(), planner.Plan{}, planner.Options{Targets: []planner.Selector{s}})
	if r.Plan == nil || !slices.Contains(r.Plan.Quorum, "cluster.prod: this plan bootstraps no member.") && !strings.Contains(strings.Join(r.Plan.Quorum, " "), "this plan bootstraps no member.") {
		t.Errorf("quorum is %q", r.Plan.Quorum)
	}
}
