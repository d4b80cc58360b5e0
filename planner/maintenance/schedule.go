package maintenance

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Scheduling is what the commands cordon, uncordon and drain do.
type Scheduling struct {
	// Phase is topology.CordonPhase, UncordonPhase or DrainPhase.
	Phase string
	Nodes []state.Target
	// Options changes the cluster's options of a drain.
	Options func(*config.DrainOptions)
}

// Schedule plans to cordon, uncordon or drain nodes. Nodes that are to be drained are all cordoned
// first, so that no pod moves from one to the other, and drained one at a time. Only the API is
// needed: the host of a node need not answer, nor a control plane whose absence the cluster shows.
func Schedule(v *topology.Fleet, header planner.Plan, request Scheduling) (topology.Result, diag.Diagnostics) {
	v, diags := pipeline.LeaveOutWorkers(v.WithConfig(withDrainOptions(v.Config, request.Options)), "changes nothing on hosts")
	v, situated := pipeline.SituateByAPI(v)
	if diags = append(diags, situated...); diags.HasErrors() {
		return topology.Result{}, diags
	}
	w := scheduling{Scheduling: request, draft: planner.Draft{Edges: map[state.Address][]state.Address{}, Limits: map[string]int{}}}
	for _, t := range request.Nodes {
		diags = append(diags, w.cordon(v, t)...)
	}
	if request.Phase == topology.DrainPhase {
		w.drains()
	}
	if diags.HasErrors() {
		return topology.Result{}, diags
	}
	pipeline.Describe(v, w.draft.Resources)
	p, err := planner.Assemble(header, nil, nil, w.draft, planner.Options{})
	if err != nil {
		return topology.Result{}, append(diags, pipeline.UnsoundPlan(err))
	}
	for _, c := range v.Clusters {
		diags = append(diags, w.lastWorkers(c)...)
	}
	if request.Phase == topology.DrainPhase {
		diags = append(diags, drain.RefuseByFlags(v, p)...)
		diags = append(diags, drain.WarnDrainCapacity(v, p)...)
	}
	diags = append(diags, drain.WarnCordoned(v, p)...)
	if diags.HasErrors() {
		return topology.Result{}, diags
	}
	return topology.Result{Plan: p, Fleet: v, Desired: &state.Snapshot{}, Observed: &state.Snapshot{}}, diags
}

// withDrainOptions returns the configuration with other options of a drain in its clusters.
func withDrainOptions(of *config.Config, change func(*config.DrainOptions)) *config.Config {
	if change == nil {
		return of
	}
	cfg := *of
	cfg.Clusters = slices.Clone(cfg.Clusters)
	for i, c := range cfg.Clusters {
		other := *c
		change(&other.Upgrade.Drain)
		cfg.Clusters[i] = &other
	}
	return &cfg
}

// scheduling drafts the steps.
type scheduling struct {
	Scheduling
	draft planner.Draft
	// cordons are the steps after which no pod comes to any of the nodes; drained are the nodes to
	// drain, in order.
	cordons []state.Address
	drained []*topology.Node
}

// cordon adds the step that cordons or uncordons a node, unless it is as asked already.
func (w *scheduling) cordon(v *topology.Fleet, t state.Target) diag.Diagnostics {
	n := v.Find(t)
	if n == nil {
		return nil // the configuration was checked: each of its nodes is in a cluster
	}
	c := n.Cluster
	if c.Report == nil {
		return diag.Diagnostics{diag.Errorf("API does not answer", "%s is a node of cluster %q, whose API is needed for that: %s. Bring it back, and run the same command again.",
			t, c.Label, ReasonOrUnknown(v.ClusterErrors[c.Label])).At(c.Source).For(c.Target)}
	}
	seen, there := c.Report.Nodes[n.NodeName]
	if !there {
		return diag.Diagnostics{diag.Errorf("Node has not joined", "%s (node %s) is not in the API of cluster %q: there is nothing to %s. %s joins it.", t, n.NodeName, c.Label, w.Phase, remedy.Apply).At(n.Source).For(t)}
	}
	undo := w.Phase == topology.UncordonPhase
	op := planner.Cordon{Node: n.NodeName, For: drain.ForCommand}
	s := planner.Step{ID: topology.StepAddress(t, topology.CordonPhase), Impact: drain.CordonImpact, Operations: planner.Operations{op}}
	if undo {
		s.ID.Phase, s.Impact, s.Operations = topology.UncordonPhase, drain.UncordonImpact, planner.Operations{planner.Cordon{Node: n.NodeName, Undo: true}}
	}
	s.Phase, s.Target, s.Action, s.Via = s.ID.Phase, t, planner.Update, c.Primary
	var diags diag.Diagnostics
	switch {
	case seen.Unschedulable != undo && w.Phase != topology.DrainPhase:
		return diag.Diagnostics{diag.Warningf("Node is as asked already", "%s (node %s) is %s: nothing is done there.", t, n.NodeName, map[bool]string{true: "schedulable", false: "cordoned"}[undo]).For(t)}
	case undo && drain.Cordoned(n):
		diags.Append(diag.Warningf("Node was cordoned for an upgrade", "%s (node %s) was cordoned by an apply that was interrupted. It gets pods again with the kubelet that it has; %s drains it once more, and continues.", t, n.NodeName, remedy.Apply).For(t))
	}
	if n.Schedulable != nil && *n.Schedulable != undo && !n.Lifecycle.Ignores("schedulable") {
		diags.Append(diag.Warningf("Configuration says otherwise", "%s (node %s) has schedulable = %t: the next apply %ss it again. To keep it as it is now asked for, change the line, or leave it out.",
			t, n.NodeName, *n.Schedulable, map[bool]string{true: topology.UncordonPhase, false: topology.CordonPhase}[*n.Schedulable]).At(n.Origins["schedulable"]).For(t))
	}
	if seen.Unschedulable == undo {
		w.draft.Steps = append(w.draft.Steps, s)
		w.cordons = append(w.cordons, s.ID)
	}
	w.drained = append(w.drained, n)
	w.draft.Resources = append(w.draft.Resources, planner.ResourceChange{Target: t, Action: planner.Update, Note: n.Address + ", " + string(n.Role)})
	return diags
}

// drains adds the steps that drain the nodes, one after the other.
func (w *scheduling) drains() {
	before := w.cordons
	for _, n := range w.drained {
		c := n.Cluster
		id := topology.StepAddress(n.Target, topology.DrainPhase)
		w.draft.Limits[c.Limit("drain")] = 1
		w.draft.Steps = append(w.draft.Steps, planner.Step{
			ID: id, Phase: topology.DrainPhase, Target: n.Target, Action: planner.Update, Via: c.Primary, Limits: []string{c.Limit("drain")},
			Impact: drain.DrainImpact(c, n.NodeName) + drain.Destinations(c, n.NodeName, w.names(c)), Pods: drain.DrainedPods(c, n.NodeName),
			Operations: planner.Operations{drain.Eviction(c, n.NodeName, false)},
		})
		w.draft.Edges[id] = before
		before = append(slices.Clone(w.cordons), id)
	}
}

// names returns the names of the cluster's nodes that get no more pods.
func (w *scheduling) names(c *topology.Cluster) []string {
	var out []string
	for _, n := range w.drained {
		if n.Cluster == c {
			out = append(out, n.NodeName)
		}
	}
	return out
}

// lastWorkers warns when no worker is left that takes pods.
func (w *scheduling) lastWorkers(c *topology.Cluster) diag.Diagnostics {
	gone := w.names(c)
	if w.Phase == topology.UncordonPhase || c.Report == nil || len(gone) == 0 {
		return nil
	}
	var workers, others []string
	for _, n := range c.Nodes {
		seen, there := c.Report.Nodes[n.NodeName]
		switch {
		case !there || n.IsControlPlane():
		case slices.Contains(gone, n.NodeName):
			workers = append(workers, n.NodeName)
		case seen.Unschedulable:
			others = append(others, n.NodeName+" is cordoned")
		case !seen.Ready:
			others = append(others, n.NodeName+" is not Ready")
		default:
			return nil
		}
	}
	if len(workers) == 0 {
		return nil
	}
	return diag.Diagnostics{diag.Warningf("No worker is left", "Cluster %q: without %s no Ready worker takes pods%s. Pods that are evicted, or created, stay Pending unless they tolerate the taints of the control planes. "+
		"To do: have another worker join or come back first.", c.Label, strings.Join(workers, ", "), withOthers(others)).At(c.Source).For(c.Target)}
}

func withOthers(others []string) string {
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s)", strings.Join(others, ", "))
}

// CheckPodSelector refuses a selector that selects nothing because it is none.
func CheckPodSelector(text string) error {
	if _, err := labels.Parse(text); err != nil {
		return fmt.Errorf("-pod-selector=%s is no selector of labels, as in app=web: %w", text, err)
	}
	return nil
}
