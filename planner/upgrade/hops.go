package upgrade

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/diff"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/observe"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// through returns the patch release to use for each intermediate minor version: the one whose
// images are among the artifacts, otherwise the newest known one.
func through(c *topology.Cluster) map[int]skew.Release {
	out := map[int]skew.Release{}
	for minor, version := range kubeadm.KnownReleases() {
		out[minor], _ = skew.ParseRelease(version)
	}
	if c.Install.Catalog == nil {
		return out
	}
	brought := map[int]skew.Release{}
	for _, a := range c.Install.Catalog.Files {
		for _, image := range a.Images {
			tag, ours := strings.CutPrefix(image, c.ImageRepository+"/kube-apiserver:")
			if r, ok := skew.ParseRelease(tag); ours && ok && kubeadm.KnownReleases()[r.Minor] != "" && r.Compare(brought[r.Minor]) > 0 {
				brought[r.Minor], out[r.Minor] = r, r
			}
		}
	}
	return out
}

// unfitOnTheWay refuses settings that the desired version supports and an intermediate one does
// not, such as a feature gate: components would not start there. It also refuses settings with
// which no static pod can be rendered there, such as a patch for the manifest of the desired
// version.
func unfitOnTheWay(c *topology.Cluster) diag.Diagnostics {
	if len(c.Up.Hops) < 2 {
		return nil
	}
	var diags diag.Diagnostics
	for _, hop := range c.Up.Hops[:len(c.Up.Hops)-1] {
		for _, d := range append(unfitted(goingThrough(c, hop), goingThrough(c, c.Up.Want)), unrendered(c, hop)...) {
			at := d.Subject
			if at.File == "" {
				at = c.Source
			}
			diags = append(diags, diag.Errorf("Configuration does not fit an intermediate version", "%s %s passes through %s, which cannot run with this. "+
				"Remove it, upgrade, and add it back.",
				d.Detail, staticpod.VersionNote(c), hop).At(at).For(c.Target))
		}
	}
	return diags
}

// unrendered returns the errors of rendering static pods in a version of the cluster.
func unrendered(c *topology.Cluster, version skew.Release) diag.Diagnostics {
	place := slices.Index(c.Fleet.Clusters, c)
	var diags diag.Diagnostics
	said := map[string]bool{}
	for _, n := range at(c.Fleet, place, version).Clusters[place].ControlPlanes() {
		if err := kubeadm.CheckPods(n.Input()); err != nil && !said[err.Error()] {
			said[err.Error()] = true
			diags = append(diags, Misfit(n, err))
		}
	}
	return diags
}

// unfitted is the check of whether a configuration fits the version that it names: it returns the
// errors except those that other configurations have as well, which are about something else. What
// goes through which version, goingThrough says.
func unfitted(cfg *config.Config, others ...*config.Config) diag.Diagnostics {
	known := map[string]bool{}
	for _, o := range others {
		for _, d := range o.Validate() {
			known[d.Detail] = true
		}
	}
	return slices.DeleteFunc(cfg.Validate().Errors(), func(d *diag.Diagnostic) bool { return known[d.Detail] })
}

// goingThrough returns the configuration of what goes through a version: the control planes, and
// the given kubelets. Other kubelets, kube-proxy and the configuration in the cluster do not.
func goingThrough(c *topology.Cluster, version skew.Release, kubelets ...*topology.Node) *config.Config {
	there := *c.Cluster
	there.KubernetesVersion, there.FeatureGates = version.String(), nil
	there.KubeProxy = config.KubeProxy{Disabled: c.KubeProxy.Disabled}
	if len(kubelets) == 0 {
		there.Kubelet, there.Patches = config.Kubelet{}, notOfKubelets(there.Patches)
	}
	of := map[state.Target]bool{}
	for _, n := range kubelets {
		of[n.Target] = true
	}
	cfg := &config.Config{Clusters: []*config.Cluster{&there}}
	for _, n := range c.Fleet.Config.NodesOf(c.Label, "") {
		plain := *n
		if !of[n.Target] {
			plain.Kubelet, plain.Patches = config.Kubelet{}, notOfKubelets(plain.Patches)
		}
		cfg.Nodes = append(cfg.Nodes, &plain)
	}
	return cfg
}

// notOfKubelets returns the patches except those of kubelet configurations.
func notOfKubelets(patches []config.Patch) []config.Patch {
	return slices.DeleteFunc(slices.Clone(patches), func(p config.Patch) bool { return p.Target == "kubeletconfiguration" })
}

// Waypoints returns the fleet with the waypoints to the versions of its clusters, the changes there
// and the changed items, and overlays the observation with the items at the last waypoint.
func Waypoints(v *topology.Fleet, observed *state.Snapshot) (with *topology.Fleet, changes []planner.Change, items []state.Item) {
	ways := map[*topology.Cluster][]*topology.Waypoint{}
	for i, c := range v.Clusters {
		if c.Up == nil || len(c.Up.Hops) < 2 {
			continue
		}
		seen := &state.Snapshot{}
		for _, hop := range c.Up.Hops[:len(c.Up.Hops)-1] {
			there := at(v, i, hop)
			w := &topology.Waypoint{Version: hop.String(), Fleet: there, Place: i, Items: chosen(there, i)}
			changed, kept, desired := WaypointChanges(w, seen)
			changes, items = append(changes, changed...), append(items, kept...)
			ways[c], seen = append(ways[c], w), desired
			OverlayAttributes(observed, desired)
		}
	}
	if len(ways) == 0 {
		return v, nil, nil
	}
	return v.WithSituations(func(c *topology.Cluster) topology.Situation {
		if way := ways[c]; way != nil {
			return c.WithUpgrade(c.Up.WithWay(way))
		}
		return c.Situation
	}), changes, items
}

// at returns the view with another version for the cluster at a place.
func at(v *topology.Fleet, place int, version skew.Release) *topology.Fleet {
	cfg := *v.Config
	cfg.Clusters = slices.Clone(cfg.Clusters)
	c := *cfg.Clusters[place]
	c.KubernetesVersion = version.String()
	cfg.Clusters[place] = &c
	return resolve.With(v, &cfg, func(i int, s topology.Situation) topology.Situation {
		if i == place {
			return s.WithUpgrade(&topology.Upgrade{Oldest: version, Newest: version, Want: version, Raises: true, Begun: true})
		}
		return s
	})
}

// chosen returns the desired items of a waypoint: the fleet there, and the place of the cluster.
func chosen(there *topology.Fleet, place int) []state.Item {
	swapped := resolve.WithOtherSecrets(there)
	var out []state.Item
	for j, n := range there.Clusters[place].Nodes {
		if !n.IsControlPlane() || !n.Upgrades() {
			continue
		}
		items := waypointItems(n)
		if swapped != nil {
			sensitive.Seal(there, items, waypointItems(swapped.Clusters[place].Nodes[j]))
		}
		out = append(out, items...)
	}
	return out
}

// waypointItems returns the static pods of a control plane and their images; none if the
// counterpart with other secrets cannot be rendered.
func waypointItems(n *topology.Node) []state.Item {
	if kubeadm.CheckPods(n.Input()) != nil {
		return nil
	}
	pods := slices.Concat(staticpod.Etcd.NodeItems(n), staticpod.ControlPlane.NodeItems(n))
	pods = slices.DeleteFunc(pods, func(it state.Item) bool { return it.Kind != state.KindStaticPod })
	for _, it := range host.Images.NodeItems(n) {
		if slices.ContainsFunc(pods, func(pod state.Item) bool { return pod.Attributes.Get("image").AsString() == it.Address.ID() }) {
			pods = append(pods, it)
		}
	}
	return pods
}

// WaypointChanges returns the changes from seen to the waypoint, the changed items under the
// waypoint's address, and the snapshot at the waypoint.
func WaypointChanges(w *topology.Waypoint, seen *state.Snapshot) ([]planner.Change, []state.Item, *state.Snapshot) {
	desired := &state.Snapshot{Items: slices.Clone(w.Items)}
	desired.Sort()
	observed := observe.Observed(w.Fleet, desired, &state.Snapshot{})
	OverlayAttributes(observed, seen)
	changes := diff.Changes(desired, observed, &state.Snapshot{})
	var kept []state.Item
	for i := range changes {
		it := *desired.Find(changes[i].Address)
		it.Address.Waypoint, changes[i].Address.Waypoint = w.Version, w.Version
		if it.Kind == state.KindStaticPod && changes[i].Action == planner.Create {
			changes[i].Reason = cmp.Or(w.Missing, planner.ReasonIncomplete)
		}
		if !it.Sealed.IsZero() {
			it.Sealed.Ref = sensitive.Reference(it.Address, sensitive.ContentField)
		}
		kept = append(kept, it)
	}
	return changes, kept, desired
}

// OverlayAttributes replaces observed attributes with those of seen.
func OverlayAttributes(observed, seen *state.Snapshot) {
	for i := range observed.Items {
		if it := seen.Find(observed.Items[i].Address); it != nil {
			observed.Items[i].Attributes = it.Attributes
		}
	}
}

// waypointPhases are the phases of a waypoint, in order.
var waypointPhases = []topology.Phase{host.Images, staticpod.Etcd, staticpod.ControlPlane}

// waypoint adds the steps of a waypoint to the draft: the control planes one at a time, after all
// steps of the previous waypoint.
func waypoint(b *topology.Builder, c *topology.Cluster, w *topology.Waypoint, before []state.Address) {
	previous := before
	for _, n := range w.Cluster().InTurn() {
		for _, p := range waypointPhases {
			id := w.Step(n.Target, p.Name)
			needs := []state.Address{topology.StepAddress(n.Target, topology.PreparePhase)}
			if p.Name != topology.ImagesPhase {
				needs = slices.Concat(previous, staticpod.ImagesOf(c, n.Target))
				b.Draft.Turns[id] = allImages(c)
			}
			if p.Name == topology.ControlPlanePhase {
				needs = append(needs, w.Step(n.Target, topology.EtcdPhase))
			}
			var s planner.Step
			if changes := workAt(b, w, n, p.Name); !changes.Empty() {
				s = p.NodeStep(n, changes)
			}
			b.Add(id, s, needs)
		}
		if proof := w.Step(n.Target, topology.WaitControlPlanePhase); n.Fails() && w == c.Up.Way[0] {
			b.Add(proof, staticpod.ProofStep(n, workAt(b, w, n, topology.WaitControlPlanePhase)), w.Proved(n)[:2])
		}
		previous = w.Proved(n)
	}
}

// workAt returns the work of a phase on a node at a waypoint.
func workAt(b *topology.Builder, w *topology.Waypoint, n *topology.Node, phase string) topology.PhaseWork {
	return topology.PhaseWork{
		Changes: b.Changes[w.Step(n.Target, phase)], Desired: b.Desired,
		Peer: func(other string) []planner.Change { return b.Changes[w.Step(n.Target, other)] },
	}
}

// allImages returns the steps that bring images of all versions to the hosts: all hosts have their
// images before the first risky step.
func allImages(c *topology.Cluster) []state.Address {
	var out []state.Address
	for _, n := range c.Nodes {
		if n.Upgrades() {
			out = append(out, staticpod.ImagesOf(c, n.Target)...)
		}
	}
	return out
}
