package phases

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// waypoint is a version that the control planes of a cluster go through on
// their way to the wanted one: the same configuration with that version. Kubelets
// do not stop there, as they may be three minor versions older; neither do the
// configuration in the cluster and the addons.
type waypoint struct {
	version string
	// view is the cluster's, with the version; place is its place in there.
	view  *View
	place int
	// items are wanted there, addressed with the waypoint.
	items []state.Item
	// missing is why a static pod is not there, of nodes that are no newcomers; empty
	// where an apply was cut short when the pod was stopped.
	missing string
}

// through are the patch releases to take of minor versions on the way: those
// whose images are among the artifacts, otherwise the newest that is known here.
func (c *cluster) through() map[int]planner.Release {
	out := map[int]planner.Release{}
	for minor, version := range kubeadm.KnownReleases() {
		out[minor], _ = planner.ParseRelease(version)
	}
	if c.Install.Catalog == nil {
		return out
	}
	brought := map[int]planner.Release{}
	for _, a := range c.Install.Catalog.Files {
		for _, image := range a.Images {
			tag, ours := strings.CutPrefix(image, c.ImageRepository+"/kube-apiserver:")
			if r, ok := planner.ParseRelease(tag); ours && ok && kubeadm.KnownReleases()[r.Minor] != "" && r.Compare(brought[r.Minor]) > 0 {
				brought[r.Minor], out[r.Minor] = r, r
			}
		}
	}
	return out
}

// unfitOnTheWay refuses what the wanted version knows and one on the way does not,
// such as a feature gate: the components would not start there. So it does what no
// static pod can be made of there, such as a patch for the wanted version's.
func (c *cluster) unfitOnTheWay() diag.Diagnostics {
	if len(c.up.hops) < 2 {
		return nil
	}
	known := map[string]bool{}
	for _, d := range c.findings(c.up.want) {
		known[d.Detail] = true
	}
	var diags diag.Diagnostics
	for _, hop := range c.up.hops[:len(c.up.hops)-1] {
		for _, d := range append(c.findings(hop), c.unrendered(hop)...) {
			if d.Severity == diag.Error && !known[d.Detail] {
				at := d.Subject
				if at.File == "" {
					at = c.Source
				}
				diags = append(diags, diag.Errorf("Configuration does not fit a version on the way", "%s %s goes through %s, which cannot run with this. "+
					"Nothing is changed on any host. Take it out, upgrade, and put it in again.",
					d.Detail, c.versionNote(), hop).At(at).For(c.target))
			}
		}
	}
	return diags
}

// unrendered is what keeps static pods from being rendered in a version of the cluster.
func (c *cluster) unrendered(version planner.Release) diag.Diagnostics {
	place := slices.Index(c.view.clusters, c)
	var diags diag.Diagnostics
	said := map[string]bool{}
	for _, n := range c.view.at(place, version).clusters[place].controlPlanes() {
		if err := kubeadm.CheckPods(n.input()); err != nil && !said[err.Error()] {
			said[err.Error()] = true
			diags = append(diags, n.misfit(err))
		}
	}
	return diags
}

// findings are what validation finds in a version of the cluster, and in that of these
// kubelets, if any.
func (c *cluster) findings(version planner.Release, kubelets ...*node) diag.Diagnostics {
	return c.goingThrough(version, kubelets...).Validate()
}

// goingThrough is the configuration of what goes through a version: the control planes,
// and these kubelets, if any. Other kubelets, kube-proxy and the configuration in the
// cluster do not.
func (c *cluster) goingThrough(version planner.Release, kubelets ...*node) *config.Config {
	there := *c.Cluster
	there.KubernetesVersion, there.FeatureGates = version.String(), nil
	there.KubeProxy = config.KubeProxy{Disabled: c.KubeProxy.Disabled}
	if len(kubelets) == 0 {
		there.Kubelet, there.Patches = config.Kubelet{}, notOfKubelets(there.Patches)
	}
	of := map[state.Target]bool{}
	for _, n := range kubelets {
		of[n.target] = true
	}
	cfg := &config.Config{Clusters: []*config.Cluster{&there}}
	for _, n := range c.view.Config.NodesOf(c.Label, "") {
		plain := *n
		if !of[n.Target] {
			plain.Kubelet, plain.Patches = config.Kubelet{}, notOfKubelets(plain.Patches)
		}
		cfg.Nodes = append(cfg.Nodes, &plain)
	}
	return cfg
}

// notOfKubelets are patches but those of kubelets' configurations.
func notOfKubelets(patches []config.Patch) []config.Patch {
	return slices.DeleteFunc(slices.Clone(patches), func(p config.Patch) bool { return p.Target == "kubeletconfiguration" })
}

// waypoints has the changes of all clusters on the way to their versions, and
// lays over what is observed what is to be there by then.
func (v *View) waypoints(observed *state.Snapshot) (changes []planner.Change, items []state.Item) {
	for i, c := range v.clusters {
		if c.up == nil || len(c.up.hops) < 2 {
			continue
		}
		seen := &state.Snapshot{}
		for _, hop := range c.up.hops[:len(c.up.hops)-1] {
			w := &waypoint{version: hop.String(), view: v.at(i, hop), place: i}
			w.choose()
			changed, desired := w.changes(seen)
			changes, items = append(changes, changed...), append(items, w.items...)
			c.up.way, seen = append(c.up.way, w), desired
			overlay(observed, desired)
		}
	}
	return changes, items
}

// at is the view with another version for the cluster at a place.
func (v *View) at(place int, version planner.Release) *View {
	cfg := *v.Config
	cfg.Clusters = slices.Clone(cfg.Clusters)
	c := *cfg.Clusters[place]
	c.KubernetesVersion = version.String()
	cfg.Clusters[place] = &c
	out := *v
	out.Config = &cfg
	out.resolve()
	for i, original := range v.clusters {
		out.clusters[i].situation = original.situation
	}
	out.clusters[place].up = &upgrade{oldest: version, newest: version, want: version, raises: true, begun: true}
	return &out
}

func (w *waypoint) cluster() *cluster { return w.view.clusters[w.place] }

// choose finds out what is wanted at the waypoint.
func (w *waypoint) choose() {
	twin := w.view.twinView()
	for j, n := range w.cluster().nodes {
		if !n.isControlPlane() || !n.upgrades() {
			continue
		}
		items := n.waypointItems()
		if twin != nil {
			w.view.seal(items, twin.clusters[w.place].nodes[j].waypointItems())
		}
		w.items = append(w.items, items...)
	}
}

// waypointItems are the static pods of a control plane and their images; none where a
// twin's cannot be rendered.
func (n *node) waypointItems() []state.Item {
	if kubeadm.CheckPods(n.input()) != nil {
		return nil
	}
	pods := slices.Concat(etcd.nodeItems(n), controlPlane.nodeItems(n))
	pods = slices.DeleteFunc(pods, func(it state.Item) bool { return it.Kind != state.KindStaticPod })
	for _, it := range images.nodeItems(n) {
		if slices.ContainsFunc(pods, func(pod state.Item) bool { return pod.Attributes.Get("image").AsString() == it.Address.ID() }) {
			pods = append(pods, it)
		}
	}
	return pods
}

// changes are those from what is seen to the waypoint, and what is to be seen
// then. Items that change are kept, under the waypoint's address.
func (w *waypoint) changes(seen *state.Snapshot) ([]planner.Change, *state.Snapshot) {
	desired := &state.Snapshot{Items: w.items}
	desired.Sort()
	observed := w.view.Observed(desired, &state.Snapshot{})
	overlay(observed, seen)
	changes := planner.Diff(desired, observed, &state.Snapshot{})
	var kept []state.Item
	for i := range changes {
		it := *desired.Find(changes[i].Address)
		it.Address.Waypoint, changes[i].Address.Waypoint = w.version, w.version
		if it.Kind == state.KindStaticPod && changes[i].Action == planner.Create {
			changes[i].Reason = cmp.Or(w.missing, planner.ReasonIncomplete)
		}
		if !it.Sealed.IsZero() {
			it.Sealed.Ref = reference(it.Address, contentField)
		}
		kept = append(kept, it)
	}
	w.items = kept
	return changes, desired
}

// overlay puts what is to be there by then in place of what was observed.
func overlay(observed, seen *state.Snapshot) {
	for i := range observed.Items {
		if it := seen.Find(observed.Items[i].Address); it != nil {
			observed.Items[i].Attributes = it.Attributes
		}
	}
}

// phases of a waypoint, in order.
var waypointPhases = []phase{images, etcd, controlPlane}

func (w *waypoint) step(t state.Target, phase string) state.Address {
	id := step(t, phase)
	id.Waypoint = w.version
	return id
}

// waypoint adds the steps to a waypoint to the draft: the control planes one at
// a time, behind all of the waypoint before.
func (b *builder) waypoint(c *cluster, w *waypoint, before []state.Address) {
	previous := before
	for _, n := range w.cluster().inTurn() {
		for _, p := range waypointPhases {
			id := w.step(n.target, p.name)
			needs := []state.Address{step(n.target, preparePhase)}
			if p.name != imagesPhase {
				needs = slices.Concat(previous, c.imagesOf(n.target))
				b.draft.Turns[id] = c.allImages()
			}
			if p.name == controlPlanePhase {
				needs = append(needs, w.step(n.target, etcdPhase))
			}
			var s planner.Step
			if changes := b.workAt(w, n, p.name); !changes.empty() {
				s = p.nodeStep(n, changes)
			}
			b.add(id, s, needs)
		}
		if proof := w.step(n.target, waitPlanePhase); n.fails() && w == c.up.way[0] {
			b.add(proof, n.proofStep(b.workAt(w, n, waitPlanePhase)), w.done(n)[:2])
		}
		previous = w.done(n)
	}
}

// workAt is what a phase has to do on a node at a waypoint.
func (b *builder) workAt(w *waypoint, n *node, phase string) work {
	return work{
		changes: b.changes[w.step(n.target, phase)], desired: b.desired,
		peer: func(other string) []planner.Change { return b.changes[w.step(n.target, other)] },
	}
}

// done is when a control plane has the waypoint's version, and one that failed
// before is proved to run.
func (w *waypoint) done(n *node) []state.Address {
	return []state.Address{w.step(n.target, etcdPhase), w.step(n.target, controlPlanePhase), w.step(n.target, waitPlanePhase)}
}

// doneAll is when all control planes have it.
func (w *waypoint) doneAll() []state.Address {
	var out []state.Address
	for _, n := range w.cluster().controlPlanes() {
		out = append(out, w.done(n)...)
	}
	return out
}

// allImages are the steps that bring images to the hosts, of all versions: all hosts
// have theirs before the first risk.
func (c *cluster) allImages() []state.Address {
	var out []state.Address
	for _, n := range c.nodes {
		if n.upgrades() {
			out = append(out, c.imagesOf(n.target)...)
		}
	}
	return out
}

// imagesOf are the steps that bring images to one host.
func (c *cluster) imagesOf(t state.Target) []state.Address {
	out := []state.Address{step(t, imagesPhase)}
	for _, w := range c.up.way {
		out = append(out, w.step(t, imagesPhase))
	}
	return out
}

// afterWaypoints is when all control planes have the last version on the way.
func (c *cluster) afterWaypoints() []state.Address {
	if len(c.up.way) == 0 {
		return nil
	}
	return c.up.way[len(c.up.way)-1].doneAll()
}
