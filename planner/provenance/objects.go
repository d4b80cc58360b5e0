package provenance

import (
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// ObjectItem returns a desired object: kubewright owns only the leaves that it sets, but every
// document inside a ConfigMap as a whole.
func ObjectItem(t state.Target, phase string, ref state.ObjectRef, object state.Value) state.Item {
	it := state.Item{
		Address: topology.ItemAddress(t, phase, "object", ref.String()), Kind: state.KindObject, Partial: true,
		Attributes: ObjectAttributes(ref, object), Content: []byte(topology.Must(object.MarshalJSON())),
	}
	for _, key := range it.Attributes.Get("data").Keys() {
		it.Exact = append(it.Exact, state.JoinPath("data", key))
	}
	return it
}

// ObjectAttributes returns the object in the form in which it is compared: without what the address
// already contains, and with the documents of a ConfigMap as trees.
func ObjectAttributes(ref state.ObjectRef, object state.Value) state.Value {
	m := map[string]state.Value{}
	for k, e := range object.AsMap() {
		switch k {
		case "apiVersion", "kind", "status":
		case "metadata":
			meta := map[string]state.Value{}
			for _, key := range []string{"labels", "annotations"} {
				if v := e.Get(key); !v.IsNull() {
					meta[key] = v
				}
			}
			if len(meta) > 0 {
				m[k] = state.Map(meta)
			}
		case "data":
			if ref.Kind == "ConfigMap" {
				e = documents(e)
			}
			m[k] = e
		default:
			m[k] = e
		}
	}
	return state.Map(m)
}

// documents parses the values of a ConfigMap that are YAML maps.
func documents(data state.Value) state.Value {
	m := make(map[string]state.Value, len(data.AsMap()))
	for k, v := range data.AsMap() {
		m[k] = document(v)
	}
	return state.Map(m)
}

// document parses a value of a ConfigMap that is a YAML map.
func document(v state.Value) state.Value {
	if tree, err := kubeadm.YAMLDocument([]byte(v.AsString())); err == nil && len(tree.AsMap()) > 0 {
		return tree
	}
	return v
}

// SystemConfigMap returns the reference to a ConfigMap of kube-system.
func SystemConfigMap(name string) state.ObjectRef {
	return state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: name}
}

// DocumentIn returns a document inside a ConfigMap; null if it is missing.
func DocumentIn(object state.Value, key string) state.Value {
	return document(object.Get("data").AsMap()[key])
}
