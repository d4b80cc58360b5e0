package objects

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Addons applies CoreDNS, kube-proxy and the user's manifests.
var Addons = topology.Phase{
	Name: topology.AddonPhase,
	ClusterItems: func(c *topology.Cluster) []state.Item {
		return append(ObjectItems(c, topology.AddonPhase), UserAddons(c)...)
	},
	ClusterStep: addonStep,
	ClusterNeeds: func(c *topology.Cluster) []state.Address {
		if c.Up != nil {
			return kubelet.AfterControlPlanes(c)
		}
		return []state.Address{topology.StepAddress(c.Primary, topology.WaitControlPlanePhase)}
	},
}

// UserAddons returns the objects of addon blocks, in the order of their manifests.
func UserAddons(c *topology.Cluster) []state.Item {
	var items []state.Item
	for _, a := range c.Addons {
		for _, object := range a.Objects {
			o := withoutStringData(object.Value)
			it := provenance.ObjectItem(state.AddonTarget(c.Label, a.Name), topology.AddonPhase, RefOf(o), o)
			it.Origin = map[string]state.Source{"": a.Source}
			items = append(items, it)
		}
	}
	return items
}

// WithOmitted adds to an observed object of an addon the empty values that the API leaves out when it
// shows the object: they count as present, as in the manifest.
func WithOmitted(c *topology.Cluster, t state.Target, ref state.ObjectRef, shown state.Value) state.Value {
	for _, a := range c.Addons {
		if state.AddonTarget(c.Label, a.Name) != t {
			continue
		}
		for _, o := range a.Objects {
			if len(o.Omits) > 0 && RefOf(o.Value) == ref {
				return omitted(o.Omits).into("", o.Value, shown)
			}
		}
	}
	return shown
}

// omitted are paths of values that the API does not show.
type omitted []string

func (o omitted) into(path string, given, shown state.Value) state.Value {
	switch {
	case given.Kind() == state.KindMap && shown.Kind() == state.KindMap:
		out := maps.Clone(shown.AsMap())
		for key, v := range given.AsMap() {
			at := state.JoinPath(path, key)
			if s, ok := out[key]; ok {
				out[key] = o.into(at, v, s)
			} else if slices.Contains(o, at) {
				out[key] = v
			}
		}
		return state.Map(out)
	case given.Kind() == state.KindList && shown.Kind() == state.KindList:
		out := slices.Clone(shown.AsList())
		for i, v := range given.AsList() {
			if j := elementOf(out, i, v); j >= 0 {
				out[j] = o.into(state.JoinPath(path, strconv.Itoa(i)), v, out[j])
			}
		}
		return state.List(out...)
	}
	return shown
}

// elementOf returns the index of a given element among the observed ones, by its name if it has one; -1
// for none.
func elementOf(shown []state.Value, i int, given state.Value) int {
	if name := given.Get("name").AsString(); name != "" {
		return slices.IndexFunc(shown, func(v state.Value) bool { return v.Get("name").AsString() == name })
	}
	if i < len(shown) {
		return i
	}
	return -1
}

// withoutStringData moves a Secret's stringData to data, in base64, as the API shows it.
func withoutStringData(o state.Value) state.Value {
	plain := o.Get("stringData")
	if o.Get("kind").AsString() != "Secret" || plain.IsNull() {
		return o
	}
	object, data := maps.Clone(o.AsMap()), map[string]state.Value{}
	maps.Copy(data, o.Get("data").AsMap())
	for k, v := range plain.AsMap() {
		data[k] = state.String(base64.StdEncoding.EncodeToString([]byte(v.AsString())))
	}
	delete(object, "stringData")
	object["data"] = state.Map(data)
	return state.Map(object)
}

// AddonTargets returns the addons of the configuration, and those that the configuration no longer has
// and of which objects are recorded: the latter are pruned.
func AddonTargets(c *topology.Cluster) (configured, gone []state.Target) {
	for _, a := range c.Addons {
		configured = append(configured, state.AddonTarget(c.Label, a.Name))
	}
	if c.Fleet.RecordedItems == nil {
		return configured, nil
	}
	for _, it := range c.Fleet.RecordedItems.Items {
		t := it.Address.Target
		if t.Type == state.TypeAddon && t.Name == c.Label && !slices.Contains(configured, t) && !slices.Contains(gone, t) {
			gone = append(gone, t)
		}
	}
	return configured, gone
}

// AddonSteps gives each addon its own step.
func AddonSteps(b *topology.Builder, c *topology.Cluster) {
	configured, gone := AddonTargets(c)
	rests := addonNeeds(c)
	for _, t := range slices.Concat(configured, gone) {
		id := topology.StepAddress(t, topology.AddonPhase)
		w := b.Work(id)
		s := planner.Step{Via: c.Primary, Operations: addonOperations(c, w), Impact: strings.Join(append(pruneImpact(w.Changes), staysImpact(c, w.Changes)...), "; ")}
		if slices.Contains(gone, t) {
			s.Action = planner.Delete
		}
		b.Add(id, s, append(c.Needs(&Addons), rests[t]...))
	}
}

// addonNeeds returns the addons that an addon waits for: those whose manifests have the namespaces of
// its objects, or the CustomResourceDefinitions of their kinds. Of two that depend on each other only
// one waits: its apply is retried for a while.
func addonNeeds(c *topology.Cluster) map[state.Target][]state.Address {
	owner := map[string]state.Target{}
	for _, a := range c.Addons {
		for _, object := range a.Objects {
			o := object.Value
			switch o.Get("kind").AsString() {
			case "Namespace":
				owner["namespace "+o.Get("metadata.name").AsString()] = state.AddonTarget(c.Label, a.Name)
			case "CustomResourceDefinition":
				owner["kind "+o.Get("spec.group").AsString()+"/"+o.Get("spec.names.kind").AsString()] = state.AddonTarget(c.Label, a.Name)
			}
		}
	}
	needs := map[state.Target][]state.Address{}
	var reaches func(from, to state.Target) bool
	reaches = func(from, to state.Target) bool {
		return from == to || slices.ContainsFunc(needs[from], func(id state.Address) bool { return reaches(id.Target, to) })
	}
	for _, a := range c.Addons {
		t := state.AddonTarget(c.Label, a.Name)
		for _, object := range a.Objects {
			o := object.Value
			group, _, _ := strings.Cut(o.Get("apiVersion").AsString(), "/")
			for _, key := range []string{"namespace " + o.Get("metadata.namespace").AsString(), "kind " + group + "/" + o.Get("kind").AsString()} {
				if other, ok := owner[key]; ok && !reaches(other, t) && !slices.Contains(needs[t], topology.StepAddress(other, topology.AddonPhase)) {
					needs[t] = append(needs[t], topology.StepAddress(other, topology.AddonPhase))
				}
			}
		}
	}
	return needs
}

// addonOperations returns the operations of an addon in an order that the API accepts: a namespace
// before its content, and a CustomResourceDefinition before objects of its kind; otherwise in the order
// of the manifest. Pruned objects come last, in reverse order.
func addonOperations(c *topology.Cluster, w topology.PhaseWork) []planner.Operation {
	place := map[string]int{}
	for i, it := range UserAddons(c) {
		place[it.Address.String()] = i
	}
	slices.SortStableFunc(w.Changes, func(a, b planner.Change) int {
		prunedA, prunedB := a.Action == planner.Delete, b.Action == planner.Delete
		first, second := ParseRef(a.Address.ID()), ParseRef(b.Address.ID())
		switch {
		case prunedA != prunedB:
			return RankOf(prunedA) - RankOf(prunedB)
		case prunedA:
			return cmp.Or(kindOrder(second)-kindOrder(first), b.Address.Compare(a.Address))
		}
		return cmp.Or(kindOrder(first)-kindOrder(second), place[a.Address.String()]-place[b.Address.String()])
	})
	return objectOperations(c, w)
}

// kindOrder ranks kinds that others depend on first. Kinds that make the API ask a program of the addon
// about other objects come last: the program has to run first.
func kindOrder(ref state.ObjectRef) int {
	switch ref.Kind {
	case "Namespace":
		return 0
	case "CustomResourceDefinition":
		return 1
	case "APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		return 3
	}
	return 2
}

// pruneImpact names what is deleted together with pruned objects and is in no manifest.
func pruneImpact(changes []planner.Change) []string {
	var out []string
	for _, ch := range changes {
		if ch.Action != planner.Delete {
			continue
		}
		switch ref := ParseRef(ch.Address.ID()); ref.Kind {
		case "Namespace":
			out = append(out, "deletes the namespace "+ref.Name+" with everything in it")
		case "CustomResourceDefinition":
			out = append(out, "deletes "+ref.Name+" with every object of that kind")
		}
	}
	return out
}

// NotDeleted returns the rule that forgets objects instead of deleting them: those that are desired
// at another address, as an addon was renamed, an object moved to another addon, or its API version
// changed; and built-in ones.
func NotDeleted(desired *state.Snapshot, own map[state.Address]OwnObject) func(*planner.Change) bool {
	wanted := objectsOf(desired)
	return func(ch *planner.Change) bool {
		_, builtin := own[ch.Address]
		elsewhere := ch.Kind == state.KindObject && wanted[clusterObject{ch.Address.Target.Name, nameOf(ParseRef(ch.Address.ID()))}]
		if ch.Action == planner.Delete && (builtin || elsewhere) {
			ch.Action = planner.Forget
		}
		return true
	}
}

// clusterObject is an object of one of the clusters.
type clusterObject struct {
	cluster string
	objectName
}

// objectsOf returns the objects of a snapshot, regardless of their addresses.
func objectsOf(s *state.Snapshot) map[clusterObject]bool {
	out := map[clusterObject]bool{}
	for i := range s.Items {
		if it := &s.Items[i]; it.Kind == state.KindObject {
			out[clusterObject{it.Address.Target.Name, nameOf(ParseRef(it.Address.ID()))}] = true
		}
	}
	return out
}

// tokenCleanup is the waypoint of the step that deletes leftover join tokens.
const tokenCleanup = "joined"
