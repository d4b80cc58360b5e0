package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestNoExecuteTaintNamesEvictedPods checks that a plan that sets a NoExecute taint names the pods that it evicts, and
// does not say that pods keep running.
func TestNoExecuteTaintNamesEvictedPods(t *testing.T) {
	t.Parallel()
	const keeps = "restarts the kubelet here; pods keep running"
	noExecute := []state.Taint{{Key: "maintenance", Effect: "NoExecute"}}
	evicts := func(what string) [2]string { return [2]string{what, keeps + " until the taint is set"} }
	for name, c := range map[string]struct {
		change func(o *operator)
		want   [2]string
	}{
		"one pod": {
			func(o *operator) { o.config.Nodes[1].Taints = noExecute },
			evicts("evicts 1 pod that does not tolerate the taint: shop/cart-1 (ReplicaSet); PodDisruptionBudgets are not checked"),
		},
		"two pods, two taints": {func(o *operator) {
			o.cart("host-10-0-0-21", "host-10-0-0-21")
			o.config.Nodes[1].Taints = append([]state.Taint{{Key: "broken", Effect: "NoExecute"}}, noExecute...)
		}, evicts("evicts 2 pods that do not tolerate the taints: shop/cart-1 (ReplicaSet), shop/cart-2 (ReplicaSet); PodDisruptionBudgets are not checked")},
		"a pod that tolerates it": {func(o *operator) {
			o.cart("host-10-0-0-21 tolerant", "host-10-0-0-22")
			o.config.Nodes[1].Taints = noExecute
		}, [2]string{"", keeps}},
		"a taint that only keeps pods out": {func(o *operator) {
			o.config.Nodes[1].Taints = []state.Taint{{Key: "maintenance", Effect: "NoSchedule"}}
		}, [2]string{"", keeps}},
		"a taint that is there": {func(o *operator) {
			o.cart("host-10-0-0-21 tolerant", "host-10-0-0-22")
			o.config.Nodes[1].Taints = noExecute
			o.must(o.apply())
			o.cart("host-10-0-0-21", "host-10-0-0-22")
			o.config.Nodes[1].Labels = map[string]string{"example.com/a": "b"}
		}, [2]string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := stranded(t)
			c.change(o)
			p, err := o.plan()
			o.must(err)
			got, marked := [2]string{}, false
			for _, s := range p.Steps {
				if s.Target != o.config.Nodes[1].Target {
					continue
				}
				switch s.Phase {
				case "mark-worker":
					got[0], marked = s.Impact, true
				case "kubelet-start":
					got[1] = s.Impact
				}
			}
			if got != c.want || !marked {
				t.Errorf("mark-worker and kubelet-start have the impacts %q, want %q", got, c.want)
			}
		})
	}
}

// TestNoExecuteTaintNamesPodsTheDrainKeeps checks that a plan that drains a node and sets such a taint on it names the pods
// that the drain leaves.
func TestNoExecuteTaintNamesPodsTheDrainKeeps(t *testing.T) {
	t.Parallel()
	const evicts = "evicts 1 pod that does not tolerate the taint: shop/cart-1 (ReplicaSet); PodDisruptionBudgets are not checked"
	for name, c := range map[string]struct {
		selector string
		skipped  []string
		want     string
	}{
		"all are drained":      {},
		"one is passed over":   {selector: "app=none", want: evicts},
		"the drain is skipped": {skipped: []string{"drain"}, want: evicts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := stranded(t)
			o.config.Clusters[0].KubernetesVersion = "1.37.1"
			o.kubelets("1.37.1")
			o.config.Clusters[0].Upgrade.Drain.PodSelector = c.selector
			o.config.Nodes[1].Taints = []state.Taint{{Key: "maintenance", Effect: "NoExecute"}}
			r, diags := o.planOf(o.observe(), planner.Options{SkipPhases: c.skipped})
			if diags.HasErrors() {
				t.Fatal(printedFindings(diags))
			}
			if s := stepOf(r.Plan, "w1/mark-worker"); s == nil || s.Impact != c.want {
				t.Errorf("got %+v, want %q", s, c.want)
			}
		})
	}
}

// TestTaintPrecedesUncordon checks that a drained node gets its new taint before it is uncordoned,
// whatever part of the plan is carried out.
func TestTaintPrecedesUncordon(t *testing.T) {
	t.Parallel()
	before := []string{"drain", "mark", "kubelet-start"}
	only := func(phase string) []planner.Selector { return []planner.Selector{{Phase: phase}} }
	for name, c := range map[string]struct {
		options planner.Options
		want    []string
	}{
		"all of it":                {planner.Options{}, before},
		"the kubelets":             {planner.Options{Targets: only("kubelet-start")}, before},
		"the node":                 {planner.Options{Targets: []planner.Selector{{Target: state.NodeKeyTarget("worker", "w1")}}}, before},
		"the marks of workers":     {planner.Options{Targets: only("mark-worker")}, before},
		"without marks of workers": {planner.Options{SkipPhases: []string{"mark-worker"}}, []string{"drain", "kubelet-start"}},
		"but marks of workers":     {planner.Options{Excludes: only("mark-worker")}, []string{"drain", "kubelet-start"}},
		"without drains":           {planner.Options{SkipPhases: []string{"drain"}}, []string{"kubelet-start", "mark"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tainted(t)
			r, diags := o.planOf(o.observe(), c.options)
			if diags.HasErrors() {
				t.Fatal(printedFindings(diags))
			}
			if got := turnOf(r.Plan, "cp1"); name == "all of it" && !slices.Equal(got, before) {
				t.Errorf("cp1: %v, want %v", got, before)
			}
			if got := turnOf(r.Plan, "w1"); !slices.Equal(got, c.want) {
				t.Errorf("w1: %v, want %v", got, c.want)
			}
		})
	}
	o := tainted(t)
	o.around = func(s *planner.Step) error {
		if s.Target.Key == "w1" && s.Phase == "kubelet-start" {
			if seen := o.observe().ClusterReports["prod"].Nodes["host-10-0-0-21"]; !seen.Unschedulable || len(seen.Taints) == 0 {
				t.Errorf("before its kubelet is replaced w1 is %+v", seen)
			}
		}
		return nil
	}
	o.must(o.apply())
	o.wantNothing()
}

// tainted returns a cluster before an upgrade that also adds taints to its nodes.
func tainted(t *testing.T) *operator {
	t.Helper()
	o := founded(t, 1, 2)
	o.config.Clusters[0].KubernetesVersion = "1.37.1"
	o.kubelets("1.37.1")
	for _, n := range o.config.Nodes {
		n.Taints = []state.Taint{{Key: "dedicated", Value: "x", Effect: "NoExecute"}}
	}
	return o
}

// turnOf returns the phases of a plan that drain, mark and uncordon a node.
func turnOf(p *planner.Plan, key string) []string {
	var out []string
	for _, s := range p.Steps {
		phase, _, _ := strings.Cut(s.Phase, "-")
		switch {
		case s.Target.Key != key:
		case phase == "mark":
			out = append(out, phase)
		case s.Phase == "drain" || s.Phase == "kubelet-start":
			out = append(out, s.Phase)
		}
	}
	return out
}
