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

// Secrets of the user's are rendered into files and objects like everything
// else, and taken out right behind that. All phases choose their items a second
// time, from the configuration's twin, whose secrets are others: a leaf that
// comes out otherwise is made of a secret. It is sealed: a reference to the item
// and a keyed fingerprint stand for it from then on, in diffs, plan, state and
// journal. The performer has the item's content looked up again (Reveal). What
// was observed of such leaves is covered in the same way before it is compared.

// contentField and hashField are fields of a reference that no attribute has:
// the whole content, and the hash by which a kubelet knows a static pod.
const (
	ContentField = "$content"
	HashField    = "$hash"
	RefPrefix    = "config:"
)

func Reference(a state.Address, field string) string {
	return RefPrefix + a.WithField(field).String()
}

// Seal seals what is sensitive in items. Without twins everything that can hold
// a secret is sealed: what the twin's configuration says could not be rendered.
func Seal(v *topology.Fleet, items, twins []state.Item) {
	byAddress := map[state.Address]*state.Item{}
	for i := range twins {
		byAddress[twins[i].Address] = &twins[i]
	}
	for i := range items {
		twin := byAddress[items[i].Address]
		if twin == nil {
			if items[i].Content == nil && items[i].Kind != state.KindNodeObject {
				continue
			}
			bare := state.Map(map[string]state.Value{"mode": items[i].Attributes.Get("mode"), "owner": items[i].Attributes.Get("owner")})
			twin = &state.Item{Attributes: bare}
		}
		sealItem(v, &items[i], twin)
	}
}

func sealItem(v *topology.Fleet, it, twin *state.Item) {
	s := sealer{key: v.Key, address: it.Address}
	it.Attributes = s.differing("", it.Attributes, twin.Attributes)
	if it.Content == nil || bytes.Equal(it.Content, twin.Content) {
		return
	}
	it.Sealed = state.Sensitive{Ref: Reference(it.Address, ContentField), Fingerprint: v.Key.Sum(it.Content)}
	if it.Kind == state.KindObject {
		other := ParsedObject(twin.Content)
		if other.IsNull() {
			other = identity(ParsedObject(it.Content))
		}
		it.Outline = s.differing("", ParsedObject(it.Content), other)
	}
}

// identity returns what an object is found by.
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

// differing seals the leaves of a value that its twin has not, or has otherwise.
func (s sealer) differing(path string, v, twin state.Value) state.Value {
	if v.Equal(twin) {
		return v
	}
	switch v.Kind() {
	case state.KindMap:
		m := map[string]state.Value{}
		for k, e := range v.AsMap() {
			m[k] = s.differing(state.JoinPath(path, k), e, twin.AsMap()[k])
		}
		return state.Map(m)
	case state.KindList:
		list := make([]state.Value, len(v.AsList()))
		for i, e := range v.AsList() {
			var other state.Value
			if len(twin.AsList()) == len(list) {
				other = twin.AsList()[i]
			}
			list[i] = s.differing(state.JoinPath(path, strconv.Itoa(i)), e, other)
		}
		return state.List(list...)
	case state.KindArgs:
		return s.differingArgs(path, v.AsArgs(), twin.AsArgs())
	}
	return s.leaf(path, v)
}

// differingArgs seals the arguments whose name and value the twin has not, and
// all others of their name: which of several is which nobody can tell later.
func (s sealer) differingArgs(path string, args, twin []state.Arg) state.Value {
	has, sealed := map[state.Arg]bool{}, map[string]bool{}
	for _, a := range twin {
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

// bareWord tells an argument without dashes or value: its name is all of it, quoted.
func bareWord(a state.Arg) bool { return strings.HasPrefix(a.Name, `"`) }

// Cover hides what was seen of an item where what is wanted or recorded of it
// is sensitive.
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
		// A file that could not be parsed: what it says may be the secret.
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

// coveredList compares elements by name where all that are wanted have one, as
// a diff does, otherwise by place. What fits none is covered leaf by leaf.
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

// named reports whether all elements of all lists have a name that is no secret.
func named(lists []state.Value) bool {
	for _, l := range lists {
		for _, e := range l.AsList() {
			if e.Get("name").AsString() == "" {
				return false
			}
		}
	}
	return true
}

// allCovered covers every leaf, or every leaf but the name.
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

// Scrub covers what was seen elsewhere than where it belongs: a secret that
// somebody moved to another variable, or wrote into a file by hand.
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

// Inlined is content as a plan holds it: itself, or what stands for it.
func Inlined(it *state.Item, content []byte) (c planner.Content, digest string) {
	if !it.Sealed.IsZero() {
		return planner.Content{Ref: it.Sealed.Ref, Fingerprint: it.Sealed.Fingerprint}, ""
	}
	sum := sha256.Sum256(content)
	return planner.Content{Inline: string(content)}, hex.EncodeToString(sum[:])
}
