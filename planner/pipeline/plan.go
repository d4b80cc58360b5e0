package pipeline

import (
	"fmt"
	"slices"
	"sort"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/absence"
	"github.com/kubewright/kubewright/planner/availability"
	"github.com/kubewright/kubewright/planner/corefile"
	"github.com/kubewright/kubewright/planner/diff"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/drift"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/immutable"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/planner/phases/encryption"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/reset"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/planner/upgrade"
	"github.com/kubewright/kubewright/state"
)

// Plan compares the configuration with what was observed and recorded. If the diagnostics contain
// errors, nothing may be done; ForReading says whether there is a plan to read.
func Plan(v *topology.Fleet, header planner.Plan, options planner.Options) (topology.Result, diag.Diagnostics) {
	v, diags := setAside(v, options.Targets)
	v, left := leaveOut(v, options)
	v, away := setApart(v, options)
	v, others, situated := trial(topology.WithOptions(v, options))
	diags = slices.Concat(diags, left, ownership.WaysAround(v, slices.Concat(others, situated)), ownership.CheckRuns(v))
	missing := append(away.refusals, unreachable(v)...)
	if others.HasErrors() { // without a resolved fleet only preflight can check the other hosts
		return topology.Result{}, slices.Concat(diags, missing, preflight.Preflight(v), besides(v))
	}
	if !v.Destroy && !v.RefreshOnly {
		if refused := immutable.Check(v); len(refused) > 0 {
			return topology.Result{}, slices.Concat(diags, missing, refused, besides(v)) // later checks would be about another cluster
		}
		diags = append(diags, findings(v)...)
	}
	if diags.HasErrors() {
		return topology.Result{}, slices.Concat(diags, missing, besides(v))
	}
	header.Withheld, header.Unpermitted = away.withheld, append(away.unpermitted, unpermitted(v)...)
	result, found := compare(v, header, options)
	return result, slices.Concat(diags, missing, found)
}

// compare makes the plan of a fleet in which nothing stands against one.
func compare(v *topology.Fleet, header planner.Plan, options planner.Options) (topology.Result, diag.Diagnostics) {
	desired, recorded := Desired(v), v.RecordedItems
	observed := observe.Observed(v, desired, recorded)
	if refused := rotation.RefuseDamaged(v, desired, observed); len(refused) > 0 {
		return topology.Result{}, append(refused, besides(v)...)
	}
	v, rotations, stages := rotation.RotationStages(v, observed)
	if v.RefreshOnly {
		return drift.Refresh(v, header, desired, observed, options), nil
	}
	drifted := drift.Drift(v, desired, observed)
	own := objects.UnwantedBuiltin(v, desired)
	desired.Items = append(desired.Items, objects.WithoutOwnedFields(v, own, observed)...)
	desired.Sort()
	v, changes, waypoints := upgrade.Waypoints(v, observed)
	waypoints = append(waypoints, stages...)
	rules := changeRules(v, desired, own, options)
	open := drift.Apply(slices.Concat(changes, rotations, diff.Changes(desired, observed, drift.WithImplied(v, desired))), rules.differs...)
	marks, marked := markAdopted(v, open)
	desired.Items, open = append(desired.Items, marks...), append(open, marked...)
	due := drift.Apply(open, rules.due)
	changes, drifted = staticpod.RemoveUnused(v, drift.Apply(due, rules.asked)), drift.Apply(drifted, rules.due, rules.asked)
	slices.SortFunc(changes, func(a, b planner.Change) int { return a.Address.Compare(b.Address) })
	desired.Items = append(desired.Items, waypoints...)
	desired.Sort()
	sensitive.Scrub(v, changes)
	sensitive.Scrub(v, drifted)
	v = v.WithFailed(func(c *topology.Cluster) map[state.Target][]string {
		return rotation.WithoutMended(c, staticpod.WithoutDoubts(c, changes), changes)
	})
	d := draft(v, desired, changes)
	header.Destroy, header.Moved = v.Destroy, v.Moved
	header.Replace, header.AcceptNewHost, header.ForgetUnreachable = append(Strings(v.Replace), Strings(v.Rotate)...), Strings(v.AcceptNewHost), Strings(v.ForgetUnreachable)
	p, err := assemble(v, header, drift.Apply(changes, rules.single), drifted, d, options)
	if err != nil {
		return topology.Result{}, diag.Diagnostics{UnsoundPlan(err)}
	}
	p = speak(v, d, countWhole(v, availability.Announce(v, p)))
	diags := slices.Concat(refusals(v, d, p, options), refuseParts(v, due, changes, p, options), objects.RefuseDeletingParents(v, p, desired))
	if diags.HasErrors() {
		return topology.Result{}, diags
	}
	p = expect(v, etcd.MoveLeaders(v, price(v, p)))
	if !v.Destroy {
		p = p.WithCertificates(pki.CertificateExpiry(v, p))
	}
	return topology.Result{Plan: p, Fleet: v, Desired: desired, Observed: observed, Open: drift.AddressesOf(open), Due: drift.AddressesOf(due)}, append(diags, warnings(v, p, own, observed, options)...)
}

// rules say what becomes of a difference on its way into a plan, in this order. Drift passes the
// rules due and asked as well.
type rules struct {
	// differs decide what remains open: the state records no such item as applied.
	differs []drift.Rule
	// due drops what skip_phases leaves to others, asked what -target or -skip-phase leaves out of a
	// phase, and single what the reset of a whole node removes.
	due, asked, single drift.Rule
}

func changeRules(v *topology.Fleet, desired *state.Snapshot, own map[state.Address]objects.OwnObject, o planner.Options) rules {
	return rules{
		differs: []drift.Rule{drift.Incomplete(v), objects.NotDeleted(desired, own), drift.Ignored(v)},
		due:     unskipped(v), asked: narrowed(v, o), single: drift.Departing(v),
	}
}

// findings returns what prevents the desired changes on hosts and clusters, and warnings about them.
func findings(v *topology.Fleet) diag.Diagnostics {
	return slices.Concat(
		unchangeable(v), etcd.EtcdVersion(v), checkPods(v), checkPatches(v), host.CheckHostFiles(v), host.CheckEtcdFolders(v), encryption.Check(v, absence.Vouched), corefile.Check(v), pki.CheckAuthorities(v), rotation.CheckRotations(v), preflight.Preflight(v),
		endpointLeaves(v), ownership.TakenNames(v), staticpod.AbsentNames(v), etcd.CheckMembership(v),
	)
}

// warnings returns what an operator has to know before a plan is applied.
func warnings(v *topology.Fleet, p *planner.Plan, own map[state.Address]objects.OwnObject, observed *state.Snapshot, options planner.Options) diag.Diagnostics {
	return slices.Concat(pki.WarnUnverified(v), kubelet.WarnSettings(v), etcd.Alarms(v, p), etcd.LostUnknownVoters(v), etcd.OverdueBackups(v), ownership.WarnForgotten(v), objects.WarnLeft(v, p, own, observed), objects.WarnMissingNamespaces(v, p),
		ownership.Unreplaced(v, p, options), drain.CheckDrains(v, p), drain.CheckSkippedDrains(v, p), drain.WarnDrainCapacity(v, p), drain.WarnCordoned(v, p), etcd.CheckRestarts(v, p))
}

// refusals returns why a complete plan must not be applied.
func refusals(v *topology.Fleet, d planner.Draft, p *planner.Plan, options planner.Options) diag.Diagnostics {
	return slices.Concat(refusePartial(v, d, p), refuseUnasked(v, p), etcd.RefuseUnsaved(v, p), staticpod.StoppedKubelets(v, p), etcd.JoinsWithoutAPI(v, p), refusePartialPlan(v, d, p, options), protected(v, p), preflight.Unwritable(v, p))
}

// UnsoundPlan returns the diagnostic for a plan that kubewright itself made wrongly and that must not
// be applied.
func UnsoundPlan(err error) *diag.Diagnostic {
	return diag.Errorf("Plan is not sound", "%v. This is a defect of kubewright; nothing was changed. Please report it, with this text and the command.", err)
}

// Strings returns the printed forms of targets.
func Strings[T fmt.Stringer](targets []T) []string {
	var out []string
	for _, t := range targets {
		out = append(out, t.String())
	}
	return out
}

// draft lets each phase choose its operations.
func draft(v *topology.Fleet, desired *state.Snapshot, changes []planner.Change) planner.Draft {
	d := planner.Draft{Edges: map[state.Address][]state.Address{}, Turns: map[state.Address][]state.Address{}, Closes: map[state.Address][]state.Address{}, Serves: map[state.Address]bool{}, Limits: map[string]int{}}
	b := topology.Builder{Draft: &d, Desired: desired, Changes: map[state.Address][]planner.Change{}, Access: map[state.Address][]planner.Operation{}}
	byStep(&b, v, changes)
	for _, c := range v.Clusters {
		if !v.Destroy {
			cluster(&b, c)
		}
		d.Resources = append(d.Resources, clusterResources(v, c, &d, desired, changes)...)
	}
	for _, l := range v.Departures() {
		if !l.Acts() {
			continue
		}
		departure(&b, l)
		if l.Replaced {
			continue // counted once, as the node that joins
		}
		d.Resources = append(d.Resources, departureResource(v, l))
	}
	etcd.SnapshotBeforeDestroying(&b, v)
	for _, c := range v.Clusters {
		if !v.Destroy {
			etcd.RestoreBackup(&b, c)
			etcd.OrderMembershipChanges(&b, c)
			etcd.OrderJoins(&b, c)
			orderWorkers(&b, c)
			pki.OrderServing(&b, c)
			staticpod.MoveEndpoint(&b, c)
			staticpod.Disruptions(&b, c)
			staticpod.MendFirst(&b, c)
			encryption.AddStages(&b, c, absence.Vouched(c))
			rotation.AddStages(&b, c)
			upgrade.TaintsFirst(&b, c)
			upgrade.RollOut(&b, c)
		}
	}
	for _, t := range v.Forgotten() {
		note := ""
		if n := v.Recorded.Nodes[t]; n != nil {
			note = n.Address + ", " + n.Role
		}
		d.Resources = append(d.Resources, planner.ResourceChange{Target: t, Action: planner.Forget, Note: note})
	}
	for _, c := range GoneClusters(v) {
		d.Resources = append(d.Resources, planner.ResourceChange{Target: state.ClusterTarget(c), Action: planner.Delete})
	}
	Describe(v, d.Resources)
	for _, u := range v.Unobserved {
		if !v.Abandons(u.Target) {
			d.Withheld = append(d.Withheld, u)
		}
	}
	for _, c := range v.Clusters {
		if c.Report == nil && !c.Founding && !v.Destroy {
			d.Withheld = append(d.Withheld, state.Unobserved{Target: c.Target, Reason: observe.DarkTargets(c)[0].Reason, Remedy: laterInAPI})
		}
	}
	sort.Slice(d.Withheld, func(i, j int) bool { return d.Withheld[i].Target.String() < d.Withheld[j].Target.String() })
	return d
}

// byStep gives the changes to the steps that carry them out. What no host has any more needs no step: the
// state forgets it.
func byStep(b *topology.Builder, v *topology.Fleet, changes []planner.Change) {
	for _, c := range changes {
		if c.Action == planner.Forget {
			continue
		}
		id := c.Address.Step()
		c, access := pki.SetAccess(v, c)
		if access != nil {
			b.Access[id] = append(b.Access[id], access)
		}
		if access == nil || len(c.Attributes) > 0 {
			b.Changes[id] = append(b.Changes[id], c)
		}
	}
}

// laterInAPI is the remedy for objects in an API that does not answer.
const laterInAPI = "When it answers again, apply once more: objects in the API are observed then."

func cluster(b *topology.Builder, c *topology.Cluster) {
	d := b.Draft
	d.Limits[c.Limit("etcd-membership")] = 1
	d.Limits[c.Limit("control-plane-disruption")] = 1
	d.Limits[c.Limit("drain")] = upgrade.DrainsAtOnce(c)
	if c.Install.Catalog != nil {
		d.Limits[c.Limit(host.UploadsLimit)] = host.UploadsAtOnce
	}
	for _, p := range phases.All() {
		if p.ClusterStep != nil {
			id := topology.StepAddress(c.Target, p.Name)
			b.Add(id, p.ClusterStep(c, b.Work(id)), c.Needs(p))
			if p.Name == topology.AddonPhase {
				objects.AddonSteps(b, c)
				objects.ClearProxies(b, c)
			}
		}
		if p.NodeStep == nil {
			continue
		}
		for _, n := range c.Nodes {
			if n.Report == nil {
				continue
			}
			id := topology.StepAddress(n.Target, p.Name)
			var needs []state.Address
			if p.NodeNeeds != nil {
				needs = p.NodeNeeds(n)
			}
			b.Add(id, p.NodeStep(n, b.Work(id)), needs)
		}
	}
	joinTokens(b, c)
	staticpod.AddUnused(b, c)
	host.ImagesFirst(b, c)
	upgrade.OrderUpgrade(b, c)
	etcd.SnapshotBefore(b, c, "", "a version changes", upgrade.RiskySteps(b, c)...)
}

func departure(b *topology.Builder, l topology.Departure) {
	drains, resets := drain.DrainStep(l), reset.ResetStep(l)
	if len(drains.Operations) > 0 {
		b.Draft.Steps = append(b.Draft.Steps, drains)
	}
	b.Draft.Steps = append(b.Draft.Steps, resets)
	b.Draft.Edges[resets.ID] = []state.Address{topology.StepAddress(l.Target, topology.DrainPhase)}
	if !l.Whole && l.Cluster.Founding {
		// Before that there is no API that could remove it.
		b.After(resets.ID, topology.StepAddress(l.Cluster.Primary, topology.WaitControlPlanePhase))
	}
	etcd.SnapshotBeforeLeaving(b, l, resets)
}

// departureResource returns a departing node for the plan's counts. In a destroy, nodes leave that the
// configuration has.
func departureResource(v *topology.Fleet, l topology.Departure) planner.ResourceChange {
	r := planner.ResourceChange{Target: l.Target, Action: planner.Delete, Note: l.Address + ", " + l.Role}
	if !v.Destroy {
		r.Reason = planner.ReasonUnconfigured
	}
	return r
}

// clusterJoiners returns the nodes that get an identity in the cluster in this plan.
func clusterJoiners(c *topology.Cluster) []*topology.Node {
	var out []*topology.Node
	for _, n := range c.Nodes {
		if n.Bootstraps() {
			out = append(out, n)
		}
	}
	return out
}

// silentDepartures counts departing control planes that do not answer: etcd still counts them as
// members.
func silentDepartures(c *topology.Cluster) int {
	count := 0
	for _, l := range c.Fleet.Departures() {
		if l.Cluster == c && !l.Acts() && l.Role == string(config.ControlPlane) {
			count++
		}
	}
	return count
}

// clusterResources returns the cluster, its addons and its nodes for the plan's counts.
func clusterResources(v *topology.Fleet, c *topology.Cluster, d *planner.Draft, desired *state.Snapshot, changes []planner.Change) []planner.ResourceChange {
	action := func(existed bool) planner.Action {
		if existed {
			return planner.Update
		}
		return planner.Create
	}
	if v.Destroy {
		if !destroys(v, c) {
			return nil
		}
		return []planner.ResourceChange{{Target: c.Target, Action: planner.Delete, Reason: ""}}
	}
	unchanged, there := unchangedPhases(d, desired), itemsThere(desired, changes)
	before, back := ownership.MovedFrom(v), v.Returning()
	out := []planner.ResourceChange{{Target: c.Target, Action: action(!c.Founding), Note: "Kubernetes " + staticpod.VersionNote(c), MovedFrom: before[c.Target], ImportedFrom: importedFrom(v, c.Target, c.Label)}}
	configured, gone := objects.AddonTargets(c)
	for _, t := range configured {
		out = append(out, planner.ResourceChange{Target: t, Action: action(v.Owns(t))})
	}
	for _, t := range gone {
		out = append(out, planner.ResourceChange{Target: t, Action: planner.Delete, Reason: planner.ReasonUnconfigured})
	}
	for _, n := range c.Nodes {
		r := planner.ResourceChange{Target: n.Target, Action: action(v.RecordedNode(n.Target) && !slices.Contains(back, n.Target)), Note: n.Address + ", " + string(n.Role)}
		if x := v.Replacements[n.Target]; x != nil {
			r.Action, r.Reason = planner.Replace, x.Reason
		}
		r.Unchanged, r.MovedFrom = unchanged[n.Target], before[n.Target]
		if r.Action != planner.Update && n.Report != nil {
			r.There = there[n.Target]
		}
		r.ImportedFrom = importedFrom(v, n.Target, c.Label)
		out = append(out, r)
	}
	return out
}

// unchangedPhases counts, per target, the phases without a step.
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

// itemsThere returns, per target, the unchanged items of the phases that install what a host may have
// been prepared with, one phase after the other.
func itemsThere(desired *state.Snapshot, changes []planner.Change) map[state.Target][]state.Address {
	changed := map[state.Address]bool{}
	for _, c := range changes {
		changed[c.Address] = true
	}
	out := map[state.Target][]state.Address{}
	for _, phase := range []string{topology.InstallPhase, topology.ImagesPhase} {
		for _, it := range desired.Items {
			if a := it.Address; a.Phase == phase && !changed[a] {
				out[a.Target] = append(out[a.Target], a)
			}
		}
	}
	return out
}

// destroys reports whether a destroy has to remove a cluster. If all of its nodes have left and the
// last write was lost, the state only has the objects in the cluster, and after an incomplete first
// apply not even the cluster's identity. If a user has removed the nodes from the state, their hosts
// still hold the cluster.
func destroys(v *topology.Fleet, c *topology.Cluster) bool {
	if v.Recorded != nil && topology.HasRecordedNodes(v.Recorded, c.Label) {
		return true
	}
	return (v.Remembers(c.Label) || v.Owns(c.Target)) && !slices.ContainsFunc(c.Nodes, ownership.NodeForgotten)
}

// GoneClusters returns the recorded clusters whose block is gone.
func GoneClusters(v *topology.Fleet) []string {
	var out []string
	if v.Recorded == nil {
		return nil
	}
	for label := range v.Recorded.Clusters {
		if v.Config.Cluster(label) == nil && !v.Forgets(state.ClusterTarget(label)) {
			out = append(out, label)
		}
	}
	sort.Strings(out)
	return out
}
