package pipeline_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// removeMember removes a member from etcd by hand.
func (o *operator) removeMember(peerURL string) {
	o.t.Helper()
	ctx := context.Background()
	etcd, err := sim.Access{}.Etcd(ctx, o.world.Host("10.0.0.11"), []string{providers.Seat{}.EtcdURL()}, "")
	o.must(err)
	members, _, err := etcd.Members(ctx)
	o.must(err)
	for _, m := range members {
		if slices.Contains(m.PeerURLs, peerURL) {
			o.must(etcd.Remove(ctx, m.ID))
			return
		}
	}
	o.t.Fatalf("there is no member %s", peerURL)
}

// TestEtcdMemberRemovedByHandIsRefused checks that a control plane with the data of a member that etcd no longer
// lists is refused, and that the remedy in the text works.
func TestEtcdMemberRemovedByHandIsRefused(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	places(o.config)
	o.removeMember("https://10.0.0.13:2380")
	wantFindings(t, o.diagnose(), finding{diag.Error, "Etcd does not list this member", "main.hcl:13", `node.cp["cp3"]`, []string{
		`node.cp["cp3"] (10.0.0.13) holds the data of an etcd member that etcd does not list: the member was removed`, `⟨apply +replace=node.cp["cp3"]⟩`,
	}})
	o.replace = []state.Target{o.config.Nodes[2].Target}
	o.must(o.apply())
	o.wantNothing()
}

// TestFirstControlPlaneWithSeparateEtcdIsRefused checks that a founder that comes back without data, and has bootstrapped a
// separate etcd, is refused, even if the cluster ID does not show it.
func TestFirstControlPlaneWithSeparateEtcdIsRefused(t *testing.T) {
	t.Parallel()
	want := finding{diag.Error, "Etcd was bootstrapped again", "main.hcl:11", `node.cp["cp1"]`, []string{
		"a quorum of them answers", `⟨apply +replace=node.cp["cp1"]⟩`,
	}}
	base := founded(t, 3, 0)
	for name, sameID := range map[string]bool{"another ID": false, "the same ID": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			well := o.observe()
			o.edit("10.0.0.11", "file /var/lib/etcd/member delete")
			o.world.Advance(time.Minute)
			v := o.observe()
			v.ClusterReports = well.ClusterReports // as another control plane reports it
			if first := o.config.Nodes[0].Target; sameID {
				e := v.Etcds[first]
				e.ClusterID = well.Etcds[first].ClusterID
				v.Etcds[first] = e
			}
			_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
			wantFindings(t, diags, want)
		})
	}
}

// TestEtcdUnknownMajorityChangesNothing checks that nothing is changed on the report of a single etcd where neither the
// state nor a majority shows which etcd is the cluster's.
func TestEtcdUnknownMajorityChangesNothing(t *testing.T) {
	t.Parallel()
	o := founded(t, 2, 0)
	places(o.config)
	v := o.observe()
	second := o.config.Nodes[1].Target
	e := v.Etcds[second]
	e.ClusterID = "another"
	v.Etcds[second], v.Recorded.Clusters["prod"].EtcdClusterID = e, ""
	_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
	wantFindings(t, diags, finding{diag.Error, "Control planes run different etcd clusters", "main.hcl:1", "cluster.prod", []string{
		`node.cp["cp2"] (10.0.0.12): another`, "⟨+replace=NODE⟩",
	}})
}

// TestEtcdMembersWithoutDataAreFoundWithoutQuorum checks that members that have lost their data are found even where
// etcd has no quorum that could report them.
func TestEtcdMembersWithoutDataAreFoundWithoutQuorum(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	places(o.config)
	o.edit("10.0.0.12", "file /var/lib/etcd/member delete")
	o.edit("10.0.0.13", "file /var/lib/etcd/member delete")
	o.world.Advance(time.Minute)
	lost := finding{diag.Error, "Etcd member has lost its data", "main.hcl:12", `node.cp["cp2"]`, []string{"too many are lost for a quorum", "without a quorum", "  ⟨snapshot⟩\n  ⟨restore FILE⟩"}}
	other := lost
	other.at, other.of = "main.hcl:13", `node.cp["cp3"]`
	wantFindings(t, o.diagnose(), lost, other)
}

// TestEtcdRemovalRefusesLossOfQuorum checks that no plan removes a control plane from an etcd that would lose its
// quorum, or whose members are unknown.
func TestEtcdRemovalRefusesLossOfQuorum(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*operator)
		see   func(*topology.Fleet)
		want  finding
	}{
		"two of three would be dead": {
			func(o *operator) {
				o.edit("10.0.0.12", "file /etc/kubernetes/manifests/etcd.yaml delete")
				o.world.Advance(time.Minute)
			}, nil,
			finding{diag.Error, "Plan would lose etcd quorum", "main.hcl:1", "cluster.prod", []string{
				`one of the membership changes of this plan cannot be made`, `node.cp["cp3"]/reset`, "The order would be: cp3 leaves",
			}},
		},
		"members are not known": {
			func(*operator) {}, func(v *topology.Fleet) {
				v.ClusterReports["prod"].Members, v.ClusterReports["prod"].EtcdUnobserved = nil, "10.0.0.11:2379: certificate signed by unknown authority"
			},
			finding{diag.Error, "Etcd members are unknown", "main.hcl:1", "cluster.prod", []string{
				`A control plane of cluster "prod" is being removed`, "10.0.0.11:2379: certificate signed by unknown authority. Bring API and etcd back first", "⟨restore⟩",
			}},
		},
		"its member was given another address by hand": {
			func(*operator) {}, func(v *topology.Fleet) {
				v.ClusterReports["prod"].Members = slices.Clone(v.ClusterReports["prod"].Members)
				for i, m := range v.ClusterReports["prod"].Members {
					if m.PeerURLs[0] == "https://10.0.0.13:2380" {
						v.ClusterReports["prod"].Members[i].PeerURLs = []string{"https://192.0.2.13:2380"}
					}
				}
			},
			finding{diag.Error, "Etcd lists the member at another address", "main.hcl:1", `node.cp["cp3"]`, []string{
				`node.cp["cp3"] (10.0.0.13) is being removed, and etcd has no member at https://10.0.0.13:2380, but one of that name at https://192.0.2.13:2380`, "--peer-urls=https://10.0.0.13:2380",
			}},
		},
		"the API does not answer": {
			func(*operator) {}, func(v *topology.Fleet) {
				delete(v.ClusterReports, "prod")
				v.ClusterErrors["prod"] = "connection refused"
			},
			finding{diag.Error, "Node cannot be removed now", "main.hcl:1", "cluster.prod", []string{
				`The API of cluster "prod" did not answer, so it is unknown what runs on node.cp["cp3"]`, "Bring the API back first", "⟨restore⟩",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			places(o.config)
			c.spoil(o)
			o.leave("cp3")
			v := o.observe()
			if c.see != nil {
				c.see(v)
			}
			_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
			wantFindings(t, diags, c.want)
		})
	}
}

// TestEtcdRestartRefusedWhileMemberIsDown checks that no plan restarts a member while another one is down that no step brings
// back; a plan that brings it back or removes it is made.
func TestEtcdRestartRefusedWhileMemberIsDown(t *testing.T) {
	t.Parallel()
	const title = "Etcd members are down"
	base := running(t, 3, 0, "1.35.8")
	stranger := func(v *topology.Fleet) {
		v.ClusterReports["prod"].Members = append(slices.Clone(v.ClusterReports["prod"].Members), state.EtcdMember{ID: "8e9e05c52164694d", Name: "old", PeerURLs: []string{"https://10.0.0.19:2380"}})
	}
	argument := func(o *operator) {
		o.config.Clusters[0].Etcd.Args = append(o.config.Clusters[0].Etcd.Args, config.Arg{Name: "snapshot-count", Value: "20000"})
	}
	down := func(host string) func(*operator) {
		return func(o *operator) {
			argument(o)
			o.edit(host, "file /etc/kubernetes/manifests/etcd.yaml delete")
			o.world.Advance(time.Minute)
		}
	}
	refused := func(step string) *finding {
		return &finding{diag.Error, title, "main.hcl:1", "cluster.prod", []string{
			`Members of the etcd of cluster "prod" are down, and nothing in this plan brings them back before this step:`, step + ": refused: ",
			". Bring old back first", "a member that is on no node with etcdctl member remove ID (⟨members⟩ shows it).",
		}}
	}
	for name, c := range map[string]struct {
		change  func(*operator)
		see     func(*topology.Fleet)
		options planner.Options
		want    *finding
	}{
		"an argument of etcd, beside a stranger": {argument, stranger, planner.Options{}, refused(`node.cp["cp1"]/etcd`)},
		"an upgrade, beside a stranger": {func(o *operator) {
			o.config.Clusters[0].KubernetesVersion = "1.36.3"
			o.kubelets("1.36.3")
		}, stranger, planner.Options{}, refused(`node.cp["cp1"]/etcd`)},
		"a rotation, beside a stranger": {func(o *operator) { o.rotate = []topology.Rotation{rotationOf(t, "etcd-ca")} }, stranger, planner.Options{}, refused(`node.cp["cp1"]/etcd@trust-both`)},
		"an argument of the API server, beside a stranger": {func(o *operator) {
			o.config.Clusters[0].APIServer.Component.Args = append(o.config.Clusters[0].APIServer.Component.Args, config.Arg{Name: "audit-log-maxage", Value: "30"})
		}, stranger, planner.Options{}, nil},
		"one is brought back":              {down("10.0.0.12"), nil, planner.Options{}, nil},
		"one is brought back for a target": {down("10.0.0.12"), nil, planner.Options{Targets: []planner.Selector{{Target: state.NodeKeyTarget("cp", "cp1")}}}, nil},
		"the target is what is down":       {down("10.0.0.12"), nil, planner.Options{Targets: []planner.Selector{{Target: state.NodeKeyTarget("cp", "cp2")}}}, nil},
		"one is taken out": {func(o *operator) {
			down("10.0.0.12")(o)
			o.config.Clusters[0].Upgrade.AllowDowntime = true
			o.leave("cp2")
		}, nil, planner.Options{}, nil},
		"one is taken out while the endpoint moves and another one comes": {func(o *operator) {
			down("10.0.0.12")(o)
			o.leave("cp2")
			o.config.Clusters[0].Upgrade.AllowDowntime, o.config.Clusters[0].ControlPlaneEndpoint = true, "moved.example.com:6443"
			o.config.Nodes = append(o.config.Nodes, &config.Node{
				Target: state.NodeKeyTarget("cp", "cp4"), Cluster: "prod", Role: config.ControlPlane, Address: "10.0.0.14", Connection: config.Connection{Type: "ssh"},
			})
			o.kubelets("1.35.8")
		}, nil, planner.Options{}, nil},
		"one is replaced": {func(o *operator) {
			down("10.0.0.12")(o)
			o.replace = []state.Target{state.NodeKeyTarget("cp", "cp2")}
		}, nil, planner.Options{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			c.change(o)
			if c.see == nil && c.want == nil && len(c.options.Targets) == 0 { // plans of the whole cluster can be carried out
				o.must(o.apply())
				o.wantNothing()
				return
			}
			v := o.observe()
			if c.see != nil {
				c.see(v)
			}
			_, diags := o.planOf(v, c.options)
			if c.want != nil {
				wantSaid(t, diags, *c.want)
			} else {
				wantNotSaid(t, diags, title)
			}
		})
	}
	t.Run("defragmentation", func(t *testing.T) {
		t.Parallel()
		o := base.copy(t)
		places(o.config)
		v := o.observe()
		stranger(v)
		_, diags := maintenance.Defragment(v, planner.Plan{}, planner.Options{}, "prod")
		wantSaid(t, diags, *refused(`node.cp["cp2"]/etcd-defragment`))
	})
}

// TestEtcdDefragmentSkipsUnmanagedMembers checks that etcd is defragmented where kubewright manages it and it answers;
// members elsewhere are skipped and named.
func TestEtcdDefragmentSkipsUnmanagedMembers(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 0)
	dark := func(err string) func(*topology.Fleet) {
		return func(v *topology.Fleet) {
			delete(v.ClusterReports, "prod")
			if err != "" {
				v.ClusterErrors["prod"] = err
			}
		}
	}
	silent := finding{diag.Error, "Etcd does not answer", "main.hcl:1", "cluster.prod", nil}
	for name, c := range map[string]struct {
		label string
		see   func(*topology.Fleet)
		want  finding
	}{
		"no such cluster": {"test", func(*topology.Fleet) {}, finding{diag.Error, "Unknown cluster", "", "", []string{`The configuration has no cluster "test". It has prod.`}}},
		"external etcd": {"prod", func(v *topology.Fleet) {
			v.Config.Clusters[0].Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://192.0.2.7:2379"}}
		}, finding{diag.Error, "Etcd is external", "main.hcl:1", "cluster.prod", []string{`The etcd of cluster "prod" is external`}}},
		"the API is down": {"prod", dark("connection refused"), silent.saying(`The etcd members of cluster "prod" are unknown: connection refused.`)},
		"not there yet":   {"prod", dark(""), silent.saying("no control plane has an administrator's kubeconfig (/etc/kubernetes/admin.conf)")},
		"etcd is down": {"prod", func(v *topology.Fleet) {
			v.ClusterReports["prod"].Members, v.ClusterReports["prod"].EtcdUnobserved = nil, "context deadline exceeded"
		}, silent.saying("context deadline exceeded")},
		"a member is corrupt": {"prod", func(v *topology.Fleet) {
			m := v.ClusterReports["prod"].Members[0]
			m.Alarms = []string{quorum.AlarmNoSpace, quorum.AlarmCorrupt}
			v.ClusterReports["prod"].Members = []state.EtcdMember{m}
		}, finding{diag.Error, "Etcd has an alarm", "main.hcl:1", "cluster.prod", []string{
			"host-10-0-0-11 NOSPACE, host-10-0-0-11 CORRUPT.", "etcdctl endpoint hashkv", "No member is defragmented until it is settled which data is right",
		}}},
		"a member elsewhere": {"prod", func(v *topology.Fleet) {
			v.ClusterReports["prod"].Members = append(v.ClusterReports["prod"].Members, state.EtcdMember{ID: "8e9e05c52164694d", PeerURLs: []string{"https://192.0.2.8:2380"}, Healthy: true})
		}, finding{diag.Warning, "Etcd member is skipped", "main.hcl:1", "cluster.prod", []string{
			"Member without a name (8e9e05c52164694d, https://192.0.2.8:2380) is on no control plane of the configuration", "etcdctl defrag",
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			v := o.copy(t).observe()
			places(v.Config)
			cl := *v.Config.Clusters[0]
			v.Config = &config.Config{Clusters: []*config.Cluster{&cl}, Nodes: v.Config.Nodes}
			c.see(v)
			r, diags := maintenance.Defragment(v, planner.Plan{}, planner.Options{}, c.label)
			wantFindings(t, diags, c.want)
			if c.want.severity == diag.Warning && len(r.Plan.Steps) != 2 { // and the snapshot before
				t.Errorf("the managed member is skipped as well:\n%s", describe(r.Plan))
			}
		})
	}
}

// TestEtcdRestoreRequiresControlPlaneFiles checks that a restore is refused where no control plane has both the CA and
// admin.conf: a snapshot contains neither.
func TestEtcdRestoreRequiresControlPlaneFiles(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/admin.conf"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 0)
			places(o.config)
			for _, n := range o.config.Nodes {
				o.edit(n.Address, "file "+path+" delete")
			}
			_, diags := maintenance.Restore(o.observe(), planner.Plan{}, maintenance.EtcdRestore{Cluster: "prod", Artifact: "good.db", SHA256: "0123456789abcdef"})
			wantFindings(t, diags, finding{diag.Error, "Nothing to restore into", "main.hcl:1", "cluster.prod", []string{
				`No control plane of cluster "prod" holds both its CA (/etc/kubernetes/pki/ca.crt) and /etc/kubernetes/admin.conf any more, and a snapshot holds neither`,
			}})
			_, diags = maintenance.Restore(o.observe(), planner.Plan{}, maintenance.EtcdRestore{Cluster: "test"})
			wantFindings(t, diags, finding{diag.Error, "Unknown cluster", "", "", []string{`no cluster "test"`}})
		})
	}
}

// TestEtcdRestoreBeginsOnFormerControlPlane checks that the first member of a restored etcd is on a former control
// plane, and not on a host that was only prepared to join.
func TestEtcdRestoreBeginsOnFormerControlPlane(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 0)
	for _, n := range o.config.Nodes {
		o.edit(n.Address, "file /etc/kubernetes/manifests/etcd.yaml delete")
	}
	o.edit("10.0.0.11", "file /var/lib/etcd/member delete")
	o.world.Advance(time.Minute)
	r, diags := maintenance.Restore(o.observe(), planner.Plan{}, maintenance.EtcdRestore{Cluster: "prod", Artifact: "good.db", SHA256: "0123456789abcdef"})
	if diags.HasErrors() {
		t.Fatal(printedFindings(diags))
	}
	var order []string
	for _, s := range r.Plan.Steps {
		if s.ID.Waypoint != "stop" {
			order = append(order, s.Target.Key+"@"+s.ID.Waypoint)
		}
	}
	if want := []string{"cp2@data", "cp2@start", "cp3@join", "cp1@join", "cp2@done"}; !slices.Equal(order, want) {
		t.Errorf("the steps are %v, want %v", order, want)
	}
}

// TestInvalidPlanIsReportedAsDefect checks that an invalid plan is reported as a defect of kubewright. Etcd never has two
// members at one address, and no configuration has a node twice.
func TestInvalidPlanIsReportedAsDefect(t *testing.T) {
	t.Parallel()
	want := finding{diag.Error, "Plan is not sound", "", "", []string{`node.cp["cp1"]/etcd-`, "This is a defect of kubewright; nothing was changed", "report it"}}
	o := founded(t, 1, 0)
	v := o.observe()
	v.ClusterReports["prod"].Members = append(v.ClusterReports["prod"].Members, v.ClusterReports["prod"].Members[0])
	r, diags := maintenance.Defragment(v, planner.Plan{}, planner.Options{}, "prod")
	wantFindings(t, diags, want)
	if r.Plan != nil {
		t.Error("the defragmentation is not refused")
	}
	v = o.observe()
	v.Config.Nodes = append(v.Config.Nodes, v.Config.Nodes[0])
	r, diags = maintenance.Restore(v, planner.Plan{}, maintenance.EtcdRestore{Cluster: "prod", Artifact: "good.db", SHA256: "0123456789abcdef"})
	wantFindings(t, diags, want, finding{diag.Warning, "Changes after the snapshot are lost", "", "cluster.prod", []string{"good.db", "member.before-0123456789ab"}})
	if r.Plan != nil {
		t.Error("the restore is not refused")
	}
}
