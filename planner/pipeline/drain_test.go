package pipeline_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
)

// TestDrainObservesPods checks that the pods of a node are observed when the node may have to be drained.
func TestDrainObservesPods(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 2)
	all := o.config.Nodes
	asked := func() []string {
		v := o.observe()
		return observe.ClusterQuery(o.config, o.recorded, "prod").Drained(v.ClusterReports["prod"].Nodes)
	}
	if got := asked(); got != nil {
		t.Errorf("nothing changes, and the pods of %v are queried", got)
	}
	o.config.Nodes = slices.Delete(slices.Clone(all), 2, 3)
	if got := asked(); len(got) != 1 {
		t.Errorf("one leaves, and the pods of %v are queried", got)
	}
	o.config.Nodes = all
	o.config.Clusters[0].KubernetesVersion = "1.37.1"
	if got := asked(); len(got) != 3 {
		t.Errorf("all are upgraded, and the pods of %v are queried", got)
	}
}

// drainOf returns a node's drain in a plan and its impact, by the key of its step.
func drainOf(t *testing.T, p *planner.Plan, name string) (planner.Drain, string) {
	t.Helper()
	s := stepOf(p, name)
	if s == nil {
		t.Fatalf("there is no step %s:\n%s", name, describe(p))
	}
	for _, op := range s.Operations {
		if d, ok := op.(planner.Drain); ok {
			return d, s.Impact
		}
	}
	t.Fatalf("step %s drains nothing", name)
	return planner.Drain{}, ""
}

// TestDrainOptionsReachDrainSteps checks that every option of the configuration reaches the drain of a departing node
// and of a node that is upgraded.
func TestDrainOptionsReachDrainSteps(t *testing.T) {
	t.Parallel()
	given := config.DrainOptions{
		Timeout: 3 * time.Minute, GracePeriod: 7, Force: true, DeleteEmptyDirData: true, DisableEviction: true, PodSelector: "app!=cache", SkipWait: 2 * time.Minute,
	}
	usual := config.NewCluster("prod", "1.36.3").Upgrade.Drain
	for i := range reflect.TypeFor[config.DrainOptions]().NumField() {
		if v := reflect.ValueOf(usual).Field(i); v.Equal(reflect.ValueOf(given).Field(i)) {
			t.Errorf("%s has its default value", reflect.TypeFor[config.DrainOptions]().Field(i).Name)
		}
	}
	for _, change := range []func(o *operator){
		func(o *operator) { o.leave("w2") },
		func(o *operator) { o.config.Clusters[0].KubernetesVersion = "1.37.1"; o.kubelets("1.37.1") },
	} {
		o := founded(t, 1, 2)
		change(o)
		for _, c := range []struct {
			options config.DrainOptions
			want    planner.Drain
		}{
			{usual, planner.Drain{Timeout: 10 * time.Minute, GracePeriod: -1}},
			{given, planner.Drain{
				Timeout: 3 * time.Minute, GracePeriod: 7, Force: true, DeleteEmptyDirData: true, DisableEviction: true, PodSelector: "app!=cache", SkipWait: 2 * time.Minute,
				Uncordon: true,
			}},
		} {
			o.config.Clusters[0].Upgrade.Drain = c.options
			p, err := o.plan()
			o.must(err)
			c.want.Node = "host-10-0-0-22"
			if got, _ := drainOf(t, p, "w2/drain"); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		}
	}
}

// crowded returns a cluster of one control plane and two workers, of which the second has pods of every
// kind and leaves.
func crowded(t *testing.T) *operator {
	t.Helper()
	o := founded(t, 1, 2)
	const node = "host-10-0-0-22"
	for _, p := range []string{"cart", "cache " + node + " emptydir", "lone " + node + " bare", "stuck " + node + " terminating"} {
		name, rest, ok := strings.Cut(p, " ")
		if !ok {
			rest = node
		}
		o.edit("10.0.0.11", "pod shop/"+name+" "+rest)
	}
	for _, p := range o.world.Pods(node) {
		if p.Node == node && p.Namespace != "shop" {
			o.edit("10.0.0.11", "pod "+p.Namespace+"/"+p.Name+" delete") // its controller recreates it where there is more room
		}
	}
	o.world.Advance(90 * time.Second)
	o.leave("w2")
	return o
}

// TestDrainPlanNamesPodsOrRefuses checks that the plan names each pod and the reason, or refuses the drain, depending on
// the options.
func TestDrainPlanNamesPodsOrRefuses(t *testing.T) {
	t.Parallel()
	o := crowded(t)
	const stuck = "shop/stuck (ReplicaSet, still terminating, due to be gone by "
	for _, c := range []struct {
		what    string
		options config.DrainOptions
		want    []string
		not     []string
	}{
		{
			"none",
			config.DrainOptions{},
			[]string{"Node cannot be drained", "emptyDir volumes, whose data would be lost: shop/cache.", "no controller recreates: shop/lone."},
			[]string{"cart", "stuck"},
		},
		{"force", config.DrainOptions{Force: true}, []string{"Node cannot be drained", "shop/cache"}, []string{"shop/lone"}},
		{"emptyDir", config.DrainOptions{DeleteEmptyDirData: true}, []string{"Node cannot be drained", "shop/lone"}, []string{"shop/cache"}},
		{
			"all of it",
			config.DrainOptions{DeleteEmptyDirData: true, Force: true},
			[]string{"4 pods to evict: shop/cache (ReplicaSet, the data of its emptyDir is lost), shop/lone (no controller recreates it), " + stuck, "), shop/cart (ReplicaSet)"},
			[]string{"passed over", "blocked"},
		},
		{
			"a selector",
			config.DrainOptions{PodSelector: "app notin (cache, lone)"},
			[]string{"2 pods to evict: " + stuck, "), shop/cart (ReplicaSet); skipped by pod_selector: shop/cache, shop/lone"},
			nil,
		},
		{
			"terminating for longer",
			config.DrainOptions{PodSelector: "app in (cart, stuck)", SkipWait: time.Minute},
			[]string{"1 pod to evict: shop/cart (ReplicaSet); skipped by pod_selector: shop/cache, shop/lone; skipped by skip_wait_for_delete_timeout: shop/stuck"},
			nil,
		},
		{"terminating for shorter", config.DrainOptions{PodSelector: "app in (cart, stuck)", SkipWait: time.Hour}, []string{"2 pods to evict", stuck}, []string{"skip_wait"}},
		{"deletion", config.DrainOptions{PodSelector: "app=cart", DisableEviction: true}, []string{"1 pod to delete: shop/cart (ReplicaSet)"}, []string{"evict"}},
	} {
		o.config.Clusters[0].Upgrade.Drain = c.options
		p, err := o.planShown()
		said := fmt.Sprint(err)
		if err == nil {
			_, said = drainOf(t, p, "w2/drain")
		}
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is not in\n%s", c.what, want, said)
			}
		}
		for _, not := range c.not {
			if strings.Contains(said, not) {
				t.Errorf("%s: %q is in\n%s", c.what, not, said)
			}
		}
	}
}

// TestDrainImpactShortensLongPodLists checks that the impact names pods that are lost, that lose data and that a budget
// blocks, if there are more pods than fit; the list for programs is complete.
func TestDrainImpactShortensLongPodLists(t *testing.T) {
	t.Parallel()
	const node = "host-10-0-0-22"
	names := func(app string) (out []string) {
		for i := range 6 {
			out = append(out, fmt.Sprintf("shop/%s-%d", app, i))
		}
		return out
	}
	o := founded(t, 1, 2)
	for _, p := range o.world.Pods(node) {
		if p.Node == node {
			o.edit("10.0.0.11", "pod "+p.Namespace+"/"+p.Name+" delete")
		}
	}
	for _, name := range slices.Concat(names("a"), names("b")) {
		o.edit("10.0.0.11", "pod "+name+" "+node)
	}
	for _, name := range names("lone") {
		o.edit("10.0.0.11", "pod "+name+" "+node+" bare")
	}
	for _, name := range names("scratch") {
		o.edit("10.0.0.11", "pod "+name+" "+node+" emptydir")
	}
	o.edit("10.0.0.11", "pod shop/web-0 "+node, "pod shop/web-1 host-10-0-0-21 unready", "budget shop/web 1")
	matter := append(slices.Concat(names("lone"), names("scratch")), "shop/web-0")
	o.leave("w2")

	drain := &o.config.Clusters[0].Upgrade.Drain
	drain.Force, drain.DeleteEmptyDirData = true, true
	p, err := o.plan()
	o.must(err)
	_, said := drainOf(t, p, "w2/drain")
	for _, name := range matter {
		if !strings.Contains(said, " "+name+" (") {
			t.Errorf("%s is not named: %s", name, said)
		}
	}
	if !strings.Contains(said, "25 pods to evict: ") || !strings.Contains(said, ", 12 more; blocked") {
		t.Errorf("the number of the others is missing: %s", said)
	}
	var listed []string
	for _, pod := range stepOf(p, "w2/drain").Pods {
		listed = append(listed, pod.Name)
		if want := map[bool]string{true: "no controller recreates it"}[strings.HasPrefix(pod.Name, "shop/lone")]; want != "" && pod.Note != want {
			t.Errorf("got %s, want %s", pod, want)
		}
	}
	if want := slices.Concat(names("a"), names("b"), matter); !slices.Equal(listed, want) {
		t.Errorf("got  %q\nwant %q", listed, want)
	}

	drain.PodSelector = "app=none"
	p, err = o.plan()
	o.must(err)
	_, said = drainOf(t, p, "w2/drain")
	for _, name := range matter {
		if !strings.Contains(said, " "+name+",") {
			t.Errorf("the skipped pod %s is not named: %s", name, said)
		}
	}
	if pods := stepOf(p, "w2/drain").Pods; len(pods) != 25 || pods[0].String() != "shop/a-0 (skipped by pod_selector)" {
		t.Errorf("got %v", pods)
	}
}

// TestDrainCountsSkippedPodDataAsLost checks that data on the node's disk counts as lost even if the drain skips
// its pod.
func TestDrainCountsSkippedPodDataAsLost(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 2)
	o.edit("10.0.0.11", "pod shop/db host-10-0-0-22 local")
	o.config.Clusters[0].Upgrade.Drain.PodSelector = "app!=db"
	o.leave("w2")
	if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), "on the disk of this host only: shop/db (db-data)") {
		t.Errorf("got %v", err)
	}
}

// TestRemovalWithoutDrainNamesPods checks that a node that leaves without a drain is reset together with its
// pods, which are named, but not together with the only copy of data.
func TestRemovalWithoutDrainNamesPods(t *testing.T) {
	t.Parallel()
	o := crowded(t)
	o.edit("10.0.0.11", "pod shop/db host-10-0-0-22 local", "claim shop/old host-10-0-0-22", "pod shop/stuck delete")
	plan := func(phase string) (topology.Result, diag.Diagnostics) {
		return o.planOf(o.observe(), planner.Options{SkipPhases: []string{phase}})
	}
	_, diags := plan("drain")
	wantFindings(t, diags, finding{
		diag.Error, "Data would be lost", "", `node.worker["w2"]`,
		[]string{"PersistentVolumeClaims whose data is on this host only", "shop/old (PersistentVolume pv-old).", "Pods whose data is on the disk of this host only: shop/db (db-data)."},
	})
	if _, diags := plan("reset"); slices.ContainsFunc(diags, func(d *diag.Diagnostic) bool { return d.Summary == "Data would be lost" }) {
		t.Errorf("a plan without the reset is reported to lose data: %s", printedFindings(diags))
	}
	o.edit("10.0.0.11", "pod shop/db delete", "claim shop/old delete")
	r, diags := plan("drain")
	wantFindings(t, diags, finding{
		diag.Warning, "Node is removed without a drain", "", `node.worker["w2"]`,
		[]string{"With the reset 3 pods end", "shop/cache (ReplicaSet, the data of its emptyDir is lost), shop/lone (no controller recreates it), shop/cart (ReplicaSet). Plan without"},
	})
	reset := func(p *planner.Plan) string {
		s := stepOf(p, "w2/reset")
		if s == nil {
			t.Fatalf("the node does not leave:\n%s", describe(p))
		}
		return s.Impact
	}
	const ends = "ends 3 pods: shop/cache (ReplicaSet, the data of its emptyDir is lost), shop/lone (no controller recreates it), shop/cart (ReplicaSet); stops the kubelet, "
	if got := reset(r.Plan); !strings.HasPrefix(got, ends) {
		t.Errorf("the reset has the impact %q, want %q", got, ends)
	}
	if pods := stepOf(r.Plan, "w2/reset").Pods; len(pods) != 3 || pods[0].Name != "shop/cache" {
		t.Errorf("the list for programs is %v", pods)
	}
	// The pods that end are approved with the plan.
	o.edit("10.0.0.11", "pod shop/late host-10-0-0-22 bare")
	later, _ := plan("drain")
	if planfile.Digest(later.Plan) == planfile.Digest(r.Plan) || len(planfile.Compare(r.Plan, later.Plan, nil)) != 1 {
		t.Errorf("a pod ends that was not approved, and Compare shows no difference: %v", planfile.Compare(r.Plan, later.Plan, nil))
	}
	o.edit("10.0.0.11", "pod shop/late delete", "pod shop/cache delete", "pod shop/cart delete")
	one, _ := plan("drain")
	if got := reset(one.Plan); !strings.HasPrefix(got, "ends 1 pod: shop/lone (no controller recreates it); stops the kubelet, ") {
		t.Errorf("the reset has the impact %q", got)
	}
	// With a drain they are evicted before.
	if drained, _ := plan("certs"); strings.Contains(reset(drained.Plan), "pod") {
		t.Errorf("the reset of a drained node has the impact %q", reset(drained.Plan))
	}
}

// TestUnusedLocalClaimPreventsRemovalOnly checks that a claim without a pod prevents its node's removal, but not its
// upgrade.
func TestUnusedLocalClaimPreventsRemovalOnly(t *testing.T) {
	t.Parallel()
	const node = "host-10-0-0-22"
	o := founded(t, 1, 2)
	o.edit("10.0.0.11", "claim shop/db-data "+node, "claim shop/other host-10-0-0-21")
	all := o.config.Nodes
	o.leave("w2")
	_, err := o.planShown()
	if err == nil || !strings.Contains(err.Error(), "on this host only, and that no pod to evict uses now: shop/db-data (PersistentVolume pv-db-data).") {
		t.Errorf("got %v", err)
	}
	o.config.Nodes = all
	o.config.Clusters[0].KubernetesVersion = "1.37.1"
	o.kubelets("1.37.1")
	p, err := o.plan()
	o.must(err)
	if _, said := drainOf(t, p, "w2/drain"); strings.Contains(said, "db-data") {
		t.Errorf("a node that stays is reported to lose data: %s", said)
	}
}

// TestDrainReportsPodWithTwoBudgets checks that a pod with two budgets is reported: the API never evicts such a
// pod.
func TestDrainReportsPodWithTwoBudgets(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 2)
	const node = "host-10-0-0-22"
	o.edit("10.0.0.11", "pod shop/cart-1 "+node, "pod shop/cart-2 host-10-0-0-21")
	for _, name := range []string{"a", "b"} {
		o.must(o.world.AddPDB(node, sim.PDB{Namespace: "shop", Name: name, Selector: map[string]string{"app": "cart"}, MinAvailable: 1}))
	}
	o.leave("w2")
	if _, err := o.planShown(); err == nil || !strings.Contains(err.Error(), "Pods that several PodDisruptionBudgets select, which the API does not evict: shop/cart-1 (shop/a, shop/b)") {
		t.Errorf("got %v", err)
	}
	o.config.Clusters[0].Upgrade.Drain.DisableEviction = true
	p, err := o.plan()
	o.must(err)
	const past = "shop/cart-1 (ReplicaSet); regardless of PodDisruptionBudget shop/a (allows 1), PodDisruptionBudget shop/b (allows 1)"
	if _, said := drainOf(t, p, "w2/drain"); !strings.Contains(said, past) {
		t.Errorf("got %s", said)
	}
}

// TestDrainedNodeIsNotDrainedAgain checks that a node that an upgrade has drained, except for skipped pods, is not
// drained again.
func TestDrainedNodeIsNotDrainedAgain(t *testing.T) {
	t.Parallel()
	o := crowded(t)
	o.config.Nodes = cluster(1, 2).Nodes
	o.config.Clusters[0].KubernetesVersion = "1.37.1"
	o.kubelets("1.37.1")
	o.config.Clusters[0].Upgrade.Drain.PodSelector = "app=cart"
	for _, drained := range []bool{false, true} {
		p, err := o.plan()
		o.must(err)
		if s := stepOf(p, "w2/drain"); (s == nil) != drained {
			t.Errorf("drained before: %t; the plan has the step: %t", drained, s != nil)
		}
		if !drained {
			o.around = func(s *planner.Step) error {
				if s.Target.Key == "w2" && s.Phase == "kubelet-start" {
					return errors.New("stopped")
				}
				return nil
			}
			if err := o.apply(); err == nil || !strings.Contains(err.Error(), "stopped") {
				t.Fatalf("got %v", err)
			}
			o.around = nil
		}
	}
}

// TestCancelledRemovalUncordonsNode checks that a node that was drained for its removal, and stays after all,
// is uncordoned; one that a user has cordoned is not.
func TestCancelledRemovalUncordonsNode(t *testing.T) {
	t.Parallel()
	const first, second = "host-10-0-0-21", "host-10-0-0-22"
	o := founded(t, 1, 2)
	o.edit("10.0.0.11", "cordon "+first)
	o.wantNothing()
	o.leave("w1", "w2")
	o.around = func(s *planner.Step) error {
		if s.Phase == "reset" {
			return errors.New("stopped")
		}
		return nil
	}
	if err := o.apply(); err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Fatalf("got %v", err)
	}
	o.around, o.config.Nodes = nil, cluster(1, 2).Nodes
	p, err := o.plan()
	o.must(err)
	s := stepOf(p, "w2/kubelet-start")
	if s == nil || s.Impact != "uncordons the node, which an earlier apply began to remove" || stepOf(p, "w1/kubelet-start") != nil {
		t.Fatalf("want that w2 is uncordoned, and w1 is not:\n%s", describe(p))
	}
	o.must(o.apply())
	for name, held := range map[string]bool{first: true, second: false} {
		if n := o.fleet.ClusterReports["prod"].Nodes[name]; n.Unschedulable != held || n.Annotations[planner.CordonAnnotation] != "" {
			t.Errorf("%s: unschedulable is %t, want %t, and its annotations are %v", name, n.Unschedulable, held, n.Annotations)
		}
	}
	o.wantNothing()
}

// TestUpgradeWithoutDrainsAnnouncesNoUncordon checks that an upgrade without drains does not say that it uncordons nodes:
// nothing has cordoned them.
func TestUpgradeWithoutDrainsAnnouncesNoUncordon(t *testing.T) {
	t.Parallel()
	for _, skipped := range [][]string{nil, {"drain"}} {
		o := founded(t, 1, 2)
		o.config.Clusters[0].KubernetesVersion = "1.37.1"
		o.kubelets("1.37.1")
		r, diags := o.planOf(o.observe(), planner.Options{SkipPhases: skipped})
		if diags.HasErrors() {
			t.Fatal(describe(r.Plan), diags)
		}
		s := stepOf(r.Plan, "w1/kubelet-start")
		if s == nil || strings.Contains(s.Impact, "uncordons the node") != (skipped == nil) {
			t.Errorf("without %v:\n%s", skipped, describe(r.Plan))
		}
	}
}
