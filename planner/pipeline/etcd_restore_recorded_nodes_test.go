package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TestEtcdRestoreRefusedBesideRecordedControlPlane checks that a restore is refused while a recorded control plane would
// continue with the old etcd, even if it is no longer in the configuration, until it is known to be
// gone.
func TestEtcdRestoreRefusedBesideRecordedControlPlane(t *testing.T) {
	t.Parallel()
	base := founded(t, 3, 0)
	cp1, cp2 := state.NodeKeyTarget("cp", "cp1"), state.NodeKeyTarget("cp", "cp2")
	off := func(o *operator) { o.edit("10.0.0.11", "power off"); o.edit("10.0.0.12", "power off") }
	refused := func(says ...string) []finding {
		return []finding{{diag.Error, "Control plane would keep its old etcd member", "main.hcl:1", "cluster.prod", says}}
	}
	heldBack := func(says ...string) []finding {
		return []finding{{diag.Error, "Control plane would keep its old etcd member", "main.hcl:11", `node.cp["cp1"]`, append(says,
			`node.cp["cp1"] (10.0.0.11) could not join it`, "would be a second cluster beside the restored one", "⟨apply⟩ restores what is missing, also while the API does not answer; where it is refused, copy it", "clean it (kubeadm reset)")}}
	}
	lost := finding{diag.Warning, "Changes after the snapshot are lost", "main.hcl:1", "cluster.prod", nil}
	for name, c := range map[string]struct {
		change func(*operator)
		want   []finding
		quorum string
	}{
		"off": {off, []finding{{diag.Error, "Control plane could not be observed", "main.hcl:1", "", []string{
			`⟨restore +gone-host=node.cp["cp1"] +gone-host=node.cp["cp2"] FILE⟩`,
		}}}, ""},
		"all off": {func(o *operator) { off(o); o.edit("10.0.0.13", "power off") }, []finding{{
			diag.Error, "Control plane could not be observed", "main.hcl:1", "", nil,
		}}, ""},
		"one off, and the others without admin.conf": {func(o *operator) {
			o.edit("10.0.0.11", "power off")
			o.edit("10.0.0.12", "file /etc/kubernetes/admin.conf delete")
			o.edit("10.0.0.13", "file /etc/kubernetes/admin.conf delete")
		}, []finding{{diag.Error, "Control plane could not be observed", "main.hcl:1", "", nil}}, ""},
		"off and taken out, and the other one without admin.conf": {func(o *operator) {
			off(o)
			o.leave("cp1", "cp2")
			o.edit("10.0.0.13", "file /etc/kubernetes/admin.conf delete")
		}, refused(`  node.cp["cp1"] (10.0.0.11): no longer in the configuration, and `), ""},
		"off and taken out": {func(o *operator) { off(o); o.leave("cp1", "cp2") }, refused(
			`  node.cp["cp1"] (10.0.0.11): no longer in the configuration, and `, `  node.cp["cp2"] (10.0.0.12): `, "Restore their blocks as they were",
			`⟨restore +gone-host=node.cp["cp1"] +gone-host=node.cp["cp2"] FILE⟩`), ""},
		"one declared gone": {
			func(o *operator) { off(o); o.leave("cp1", "cp2"); o.forget = []state.Target{cp1} },
			refused(`⟨restore +gone-host=node.cp["cp2"] FILE⟩`), "",
		},
		"both declared gone": {func(o *operator) {
			off(o)
			o.leave("cp1", "cp2")
			o.forget, o.config.Removals = []state.Target{cp1}, []config.Removal{{From: cp2, Destroy: true, Unreachable: true}}
		}, []finding{lost}, "1 member of the snapshot, quorum 1."},
		"declared gone, and refuses the key": {
			func(o *operator) {
				off(o)
				o.edit("10.0.0.11", "power on")
				o.edit("10.0.0.11", "condition refuses-key on")
				o.leave("cp1", "cp2")
				o.forget = []state.Target{cp1, cp2}
			},
			refused(`  node.cp["cp1"] (10.0.0.11): declared gone for good, but its host responds (cannot log in to 10.0.0.11: no key is accepted); to remove it, switch it off`), "",
		},
		"reinstalled and taken out": {
			func(o *operator) { o.edit("10.0.0.11", "reinstall"); o.leave("cp1") },
			[]finding{lost},
			"1 member of the snapshot, then 1 added one at a time as learners; 2 members, quorum 2.",
		},
		"on and taken out": {
			func(o *operator) { o.leave("cp1"); o.forget = []state.Target{cp1} },
			refused(`node.cp["cp1"] (10.0.0.11): no longer in the configuration, and its host answers`), "",
		},
		"let go of": {
			func(o *operator) { o.leave("cp1"); o.config.Removals = []config.Removal{{From: cp1}} },
			refused(`node.cp["cp1"] (10.0.0.11): no longer in the configuration, and `), "",
		},
		"at another address": {
			func(o *operator) { o.readdress(0, "10.0.0.19") },
			refused(`node.cp["cp1"] (10.0.0.11): the configuration gives it another address, 10.0.0.19`), "",
		},
		"another role": {func(o *operator) {
			n := *o.config.Nodes[0]
			n.Role = config.Worker
			o.config.Nodes = append([]*config.Node{&n}, o.config.Nodes[1:]...)
		}, refused(`node.cp["cp1"] (10.0.0.11): a worker by the configuration`), ""},
		"without admin.conf": {
			func(o *operator) { o.edit("10.0.0.11", "file /etc/kubernetes/admin.conf delete") },
			heldBack("it holds a member of etcd, and no readable /etc/kubernetes/admin.conf"), "",
		},
		"without admin.conf, and unknown to the state": {func(o *operator) {
			o.edit("10.0.0.11", "file /etc/kubernetes/admin.conf delete")
			delete(o.recorded.Nodes, cp1)
		}, heldBack("it holds a member of etcd, and no readable /etc/kubernetes/admin.conf"), ""},
		"without its CA and admin.conf, and only data": {func(o *operator) {
			o.edit("10.0.0.11", "file /etc/kubernetes/admin.conf delete", "file /etc/kubernetes/pki/ca.crt content garbage", "file /etc/kubernetes/manifests/etcd.yaml delete")
		}, heldBack("and no readable /etc/kubernetes/pki/ca.crt and no /etc/kubernetes/admin.conf"), ""},
		"without admin.conf, and no data": {func(o *operator) {
			o.edit("10.0.0.11", "file /etc/kubernetes/admin.conf delete", "file /var/lib/etcd/member delete")
		}, heldBack("and no readable /etc/kubernetes/admin.conf"), ""},
		"without admin.conf and a member": {
			func(o *operator) {
				o.edit("10.0.0.11", "file /etc/kubernetes/admin.conf delete", "file /etc/kubernetes/manifests/etcd.yaml delete", "file /var/lib/etcd/member delete")
			},
			[]finding{lost},
			"1 member of the snapshot, then 1 added one at a time as learners; 2 members, quorum 2.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := base.copy(t)
			places(o.config)
			c.change(o)
			r, diags := maintenance.Restore(o.observe(), planner.Plan{}, maintenance.EtcdRestore{Cluster: "prod", Artifact: "good.db", SHA256: "0123456789abcdef"})
			wantFindings(t, diags, c.want...)
			if c.quorum != "" && (r.Plan == nil || !slices.Contains(r.Plan.Quorum, c.quorum)) {
				t.Errorf("the plan says about members: %v", strings.Join(r.Plan.Quorum, " "))
			}
			for _, p := range resourcesOf(r) {
				if p.Before["role"] != "control-plane" || p.After["role"] != "control-plane" {
					t.Errorf("%s is %v, and then %v", p.Target, p.Before, p.After)
				}
			}
		})
	}
}

// resourcesOf returns the clusters and nodes of a plan, if there is one.
func resourcesOf(r topology.Result) []planner.ResourceChange {
	if r.Plan == nil {
		return nil
	}
	return r.Plan.Resources
}
