package phases

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// addons applies CoreDNS, kube-proxy and the user's manifests.
var addons = phase{
	name:         addonPhase,
	clusterItems: func(c *cluster) []state.Item { return append(c.objectItems(addonPhase), c.userAddons()...) },
	clusterStep:  addonStep,
	clusterNeeds: func(c *cluster) []state.Address {
		if c.up != nil {
			return c.afterPlanes()
		}
		return []state.Address{step(c.seat, waitPlanePhase)}
	},
}

// userAddons are the objects of addon blocks, in the order of their manifests.
func (c *cluster) userAddons() []state.Item {
	var items []state.Item
	for _, a := range c.Addons {
		for _, object := range a.Objects {
			o := withoutStringData(object.Value)
			it := objectItem(state.AddonTarget(c.Label, a.Name), addonPhase, refOf(o), o)
			it.Origin = map[string]state.Source{"": a.Source}
			items = append(items, it)
		}
	}
	return items
}

// withOmitted puts into an object of an addon what the API leaves out when it shows
// it, because it is empty: it is there as the manifest has it.
func (c *cluster) withOmitted(t state.Target, ref state.ObjectRef, shown state.Value) state.Value {
	for _, a := range c.Addons {
		if state.AddonTarget(c.Label, a.Name) != t {
			continue
		}
		for _, o := range a.Objects {
			if len(o.Omits) > 0 && refOf(o.Value) == ref {
				return omitted(o.Omits).into("", o.Value, shown)
			}
		}
	}
	return shown
}

// omitted are paths of values that are not shown.
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

// elementOf is the place of a given element among those that are shown, by its name
// if it has one; -1 for none.
func elementOf(shown []state.Value, i int, given state.Value) int {
	if name := given.Get("name").AsString(); name != "" {
		return slices.IndexFunc(shown, func(v state.Value) bool { return v.Get("name").AsString() == name })
	}
	if i < len(shown) {
		return i
	}
	return -1
}

// withoutStringData moves a Secret's stringData to data, in base64, where the
// API shows it.
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

// addonTargets are the addons of the configuration, and behind them those that it
// has no longer and of which objects are recorded: these are pruned.
func (c *cluster) addonTargets() (configured, gone []state.Target) {
	for _, a := range c.Addons {
		configured = append(configured, state.AddonTarget(c.Label, a.Name))
	}
	if c.view.recorded == nil {
		return configured, nil
	}
	for _, it := range c.view.recorded.Items {
		t := it.Address.Target
		if t.Type == state.TypeAddon && t.Name == c.Label && !slices.Contains(configured, t) && !slices.Contains(gone, t) {
			gone = append(gone, t)
		}
	}
	return configured, gone
}

// addonSteps gives each addon of the user's a step of its own.
func (b *builder) addonSteps(c *cluster) {
	configured, gone := c.addonTargets()
	rests := c.addonNeeds()
	for _, t := range slices.Concat(configured, gone) {
		id := step(t, addonPhase)
		w := b.work(id)
		s := planner.Step{Via: c.seat, Operations: c.addonOperations(w), Impact: strings.Join(append(pruneImpact(w.changes), c.staysImpact(w.changes)...), "; ")}
		if slices.Contains(gone, t) {
			s.Action = planner.Delete
		}
		b.add(id, s, append(c.needs(&addons), rests[t]...))
	}
}

// addonNeeds are the steps that an addon waits for: those of other addons that have
// the namespaces of its objects, or the CustomResourceDefinitions of their kinds.
// Where two rest on one another only one waits: the API is asked again for a while.
func (c *cluster) addonNeeds() map[state.Target][]state.Address {
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
				if other, ok := owner[key]; ok && !reaches(other, t) && !slices.Contains(needs[t], step(other, addonPhase)) {
					needs[t] = append(needs[t], step(other, addonPhase))
				}
			}
		}
	}
	return needs
}

// addonOperations are those of an addon, in an order in which the API takes them: a
// namespace before what is in it, and a CustomResourceDefinition before objects of
// its kind; among the rest the manifest's. What is pruned goes at last, the other way round.
func (c *cluster) addonOperations(w work) []planner.Operation {
	place := map[string]int{}
	for i, it := range c.userAddons() {
		place[it.Address.String()] = i
	}
	slices.SortStableFunc(w.changes, func(a, b planner.Change) int {
		prunedA, prunedB := a.Action == planner.Delete, b.Action == planner.Delete
		first, second := parseRef(a.Address.ID()), parseRef(b.Address.ID())
		switch {
		case prunedA != prunedB:
			return rankOf(prunedA) - rankOf(prunedB)
		case prunedA:
			return cmp.Or(kindOrder(second)-kindOrder(first), b.Address.Compare(a.Address))
		}
		return cmp.Or(kindOrder(first)-kindOrder(second), place[a.Address.String()]-place[b.Address.String()])
	})
	return c.objectOperations(w)
}

// kindOrder ranks the kinds that others rest on before them, and those behind
// them that ask a program of the addon about every object: it has to run first.
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

// pruneImpact says what goes with objects that are pruned, and is in no manifest.
func pruneImpact(changes []planner.Change) []string {
	var out []string
	for _, ch := range changes {
		if ch.Action != planner.Delete {
			continue
		}
		switch ref := parseRef(ch.Address.ID()); ref.Kind {
		case "Namespace":
			out = append(out, "deletes the namespace "+ref.Name+" with everything in it")
		case "CustomResourceDefinition":
			out = append(out, "deletes "+ref.Name+" with every object of that kind")
		}
	}
	return out
}

// handedOver has objects that are wanted at another address forgotten instead of
// deleted: an addon got another name, an object another addon, or its API another version.
func handedOver(changes []planner.Change, desired *state.Snapshot) []planner.Change {
	wanted := objectsOf(desired)
	for i, ch := range changes {
		if ch.Action == planner.Delete && ch.Kind == state.KindObject && wanted[clusterObject{ch.Address.Target.Name, nameOf(parseRef(ch.Address.ID()))}] {
			changes[i].Action = planner.Forget
		}
	}
	return changes
}

// clusterObject is an object of one of the clusters.
type clusterObject struct {
	cluster string
	objectName
}

// objectsOf are the objects of a snapshot, at whichever address.
func objectsOf(s *state.Snapshot) map[clusterObject]bool {
	out := map[clusterObject]bool{}
	for i := range s.Items {
		if it := &s.Items[i]; it.Kind == state.KindObject {
			out[clusterObject{it.Address.Target.Name, nameOf(parseRef(it.Address.ID()))}] = true
		}
	}
	return out
}
