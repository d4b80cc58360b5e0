package stateview

import (
	"io"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planjson"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/state"
)

// OutputsJSON prints outputs for programs.
func OutputsJSON(w io.Writer, outputs map[string]state.Value) error {
	return ui.WriteJSON(w, planjson.Outputs(outputs))
}

// JSON prints the state for programs.
func JSON(w io.Writer, st *state.State) error {
	type resource struct {
		Address string                 `json:"address"`
		Mode    string                 `json:"mode"`
		Type    string                 `json:"type"`
		Name    string                 `json:"name"`
		Index   *string                `json:"index,omitempty"`
		Node    *state.RecordedNode    `json:"node,omitempty"`
		Cluster *state.RecordedCluster `json:"cluster,omitempty"`
		Values  planjson.Tree          `json:"values"`
	}
	resources := []resource{}
	for _, t := range Targets(st) {
		r := resource{Address: t.String(), Mode: "managed", Type: t.Type, Name: t.Name, Node: st.Nodes[t], Values: planjson.Tree{}}
		if t.Keyed {
			r.Index = &t.Key
		}
		if t.Type == state.TypeCluster {
			r.Cluster = st.Clusters[t.Name]
		}
		for _, it := range st.Items {
			if it.Address.Target == t {
				r.Values.Put([]string{it.Address.Phase, it.Address.Item}, ui.JSONValue(it.Attributes), true)
			}
		}
		resources = append(resources, r)
	}
	return ui.WriteJSON(w, map[string]any{
		"format_version": ui.JSONVersion, "kubewright_version": st.ToolVersion, "lineage": st.Lineage, "serial": st.Serial,
		"values": map[string]any{"outputs": planjson.Outputs(st.Outputs), "resources": resources},
	})
}
