package phases

import (
	"slices"

	"github.com/kubewright/kubewright/state"
)

// Attributes of kubelets that go without saying: they are wanted of one that has lost
// something, and otherwise nobody speaks of them.
const (
	// registeredAttr of a kubelet's unit tells that its Node is there.
	registeredAttr = "registered"
	// usableAttr of a kubelet's certificate tells that the kubelet would find it, and its
	// kubeconfig, when it starts.
	usableAttr = "usable"
)

// asLeft is what is recorded with what the last apply has left without a word of it: a
// kubelet whose version was seen in the API had a Node, and one whose certificate is
// remembered could use that. It was somebody else who took it away.
func (v *View) asLeft(desired *state.Snapshot) *state.Snapshot {
	out := v.recorded
	for i := range v.recorded.Items {
		was := &v.recorded.Items[i]
		name := ""
		switch {
		case was.Kind == state.KindUnit && !was.Attributes.Get("version").IsNull():
			name = registeredAttr
		case was.Kind == state.KindCertificate && was.Address.ID() == kubeletClientCert:
			name = usableAttr
		}
		if name == "" || !was.Attributes.Get(name).IsNull() {
			continue
		}
		want := desired.Find(was.Address)
		if want == nil || want.Attributes.Get(name).IsNull() {
			continue
		}
		if out == v.recorded {
			out = &state.Snapshot{Items: slices.Clone(v.recorded.Items)}
			out.Sort()
		}
		out.Find(was.Address).Attributes = with(was.Attributes, name, true)
	}
	return out
}

// spokenOf is what the state says of an attribute that goes without saying, since a
// refresh-only apply has learned it or an apply was cut short; null for nothing.
func (v *View) spokenOf(a state.Address, name string) state.Value {
	was := v.recorded.Find(a)
	if was == nil {
		return state.Null()
	}
	return was.Attributes.Get(name)
}

// observeRegistered adds whether a kubelet's Node is there, where that is spoken of.
func (n *node) observeRegistered(a state.Address, seen state.Value) state.Value {
	was := n.cluster.view.spokenOf(a, registeredAttr)
	switch {
	case n.unregistered():
		return with(seen, registeredAttr, false)
	case was.IsNull():
		return seen
	case n.cluster.report == nil:
		return with(seen, registeredAttr, was.AsBool())
	}
	_, there := n.cluster.report.Nodes[n.name]
	return with(seen, registeredAttr, there)
}

// observeUsable adds whether a kubelet has what it is known by, where that is spoken of.
func (n *node) observeUsable(a state.Address, seen state.Value) state.Value {
	if n.bereft() == "" && n.cluster.view.spokenOf(a, usableAttr).IsNull() {
		return seen
	}
	return with(seen, usableAttr, n.bereft() == "")
}
