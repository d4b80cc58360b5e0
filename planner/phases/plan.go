package phases

import (
	"fmt"
	"slices"
	"sort"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Result is a plan together with the items that it rests on, which become
// the recorded ones as steps are done.
type Result struct {
	Plan    *planner.Plan
	Desired *state.Snapshot
	// Observed has what was seen of each desired or recorded item.
	Observed *state.Snapshot
	// Open has the items that are not as they are wanted, also those that a
	// restricted plan leaves as they are.
	Open map[state.Address]bool
	// Due has those of them that the configuration does not leave out by skip_phases. It
	// is not set of a refresh-only plan.
	Due map[state.Address]bool
}

// Plan compares the configuration with what was observed and recorded. Errors
// among the diagnostics mean that there is no plan; nothing is to be done then.
func Plan(v *View, header planner.Plan, options planner.Options) (Result, diag.Diagnostics) {
	diags := append(v.setAside(options.Targets), v.leaveOut(options)...)
	others := slices.Concat(v.replace(), v.notGone())
	v.refuse(others)
	v.resolve()
	v.targeted, v.excluded, v.skipped = len(options.Targets) > 0, options.Excludes, options.SkipPhases
	diags = slices.Concat(diags, v.waysAround(slices.Concat(others, v.situate())), v.unreachable(), v.checkRuns())
	if others.HasErrors() { // of the other hosts nothing more can be told
		return Result{}, slices.Concat(diags, v.preflight(), v.besides())
	}
	if !v.Destroy && !v.RefreshOnly {
		if refused := v.checkFixed(); len(refused) > 0 {
			return Result{}, slices.Concat(diags, refused, v.besides()) // the rest would speak of another cluster
		}
		diags = append(diags, v.findings()...)
	}
	if diags.HasErrors() {
		return Result{}, append(diags, v.besides()...)
	}
	desired, recorded := v.desired(), v.recorded
	observed := v.Observed(desired, recorded)
	if refused := v.refuseDamaged(desired, observed); len(refused) > 0 {
		return Result{}, slices.Concat(diags, refused, v.besides())
	}
	rotations, stages := v.rotationStages(observed)
	if v.RefreshOnly {
		return v.refresh(header, desired, observed, options), diags
	}
	drift := v.drift(desired, observed)
	own := v.unwantedOwn(desired)
	desired.Items = append(desired.Items, v.takenBack(own, observed)...)
	desired.Sort()
	changes, waypoints := v.waypoints(observed)
	changes, waypoints = append(changes, rotations...), append(waypoints, stages...)
	changes = v.unignored(append(changes, leftThere(handedOver(v.ofOwn(planner.Diff(desired, observed, v.asLeft(desired))), desired), own)...))
	marks, marked := v.markAdopted(changes)
	desired.Items, changes = append(desired.Items, marks...), append(changes, marked...)
	open := addressesOf(changes)
	changes, drift = v.unskipped(changes), v.unskipped(drift)
	due := addressesOf(changes)
	slices.SortFunc(changes, func(a, b planner.Change) int { return a.Address.Compare(b.Address) })
	desired.Items = append(desired.Items, waypoints...)
	desired.Sort()
	v.scrub(changes)
	v.scrub(drift)
	d := v.draft(desired, changes)
	header.Destroy, header.Moved = v.Destroy, v.Moved
	header.Replace, header.AcceptNewHost, header.ForgetUnreachable = append(printed(v.Replace), printed(v.Rotate)...), printed(v.AcceptNewHost), printed(v.ForgetUnreachable)
	p, err := planner.Assemble(header, v.withoutLeavers(changes), drift, d, options)
	if err != nil {
		return Result{}, append(diags, unsound(err))
	}
	v.countWhole(p)
	v.speak(d, p)
	if diags = slices.Concat(diags, v.refusals(d, p, options), v.wantedInside(p, desired)); diags.HasErrors() {
		return Result{}, diags
	}
	v.price(p.Changes)
	v.moveLeaders(p)
	v.expect(p)
	if !v.Destroy {
		p.Certificates = v.certificateEnds(p)
	}
	return Result{Plan: p, Desired: desired, Observed: observed, Open: open, Due: due}, append(diags, v.warnings(p, own, observed, options)...)
}

// findings are what hosts and clusters have against what is wanted of them.
func (v *View) findings() diag.Diagnostics {
	return slices.Concat(
		v.unchangeable(), v.etcdVersion(), v.checkPods(), v.checkAuthorities(), v.checkRotations(), v.preflight(),
		v.endpointLeaves(), v.takenNames(), v.absentNames(), v.walk(),
	)
}

// warnings are what somebody should know before a plan is carried out.
func (v *View) warnings(p *planner.Plan, own map[state.Address]ownObject, observed *state.Snapshot, options planner.Options) diag.Diagnostics {
	return slices.Concat(v.alarms(p), v.lostStrangers(), v.warnForgotten(), v.warnLeft(p, own, observed), v.noNamespace(p),
		v.unreplaced(p, options), v.checkDrains(p), v.undrained(p), v.noRoom(p), v.checkPairs(p), v.quorumHeld(p))
}

// refusals are why a plan that is whole must not be carried out.
func (v *View) refusals(d planner.Draft, p *planner.Plan, options planner.Options) diag.Diagnostics {
	return slices.Concat(v.refusePartial(d, p), v.refuseUnasked(p), v.stoppedKubelets(p), v.darkJoins(p), v.refuseHalves(d, p, options), v.protected(p), v.unwritable(p))
}

// addressesOf are the items that change.
func addressesOf(changes []planner.Change) map[state.Address]bool {
	out := map[state.Address]bool{}
	for _, c := range changes {
		out[c.Address] = true
	}
	return out
}

// unsound is what a plan of ours is called that must not be carried out.
func unsound(err error) *diag.Diagnostic {
	return diag.Errorf("Plan is not sound", "%v. This is a defect of kubewright; nothing was changed. Please report it, with this text and the command.", err)
}

func printed[T fmt.Stringer](targets []T) []string {
	var out []string
	for _, t := range targets {
		out = append(out, t.String())
	}
	return out
}

// withoutLeavers drops the changes of single items of nodes that leave: their
// reset takes everything away at once.
func (v *View) withoutLeavers(changes []planner.Change) []planner.Change {
	gone := map[state.Target]bool{}
	for _, l := range v.leavers() {
		gone[l.target] = !l.replaced
	}
	return slices.DeleteFunc(changes, func(c planner.Change) bool {
		return gone[c.Address.Target] || v.Destroy || v.forgets(c.Address.Target)
	})
}

// draft lets each phase choose its operations.
func (v *View) draft(desired *state.Snapshot, changes []planner.Change) planner.Draft {
	d := planner.Draft{Edges: map[state.Address][]state.Address{}, Turns: map[state.Address][]state.Address{}, Closes: map[state.Address][]state.Address{}, Serves: map[state.Address]bool{}, Limits: map[string]int{}}
	b := builder{draft: &d, desired: desired, changes: map[state.Address][]planner.Change{}, access: map[state.Address][]planner.Operation{}}
	for _, c := range changes {
		id := c.Address.Step()
		c, access := v.setAccess(c)
		if access != nil {
			b.access[id] = append(b.access[id], access)
		}
		if access == nil || len(c.Attributes) > 0 {
			b.changes[id] = append(b.changes[id], c)
		}
	}
	for _, c := range v.clusters {
		c.weighDoubts(changes)
		c.dropsMended(changes)
		if !v.Destroy {
			b.cluster(c)
		}
		d.Resources = append(d.Resources, v.clusterResources(c, &d, desired, changes)...)
	}
	for _, l := range v.leavers() {
		if !l.acts() {
			continue
		}
		b.leaver(l)
		if l.replaced {
			continue // counted once, as what joins
		}
		d.Resources = append(d.Resources, planner.ResourceChange{Target: l.target, Action: planner.Delete, Note: l.Address + ", " + l.Role, Reason: planner.ReasonUnconfigured})
	}
	for _, c := range v.clusters {
		if !v.Destroy {
			b.sequence(c)
			b.chainReplaced(c)
			b.moveEndpoint(c)
			b.disruptions(c)
			b.mendFirst(c)
			b.rotate(c)
			b.taintsFirst(c)
		}
	}
	for _, t := range v.forgotten() {
		note := ""
		if n := v.Recorded.Nodes[t]; n != nil {
			note = n.Address + ", " + n.Role
		}
		d.Resources = append(d.Resources, planner.ResourceChange{Target: t, Action: planner.Forget, Note: note})
	}
	for _, c := range v.goneClusters() {
		d.Resources = append(d.Resources, planner.ResourceChange{Target: state.ClusterTarget(c), Action: planner.Delete})
	}
	v.describe(d.Resources)
	for _, u := range v.Unobserved {
		if !v.abandons(u.Target) {
			d.Withheld = append(d.Withheld, u)
		}
	}
	for _, c := range v.clusters {
		if c.report == nil && !c.founding && !v.Destroy {
			d.Withheld = append(d.Withheld, state.Unobserved{Target: c.target, Reason: c.darkTargets()[0].Reason, Remedy: laterInAPI})
		}
	}
	sort.Slice(d.Withheld, func(i, j int) bool { return d.Withheld[i].Target.String() < d.Withheld[j].Target.String() })
	return d
}

// laterInAPI is what becomes of objects in an API that does not answer.
const laterInAPI = "When it answers again, run kubewright apply once more: what is kept in the API is looked at then."

// builder collects the steps of a draft.
type builder struct {
	draft   *planner.Draft
	desired *state.Snapshot
	changes map[state.Address][]planner.Change
	// access are the operations by which steps put right who may read keys.
	access map[state.Address][]planner.Operation
}

func (b *builder) cluster(c *cluster) {
	d := b.draft
	d.Limits[c.limit("etcd-membership")] = 1
	d.Limits[c.limit("control-plane-disruption")] = 1
	d.Limits[c.limit("drain")] = c.drainsAtOnce()
	if c.Install.Catalog != nil {
		d.Limits[c.limit(uploadsLimit)] = uploadsAtOnce
	}
	for _, p := range table() {
		if p.clusterStep != nil {
			id := step(c.target, p.name)
			b.add(id, p.clusterStep(c, b.work(id)), c.needs(p))
			if p.name == addonPhase {
				b.addonSteps(c)
				b.clearProxies(c)
			}
		}
		if p.nodeStep == nil {
			continue
		}
		for _, n := range c.nodes {
			if n.report == nil {
				continue
			}
			id := step(n.target, p.name)
			var needs []state.Address
			if p.nodeNeeds != nil {
				needs = p.nodeNeeds(n)
			}
			b.add(id, p.nodeStep(n, b.work(id)), needs)
		}
	}
	b.joinTokens(c)
	b.imagesFirst(c)
	b.upgrade(c)
	b.snapshotBefore(c, "", "a version changes", b.risky(c)...)
}

func (c *cluster) needs(p *phase) []state.Address {
	if p.clusterNeeds == nil {
		return nil
	}
	return p.clusterNeeds(c)
}

func (b *builder) work(id state.Address) work {
	return work{
		changes: b.changes[id], desired: b.desired,
		peer: func(phase string) []planner.Change { return b.changes[step(id.Target, phase)] },
	}
}

// add keeps a step that has something to do, and its edges in any case.
func (b *builder) add(id state.Address, s planner.Step, needs []state.Address) {
	b.draft.Edges[id] = needs
	if access := b.access[id]; len(access) > 0 {
		if len(s.Operations) == 0 {
			s.Action = planner.Update
		}
		s.Operations = append(s.Operations, access...)
	}
	if len(s.Operations) == 0 {
		return
	}
	s.ID, s.Phase, s.Target = id, id.Phase, id.Target
	if s.Action == "" {
		s.Action = actionOf(b.changes[id])
	}
	b.draft.Steps = append(b.draft.Steps, s)
}

func actionOf(changes []planner.Change) planner.Action {
	action := planner.Create
	for _, c := range changes {
		if c.Action != planner.Create {
			action = planner.Update
		}
	}
	return action
}

func (b *builder) leaver(l leaver) {
	drain, reset := l.drainStep(), l.resetStep()
	if len(drain.Operations) > 0 {
		b.draft.Steps = append(b.draft.Steps, drain)
	}
	b.draft.Steps = append(b.draft.Steps, reset)
	b.draft.Edges[reset.ID] = []state.Address{step(l.target, drainPhase)}
	if !l.whole && l.cluster.founding {
		// Nobody can be told of its leaving before.
		b.after(reset.ID, step(l.cluster.seat, waitPlanePhase))
	}
	b.snapshotBeforeLeaving(l, reset)
}

// joiners are the nodes that get an identity in the cluster in this plan.
func (c *cluster) joiners() []*node {
	var out []*node
	for _, n := range c.nodes {
		if n.bootstraps() {
			out = append(out, n)
		}
	}
	return out
}

// silentLeavers counts control planes that are to leave and do not answer: etcd
// counts them as members still.
func (c *cluster) silentLeavers() int {
	count := 0
	for _, l := range c.view.leavers() {
		if l.cluster == c && !l.acts() && l.Role == string(config.ControlPlane) {
			count++
		}
	}
	return count
}

// clusterResources are the cluster, its addons and its nodes as the plan counts them.
func (v *View) clusterResources(c *cluster, d *planner.Draft, desired *state.Snapshot, changes []planner.Change) []planner.ResourceChange {
	action := func(existed bool) planner.Action {
		if existed {
			return planner.Update
		}
		return planner.Create
	}
	if v.Destroy {
		if !v.destroys(c) {
			return nil
		}
		return []planner.ResourceChange{{Target: c.target, Action: planner.Delete, Reason: ""}}
	}
	unchanged, there := unchangedPhases(d, desired), itemsThere(desired, changes)
	before, back := v.movedFrom(), v.returning()
	out := []planner.ResourceChange{{Target: c.target, Action: action(!c.founding), Note: "Kubernetes " + c.versionNote(), MovedFrom: before[c.target], ImportedFrom: v.importedFrom(c.target, c.Label)}}
	configured, gone := c.addonTargets()
	for _, t := range configured {
		out = append(out, planner.ResourceChange{Target: t, Action: action(v.owns(t))})
	}
	for _, t := range gone {
		out = append(out, planner.ResourceChange{Target: t, Action: planner.Delete, Reason: planner.ReasonUnconfigured})
	}
	for _, n := range c.nodes {
		r := planner.ResourceChange{Target: n.target, Action: action(v.recordedNode(n.target) && !slices.Contains(back, n.target)), Note: n.Address + ", " + string(n.Role)}
		if x := v.replacements[n.target]; x != nil {
			r.Action, r.Reason = planner.Replace, x.reason
		}
		r.Unchanged, r.MovedFrom = unchanged[n.target], before[n.target]
		if r.Action != planner.Update && n.report != nil {
			r.There = there[n.target]
		}
		r.ImportedFrom = v.importedFrom(n.target, c.Label)
		out = append(out, r)
	}
	return out
}

// unchangedPhases counts, per target, the phases in which nothing is to be done.
func unchangedPhases(d *planner.Draft, desired *state.Snapshot) map[state.Target]int {
	busy := map[state.Address]bool{}
	for _, s := range d.Steps {
		busy[s.ID] = true
	}
	out := map[state.Target]int{}
	for _, it := range desired.Items {
		if id := it.Address.Step(); !busy[id] {
			busy[id] = true
			out[id.Target]++
		}
	}
	return out
}

// itemsThere are, per target, the items of the phases that bring what a host may have been
// prepared with, one phase after the other, as far as they do not change.
func itemsThere(desired *state.Snapshot, changes []planner.Change) map[state.Target][]state.Address {
	changed := map[state.Address]bool{}
	for _, c := range changes {
		changed[c.Address] = true
	}
	out := map[state.Target][]state.Address{}
	for _, phase := range []string{installPhase, imagesPhase} {
		for _, it := range desired.Items {
			if a := it.Address; a.Phase == phase && !changed[a] {
				out[a.Target] = append(out[a.Target], a)
			}
		}
	}
	return out
}

// owns tells that something of the target is recorded.
func (v *View) owns(t state.Target) bool {
	return slices.ContainsFunc(v.recorded.Items, func(i state.Item) bool { return i.Address.Target == t })
}

func (v *View) recordedNode(t state.Target) bool {
	return v.Recorded != nil && v.Recorded.Nodes[t] != nil
}

// remembers tells that the state has a cluster, or a node of it.
func (v *View) remembers(label string) bool {
	return v.Recorded != nil && (v.Recorded.Clusters[label] != nil || inhabited(v.Recorded, label))
}

// destroys tells that a destroy has a cluster to take away. Where all of its nodes have
// left and the last write was lost, the state has only what was kept in the cluster, of
// a first apply without what the cluster is. Where somebody has had the state forget the
// nodes, their hosts hold the cluster still.
func (v *View) destroys(c *cluster) bool {
	if v.Recorded != nil && inhabited(v.Recorded, c.Label) {
		return true
	}
	return (v.remembers(c.Label) || v.owns(c.target)) && !slices.ContainsFunc(c.nodes, (*node).forgotten)
}

// goneClusters are recorded clusters whose block is gone.
func (v *View) goneClusters() []string {
	var out []string
	if v.Recorded == nil {
		return nil
	}
	for label := range v.Recorded.Clusters {
		if v.Config.Cluster(label) == nil && !v.forgets(state.ClusterTarget(label)) {
			out = append(out, label)
		}
	}
	sort.Strings(out)
	return out
}
