package blocks

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// repeatedObjects returns the names of the objects of a cluster that changes only in those which
// repeat the changes of its nodes; nothing for another cluster.
func repeatedObjects(plan *outline.Index, c planner.ResourceChange, phases []outline.Phase) []string {
	if c.Target.Type != state.TypeCluster || c.Action != planner.Update {
		return nil
	}
	var out []string
	var changes []planner.Change
	for _, ph := range phases {
		if ph.ID.Phase != "upload-config" || ph.ID.Waypoint != "" {
			return nil
		}
		for _, ch := range ph.Changes {
			id := ch.Address.ID()
			name := id[strings.LastIndex(id, "/")+1:]
			if ch.Action != planner.Update || name != "kubeadm-config" && name != "kubelet-config" || !outline.ImpliedByAction(ch.Action, ch.Reason) {
				return nil
			}
			out = append(out, name)
		}
		changes = append(changes, ph.Changes...)
	}
	if len(changes) == 0 {
		return nil
	}
	shown := valuesOnNodes(plan, c.Target)
	for _, ch := range changes {
		if slices.ContainsFunc(ch.Attributes, func(a planner.AttributeChange) bool { return !shown.repeats(a) }) {
			return nil
		}
	}
	return out
}

// valueSet is a set of values that a plan shows as added or removed.
type valueSet map[namedValue]bool

// namedValue is a value with the name of its setting or argument; an empty name stands for any.
type namedValue struct {
	removed    bool
	name, text string
}

// valuesOnNodes returns the values that change on the nodes of a cluster.
func valuesOnNodes(x *outline.Index, cluster state.Target) valueSet {
	set := valueSet{}
	for _, r := range x.Resources {
		of := r.After["cluster"]
		if r.Target.Type != state.TypeNode || r.Action != planner.Update || of != "" && of != cluster.Name {
			continue
		}
		for _, i := range x.ChangesOf[r.Target] {
			for _, a := range x.Changes[i].Attributes {
				values, _ := changedLeaves(a)
				for _, v := range values {
					set[v] = true
					set[namedValue{removed: v.removed, text: v.text}] = true
				}
			}
		}
	}
	return set
}

// configHash is the annotation by which kubeadm notices an edited configuration. It follows from
// the rest of the object.
const configHash = "kubeadm.kubernetes.io/component-config.hash"

// repeats reports whether all changes of an attribute are in the set, under the same name or, for
// values that identify themselves, such as an address or a path, under any.
func (s valueSet) repeats(a planner.AttributeChange) bool {
	values, all := changedLeaves(a)
	changes := len(values) > 0
	replaced := !compound(a.Before) && !compound(a.After) && !a.After.IsNull()
	for _, v := range values {
		if v.name == configHash || v.removed && replaced {
			continue // a hash changes only with the value that it covers
		}
		telling := strings.ContainsAny(v.text, "./:")
		if !s[v] && (!telling || !s[namedValue{removed: v.removed, text: v.text}]) {
			return false
		}
	}
	return all && changes
}

// changedLeaves returns the leaves of a changed attribute that are on one of its sides only. All
// is false when some are not known yet.
func changedLeaves(a planner.AttributeChange) (values []namedValue, all bool) {
	path := state.SplitPath(a.Path)
	name := path[len(path)-1]
	if name == "value" && len(path) > 1 {
		name = path[len(path)-2]
	}
	before, after := map[namedValue]bool{}, map[namedValue]bool{}
	known := leaves(name, a.Before, before)
	all = leaves(name, a.After, after) && known
	for v := range after {
		if !before[v] {
			values = append(values, v)
		}
	}
	for v := range before {
		if !after[v] {
			v.removed = true
			values = append(values, v)
		}
	}
	return values, all
}

func compound(v state.Value) bool { return v.Kind() == state.KindMap || ui.IsList(v) }

// leaves collects the leaves of a value by the names of their settings, and reports whether all of
// them are known. An argument of kubeadm is a name and a value.
func leaves(name string, v state.Value, out map[namedValue]bool) bool {
	all := true
	switch v.Kind() {
	case state.KindNull:
	case state.KindPending:
		return false
	case state.KindMap:
		m := v.AsMap()
		if arg, ok := m["name"]; ok && len(m) == 2 && !m["value"].IsNull() {
			return leaves(arg.AsString(), m["value"], out)
		}
		for k, e := range m {
			all = leaves(k, e, out) && all
		}
	case state.KindList:
		for _, e := range v.AsList() {
			all = leaves(name, e, out) && all
		}
	case state.KindArgs:
		for _, arg := range v.AsArgs() {
			all = leaves(arg.Name, arg.Of(), out) && all
		}
	case state.KindString, state.KindNumber:
		out[namedValue{name: name, text: v.AsString()}] = true
	case state.KindSensitive:
		out[namedValue{name: name, text: v.AsSensitive().Ref + " " + v.AsSensitive().Fingerprint}] = true
	default:
		out[namedValue{name: name, text: ui.Inline(v)}] = true
	}
	return all
}
