package phases

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// leaving are the names of the recorded nodes of a cluster that the
// configuration does not speak of, or has as other nodes, and of those to replace.
func leaving(cfg *config.Config, recorded *state.State, label string, replace []state.Target) []string {
	if recorded == nil || cfg.Cluster(label) == nil {
		return nil
	}
	var out []string
	for t, n := range recorded.Nodes {
		stays := slices.ContainsFunc(cfg.Nodes, func(c *config.Node) bool { return c.Target == t && anotherNodeReason(c, n) == "" })
		if n.Cluster == label && (!stays || slices.Contains(replace, t)) {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}

// forLeaving is what nodes are cordoned for that leave their cluster, or their
// host. Until they are gone somebody may think better of it.
const forLeaving = "leaving"

// drain empties a node of the cluster as the configuration says, for what it is
// cordoned for. A node that somebody has cordoned before stays so in any case.
func (c *cluster) drain(node, purpose string) planner.Operations {
	d := c.Upgrade.Drain
	return planner.Operations{
		planner.Cordon{Node: node, For: purpose},
		planner.Drain{
			Node: node, Timeout: d.Timeout, GracePeriod: d.GracePeriod, Force: d.Force,
			DeleteEmptyDirData: d.DeleteEmptyDirData, DisableEviction: d.DisableEviction, PodSelector: d.PodSelector,
			SkipWait: d.SkipWait, Uncordon: !d.StayCordoned && !c.seen.Nodes[node].Unschedulable,
		},
	}
}

// podsOf are the pods of a node that a drain looks at.
func (c *cluster) podsOf(node string) []state.PodReport {
	return slices.DeleteFunc(slices.Clone(c.seen.Pods), func(p state.PodReport) bool { return p.Node != node })
}

// evicted are the pods of a node that a drain evicts.
func (c *cluster) evicted(node string) []state.PodReport {
	return slices.DeleteFunc(c.podsOf(node), func(p state.PodReport) bool { return c.passedOver(p) != "" })
}

// passedOver is the option by which a drain leaves a pod where it is; empty for
// one that it evicts.
func (c *cluster) passedOver(p state.PodReport) string {
	d := c.Upgrade.Drain
	selector, err := labels.Parse(d.PodSelector)
	switch {
	case err == nil && !selector.Matches(labels.Set(p.Labels)): // validation has refused what is no selector
		return "pod_selector"
	case d.SkipWait > 0 && !p.GoneBy.IsZero() && c.view.ObservedAt.Sub(p.GoneBy) > d.SkipWait:
		return "skip_wait_for_delete_timeout"
	}
	return ""
}

// leftBehind names the pods that a drain of a node passes over, and the option
// that says so.
func (c *cluster) leftBehind(node string) string {
	pods := map[string][]state.PodReport{}
	for _, p := range c.podsOf(node) {
		if option := c.passedOver(p); option != "" {
			pods[option] = append(pods[option], p)
		}
	}
	text := ""
	for _, option := range slices.Sorted(maps.Keys(pods)) {
		text += "; passed over by " + option + ": " + c.named(pods[option], state.PodReport.String)
	}
	return text
}

// named lists pods as say has them: first those that matter, each of them, and of the
// others as many as there is room for.
func (c *cluster) named(pods []state.PodReport, say func(state.PodReport) string) string {
	matter := slices.DeleteFunc(slices.Clone(pods), func(p state.PodReport) bool { return !c.matters(p) })
	others := slices.DeleteFunc(slices.Clone(pods), c.matters)
	var names []string
	for i, p := range slices.Concat(matter, others) {
		if i >= max(planner.PodsNamed, len(matter)) {
			names = append(names, fmt.Sprintf("%d more", len(pods)-i))
			break
		}
		names = append(names, say(p))
	}
	return strings.Join(names, ", ")
}

// matters tells that a pod does not just start anew elsewhere: something is lost with
// it, or the drain has to wait for it.
func (c *cluster) matters(p state.PodReport) bool {
	return !p.Finished && (p.Controller == "" || p.EmptyDir) || overdue(p, c.view.ObservedAt) ||
		!c.Upgrade.Drain.DisableEviction && slices.ContainsFunc(p.Budgets, func(b string) bool { return c.seen.Budgets[b].Allowed == 0 })
}

// overdue tells that a pod terminates for longer than it was to.
func overdue(p state.PodReport, now time.Time) bool { return !p.GoneBy.IsZero() && now.After(p.GoneBy) }

// drainedPods are all pods that a drain of a node looks at, as programs read them.
func (c *cluster) drainedPods(node string) []planner.DrainedPod {
	var out []planner.DrainedPod
	for _, p := range c.podsOf(node) {
		note := podNote(p, c.view.ObservedAt)
		if option := c.passedOver(p); option != "" {
			note = "passed over by " + option
		}
		out = append(out, planner.DrainedPod{Name: p.String(), Note: note})
	}
	return out
}

// drainImpact names the pods to evict, what is lost with them, and the budgets
// that they have to wait for or go past.
func (c *cluster) drainImpact(node string) string {
	pods, todo := c.evicted(node), "evict"
	if c.Upgrade.Drain.DisableEviction {
		todo = "delete"
	}
	text := podCount(pods) + " to " + todo
	if len(pods) > 0 {
		text += ": " + c.withNotes(pods)
	}
	return text + c.budgetsOf(pods) + c.leftBehind(node)
}

func podCount(pods []state.PodReport) string {
	if len(pods) == 1 {
		return "1 pod"
	}
	return strconv.Itoa(len(pods)) + " pods"
}

// budgetsOf names the budgets that a drain of the pods has to wait for, or that it
// passes over where it is to delete.
func (c *cluster) budgetsOf(pods []state.PodReport) string {
	past := c.Upgrade.Drain.DisableEviction
	names := map[string]bool{}
	for _, p := range pods {
		for _, b := range p.Budgets {
			if past || c.seen.Budgets[b].Allowed == 0 {
				names[b] = true
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	var budgets []string
	for _, b := range slices.Sorted(maps.Keys(names)) {
		budgets = append(budgets, fmt.Sprintf("PodDisruptionBudget %s (allows %d)", b, c.seen.Budgets[b].Allowed))
	}
	if past {
		return "; past " + strings.Join(budgets, ", ")
	}
	return "; blocked at the moment by " + strings.Join(budgets, ", ")
}

// withNotes names pods with what is to be known of each.
func (c *cluster) withNotes(pods []state.PodReport) string {
	return c.named(pods, func(p state.PodReport) string { return p.String() + " (" + podNote(p, c.view.ObservedAt) + ")" })
}

// podNote says what brings a pod back, what does not come back with it, and
// whether it goes already.
func podNote(p state.PodReport, now time.Time) string {
	note := p.Controller
	switch {
	case p.Finished:
		note = "finished"
	case p.Controller == "":
		note = "no controller brings it back"
	}
	if p.EmptyDir && !p.Finished {
		note += ", the data of its emptyDir is lost"
	}
	switch {
	case p.GoneBy.IsZero():
	case overdue(p, now):
		note += ", terminates still and was to be gone by " + p.GoneBy.Format(time.RFC3339)
	default:
		note += ", terminates already"
	}
	return note
}

// checkDrains refuses a plan with a drain that cannot succeed, or that loses
// what nobody said may be lost.
func (v *View) checkDrains(p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			d, drains := op.(planner.Drain)
			i := slices.IndexFunc(v.clusters, func(c *cluster) bool { return v.concerns(c, s.Target) })
			if !drains || i < 0 || v.clusters[i].report == nil {
				continue
			}
			if found := v.clusters[i].refuseDrain(d, s); found != nil {
				diags = append(diags, found)
			}
		}
	}
	return diags
}

// obstacle is what to do about one reason why a node cannot be drained, and the pods
// or claims that it speaks of.
type obstacle struct {
	todo string
	of   []string
}

// obstacles are by the reason.
type obstacles map[string]*obstacle

// note adds what one of them speaks of.
func (o obstacles) note(why, todo string, of fmt.Stringer, what string) {
	if o[why] == nil {
		o[why] = &obstacle{todo: todo}
	}
	o[why].of = append(o[why].of, of.String()+what)
}

// noteLost notes the data that goes with a node's host, whatever becomes of its pods.
func (o obstacles) noteLost(c *cluster, node string) {
	for _, k := range c.seen.Claims {
		if k.Node == node {
			o.note("PersistentVolumeClaims whose data is on this host alone, and that no pod to evict uses now",
				"copy the data elsewhere, then delete the PersistentVolumeClaims", k, " (PersistentVolume "+k.Volume+")")
		}
	}
	for _, p := range c.podsOf(node) {
		if len(p.LocalClaims) > 0 {
			o.note("Pods whose data is on the disk of this host alone",
				"copy the data elsewhere, then delete the PersistentVolumeClaims, so that the pods are made anew without them", p, " ("+strings.Join(p.LocalClaims, ", ")+")")
		}
	}
}

// String has a line for each, and below it what to do.
func (o obstacles) String() string {
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(o)) {
		lines = append(lines, "  "+why+": "+strings.Join(o[why].of, ", ")+".\n    To do: "+o[why].todo+".")
	}
	return strings.Join(lines, "\n")
}

// refuseDrain says what stands against a drain.
func (c *cluster) refuseDrain(d planner.Drain, s planner.Step) *diag.Diagnostic {
	found := c.obstacles(d, s.Action == planner.Delete)
	if len(found) == 0 {
		return nil
	}
	return diag.Errorf("Node cannot be drained", "%s (node %s) is to be emptied, and this plan would not get through it. Nothing is changed on any host:\n\n%s",
		s.Target, d.Node, found).For(s.Target).At(c.place("upgrade.drain"))
}

// neverAllows says why a budget never allows an eviction, and what to do about it.
func neverAllows(name string, b state.BudgetReport) (why, todo string) {
	if b.Failed != "" {
		return fmt.Sprintf("PodDisruptionBudget %s never allows an eviction, because its pods cannot be counted (%s)", name, b.Failed),
			"give the budget minAvailable as a number, for which nobody has to know how many pods are to be there, or change what it selects"
	}
	return fmt.Sprintf("PodDisruptionBudget %s wants %d of %d pods to stay and so never allows an eviction", name, b.Wanted, b.Expected),
		"scale up what it protects, or change the budget"
}

// obstacles are what stands against a drain of a node, which leaves for good or
// comes back.
func (c *cluster) obstacles(d planner.Drain, leaves bool) obstacles {
	found := obstacles{}
	if leaves {
		found.noteLost(c, d.Node)
	}
	for _, p := range c.podsOf(d.Node) {
		if c.passedOver(p) != "" {
			continue
		}
		if len(p.Budgets) > 1 && !d.DisableEviction {
			found.note("Pods that several PodDisruptionBudgets select, of which the API evicts none",
				"leave each pod to one budget; or set upgrade { drain { disable_eviction = true } } to delete the pods past every budget", p, " ("+strings.Join(p.Budgets, ", ")+")")
		}
		for _, b := range p.Budgets {
			if c.seen.Budgets[b].Never() && len(p.Budgets) == 1 && !d.DisableEviction {
				why, todo := neverAllows(b, c.seen.Budgets[b])
				found.note(why, todo+"; or set upgrade { drain { disable_eviction = true } } to delete the pods past every budget", p, "")
			}
		}
		switch {
		case p.Finished:
		case p.EmptyDir && !d.DeleteEmptyDirData:
			found.note("Pods with emptyDir volumes, whose data would be lost", "set upgrade { drain { delete_emptydir_data = true } } when it may be", p, "")
		case p.Controller == "" && !d.Force:
			found.note("Pods that no controller brings back", "delete them, or set upgrade { drain { force = true } } to have them deleted", p, "")
		}
	}
	return found
}
