package drain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"k8s.io/apimachinery/pkg/labels"
)

// ForLeaving is the purpose of a cordon for nodes that are removed from their cluster or host.
// Until then the user may still keep the node.
const ForLeaving = "leaving"

// Drain cordons a node for a purpose and evicts its pods as configured. A node that was already
// cordoned stays cordoned in any case, and so does one that the configuration cordons.
func Drain(c *topology.Cluster, node, purpose string) planner.Operations {
	stays := c.Seen.Nodes[node].Unschedulable
	if purpose == ForUpgrade && slices.ContainsFunc(c.Nodes, func(n *topology.Node) bool { return n.NodeName == node && StaysCordoned(n) }) {
		purpose, stays = planner.CordonConfigured, true
	}
	return planner.Operations{planner.Cordon{Node: node, For: purpose}, Eviction(c, node, !c.Upgrade.Drain.StayCordoned && !stays)}
}

// Eviction evicts the pods of a node as configured; uncordon reports whether the node gets pods again if
// that fails.
func Eviction(c *topology.Cluster, node string, uncordon bool) planner.Drain {
	d := c.Upgrade.Drain
	return planner.Drain{
		Node: node, Timeout: d.Timeout, GracePeriod: d.GracePeriod, Force: d.Force,
		DeleteEmptyDirData: d.DeleteEmptyDirData, DisableEviction: d.DisableEviction, PodSelector: d.PodSelector,
		SkipWait: d.SkipWait, Uncordon: uncordon,
	}
}

// PodsOf returns the pods of a node that a drain considers.
func PodsOf(c *topology.Cluster, node string) []state.PodReport {
	return slices.DeleteFunc(slices.Clone(c.Seen.Pods), func(p state.PodReport) bool { return p.Node != node })
}

// Evicted returns the pods of a node that a drain evicts.
func Evicted(c *topology.Cluster, node string) []state.PodReport {
	return slices.DeleteFunc(PodsOf(c, node), func(p state.PodReport) bool { return LeftByOption(c, p) != "" })
}

// LeftByOption returns the option that makes a drain skip a pod; empty for a pod that it evicts.
func LeftByOption(c *topology.Cluster, p state.PodReport) string {
	d := c.Upgrade.Drain
	selector, err := labels.Parse(d.PodSelector)
	switch {
	case err == nil && !selector.Matches(labels.Set(p.Labels)): // validation has refused invalid selectors
		return "pod_selector"
	case d.SkipWait > 0 && !p.GoneBy.IsZero() && c.Fleet.ObservedAt.Sub(p.GoneBy) > d.SkipWait:
		return "skip_wait_for_delete_timeout"
	}
	return ""
}

// leftBehind names the pods that a drain of a node skips, and the option that makes it skip them.
func leftBehind(c *topology.Cluster, node string) string {
	pods := map[string][]state.PodReport{}
	for _, p := range PodsOf(c, node) {
		if option := LeftByOption(c, p); option != "" {
			pods[option] = append(pods[option], p)
		}
	}
	text := ""
	for _, option := range slices.Sorted(maps.Keys(pods)) {
		text += "; skipped by " + option + ": " + ListPods(c, pods[option], state.PodReport.String)
	}
	return text
}

// ListPods lists pods, formatted by say: first all that matter, then others up to a limit.
func ListPods(c *topology.Cluster, pods []state.PodReport, say func(state.PodReport) string) string {
	matter := slices.DeleteFunc(slices.Clone(pods), func(p state.PodReport) bool { return !matters(c, p) })
	others := slices.DeleteFunc(slices.Clone(pods), func(p state.PodReport) bool { return matters(c, p) })
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

// matters reports whether a pod does not simply restart elsewhere: data is lost with it, or the
// drain has to wait for it.
func matters(c *topology.Cluster, p state.PodReport) bool {
	return !p.Finished && (p.Controller == "" || p.EmptyDir) || overdue(p, c.Fleet.ObservedAt) ||
		!c.Upgrade.Drain.DisableEviction && slices.ContainsFunc(p.Budgets, func(b string) bool { return c.Seen.Budgets[b].Allowed == 0 })
}

// overdue reports whether a pod has been terminating for longer than it should.
func overdue(p state.PodReport, now time.Time) bool { return !p.GoneBy.IsZero() && now.After(p.GoneBy) }

// DrainedPods returns all pods that a drain of a node considers, for machine-readable output.
func DrainedPods(c *topology.Cluster, node string) []planner.DrainedPod {
	var out []planner.DrainedPod
	for _, p := range PodsOf(c, node) {
		note := PodNote(p, c.Fleet.ObservedAt)
		if option := LeftByOption(c, p); option != "" {
			note = "skipped by " + option
		}
		out = append(out, planner.DrainedPod{Name: p.String(), Note: note})
	}
	return out
}

// DrainImpact names the pods to evict, the data that is lost with them, and the budgets that block
// the eviction or are bypassed.
func DrainImpact(c *topology.Cluster, node string) string {
	pods, todo := Evicted(c, node), "evict"
	if c.Upgrade.Drain.DisableEviction {
		todo = "delete"
	}
	text := podCount(pods) + " to " + todo
	if len(pods) > 0 {
		text += ": " + withNotes(c, pods)
	}
	return text + budgetsOf(c, pods) + leftBehind(c, node)
}

func podCount(pods []state.PodReport) string {
	if len(pods) == 1 {
		return "1 pod"
	}
	return strconv.Itoa(len(pods)) + " pods"
}

// budgetsOf names the budgets that a drain of the pods has to wait for, or that it bypasses when it
// deletes pods.
func budgetsOf(c *topology.Cluster, pods []state.PodReport) string {
	past := c.Upgrade.Drain.DisableEviction
	names := map[string]bool{}
	for _, p := range pods {
		for _, b := range p.Budgets {
			if past || c.Seen.Budgets[b].Allowed == 0 {
				names[b] = true
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	var budgets []string
	for _, b := range slices.Sorted(maps.Keys(names)) {
		budgets = append(budgets, fmt.Sprintf("PodDisruptionBudget %s (allows %d)", b, c.Seen.Budgets[b].Allowed))
	}
	if past {
		return "; regardless of " + strings.Join(budgets, ", ")
	}
	return "; blocked now by " + strings.Join(budgets, ", ")
}

// withNotes lists pods, each with its note.
func withNotes(c *topology.Cluster, pods []state.PodReport) string {
	return ListPods(c, pods, func(p state.PodReport) string { return p.String() + " (" + PodNote(p, c.Fleet.ObservedAt) + ")" })
}

// PodNote says what recreates a pod, which data is lost with it, and whether it is already
// terminating.
func PodNote(p state.PodReport, now time.Time) string {
	note := p.Controller
	switch {
	case p.Finished:
		note = "finished"
	case p.Controller == "":
		note = "no controller recreates it"
	}
	if p.EmptyDir && !p.Finished {
		note += ", the data of its emptyDir is lost"
	}
	switch {
	case p.GoneBy.IsZero():
	case overdue(p, now):
		note += ", still terminating, due to be gone by " + p.GoneBy.Format(time.RFC3339)
	default:
		note += ", already terminating"
	}
	return note
}

// CheckDrains refuses a plan with a drain that cannot succeed, or that loses data without
// permission.
func CheckDrains(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	return checkDrains(v, p, func(option string) string { return "set upgrade { drain { " + option + " = true } }" })
}

// RefuseByFlags is CheckDrains for a drain whose options are flags.
func RefuseByFlags(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	return checkDrains(v, p, func(option string) string { return "give -" + strings.ReplaceAll(option, "_", "-") })
}

// checkDrains refuses drains; allow says how an option is set that allows what is refused.
func checkDrains(v *topology.Fleet, p *planner.Plan, allow func(option string) string) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, s := range p.Steps {
		for _, op := range s.Operations {
			d, drains := op.(planner.Drain)
			i := slices.IndexFunc(v.Clusters, func(c *topology.Cluster) bool { return TargetOfCluster(v, c, s.Target) })
			if !drains || i < 0 || v.Clusters[i].Report == nil {
				continue
			}
			if found := refuseDrain(v.Clusters[i], d, s, allow); found != nil {
				diags = append(diags, found)
			}
		}
	}
	return diags
}

// drainBlocker is the remedy for one reason why a node cannot be drained, and the affected pods or
// claims.
type drainBlocker struct {
	todo string
	of   []string
}

// drainBlockers are keyed by reason.
type drainBlockers map[string]*drainBlocker

// note adds an affected pod or claim to a reason.
func (o drainBlockers) note(why, todo string, of fmt.Stringer, what string) {
	if o[why] == nil {
		o[why] = &drainBlocker{todo: todo}
	}
	o[why].of = append(o[why].of, of.String()+what)
}

// noteLost notes the data that is lost with a node's host, whatever happens to its pods.
func (o drainBlockers) noteLost(c *topology.Cluster, node string) {
	for _, k := range c.Seen.Claims {
		if k.Node == node {
			o.note("PersistentVolumeClaims whose data is on this host only, and that no pod to evict uses now",
				"copy the data elsewhere, then delete the PersistentVolumeClaims", k, " (PersistentVolume "+k.Volume+")")
		}
	}
	for _, p := range PodsOf(c, node) {
		if len(p.LocalClaims) > 0 {
			o.note("Pods whose data is on the disk of this host only",
				"copy the data elsewhere, then delete the PersistentVolumeClaims, so that the pods are recreated without them", p, " ("+strings.Join(p.LocalClaims, ", ")+")")
		}
	}
}

// String returns a line for each reason, followed by its remedy.
func (o drainBlockers) String() string {
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(o)) {
		lines = append(lines, "  "+why+": "+strings.Join(o[why].of, ", ")+".\n    To do: "+o[why].todo+".")
	}
	return strings.Join(lines, "\n")
}

// refuseDrain reports the blockers of a drain; nil if there are none.
func refuseDrain(c *topology.Cluster, d planner.Drain, s planner.Step, allow func(string) string) *diag.Diagnostic {
	found := blockersOf(c, d, s.Action == planner.Delete, allow)
	if len(found) == 0 {
		return nil
	}
	return diag.Errorf("Node cannot be drained", "%s (node %s) has to be drained, and this plan could not complete that:\n\n%s",
		s.Target, d.Node, found).For(s.Target).At(pki.Place(c, "upgrade.drain"))
}

// neverAllows says why a budget never allows an eviction, and what to do about it.
func neverAllows(name string, b state.BudgetReport) (why, todo string) {
	if b.Failed != "" {
		return fmt.Sprintf("PodDisruptionBudget %s never allows an eviction, because its pods cannot be counted (%s)", name, b.Failed),
			"give the budget minAvailable as a number, which does not depend on how many pods are expected, or change what it selects"
	}
	return fmt.Sprintf("PodDisruptionBudget %s requires %d of %d pods to stay and so never allows an eviction", name, b.Wanted, b.Expected),
		"scale up what it protects, or change the budget"
}

// blockersOf returns the blockers of a drain of a node, which is removed for good (leaves) or
// returns.
func blockersOf(c *topology.Cluster, d planner.Drain, leaves bool, allow func(string) string) drainBlockers {
	found := drainBlockers{}
	if leaves {
		found.noteLost(c, d.Node)
	}
	for _, p := range PodsOf(c, d.Node) {
		if LeftByOption(c, p) != "" {
			continue
		}
		if len(p.Budgets) > 1 && !d.DisableEviction {
			found.note("Pods that several PodDisruptionBudgets select, which the API does not evict",
				"leave each pod to one budget; or "+allow("disable_eviction")+" to delete the pods regardless of budgets", p, " ("+strings.Join(p.Budgets, ", ")+")")
		}
		for _, b := range p.Budgets {
			if c.Seen.Budgets[b].Never() && len(p.Budgets) == 1 && !d.DisableEviction {
				why, todo := neverAllows(b, c.Seen.Budgets[b])
				found.note(why, todo+"; or "+allow("disable_eviction")+" to delete the pods regardless of budgets", p, "")
			}
		}
		switch {
		case p.Finished:
		case p.EmptyDir && !d.DeleteEmptyDirData:
			found.note("Pods with emptyDir volumes, whose data would be lost", allow("delete_emptydir_data")+" if it may be lost", p, "")
		case p.Controller == "" && !d.Force:
			found.note("Pods that no controller recreates", "delete them, or "+allow("force")+" to have them deleted", p, "")
		}
	}
	return found
}

// DrainStep returns the step that drains a departing node whose cluster stays.
func DrainStep(l topology.Departure) planner.Step {
	if l.Whole || l.HostGone || l.Cluster.Seen == nil {
		return planner.Step{}
	}
	if _, exists := l.Cluster.Seen.Nodes[l.Name]; !exists {
		return planner.Step{}
	}
	return planner.Step{
		ID: topology.StepAddress(l.Target, topology.DrainPhase), Phase: topology.DrainPhase, Target: l.Target, Action: planner.Delete, Via: l.Cluster.Primary,
		Limits: []string{l.Cluster.Limit("drain")},
		Impact: DrainImpact(l.Cluster, l.Name), Pods: DrainedPods(l.Cluster, l.Name), Operations: Drain(l.Cluster, l.Name, ForLeaving),
		RestsOn: drainPreconditions(l),
	}
}

// TargetOfCluster reports whether a target belongs to the cluster, or is being removed from it.
func TargetOfCluster(v *topology.Fleet, c *topology.Cluster, t state.Target) bool {
	return v.ClusterOf(t) == c || slices.ContainsFunc(v.Departures(), func(l topology.Departure) bool { return l.Target == t && l.Cluster == c })
}
