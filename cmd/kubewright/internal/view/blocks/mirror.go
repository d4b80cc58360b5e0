package blocks

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// repeatedObjects reports whether a cluster changes only in the objects that repeat what its
// nodes are shown to get, and names them.
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

// valueSet are values that come or go, as a plan shows them.
type valueSet map[namedValue]bool

// namedValue is a value with the name of the setting or argument that has it. The name
// is empty for any.
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

// configHash is the annotation in which kubeadm notes whether somebody has edited a
// configuration: it follows from the rest of the object.
const configHash = "kubeadm.kubernetes.io/component-config.hash"

// repeats reports whether all of what changes in an attribute is among the values: of the
// same name, or one that says by itself what it is, as an address or a path does.
func (s valueSet) repeats(a planner.AttributeChange) bool {
	values, all := changedLeaves(a)
	changes := len(values) > 0
	replaced := !compound(a.Before) && !compound(a.After) && !a.After.IsNull()
	for _, v := range values {
		if v.name == configHash || v.removed && replaced {
			continue // what is hashed says it, and so does the new value
		}
		telling := strings.ContainsAny(v.text, "./:")
		if !s[v] && (!telling || !s[namedValue{removed: v.removed, text: v.text}]) {
			return false
		}
	}
	return all && changes
}

// changedLeaves returns the leaves of a changed attribute that are not on both of its sides.
// All is false when there are more: what is not known yet.
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

// leaves collects the leaves of a value by the names of what they belong to, and tells
// whether all of them are known. An argument of kubeadm is a name and a value.
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
