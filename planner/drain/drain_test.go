package drain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

func pod(name string, change ...func(*state.PodReport)) state.PodReport {
	p := state.PodReport{Namespace: "default", Name: name, Node: tt.NodeName(tt.W(1)), Controller: "ReplicaSet"}
	for _, c := range change {
		c(&p)
	}
	return p
}

func budget(name string, b state.BudgetReport) tt.Change {
	return func(v *topology.Fleet) {
		c := v.ClusterReports[tt.Label]
		if c.Budgets == nil {
			c.Budgets = map[string]state.BudgetReport{}
		}
		c.Budgets["default/"+name] = b
	}
}

func selected(budgets ...string) func(*state.PodReport) {
	return func(p *state.PodReport) {
		for _, b := range budgets {
			p.Budgets = append(p.Budgets, "default/"+b)
		}
	}
}

func drained(change func(*config.DrainOptions)) tt.Change {
	return tt.Cluster(func(c *config.Cluster) { change(&c.Upgrade.Drain) })
}

// TestDrainImpactNamesLostPods checks what a plan says of the pods that a drain evicts.
func TestDrainImpactNamesLostPods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		changes []tt.Change
		want    string
	}{
		{"no pod", nil, "0 pods to evict"},
		{"a pod that is recreated", []tt.Change{tt.Pods(pod("web"))}, "1 pod to evict: default/web (ReplicaSet)"},
		{"a pod that nothing recreates", []tt.Change{tt.Pods(pod("lone", func(p *state.PodReport) { p.Controller = "" }))}, "1 pod to evict: default/lone (no controller recreates it)"},
		{"an emptyDir", []tt.Change{tt.Pods(pod("cache", func(p *state.PodReport) { p.EmptyDir = true }))}, "1 pod to evict: default/cache (ReplicaSet, the data of its emptyDir is lost)"},
		{"a finished pod", []tt.Change{tt.Pods(pod("job", func(p *state.PodReport) { p.EmptyDir, p.Finished = true, true }))}, "1 pod to evict: default/job (finished)"},
		{"a pod of another node", []tt.Change{tt.Pods(pod("web", func(p *state.PodReport) { p.Node = tt.NodeName(tt.W(2)) }))}, "0 pods to evict"},
		{
			"a budget that allows none now",
			[]tt.Change{tt.Pods(pod("web", selected("web"))), budget("web", state.BudgetReport{Allowed: 0, Healthy: 1, Wanted: 1, Expected: 2})},
			"1 pod to evict: default/web (ReplicaSet); blocked now by PodDisruptionBudget default/web (allows 0)",
		},
		{
			"a budget that is bypassed",
			[]tt.Change{tt.Pods(pod("web", selected("web"))), budget("web", state.BudgetReport{}), drained(func(d *config.DrainOptions) { d.DisableEviction = true })},
			"1 pod to delete: default/web (ReplicaSet); regardless of PodDisruptionBudget default/web (allows 0)",
		},
		{
			"a pod that the selector leaves",
			[]tt.Change{tt.Pods(pod("web"), pod("kept", func(p *state.PodReport) { p.Labels = map[string]string{"keep": "true"} })), drained(func(d *config.DrainOptions) { d.PodSelector = "keep!=true" })},
			"1 pod to evict: default/web (ReplicaSet); skipped by pod_selector: default/kept",
		},
		{
			"a pod that has been terminating for too long",
			[]tt.Change{
				tt.Pods(pod("stuck", func(p *state.PodReport) { p.GoneBy = tt.Now.Add(-time.Minute) })),
				drained(func(d *config.DrainOptions) { d.SkipWait = 20 * time.Second }),
			},
			"0 pods to evict; skipped by skip_wait_for_delete_timeout: default/stuck",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(1, 2, c.changes...)
			if got := drain.DrainImpact(v.Clusters[0], tt.NodeName(tt.W(1))); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestCheckDrainsRefusesBlockingPods checks which pods keep a plan from being made,
// and that the option that the finding names lets it through.
func TestCheckDrainsRefusesBlockingPods(t *testing.T) {
	t.Parallel()
	never := budget("web", state.BudgetReport{Healthy: 2, Wanted: 2, Expected: 2})
	for _, c := range []struct {
		name    string
		changes []tt.Change
		action  planner.Action
		// says is in the finding, allow the option that lets the plan through; without says
		// there is no finding, without allow no option.
		says  string
		allow func(*config.DrainOptions)
	}{
		{"a pod that is recreated", []tt.Change{tt.Pods(pod("web"))}, planner.Update, "", nil},
		{
			"a pod that nothing recreates",
			[]tt.Change{tt.Pods(pod("lone", func(p *state.PodReport) { p.Controller = "" }))},
			planner.Update,
			"Pods that no controller recreates: default/lone.", func(d *config.DrainOptions) { d.Force = true },
		},
		{
			"an emptyDir",
			[]tt.Change{tt.Pods(pod("cache", func(p *state.PodReport) { p.EmptyDir = true }))},
			planner.Update,
			"Pods with emptyDir volumes, whose data would be lost: default/cache.", func(d *config.DrainOptions) { d.DeleteEmptyDirData = true },
		},
		{"a finished pod", []tt.Change{tt.Pods(pod("job", func(p *state.PodReport) { p.Controller, p.EmptyDir, p.Finished = "", true, true }))}, planner.Update, "", nil},
		{
			"a budget that never allows",
			[]tt.Change{tt.Pods(pod("web", selected("web"))), never},
			planner.Update,
			"PodDisruptionBudget default/web requires 2 of 2 pods to stay and so never allows an eviction: default/web.", func(d *config.DrainOptions) { d.DisableEviction = true },
		},
		{"a budget that allows none now", []tt.Change{tt.Pods(pod("web", selected("web"))), budget("web", state.BudgetReport{Healthy: 1, Wanted: 1, Expected: 2})}, planner.Update, "", nil},
		{
			"a budget without a count",
			[]tt.Change{tt.Pods(pod("web", selected("web"))), budget("web", state.BudgetReport{Failed: "no controller"})},
			planner.Update,
			"never allows an eviction, because its pods cannot be counted (no controller): default/web.", func(d *config.DrainOptions) { d.DisableEviction = true },
		},
		{
			"two budgets",
			[]tt.Change{tt.Pods(pod("web", selected("web", "all"))), budget("all", state.BudgetReport{Allowed: 1})},
			planner.Update,
			"Pods that several PodDisruptionBudgets select, which the API does not evict: default/web (default/web, default/all).", func(d *config.DrainOptions) { d.DisableEviction = true },
		},
		{
			"data on the disk of a host that is removed",
			[]tt.Change{tt.Pods(pod("db", func(p *state.PodReport) { p.LocalClaims = []string{"data-db"} }))},
			planner.Delete,
			"Pods whose data is on the disk of this host only: default/db (data-db).", nil,
		},
		{"data on the disk of a host that stays", []tt.Change{tt.Pods(pod("db", func(p *state.PodReport) { p.LocalClaims = []string{"data-db"} }))}, planner.Update, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			check := func(changes ...tt.Change) string {
				v := tt.Running(1, 2, changes...)
				p := &planner.Plan{Steps: []planner.Step{{Target: tt.W(1), Action: c.action, Operations: drain.Drain(v.Clusters[0], tt.NodeName(tt.W(1)), drain.ForUpgrade)}}}
				said := ""
				for _, d := range drain.CheckDrains(v, p) {
					said += d.Summary + ": " + d.Detail + "\n"
				}
				return said
			}
			said := check(c.changes...)
			if (said == "") != (c.says == "") || !strings.Contains(said, c.says) {
				t.Errorf("%q, want %q", said, c.says)
			}
			if c.allow != nil {
				if said := check(append(c.changes, drained(c.allow))...); said != "" {
					t.Errorf("with the option: %q", said)
				}
			}
		})
	}
}

// TestCheckMaxUnavailableCountsWorkers checks that a worker is drained only while few enough
// others of its pool are unavailable, and that one that is itself unavailable always may be.
func TestCheckMaxUnavailableCountsWorkers(t *testing.T) {
	t.Parallel()
	notReady := func(n *state.NodeReport) { n.Ready = false }
	for _, c := range []struct {
		name    string
		most    string
		changes []tt.Change
		turn    []state.Target
		want    bool
	}{
		{"all are ready", "1", nil, nil, true},
		{"another one is not ready", "1", []tt.Change{tt.Node(tt.W(2), notReady)}, nil, false},
		{"two may be", "2", []tt.Change{tt.Node(tt.W(2), notReady)}, nil, true},
		{"half of four may be", "50%", []tt.Change{tt.Node(tt.W(2), notReady)}, nil, true},
		{"another one is in turn", "1", nil, []state.Target{tt.W(3)}, false},
		{"the worker itself is not ready", "1", []tt.Change{tt.Node(tt.W(1), notReady), tt.Node(tt.W(2), notReady)}, nil, true},
		{"a control plane is not ready", "1", []tt.Change{tt.Node(tt.CP(1), notReady)}, nil, true},
		{"another one is cordoned by a user", "1", []tt.Change{tt.Node(tt.W(2), func(n *state.NodeReport) { n.Unschedulable = true })}, nil, true},
		{"another one is cordoned for the upgrade", "1", []tt.Change{tt.Node(tt.W(2), func(n *state.NodeReport) {
			n.Unschedulable, n.Annotations = true, map[string]string{planner.CordonAnnotation: drain.ForUpgrade}
		})}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := tt.Running(1, 4, append(c.changes, tt.Cluster(func(cl *config.Cluster) { cl.Upgrade.MaxUnavailable = c.most }))...)
			turn := map[state.Target]bool{}
			for _, target := range c.turn {
				turn[target] = true
			}
			err := drain.CheckMaxUnavailable(v, &planner.Step{Target: tt.W(1)}, v.ClusterReports[tt.Label].Nodes, turn)
			if (err == nil) != c.want {
				t.Errorf("allowed is %v, want %v: %v", err == nil, c.want, err)
			}
		})
	}
}
