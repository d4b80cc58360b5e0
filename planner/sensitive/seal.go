package sensitive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// User secrets are rendered into files and objects like everything else, and removed right after
// that. All phases produce their items a second time, from a counterpart of the configuration with
// other secrets: a leaf with another result contains a secret. It is sealed: in diffs, plan, state
// and journal a reference to the item and a keyed fingerprint replace it. The performer resolves
// the item's content again (Reveal). Observed values of such leaves are covered in the same way
// before they are compared.

// ContentField and HashField are fields of a reference that are no attributes: the whole content,
// and the hash by which a kubelet identifies a static pod.
const (
	ContentField = "$content"
	HashField    = "$hash"
	RefPrefix    = "config:"
)

func Reference(a state.Address, field string) string {
	return RefPrefix + a.WithField(field).String()
}

// Seal seals the sensitive parts of items. An item without a counterpart is sealed wherever it can
// hold a secret: the counterpart of the configuration could not be rendered.
func Seal(v *topology.Fleet, items, substitution []state.Item) {
	byAddress := map[state.Address]*state.Item{}
	for i := range substitution {
		byAddress[substitution[i].Address] = &substitution[i]
	}
	for i := range items {
		swapped := byAddress[items[i].Address]
		if swapped == nil {
			if items[i].Content == nil && items[i].Kind != state.KindNodeObject {
				continue
			}
			bare := state.Map(map[string]state.Value{"mode": items[i].Attributes.Get("mode"), "owner": items[i].Attributes.Get("owner")})
			swapped = &state.Item{Attributes: bare}
		}
		sealItem(v, &items[i], swapped)
	}
}

func sealItem(v *topology.Fleet, it, swapped *state.Item) {
	s := sealer{key: v.Key, address: it.Address}
	it.Attributes = s.differing("", it.Attributes, swapped.Attributes)
	if it.Content == nil || bytes.Equal(it.Content, swapped.Content) {
		return
	}
	it.Sealed = state.Sensitive{Ref: Reference(it.Address, ContentField), Fingerprint: v.Key.Sum(it.Content)}
	if it.Kind == state.KindObject {
		other := ParsedObject(swapped.Content)
		if other.IsNull() {
			other = identity(ParsedObject(it.Content))
		}
		it.Outline = s.differing("", ParsedObject(it.Content), other)
	}
}

// identity returns the fields that identify an object.
func identity(object state.Value) state.Value {
	meta := map[string]state.Value{"name": object.Get("metadata.name"), "namespace": object.Get("metadata.namespace")}
	return state.Map(map[string]state.Value{
		"apiVersion": object.Get("apiVersion"), "kind": object.Get("kind"), "metadata": state.Map(meta),
	})
}

func ParsedObject(object []byte) state.Value {
	var v state.Value
	if len(object) > 0 && v.UnmarshalJSON(object) != nil {
		panic("internal error: the content of an object is no JSON")
	}
	return v
}

// sealer seals leaves of one item.
type sealer struct {
	key     state.Key
	address state.Address
}

func (s sealer) leaf(path string, v state.Value) state.Value {
	if v.IsNull() || v.IsPending() {
		return v
	}
	return state.SensitiveValue(Reference(s.address, path), s.key.Fingerprint(v))
}

// differing seals the leaves of a value that differ from its counterpart.
func (s sealer) differing(path string, v, swapped state.Value) state.Value {
	if v.Equal(swapped) {
		return v
	}
	switch v.Kind() {
	case state.KindMap:
		m := map[string]state.Value{}
		for k, e := range v.AsMap() {
			m[k] = s.differing(state.JoinPath(path, k), e, swapped.AsMap()[k])
		}
		return state.Map(m)
	case state.KindList:
		list := make([]state.Value, len(v.AsList()))
		for i, e := range v.AsList() {
			var other state.Value
			if len(swapped.AsList()) == len(list) {
				other = swapped.AsList()[i]
			}
			list[i] = s.differing(state.JoinPath(path, strconv.Itoa(i)), e, other)
		}
		return state.List(list...)
	case state.KindArgs:
		return s.differingArgs(path, v.AsArgs(), swapped.AsArgs())
	}
	return s.leaf(path, v)
}

// differingArgs seals the arguments whose name and value the counterpart lacks, and all others with
// the same name: later it is unknown which of several is which.
func (s sealer) differingArgs(path string, args, swapped []state.Arg) state.Value {
	has, sealed := map[state.Arg]bool{}, map[string]bool{}
	for _, a := range swapped {
		has[a] = true
	}
	for _, a := range args {
		sealed[a.Name] = sealed[a.Name] || !has[a]
	}
	out := make([]state.Arg, len(args))
	for i, a := range args {
		out[i] = a
		switch {
		case !sealed[a.Name]:
		case bareWord(a):
			out[i].Name, out[i].Hidden = "argument "+strconv.Itoa(i), s.leaf(path, state.String(a.Name)).AsSensitive()
		default:
			out[i].Value, out[i].Hidden = "", s.leaf(state.JoinPath(path, a.Name), state.String(a.Value)).AsSensitive()
		}
	}
	return state.Args(out)
}

// bareWord reports whether an argument has no dashes or value: its name is the whole word, quoted.
func bareWord(a state.Arg) bool { return strings.HasPrefix(a.Name, `"`) }

// Cover hides the observed values of an item where its desired or recorded values are sensitive.
func Cover(v *topology.Fleet, it *state.Item, seen state.Value, like ...state.Value) state.Value {
	var with []state.Value
	for _, l := range like {
		if l.HasSensitive() {
			with = append(with, l)
		}
	}
	if len(with) == 0 {
		return seen
	}
	if it.Kind != state.KindFile && seen.Get("content").Kind() == state.KindString {
		// The file could not be parsed, so its text may contain the secret.
		m := maps.Clone(seen.AsMap())
		m["content"] = v.Key.Cover(m["content"])
		return state.Map(m)
	}
	return covered(v, seen, like)
}

func covered(v *topology.Fleet, seen state.Value, like []state.Value) state.Value {
	secret, whole := false, false
	for _, l := range like {
		secret = secret || l.HasSensitive()
		whole = whole || l.Kind() == state.KindSensitive || l.HasSensitive() && l.Kind() != seen.Kind()
	}
	if !secret {
		return seen
	}
	if whole {
		return v.Key.Cover(seen)
	}
	switch seen.Kind() {
	case state.KindMap:
		m := map[string]state.Value{}
		for k, e := range seen.AsMap() {
			m[k] = covered(v, e, children(like, func(l state.Value) state.Value { return l.AsMap()[k] }))
		}
		return state.Map(m)
	case state.KindList:
		return coveredList(v, seen, like)
	case state.KindArgs:
		return coveredArgs(v, seen.AsArgs(), like)
	}
	return seen
}

func children(like []state.Value, of func(state.Value) state.Value) []state.Value {
	out := make([]state.Value, len(like))
	for i, l := range like {
		out[i] = of(l)
	}
	return out
}

// coveredList matches elements by name if all desired ones have one, as a diff does, otherwise by
// index. Elements without a match are covered leaf by leaf.
func coveredList(v *topology.Fleet, seen state.Value, like []state.Value) state.Value {
	list := make([]state.Value, len(seen.AsList()))
	byName := named(like)
	for i, e := range seen.AsList() {
		found := false
		match := children(like, func(l state.Value) state.Value {
			for j, x := range l.AsList() {
				if byName && x.Get("name").Equal(e.Get("name")) || !byName && i == j && len(l.AsList()) == len(list) {
					found = true
					return x
				}
			}
			return state.Value{}
		})
		if found {
			list[i] = covered(v, e, match)
		} else {
			list[i] = allCovered(v, e, byName)
		}
	}
	return state.List(list...)
}

// named reports whether all elements of all lists have a name that is not secret, and that no other
// element of their list has.
func named(lists []state.Value) bool {
	for _, l := range lists {
		names := map[string]bool{}
		for _, e := range l.AsList() {
			name := e.Get("name").AsString()
			if name == "" || names[name] {
				return false
			}
			names[name] = true
		}
	}
	return true
}

// allCovered covers every leaf, except names if butName is set.
func allCovered(v *topology.Fleet, seen state.Value, butName bool) state.Value {
	switch seen.Kind() {
	case state.KindMap:
		m := map[string]state.Value{}
		for k, e := range seen.AsMap() {
			if m[k] = e; k != "name" || !butName {
				m[k] = allCovered(v, e, butName)
			}
		}
		return state.Map(m)
	case state.KindList:
		list := make([]state.Value, len(seen.AsList()))
		for i, e := range seen.AsList() {
			list[i] = allCovered(v, e, butName)
		}
		return state.List(list...)
	}
	return v.Key.Cover(seen)
}

func coveredArgs(v *topology.Fleet, seen []state.Arg, like []state.Value) state.Value {
	hidden := map[string]bool{}
	for _, l := range like {
		for _, a := range l.AsArgs() {
			hidden[a.Name] = hidden[a.Name] || !a.Hidden.IsZero()
		}
	}
	out := make([]state.Arg, len(seen))
	for i, a := range seen {
		out[i] = a
		switch {
		case hidden[a.Name]:
			out[i].Value, out[i].Hidden = "", v.Key.Cover(state.String(a.Value)).AsSensitive()
		case hidden["argument "+strconv.Itoa(i)] && bareWord(a):
			out[i].Name, out[i].Hidden = "argument "+strconv.Itoa(i), v.Key.Cover(state.String(a.Name)).AsSensitive()
		}
	}
	return state.Args(out)
}

// Scrub covers secrets that were observed in other places: one that an administrator moved to
// another variable, or wrote into a file by hand.
func Scrub(v *topology.Fleet, changes []planner.Change) {
	if v.Config.Secrets.IsZero() {
		return
	}
	for _, c := range changes {
		for i := range c.Attributes {
			a := &c.Attributes[i]
			a.Before = Scrubbed(v, a.Before)
			if c.Reason == planner.ReasonDrift {
				a.After = Scrubbed(v, a.After)
			}
		}
	}
}

func Scrubbed(v *topology.Fleet, x state.Value) state.Value {
	switch x.Kind() {
	case state.KindString, state.KindNumber:
		if v.Config.Secrets.Finds(x.AsString()) {
			return v.Key.Cover(x)
		}
	case state.KindMap:
		m := map[string]state.Value{}
		for k, e := range x.AsMap() {
			m[k] = Scrubbed(v, e)
		}
		return state.Map(m)
	case state.KindList:
		list := make([]state.Value, len(x.AsList()))
		for i, e := range x.AsList() {
			list[i] = Scrubbed(v, e)
		}
		return state.List(list...)
	case state.KindArgs:
		args := make([]state.Arg, len(x.AsArgs()))
		for i, a := range x.AsArgs() {
			if args[i] = a; v.Config.Secrets.Finds(a.Value) {
				args[i].Value, args[i].Hidden = "", v.Key.Cover(state.String(a.Value)).AsSensitive()
			}
		}
		return state.Args(args)
	}
	return x
}

// Inlined returns content as a plan holds it: the content itself, or a reference if it is sealed.
func Inlined(it *state.Item, content []byte) (c planner.Content, digest string) {
	if !it.Sealed.IsZero() {
		return planner.Content{Ref: it.Sealed.Ref, Fingerprint: it.Sealed.Fingerprint}, ""
	}
	sum := sha256.Sum256(content)
	return planner.Content{Inline: string(content)}, hex.EncodeToString(sum[:])
}
