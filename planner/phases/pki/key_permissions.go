package pki

import (
	"maps"
	"strconv"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// The mode and owner of a private key are corrected without touching the file's content. Phases do not
// see such a change, or they would issue, bring or restart something for it.

// KeyMode is the mode of files that hold a private key, as with kubeadm.
const KeyMode = "0600"

// withKeyAccess adds to a desired certificate the mode and owner of the key beside it.
func withKeyAccess(it state.Item) state.Item {
	m := maps.Clone(it.Attributes.AsMap())
	m[planner.KeyMode], m[planner.KeyOwner] = state.String(KeyMode), state.String(topology.Root)
	it.Attributes = state.Map(m)
	return it
}

// ObserveKeyAccess adds the key's mode and owner to an observed certificate, where these are desired.
func ObserveKeyAccess(it *state.Item, attrs state.Value, r *state.Report) state.Value {
	mode, owner := it.Attributes.Get(planner.KeyMode), it.Attributes.Get(planner.KeyOwner)
	if mode.IsNull() || owner.IsNull() {
		return attrs
	}
	m := maps.Clone(attrs.AsMap())
	if f := r.Files[it.Address.ID()+".key"]; f.Exists { // a missing key is reported as missing
		mode, owner = FileAccess(f, mode, owner)
	}
	m[planner.KeyMode], m[planner.KeyOwner] = mode, owner
	return state.Map(m)
}

// FileAccess returns the mode and owner of a file with a private key, for the comparison with the
// desired ones. A stricter mode counts as equal. The mode of a symbolic link is meaningless, so its
// target's counts; a link without a target exposes nothing.
func FileAccess(f state.FileReport, mode, owner state.Value) (state.Value, state.Value) {
	if f.Type == "link" {
		if f.Target == "" {
			return mode, owner
		}
		f.Mode, f.Owner = f.TargetMode, f.TargetOwner
	}
	if !Within(f.Mode, mode.AsString()) {
		mode = state.String(f.Mode)
	}
	return mode, state.String(f.Owner)
}

// Within reports whether a mode allows nothing beyond another one.
func Within(mode, other string) bool {
	have, err := strconv.ParseUint(mode, 8, 16)
	want, otherErr := strconv.ParseUint(other, 8, 16)
	return err == nil && otherErr == nil && have&^want == 0
}

// FileMode returns the mode of a file for the comparison with the desired one. Except for plain files,
// a stricter mode counts as equal: hosts are hardened that way.
func FileMode(it *state.Item, f state.FileReport) string {
	want := it.Attributes.Get("mode").AsString()
	if it.Kind != state.KindFile && Within(f.Mode, want) {
		return want
	}
	return f.Mode
}

// KeptModes keeps the stricter mode of existing files when they are written.
func KeptModes(n *topology.Node, ops []planner.Operation) []planner.Operation {
	for i, op := range ops {
		if w, ok := op.(planner.WriteFile); ok && Within(n.Report.Files[w.Path].Mode, w.Mode) {
			w.Mode = n.Report.Files[w.Path].Mode
			ops[i] = w
		}
	}
	return ops
}

// SetAccess returns a change without the mode and owner of a key, and the operation that corrects
// these; nil when the change does not contain them.
func SetAccess(v *topology.Fleet, c planner.Change) (planner.Change, planner.Operation) {
	wrong, others := c.Access()
	if len(wrong) == 0 {
		return c, nil
	}
	path := c.Address.ID()
	if c.Address.Class() == "certificate" {
		path += ".key"
	}
	f := v.Reports[c.Address.Target].Files[path]
	if f.Type == "link" { // the target is corrected: the operation itself does not follow links
		path, f.Mode, f.Owner = f.Target, f.TargetMode, f.TargetOwner
	}
	op := planner.SetAccess{Path: path, Mode: f.Mode, Owner: f.Owner}
	for _, a := range wrong {
		if a.Path == "mode" || a.Path == planner.KeyMode {
			op.Mode = a.After.AsString()
		} else {
			op.Owner = a.After.AsString()
		}
	}
	c.Attributes = others
	return c, op
}
