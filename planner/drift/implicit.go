package drift

import (
	"slices"

	"github.com/kubewright/kubewright/planner/phases/kubelet"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// WithImplied returns the recorded items with attributes that the last apply implied without
// recording them: a kubelet whose version the API reported had a Node, and one whose certificate is
// recorded could use it. If they are missing now, that is drift.
func WithImplied(v *topology.Fleet, desired *state.Snapshot) *state.Snapshot {
	var out *state.Snapshot
	for i := range v.RecordedItems.Items {
		was := &v.RecordedItems.Items[i]
		name := ""
		switch {
		case was.Kind == state.KindUnit && !was.Attributes.Get("version").IsNull():
			name = kubelet.RegisteredAttr
		case was.Kind == state.KindCertificate && was.Address.ID() == topology.KubeletClientCert:
			name = pki.UsableAttr
		}
		if name == "" || !was.Attributes.Get(name).IsNull() {
			continue
		}
		want := desired.Find(was.Address)
		if want == nil || want.Attributes.Get(name).IsNull() {
			continue
		}
		if out == nil {
			out = &state.Snapshot{Items: slices.Clone(v.RecordedItems.Items)}
			out.Sort()
		}
		out.Find(was.Address).Attributes = topology.WithAttribute(was.Attributes, name, true)
	}
	if out == nil {
		return v.RecordedItems
	}
	return out
}
