package pki

import (
	"maps"
	"strconv"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Who may read a private key is put right without touching what is in its file: no
// phase hears of it, or it would issue, bring or restart something for it.

// KeyMode is the mode of files that hold a private key, as kubeadm has it.
const KeyMode = "0600"

// withKeyAccess adds to a desired certificate whose key is to lie beside it who may
// read that.
func withKeyAccess(it state.Item) state.Item {
	m := maps.Clone(it.Attributes.AsMap())
	m[planner.KeyMode], m[planner.KeyOwner] = state.String(KeyMode), state.String(topology.Root)
	it.Attributes = state.Map(m)
	return it
}

// ObserveKeyAccess adds who may read the key to an observed certificate of which that
// is wanted.
func ObserveKeyAccess(it *state.Item, attrs state.Value, r *state.Report) state.Value {
	mode, owner := it.Attributes.Get(planner.KeyMode), it.Attributes.Get(planner.KeyOwner)
	if mode.IsNull() || owner.IsNull() {
		return attrs
	}
	m := maps.Clone(attrs.AsMap())
	if f := r.Files[it.Address.ID()+".key"]; f.Exists { // a key that is missing is told of as such
		mode, owner = FileAccess(f, mode, owner)
	}
	m[planner.KeyMode], m[planner.KeyOwner] = mode, owner
	return state.Map(m)
}

// FileAccess returns who may read a file with a private key, as it compares with what is wanted.
// A mode that allows less is as good. Of a symbolic link, whose own mode says nothing,
// the file counts that it leads to; where it leads to none nobody can read anything.
func FileAccess(f state.FileReport, mode, owner state.Value) (state.Value, state.Value) {
	if f.Type == "link" {
		if f.Target == "" {
			return mode, owner
		}
		f.Mode, f.Owner = f.TargetMode, f.TargetOwner
	}
	if !within(f.Mode, mode.AsString()) {
		mode = state.String(f.Mode)
	}
	return mode, state.String(f.Owner)
}

// within reports whether a mode allows nothing that another one does not.
func within(mode, other string) bool {
	have, err := strconv.ParseUint(mode, 8, 16)
	want, otherErr := strconv.ParseUint(other, 8, 16)
	return err == nil && otherErr == nil && have&^want == 0
}

// FileMode returns the mode of a file as it compares with what is wanted. Of what only root
// reads one that allows less is as good: hosts are hardened so.
func FileMode(it *state.Item, f state.FileReport) string {
	want := it.Attributes.Get("mode").AsString()
	if it.Kind != state.KindFile && within(f.Mode, want) {
		return want
	}
	return f.Mode
}

// KeptModes has files that are there keep a stricter mode when they are written.
func KeptModes(n *topology.Node, ops []planner.Operation) []planner.Operation {
	for i, op := range ops {
		if w, ok := op.(planner.WriteFile); ok && within(n.Report.Files[w.Path].Mode, w.Mode) {
			w.Mode = n.Report.Files[w.Path].Mode
			ops[i] = w
		}
	}
	return ops
}

// SetAccess returns a change without what it says of who may read a key, and the operation
// that puts that right; nil when it says nothing of it.
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
	if f.Type == "link" { // what is put right is the file, and links are never followed to it
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
