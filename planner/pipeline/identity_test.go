package pipeline_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// forgetAll removes a cluster and nodes from the state, as state rm does.
func (o *operator) forgetAll(nodes ...*config.Node) {
	o.t.Helper()
	o.recorded.Clusters, o.recorded.Nodes = nil, maps.Clone(o.recorded.Nodes)
	gone := []state.Target{state.ClusterTarget("prod")}
	for _, n := range nodes {
		delete(o.recorded.Nodes, n.Target)
		gone = append(gone, n.Target)
	}
	o.recorded.Items = slices.DeleteFunc(o.recorded.Items, func(it state.Item) bool {
		return it.Address.Target.Type == state.TypeAddon || slices.Contains(gone, it.Address.Target)
	})
}

// know changes the cluster's record in the state.
func (o *operator) know(change func(*state.RecordedCluster)) {
	rec := *o.recorded.Clusters["prod"]
	change(&rec)
	o.recorded.Clusters = map[string]*state.RecordedCluster{"prod": &rec}
}

// knowCA changes the cluster's CA in the state.
func (o *operator) knowCA(ca string) { o.know(func(c *state.RecordedCluster) { c.CA = ca }) }

// strangeCA changes the observed CA of a host.
func strangeCA(v *topology.Fleet, n *config.Node) {
	see(v, n, pkiDir+"ca.crt", func(f *state.FileReport) { f.Certificates[0].KeyDigest = strings.Repeat("f", 64) })
}

// mark changes the observed marker of a host.
func mark(v *topology.Fleet, n *config.Node, change func(*state.Marks)) {
	m := *v.Reports[n.Target].Marks
	change(&m)
	v.Reports[n.Target].Marks = &m
}

// TestForeignClusterIsRefused checks that any plan is refused if the observed cluster is not the one that the
// state knows, or a host belongs to another one.
func TestForeignClusterIsRefused(t *testing.T) {
	t.Parallel()
	base := founded(t, 2, 1)
	newer := finding{diag.Error, "Host was marked by a newer version", "main.hcl:13", `node.worker["w1"]`, []string{
		"in /var/lib/kubewright, have format 2, and this version supports formats up to 1", "Update kubewright",
	}}
	for name, c := range map[string]struct {
		spoil func(*operator, *topology.Fleet)
		want  finding
	}{
		"the state has another CA": {
			func(o *operator, _ *topology.Fleet) { o.knowCA(strings.Repeat("e", 64)) },
			finding{diag.Error, "Cluster CA differs from the state", "main.hcl:1", "cluster.prod", []string{
				`The state records cluster "prod" with the CA eeeeeeeeeeee, but node.cp["cp1"] (10.0.0.11) holds the CA`, "The state is left as it is", "⟨forget cluster.prod⟩",
			}},
		},
		"a control plane is of another one": {
			func(o *operator, v *topology.Fleet) { strangeCA(v, o.config.Nodes[1]) },
			finding{diag.Error, "Host belongs to another cluster", "main.hcl:12", `node.cp["cp2"]`, []string{
				`node.cp["cp2"] (10.0.0.12) is marked as a node of cluster "prod", but it holds the CA ffffffffffff, which the cluster does not know`, "kubeadm reset", "delete that file on the host",
			}},
		},
		"a worker's mark is of another one": {
			func(o *operator, v *topology.Fleet) {
				see(v, o.config.Nodes[2], pkiDir+"ca.crt", func(f *state.FileReport) { *f = state.FileReport{} })
				see(v, o.config.Nodes[2], "/etc/kubernetes/kubelet.conf", func(f *state.FileReport) { f.Kubeconfig = nil })
				mark(v, o.config.Nodes[2], func(m *state.Marks) { m.ClusterCA = strings.Repeat("d", 64) })
			},
			finding{diag.Error, "Host belongs to another cluster", "main.hcl:13", `node.worker["w1"]`, []string{"it holds the CA dddddddddddd"}},
		},
		"a newer version marked a host": {
			func(o *operator, v *topology.Fleet) {
				mark(v, o.config.Nodes[2], func(m *state.Marks) { m.Format = 2 })
			}, newer,
		},
	} {
		for how, change := range map[string]func(*topology.Fleet){
			"apply": func(*topology.Fleet) {}, "destroy": func(v *topology.Fleet) { v.Destroy = true }, "refresh": func(v *topology.Fleet) { v.RefreshOnly = true },
		} {
			t.Run(how+", "+name, func(t *testing.T) {
				t.Parallel()
				o := base.copy(t)
				places(o.config)
				v := o.observe()
				c.spoil(o, v)
				change(v)
				_, diags := o.planOf(v, planner.Options{})
				wantFindings(t, diags, c.want)
			})
		}
	}
	t.Run("recover, a newer version marked a host", func(t *testing.T) {
		t.Parallel()
		o := base.copy(t)
		places(o.config)
		o.recorded = nil
		v := o.observe()
		mark(v, o.config.Nodes[2], func(m *state.Marks) { m.Format = 2 })
		_, diags := record.Recover(v)
		wantFindings(t, diags, newer)
	})
}

// TestDepartureWithNewerMarkerIsNotReset checks that a departing host is not reset by a version that does not know how
// to read its marker, and so what to restore there.
func TestDepartureWithNewerMarkerIsNotReset(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	w := o.config.Nodes[1]
	places(o.config)
	o.leave(w.Target.Key)
	v := o.observe()
	mark(v, w, func(m *state.Marks) { m.Format = 2 })
	_, diags := o.planOf(v, planner.Options{})
	wantFindings(t, diags, finding{diag.Error, "Host was marked by a newer version", "", `node.worker["w1"]`, []string{"10.0.0.21"}})
}

// TestOlderMarkersAreAccepted checks that markers of older versions, without a format or a CA, are accepted.
func TestOlderMarkersAreAccepted(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	v := o.observe()
	for _, n := range o.config.Nodes {
		mark(v, n, func(m *state.Marks) { m.Format, m.ClusterCA = 0, "" })
	}
	r, diags := o.planOf(v, planner.Options{})
	wantFindings(t, diags)
	if !r.Plan.Empty() {
		t.Errorf("the plan is not empty:\n%s", describe(r.Plan))
	}
}

// TestForeignEtcdIsRefused checks that an etcd that the state does not know is refused, and that the remedy in
// the text works.
func TestForeignEtcdIsRefused(t *testing.T) {
	t.Parallel()
	o := founded(t, 2, 1)
	places(o.config)
	was := o.recorded.Clusters["prod"].EtcdClusterID
	o.know(func(c *state.RecordedCluster) { c.EtcdClusterID = "deadbeef" })
	wantFindings(t, o.diagnose(), finding{diag.Error, "Etcd cluster differs from the state", "main.hcl:1", "cluster.prod", []string{
		`Cluster "prod": the etcd that answers is ` + was + ", and the state records deadbeef", "The state is left as it is",
		"⟨restore FILE⟩", "⟨forget cluster.prod⟩",
	}})
	v := o.observe()
	v.Destroy = true
	_, diags := o.planOf(v, planner.Options{})
	wantFindings(t, diags)
	o.wantKnownAgain()
	if now := o.recorded.Clusters["prod"].EtcdClusterID; now != was {
		t.Errorf("the state has the etcd %s, want %s", now, was)
	}
}

// wantKnownAgain removes the whole cluster from the state, and checks that an apply records it again
// without changing its hosts.
func (o *operator) wantKnownAgain() {
	o.t.Helper()
	o.forgetAll(o.config.Nodes...)
	before := o.listings()
	o.must(o.apply())
	o.wantNothing()
	if after := o.listings(); after != before {
		o.t.Error("hosts were changed")
	}
}

// TestCAReplacedByHandIsRecoverable checks the remedy for a CA that was replaced by hand.
func TestCAReplacedByHandIsRecoverable(t *testing.T) {
	t.Parallel()
	o := founded(t, 2, 1)
	was := o.recorded.Clusters["prod"].CA
	o.knowCA(strings.Repeat("e", 64))
	if _, err := o.planShown(); err == nil {
		t.Fatal("the plan is not refused")
	}
	o.wantKnownAgain()
	if now := o.recorded.Clusters["prod"].CA; now != was {
		t.Errorf("the state has the CA %s, want %s", now, was)
	}
}

// TestMarkersNameCurrentAndFormerCA checks that every host's marker names the cluster's CA and, after a rotation, the
// former one as well: an older copy of the state still matches the cluster.
func TestMarkersNameCurrentAndFormerCA(t *testing.T) {
	t.Parallel()
	o := founded(t, 2, 1)
	was := o.recorded.Clusters["prod"].CA
	o.wantMarked(was, nil)
	o.rotate = []topology.Rotation{rotationOf(t, "ca")}
	o.must(o.apply())
	o.wantNothing()
	now := o.recorded.Clusters["prod"].CA
	if now == was {
		t.Fatal("the CA is still the old one")
	}
	o.wantMarked(now, []string{was})
	o.knowCA(was)
	o.wantNothing()
	o.knowCA(strings.Repeat("e", 64))
	if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), "Cluster CA differs from the state") {
		t.Errorf("another cluster's state is accepted: %v", err)
	}
}

func (o *operator) wantMarked(ca string, former []string) {
	o.t.Helper()
	for _, n := range o.config.Nodes {
		if m := o.observe().Reports[n.Target].Marks; m.ClusterCA != ca || !slices.Equal(m.FormerCAs, former) {
			o.t.Errorf("the marker of %s has %s and formerly %v, want %s and %v", n.Target, m.ClusterCA, m.FormerCAs, ca, former)
		}
	}
}

// TestBootstrapRefusedBesideWorkersOfACluster checks that workers that are still part of a cluster prevent the
// bootstrap of another one when the state and all control planes are gone, until the remedy in the text
// is applied.
func TestBootstrapRefusedBesideWorkersOfACluster(t *testing.T) {
	t.Parallel()
	base := founded(t, 1, 2)
	places(base.config)
	refused := finding{diag.Error, "Hosts belong to an earlier cluster", "main.hcl:1", "cluster.prod", []string{
		`node.cp["cp1"] (10.0.0.11) holds nothing of cluster "prod", so that the cluster would be bootstrapped again`,
		`node.worker["w1"] (10.0.0.21): CA `, `node.worker["w2"] (10.0.0.22): CA `, "⟨restore⟩",
	}}
	t.Run("workers that the state knows", func(t *testing.T) {
		t.Parallel()
		o := base.copy(t)
		o.forgetAll(o.config.Nodes[0])
		o.edit("10.0.0.11", "reinstall")
		wantFindings(t, o.diagnose(), refused.saying("reset its hosts and apply again:\n\n  ⟨destroy⟩"))
		o.destroy = true
		o.must(o.apply())
		o.destroy = false
		o.must(o.apply())
		o.wantNothing()
	})
	t.Run("workers that it does not know", func(t *testing.T) {
		t.Parallel()
		o := base.copy(t)
		o.forgetAll(o.config.Nodes...)
		o.edit("10.0.0.11", "reinstall")
		wantFindings(t, o.diagnose(), refused.saying("clean each of these hosts (kubeadm reset) and plan again."))
		for _, address := range []string{"10.0.0.21", "10.0.0.22"} {
			o.kubeadmReset(address)
		}
		o.must(o.apply())
		o.wantNothing()
	})
}

// kubeadmReset removes what kubeadm reset removes, as far as kubewright observes it.
func (o *operator) kubeadmReset(address string) {
	o.t.Helper()
	o.edit(address, "unit kubelet.service stop", "file /etc/kubernetes/kubelet.conf delete", "file /etc/kubernetes/pki delete",
		"file /var/lib/kubelet/config.yaml delete", "file /var/lib/kubelet/pki delete")
}

// TestBootstrapContinuesOnHostsWithItsCA checks that a bootstrap continues on hosts to which an earlier run has
// brought the CA.
func TestBootstrapContinuesOnHostsWithItsCA(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(2, 1))
	o.around = func(s *planner.Step) error {
		if s.Phase == "control-plane" && s.Target == o.config.Nodes[1].Target {
			return errors.New("interrupted")
		}
		return nil
	}
	if err := o.apply(); err == nil {
		t.Fatal("the apply was not interrupted")
	}
	o.around = nil
	o.must(o.apply())
	o.wantNothing()
	o.wantMarked(o.recorded.Clusters["prod"].CA, nil)
}

// TestBootstrapRestartsAfterManualCleanup checks that a bootstrap that was interrupted after the CA was created, and
// whose host was cleaned by hand, starts again with another CA and completes.
func TestBootstrapRestartsAfterManualCleanup(t *testing.T) {
	t.Parallel()
	o := newOperator(t, cluster(1, 1))
	o.around = func(s *planner.Step) error {
		if s.Phase == "control-plane" {
			return errors.New("interrupted")
		}
		return nil
	}
	if err := o.apply(); err == nil {
		t.Fatal("the apply was not interrupted")
	}
	o.around = nil
	o.recordSeen()
	was := o.recorded.Clusters["prod"]
	if was == nil || was.CA == "" || was.Version != "" {
		t.Fatalf("the state has %+v, want a CA and no version", was)
	}
	o.edit("10.0.0.11", "file /etc/kubernetes delete")
	o.must(o.apply())
	o.wantNothing()
	if now := o.recorded.Clusters["prod"]; now.CA == was.CA || now.Version == "" {
		t.Errorf("the state has %+v, want another CA than %s and a version", now, was.CA)
	}
	o.wantMarked(o.recorded.Clusters["prod"].CA, nil)
}

// recordSeen records what was observed, as the command does after a failed apply as well.
func (o *operator) recordSeen() {
	o.t.Helper()
	_, err := o.planShown()
	o.must(err)
	o.journal = []state.Entry{{Kind: state.EntryDone, Lineage: "l1", Learned: record.Record(o.fleet, o.result)}}
	o.must(o.fold())
}

// TestRemovalRefusesHostOfForeignCluster checks that a host that is part of another cluster by now is not reset when its
// block, or that of the whole cluster, is removed.
func TestRemovalRefusesHostOfForeignCluster(t *testing.T) {
	t.Parallel()
	base := founded(t, 2, 1)
	places(base.config)
	refused := finding{diag.Error, "Host belongs to another cluster", "", `node.worker["w1"]`, []string{
		`node.worker["w1"] (10.0.0.21) is being removed from cluster "prod" and its host is to be reset, but it holds the CA ffffffffffff`, "kubeadm reset", `⟨forget node.worker["w1"]⟩`,
	}}
	for how, leave := range map[string]func(*operator){
		"its block is gone":             func(o *operator) { o.leave("w1") },
		"the block of all is gone":      func(o *operator) { o.config = nothing() },
		"the control planes are silent": func(o *operator) { o.config = nothing(); o.allowUnreachable = true },
	} {
		for what, join := range map[string]func(*topology.Fleet, *config.Node){
			"with our mark": func(v *topology.Fleet, n *config.Node) { strangeCA(v, n) },
			"without it":    func(v *topology.Fleet, n *config.Node) { strangeCA(v, n); v.Reports[n.Target].Marks = nil },
			"its file of the CA is gone": func(v *topology.Fleet, n *config.Node) {
				see(v, n, pkiDir+"ca.crt", func(f *state.FileReport) { *f = state.FileReport{} })
				see(v, n, "/etc/kubernetes/kubelet.conf", func(f *state.FileReport) {
					f.Kubeconfig = &state.KubeconfigInfo{CAs: []state.CertificateInfo{{KeyDigest: strings.Repeat("f", 64)}}}
				})
			},
		} {
			t.Run(how+", "+what, func(t *testing.T) {
				t.Parallel()
				o := base.copy(t)
				planes := o.config.Nodes[:2]
				w := o.config.Nodes[2]
				leave(o)
				v := o.observe()
				if o.allowUnreachable {
					for _, n := range planes {
						delete(v.Reports, n.Target)
					}
				}
				_, diags := o.planOf(v, planner.Options{})
				wantFindings(t, diags)
				join(v, w)
				_, diags = o.planOf(v, planner.Options{})
				if o.allowUnreachable { // the flag skips such a worker as well
					wantFindings(t, diags, finding{diag.Warning, refused.summary, "", refused.of, []string{"is excluded from this plan, by ⟨+without-silent⟩. Its host is not changed"}})
					return
				}
				wantFindings(t, diags, refused)
				o.recorded.Nodes = maps.Clone(o.recorded.Nodes)
				delete(o.recorded.Nodes, w.Target)
				_, diags = o.planOf(v, planner.Options{})
				wantFindings(t, diags)
			})
		}
	}
}

// blankHost changes the observed host to a machine on which nothing was installed.
func blankHost(v *topology.Fleet, n *config.Node) {
	r := *v.Reports[n.Target]
	r.Marks, r.Files, r.Units = nil, map[string]state.FileReport{}, map[string]state.UnitReport{}
	v.Reports[n.Target] = &r
}

// TestRemovalRefusesAnotherMachine checks that a host other than the one that joined is not reset, whatever it
// holds: its address was given to another machine, or leads to another node.
func TestRemovalRefusesAnotherMachine(t *testing.T) {
	t.Parallel()
	base := founded(t, 2, 2)
	places(base.config)
	w1, w2 := base.config.Nodes[2], base.config.Nodes[3]
	other := func(v *topology.Fleet) { v.Reports[w1.Target].Facts.MachineID = strings.Repeat("b", 32) }
	etcd := func(v *topology.Fleet) {
		v.Reports[w1.Target].Files["/var/lib/etcd/member"] = state.FileReport{Exists: true, Type: "directory"}
	}
	machine := func(says ...string) finding {
		return finding{diag.Error, "Host is another machine", "", w1.Target.String(), append(says,
			`node.worker["w1"] (10.0.0.21) is being removed from cluster "prod", but its host has the machine id bbbbbbbbbbbb and no kubewright mark`)}
	}
	for name, tt := range map[string]struct {
		see  func(*topology.Fleet)
		want []finding
	}{
		"it is the one":              {func(*topology.Fleet) {}, nil},
		"its machine id has changed": {other, nil},
		"another one, with nothing on it": {func(v *topology.Fleet) { other(v); blankHost(v, w1) }, []finding{
			machine(`⟨+gone-host=node.worker["w1"]⟩`, "unreachable = true"),
		}},
		"another one, with an unknown etcd": {func(v *topology.Fleet) { other(v); blankHost(v, w1); etcd(v) }, []finding{
			machine("kubeadm reset", `⟨forget node.worker["w1"]⟩`),
		}},
		"another one, joined by hand": {func(v *topology.Fleet) { other(v); v.Reports[w1.Target].Marks = nil }, []finding{
			machine("kubeadm reset", `⟨forget node.worker["w1"]⟩`),
		}},
		"a control plane by now": {func(v *topology.Fleet) {
			v.Reports[w1.Target].Files["/etc/kubernetes/manifests/kube-apiserver.yaml"] = state.FileReport{Exists: true}
		}, []finding{{
			diag.Error, "Host is a control plane", "", w1.Target.String(),
			[]string{`node.worker["w1"] (10.0.0.21) is being removed from cluster "prod" and is recorded as a worker, but its host runs an API server`, `⟨forget node.worker["w1"]⟩`},
		}}},
		"that of another node": {func(v *topology.Fleet) { v.Reports[w1.Target] = v.Reports[w2.Target] }, []finding{{
			diag.Error, "Host is another node", "", w1.Target.String(),
			[]string{`node.worker["w1"] (10.0.0.21) is being removed from cluster "prod", but the host at its address is marked as node.worker["w2"], which is a node as well`, "⟨forget "},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			o.leave("w1")
			v := o.observe()
			r := *v.Reports[w1.Target]
			v.Reports[w1.Target] = &r
			tt.see(v)
			_, diags := o.planOf(v, planner.Options{})
			wantFindings(t, diags, tt.want...)
		})
	}
}

// TestRemovalKeepsHostThatWasReset checks that a host that was reset already is left as it is when a state from
// before the node's removal still has the node.
func TestRemovalKeepsHostThatWasReset(t *testing.T) {
	t.Parallel()
	base := founded(t, 1, 1)
	w1 := base.config.Nodes[1]
	for name, leave := range map[string]func(*operator){
		"its block is gone": func(o *operator) { o.leave("w1") },
		"everything goes":   func(o *operator) { o.destroy = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			leave(o)
			v := o.observe()
			blankHost(v, w1)
			res, diags := o.planOf(v, planner.Options{})
			wantFindings(t, diags)
			for _, s := range res.Plan.Steps {
				if s.Target == w1.Target && slices.ContainsFunc(s.Operations, planner.IsHostOperation) {
					t.Errorf("the plan changes its host:\n%s", describe(res.Plan))
				}
			}
			// With an active kubelet the host was not reset.
			v.Reports[w1.Target].Units["kubelet.service"] = state.UnitReport{Exists: true, Active: "active"}
			res, diags = o.planOf(v, planner.Options{})
			wantFindings(t, diags)
			if !slices.ContainsFunc(res.Plan.Steps, func(s planner.Step) bool {
				return s.Target == w1.Target && slices.ContainsFunc(s.Operations, planner.IsHostOperation)
			}) {
				t.Errorf("nothing stops its kubelet:\n%s", describe(res.Plan))
			}
		})
	}
}

// TestDestroyKeepsMachineThatReplacedHost checks that a destroy does nothing on a machine that has replaced a host:
// nothing of the cluster is left there.
func TestDestroyKeepsMachineThatReplacedHost(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	w1 := o.config.Nodes[1]
	o.destroy = true
	v := o.observe()
	r := *v.Reports[w1.Target]
	r.Facts.MachineID = strings.Repeat("b", 32)
	v.Reports[w1.Target] = &r
	blankHost(v, w1)
	res, diags := o.planOf(v, planner.Options{})
	wantFindings(t, diags)
	for _, s := range res.Plan.Steps {
		if s.Target == w1.Target && len(s.Operations) > 0 {
			t.Errorf("the plan changes another machine:\n%s", describe(res.Plan))
		}
	}
	if !slices.ContainsFunc(res.Plan.Resources, func(r planner.ResourceChange) bool { return r.Target == w1.Target && r.Action == planner.Delete }) {
		t.Error("the node is not counted as destroyed")
	}
}

// TestAcceptedNewHostWithDataIsRefused checks that a machine that was accepted as a node's new host is refused if
// it holds data of an unknown cluster.
func TestAcceptedNewHostWithDataIsRefused(t *testing.T) {
	t.Parallel()
	o := founded(t, 3, 1)
	w1 := o.config.Nodes[3]
	o.replace = []state.Target{w1.Target}
	v := o.observe()
	v.AcceptNewHost = v.Replace
	r := *v.Reports[w1.Target]
	r.Facts.MachineID = strings.Repeat("b", 32)
	v.Reports[w1.Target] = &r
	blankHost(v, w1)
	_, diags := o.planOf(v, planner.Options{})
	wantFindings(t, diags)
	v.Reports[w1.Target].Files["/var/lib/etcd/member"] = state.FileReport{Exists: true, Type: "directory"}
	_, diags = o.planOf(v, planner.Options{})
	wantFindings(t, diags, finding{diag.Error, "Host is another machine", "", w1.Target.String(), []string{"kubeadm reset"}})
}

// TestReplaceRefusesHostOfForeignCluster checks that a node is not replaced on a host of another cluster either, which would
// be reset first.
func TestReplaceRefusesHostOfForeignCluster(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	for _, i := range []int{1, 3} {
		n := base.config.Nodes[i]
		for what, see := range map[string]func(*topology.Fleet){
			"the machine that joined": func(*topology.Fleet) {},
			"another machine": func(v *topology.Fleet) {
				v.AcceptNewHost = v.Replace
				v.Reports[n.Target].Facts.MachineID = strings.Repeat("b", 32)
				v.Reports[n.Target].Marks = nil
			},
		} {
			t.Run(n.Target.String()+", "+what, func(t *testing.T) {
				t.Parallel()
				o := base.copy(t)
				o.replace = []state.Target{n.Target}
				v := o.observe()
				see(v)
				_, diags := o.planOf(v, planner.Options{})
				wantFindings(t, diags)
				v = o.observe()
				see(v)
				strangeCA(v, n)
				_, diags = o.planOf(v, planner.Options{})
				wantFindings(t, diags, finding{diag.Error, "Host belongs to another cluster", "", n.Target.String(), []string{
					`is being removed from cluster "prod" and is to join again on the same host, but it holds the CA ffffffffffff`, "use another host for the node", "kubeadm reset",
				}})
			})
		}
	}
}

// TestDestroyVerifiesHostsWithoutControlPlaneData checks that a destroy verifies to which cluster the hosts belong even if
// nothing is left on the control plane that would show it.
func TestDestroyVerifiesHostsWithoutControlPlaneData(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	places(o.config)
	o.destroy = true
	o.edit("10.0.0.11", "file /etc/kubernetes delete", "file /var/lib/etcd delete")
	v := o.observe()
	_, diags := o.planOf(v, planner.Options{})
	wantFindings(t, diags)
	strangeCA(v, o.config.Nodes[1])
	_, diags = o.planOf(v, planner.Options{})
	wantFindings(t, diags, finding{diag.Error, "Host belongs to another cluster", "main.hcl:12", `node.worker["w1"]`, []string{
		"it holds the CA ffffffffffff, which the cluster does not know: according to the state it is " + o.recorded.Clusters["prod"].CA[:12], "kubeadm reset",
	}})
}

// TestDestroyRecognizesHostsOfInterruptedRotation checks that the hosts of a cluster are recognized after a rotation
// was interrupted at any point, in a destroy and when the block of the cluster is gone.
func TestDestroyRecognizesHostsOfInterruptedRotation(t *testing.T) {
	t.Parallel()
	begin := founded(t, 2, 1)
	begin.rotate = []topology.Rotation{rotationOf(t, "ca")}
	_, err := begin.plan()
	begin.must(err)
	first, last, _ := begin.copy(t).effects()
	for n, done := range crashes(t, first, last, 5) {
		o := begin.copy(t)
		crashOnce(o, n, done)
		o.rotate, o.destroy = nil, true
		o.wantFree(n)
		o.edit("10.0.0.11", "file /etc/kubernetes delete", "file /var/lib/etcd delete")
		o.wantFree(n)
		o.destroy, o.config = false, nothing()
		o.wantFree(n)
	}
}

// wantFree checks that no host counts as one of another cluster.
func (o *operator) wantFree(n int) {
	o.t.Helper()
	o.fleet = o.observe()
	if _, d := pipeline.Plan(o.fleet, planner.Plan{}, withoutSnapshot); d.HasErrors() { // etcd may be without a leader just then
		o.t.Errorf("after a crash at effect %d:\n%s", n, printedFindings(d))
	}
}
