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
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// rotating returns an operator whose apply was interrupted in a stage of a rotation.
func rotating(t *testing.T, base *operator, ca, stage, phase string) *operator {
	t.Helper()
	o := base.copy(t)
	o.rotate = []topology.Rotation{rotationOf(t, ca)}
	o.around = func(s *planner.Step) error {
		if s.ID.Waypoint == stage && s.ID.Phase == phase {
			return errCrash
		}
		return nil
	}
	if o.apply() == nil {
		t.Fatalf("there is no %s@%s", phase, stage)
	}
	o.around, o.rotate = nil, nil
	return o
}

// rotatedAlone is the title of the refusal to change anything together with a rotation.
const rotatedAlone = "CA rotation cannot be combined with other changes"

// TestRotationInterruptedBeforeMarkRecordsCA checks that a worker's marker has the new CA and lists the old
// one after a rotation that was interrupted between the copy of the CA to that host and its marker.
func TestRotationInterruptedBeforeMarkRecordsCA(t *testing.T) {
	t.Parallel()
	o, worker := running(t, 1, 1, "1.36.3"), state.NodeKeyTarget("worker", "w1")
	before := o.observe().Reports[worker].Marks
	o.rotate = []topology.Rotation{rotationOf(t, "ca")}
	var dropping, crashed bool
	o.around = func(s *planner.Step) error {
		dropping = s.ID.Waypoint == topology.DropOld && s.Target == worker
		return nil
	}
	o.world.OnEffect = func(e sim.Effect) error {
		if crashed = crashed || dropping && e.Op == "mark" && !e.Done; crashed {
			return errCrash
		}
		return nil
	}
	if o.apply() == nil || !crashed {
		t.Fatal("the apply was not interrupted")
	}
	o.around, o.world.OnEffect, o.rotate = nil, nil, nil
	o.must(o.apply())
	o.wantNothing()
	report := o.observe().Reports[worker]
	held, marks := topology.CADigestsIn(report, pkiDir+"ca.crt"), report.Marks
	if len(held) != 1 || held[0] == before.ClusterCA || marks.ClusterCA != held[0] || !slices.Contains(marks.FormerCAs, before.ClusterCA) {
		t.Errorf("the host holds the CA %v, was marked with %s and is marked with %s, formerly %v", held, before.ClusterCA, marks.ClusterCA, marks.FormerCAs)
	}
}

// TestLostNodeLeavesWhileRotating checks that a node whose host is gone for good leaves before an interrupted
// rotation continues, at any stage, and that the rotation completes without it.
func TestLostNodeLeavesWhileRotating(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 2)
	for _, at := range []struct{ ca, stage, phase string }{
		{"ca", "trust-both", "kubelet-start"},
		{"ca", "reissue", "certs"},
		{"ca", "drop-old", "certs"},
		{"ca", "drop-old", "kubelet-start"},
		{"etcd-ca", "reissue", "etcd"},
		{"service-account", "reissue", "certs"},
	} {
		cut := rotating(t, base, at.ca, at.stage, at.phase)
		for _, key := range []string{"w2", "cp1", "cp3"} {
			t.Run(at.ca+"/"+at.stage+"/"+at.phase+"/"+key, func(t *testing.T) {
				t.Parallel()
				o := cut.copy(t)
				i := slices.IndexFunc(o.config.Nodes, func(n *config.Node) bool { return n.Target.Key == key })
				gone := o.config.Nodes[i]
				o.edit(gone.Address, "power off")
				o.leave(key)
				o.forget = []state.Target{gone.Target}
				if at.ca == "etcd-ca" && key != "w2" { // one of the two remaining members restarts at a time
					wantRefused(t, o, "Etcd would lose quorum", "Until the rotation is complete no other control plane can join. Accept that the API does not answer")
					o.config.Clusters[0].Upgrade.AllowDowntime = true
				}
				p, err := o.plan()
				o.must(err)
				if first := p.Steps[0]; first.Phase != "etcd-snapshot" && first.ID.Target != gone.Target || len(p.Rotations) != 1 {
					t.Errorf("the node does not leave first:\n%s", describe(p))
				}
				o.must(o.carryOut())
				if at.ca != "service-account" { // whose rotation waits for tokens
					o.wantNothing()
				}
				if strings.Contains(describe(o.result.Plan), key) {
					t.Errorf("the plan still contains the node:\n%s", describe(o.result.Plan))
				}
			})
		}
	}
}

// TestReinstalledHostRejoinsWhileRotating checks that a host that was reinstalled during a rotation leaves first,
// and rejoins when the rotation is complete.
func TestReinstalledHostRejoinsWhileRotating(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 1)
	for name, c := range map[string]struct {
		node    int
		spoil   func(*operator)
		renew   bool
		why     string
		command string
	}{
		"another machine":                  {3, func(o *operator) { o.edit("10.0.0.21", "reinstall") }, true, `node.worker["w1"] would be replaced`, `⟨apply +gone-host=node.worker["w1"]⟩`},
		"another machine, a control plane": {1, func(o *operator) { o.edit("10.0.0.12", "reinstall") }, true, `node.cp["cp2"] would be replaced`, `⟨apply +gone-host=node.cp["cp2"]⟩`},
		"another machine, the founder":     {0, func(o *operator) { o.edit("10.0.0.11", "reinstall") }, true, `node.cp["cp1"] would be replaced`, `⟨apply +gone-host=node.cp["cp1"]⟩`},
		"kubeadm reset":                    {3, func(o *operator) { o.kubeadmReset("10.0.0.21") }, false, `node.worker["w1"] would join`, "⟨apply⟩\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := rotating(t, base, "ca", "reissue", "certs")
			c.spoil(o)
			nodes, lost := o.config.Nodes, o.config.Nodes[c.node].Target
			if c.renew {
				o.replace, o.accept = []state.Target{lost}, []state.Target{lost}
			}
			wantRefused(t, o, rotatedAlone, c.why, "remove its block, or its key, from the configuration", c.command, "When the rotation is complete, add it back")

			o.replace, o.accept = nil, nil
			o.leave(lost.Key)
			if c.renew {
				o.forget = []state.Target{lost}
			}
			o.must(o.apply())
			o.wantNothing()
			o.config.Nodes = nodes
			o.must(o.apply())
			o.wantNothing()
		})
	}
}

// TestRotationRefusesOtherChanges checks that a refusal to combine changes with a rotation names a remedy that works.
func TestRotationRefusesOtherChanges(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 2)
	w2 := state.NodeKeyTarget("worker", "w2")
	const forget = `⟨apply +gone-host=node.worker["w2"]⟩`
	for name, c := range map[string]struct {
		change func(*operator)
		says   []string
	}{
		"off": {func(o *operator) { o.edit("10.0.0.22", "power off") }, []string{
			`node.worker["w2"] could not be observed`, "remove its block, or its key, from the configuration and declare that:", "before the rotation continues", forget,
		}},
		"off and taken out": {func(o *operator) { o.edit("10.0.0.22", "power off"); o.leave("w2") }, []string{
			`node.worker["w2"] would be removed, and could not be observed`, "gone for good, declare that", forget,
		}},
		"leaves": {func(o *operator) { o.leave("w2") }, []string{`node.worker["w2"] would be removed.`, "revert the change"}},
		"let go": {func(o *operator) {
			o.leave("w2")
			o.config.Removals = []config.Removal{{From: w2}}
		}, []string{`the state would forget node.worker["w2"]`, "revert the change"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := rotating(t, base, "ca", "reissue", "certs")
			c.change(o)
			wantRefused(t, o, rotatedAlone, c.says...)
			for _, d := range o.diagnose() {
				if strings.Contains(d.Detail, "⟨+without-silent⟩") {
					t.Errorf("the remedy of %s is refused:\n%s", d.Summary, d.Detail)
				}
			}
		})
	}
}

// TestUnmanagedNodeIsNotCutOffWhileRotating checks that a rotation is refused if it would cut off a node that only the
// API shows, since the state was made to forget it or a user has joined it by hand.
func TestUnmanagedNodeIsNotCutOffWhileRotating(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 2)
	forget := func(o *operator, keys ...string) {
		o.recorded.Nodes = maps.Clone(o.recorded.Nodes)
		for _, n := range o.config.Nodes {
			if slices.Contains(keys, n.Target.Key) {
				delete(o.recorded.Nodes, n.Target)
				o.recorded.Items = slices.DeleteFunc(slices.Clone(o.recorded.Items), func(it state.Item) bool { return it.Address.Target == n.Target })
			}
		}
		o.leave(keys...)
	}
	for name, c := range map[string]struct {
		ca    string
		begun bool
		gone  []string
		says  string
	}{
		"a worker":              {"ca", false, []string{"w2"}, "unmanaged nodes would be cut off (host-10-0-0-22)"},
		"a worker, begun":       {"ca", true, []string{"w2"}, "unmanaged nodes would be cut off (host-10-0-0-22)"},
		"a control plane":       {"ca", false, []string{"cp3"}, "unmanaged nodes would be cut off (host-10-0-0-13)"},
		"both":                  {"ca", true, []string{"w2", "cp3"}, "unmanaged nodes would be cut off (host-10-0-0-13, host-10-0-0-22)"},
		"etcd's, of all planes": {"etcd-ca", false, []string{"w2", "cp3"}, "unmanaged nodes would be cut off (host-10-0-0-13)"},
		"etcd's, of workers":    {"etcd-ca", false, []string{"w2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			if c.begun {
				o = rotating(t, base, c.ca, "reissue", "certs")
			} else {
				o.rotate = []topology.Rotation{rotationOf(t, c.ca)}
			}
			nodes := o.config.Nodes
			forget(o, c.gone...)
			if c.says == "" {
				o.must(o.apply())
				return
			}
			wantRefused(t, o, rotatedAlone, c.says, "kubectl delete node")
			o.config.Nodes = nodes
			o.must(o.apply())
			o.wantNothing()
		})
	}
}

// TestStagesRequireAPIWhileRotating checks that no stage continues while the API does not answer, so that the
// cause can be repaired without a host that is off.
func TestStagesRequireAPIWhileRotating(t *testing.T) {
	t.Parallel()
	o := rotating(t, founded(t, 1, 1), "ca", "reissue", "certs")
	o.edit("10.0.0.21", "power off")
	o.edit("10.0.0.11", "file /etc/kubernetes/manifests/kube-apiserver.yaml delete")
	o.allowUnreachable = true
	p, err := o.plan()
	o.must(err)
	for _, s := range p.Steps {
		if s.ID.Waypoint != "" || s.ID.Target.Key != "cp1" {
			t.Errorf("unexpected step %s", s.ID)
		}
	}
	if p.Empty() {
		t.Error("nothing is repaired")
	}
}

// wantRefused checks that the plan is refused with this title and all of these texts.
func wantRefused(t *testing.T, o *operator, summary string, says ...string) {
	t.Helper()
	diags := o.diagnose()
	i := slices.IndexFunc(diags, func(d *diag.Diagnostic) bool { return d.Summary == summary })
	if i < 0 {
		t.Fatalf("%s is not among\n%s", summary, printedFindings(diags))
	}
	show(t, diags[i])
	for _, part := range says {
		if !strings.Contains(diags[i].Detail+"\n", part) {
			t.Errorf("%q is not in\n%s", part, diags[i].Detail)
		}
	}
}

// TestRotationWaitsForReadyNodes checks that a rotation of the cluster's CA first waits until every Node is
// Ready. Rotations that restart no kubelet do not wait.
func TestRotationWaitsForReadyNodes(t *testing.T) {
	t.Parallel()
	base := running(t, 3, 1, sim.DefaultProfile().KubeletVersion)
	places(base.config)
	const cni = "/etc/cni/net.d/90-bridge.conflist"
	for name, c := range map[string]struct {
		ca, host, edit string
		waits          bool
		want           []finding
	}{
		"a worker": {"ca", "10.0.0.21", "file " + cni + " delete", true, []finding{{diag.Warning, "Node is not ready", "main.hcl:1", "cluster.prod", []string{
			`cluster.prod/ca: the Node of node.worker["w1"] is not Ready`, "The rotation waits 4m0s for that before it changes anything, and does not begin without it", "kubectl describe node",
		}}}},
		"a control plane": {"ca", "10.0.0.12", "file " + cni + " delete", true, []finding{{diag.Warning, "Node is not ready", "main.hcl:1", "cluster.prod", []string{
			`the Node of node.cp["cp2"] is not Ready`,
		}}}},
		"a Node that was deleted": {"ca", "10.0.0.11", "node host-10-0-0-21 delete", false, nil},
		"etcd's CA":               {"etcd-ca", "10.0.0.21", "file " + cni + " delete", false, nil},
		"no kubelet is restarted": {"service-account", "10.0.0.12", "file " + cni + " delete", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			o.edit(c.host, c.edit)
			o.world.Advance(time.Minute)
			asked := []topology.Rotation{rotationOf(t, c.ca)}
			o.rotate = asked
			diags := o.diagnose()
			wantFindings(t, slices.DeleteFunc(diags, func(d *diag.Diagnostic) bool { return d.Summary == "Pods may need a restart" }), c.want...)
			err := o.apply()
			if !c.waits {
				o.must(err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), "certs@trust-both: cannot wait for node") {
				t.Errorf("the rotation does not wait for the Node first: %v", err)
			}
			o.rotate = nil
			o.wantNothing() // the rotation has not begun
			o.edit(c.host, "file "+cni+" content {}")
			o.rotate = asked
			o.must(o.apply())
			o.wantNothing()
		})
	}
}
