package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// stranded returns a cluster of one control plane and two workers, each with a pod of an application of
// which one pod has to stay.
func stranded(t *testing.T) *operator {
	t.Helper()
	o := founded(t, 1, 2)
	places(o.config)
	o.edit("10.0.0.11", "pod shop/cart-1 host-10-0-0-21", "pod shop/cart-2 host-10-0-0-22", "budget shop/cart 1")
	o.world.Advance(time.Minute)
	return o
}

// TestDrainWarnsOfPodsWithoutNode checks that a plan warns of pods without a node that their budget does not let go at once;
// a plan that leaves room for them, or that ignores budgets, does not warn.
func TestDrainWarnsOfPodsWithoutNode(t *testing.T) {
	t.Parallel()
	worker := func(name string) state.Target { return state.NodeKeyTarget("worker", name) }
	warned := func(says ...string) []finding {
		return []finding{{diag.Warning, "Pods cannot be rescheduled", "main.hcl:1", "cluster.prod", append(says, "The drain ends at its timeout (10m)", "disable_eviction = true")}}
	}
	upgrade := func(o *operator) { o.config.Clusters[0].KubernetesVersion = "1.37.1"; o.kubelets("1.37.1") }
	const both = "  PodDisruptionBudget shop/cart allows 1, and selects 2 of these pods"
	for name, c := range map[string]struct {
		change func(o *operator)
		want   []finding
	}{
		"all workers leave": {func(o *operator) { o.leave("w1", "w2") }, warned("this plan drains host-10-0-0-21, host-10-0-0-22, and no other node can take pods from there", both)},
		"one worker leaves": {func(o *operator) { o.leave("w1") }, nil},
		"one worker leaves, and the other is cordoned": {func(o *operator) {
			o.edit("10.0.0.11", "pod shop/cart-2 delete", "pod shop/cart-2 host-10-0-0-21", "cordon host-10-0-0-22")
			o.leave("w1")
		}, append(warned("this plan drains host-10-0-0-21, and no other node can take pods from there", both),
			finding{diag.Warning, "Node is cordoned", "main.hcl:13", `node.worker["w2"]`, []string{"was cordoned outside of kubewright", "⟨uncordon "}})},
		"one worker leaves, and the other has a taint of the user's": {func(o *operator) {
			o.edit("10.0.0.11", "pod shop/cart-2 delete", "pod shop/cart-2 host-10-0-0-21", "taint host-10-0-0-22 for=others:NoSchedule")
			o.leave("w1")
		}, warned("this plan drains host-10-0-0-21, and no other node can take pods from there", both)},
		"one worker leaves, and the other is to have a taint": {func(o *operator) {
			o.edit("10.0.0.11", "pod shop/cart-2 delete", "pod shop/cart-2 host-10-0-0-21")
			o.config.Nodes[2].Taints = []state.Taint{{Key: "for", Value: "others", Effect: "NoExecute"}}
			o.leave("w1")
		}, warned("this plan drains host-10-0-0-21, and no other node can take pods from there", both)},
		"another joins": {func(o *operator) {
			o.leave("w1", "w2")
			o.config.Nodes = append(o.config.Nodes, cluster(1, 3).Nodes[3])
		}, nil},
		"the control plane takes them": {func(o *operator) {
			o.leave("w1", "w2")
			o.config.Nodes[0].Taints = []state.Taint{}
		}, nil},
		"the control plane has a taint that only asks": {func(o *operator) {
			o.leave("w1", "w2")
			o.config.Nodes[0].Taints = []state.Taint{{Key: "for", Effect: "PreferNoSchedule"}}
		}, nil},
		"the pods tolerate every taint": {func(o *operator) { o.cart("host-10-0-0-21 tolerant", "host-10-0-0-22 tolerant"); o.leave("w1", "w2") }, nil},
		"one of the pods does":          {func(o *operator) { o.cart("host-10-0-0-21 tolerant", "host-10-0-0-22"); o.leave("w1", "w2") }, nil},
		"pods on a tainted node do not tolerate its taint": {func(o *operator) {
			o.cart("host-10-0-0-21", "host-10-0-0-21")
			o.edit("10.0.0.11", "taint host-10-0-0-21 for=others:NoSchedule", "taint host-10-0-0-22 for=others:NoSchedule")
			o.leave("w1")
		}, warned("this plan drains host-10-0-0-21, and no other node can take pods from there", both)},
		"the other node lacks the label that they want": {func(o *operator) {
			o.cart("host-10-0-0-21 on=disk=fast", "host-10-0-0-21 on=disk=fast")
			o.leave("w1")
		}, warned("this plan drains host-10-0-0-21, and no other node can take pods from there", both)},
		"the other node has the label": {func(o *operator) {
			o.cart("host-10-0-0-21 on=disk=fast", "host-10-0-0-21 on=disk=fast")
			o.edit("10.0.0.11", "label host-10-0-0-22 disk=fast")
			o.leave("w1")
		}, nil},
		"the other node is to have the label": {func(o *operator) {
			o.cart("host-10-0-0-21 on=disk=fast", "host-10-0-0-21 on=disk=fast")
			o.config.Nodes[2].Labels = map[string]string{"disk": "fast"}
			o.leave("w1")
		}, nil},
		"one that joins may have it": {func(o *operator) {
			o.cart("host-10-0-0-21 on=disk=fast", "host-10-0-0-21 on=disk=fast")
			o.leave("w1")
			o.config.Nodes = append(o.config.Nodes, cluster(1, 3).Nodes[3])
		}, nil},
		"CoreDNS tolerates control planes": {func(o *operator) {
			o.edit("10.0.0.11", "budget shop/cart delete", "object Deployment kube-system/coredns set spec.replicas=6")
			o.must(o.world.AddPDB("host-10-0-0-21", sim.PDB{Namespace: "kube-system", Name: "dns", Selector: map[string]string{"k8s-app": "kube-dns"}, MinAvailable: 5}))
			o.world.Advance(time.Minute)
			o.leave("w1", "w2")
		}, nil},
		"the budget allows it": {func(o *operator) { o.edit("10.0.0.11", "budget shop/cart 0"); o.leave("w1", "w2") }, nil},
		"pods are deleted": {func(o *operator) {
			o.config.Clusters[0].Upgrade.Drain.DisableEviction = true
			o.leave("w1", "w2")
		}, nil},
		"both are replaced, one after the other": {func(o *operator) { o.replace = []state.Target{worker("w1"), worker("w2")} }, nil},
		"the only one is replaced": {func(o *operator) {
			o.leave("w2")
			o.must(o.apply())
			o.world.Advance(time.Minute) // cart-2 is ready where it is now
			o.replace = []state.Target{worker("w1")}
		}, warned("this plan drains host-10-0-0-21, and no other node can take pods from there", both)},
		"the only one is upgraded": {func(o *operator) {
			o.leave("w2")
			o.must(o.apply())
			o.world.Advance(time.Minute) // cart-2 is ready where it is now
			upgrade(o)
		}, warned("this plan drains host-10-0-0-21, and no other node can take pods from there", both)},
		"both are upgraded": {upgrade, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := stranded(t)
			c.change(o)
			r, diags := o.planOf(o.observe(), planner.Options{})
			wantFindings(t, diags, c.want...)
			if r.Plan == nil || len(r.Plan.Steps) == 0 {
				t.Errorf("the plan is empty: %v", diags)
			}
		})
	}
}

// cart moves the pods, or recreates them with other properties.
func (o *operator) cart(first, second string) {
	o.edit("10.0.0.11", "pod shop/cart-1 delete", "pod shop/cart-2 delete", "pod shop/cart-1 "+first, "pod shop/cart-2 "+second)
	o.world.Advance(time.Minute)
}

// TestDrainOfPodsWithoutNodeEndsAtTimeout checks that the warning's prediction comes true.
func TestDrainOfPodsWithoutNodeEndsAtTimeout(t *testing.T) {
	t.Parallel()
	o := stranded(t)
	o.leave("w1", "w2")
	if err := o.apply(); err == nil || !strings.Contains(err.Error(), "after 10m0s pods are still on it: shop/cart-") {
		t.Errorf("got %v", err)
	}
}

// TestDrainRefusesFailedBudget checks that a budget whose pods cannot be counted counts as one that never allows
// an eviction.
func TestDrainRefusesFailedBudget(t *testing.T) {
	t.Parallel()
	o := stranded(t)
	o.leave("w1")
	v := o.observe()
	b := v.ClusterReports["prod"].Budgets["shop/cart"]
	b.Failed = "jobs.batch does not implement the scale subresource"
	v.ClusterReports["prod"].Budgets["shop/cart"] = b
	_, diags := o.planOf(v, planner.Options{})
	wantFindings(t, diags, finding{diag.Error, "Node cannot be drained", "main.hcl:1", `node.worker["w1"]`, []string{
		"PodDisruptionBudget shop/cart never allows an eviction, because its pods cannot be counted (jobs.batch does not implement the scale subresource): shop/cart-1.",
		"To do: give the budget minAvailable as a number, ", "disable_eviction = true",
	}})
}
