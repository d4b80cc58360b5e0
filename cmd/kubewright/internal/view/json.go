package view

import (
	"io"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// jsonFormat is the version of the JSON forms: that of Terraform's, whose readers
// read these. Fields are added without another number; the first one grows with a
// change that breaks readers.
const jsonFormat = "1.2"

// OutputsJSON prints outputs for programs.
func OutputsJSON(w io.Writer, outputs map[string]state.Value) error {
	return WriteJSON(w, outputsJSON(outputs))
}

// StateJSON prints the state for programs.
func StateJSON(w io.Writer, st *state.State) error {
	type resource struct {
		Address string                 `json:"address"`
		Mode    string                 `json:"mode"`
		Type    string                 `json:"type"`
		Name    string                 `json:"name"`
		Index   *string                `json:"index,omitempty"`
		Node    *state.RecordedNode    `json:"node,omitempty"`
		Cluster *state.RecordedCluster `json:"cluster,omitempty"`
		Values  tree                   `json:"values"`
	}
	resources := []resource{}
	for _, t := range StateTargets(st) {
		r := resource{Address: t.String(), Mode: "managed", Type: t.Type, Name: t.Name, Node: st.Nodes[t], Values: tree{}}
		if t.Keyed {
			r.Index = &t.Key
		}
		if t.Type == state.TypeCluster {
			r.Cluster = st.Clusters[t.Name]
		}
		for _, it := range st.Items {
			if it.Address.Target == t {
				r.Values.put([]string{it.Address.Phase, it.Address.Item}, known(it.Attributes), true)
			}
		}
		resources = append(resources, r)
	}
	return WriteJSON(w, map[string]any{
		"format_version": jsonFormat, "kubewright_version": st.ToolVersion, "lineage": st.Lineage, "serial": st.Serial,
		"values": map[string]any{"outputs": outputsJSON(st.Outputs), "resources": resources},
	})
}

// ValidateJSON prints findings for programs, as one document.
func ValidateJSON(w io.Writer, list diag.Diagnostics, source func(file string) []byte) error {
	return WriteJSON(w, struct {
		FormatVersion string      `json:"format_version"`
		Valid         bool        `json:"valid"`
		Errors        int         `json:"error_count"`
		Warnings      int         `json:"warning_count"`
		Diagnostics   []diag.JSON `json:"diagnostics"`
	}{jsonFormat, !list.HasErrors(), len(list.Errors()), len(list.Warnings()), list.JSON(source)})
}
