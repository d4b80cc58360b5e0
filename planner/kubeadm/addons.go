package kubeadm

import (
	"encoding/json"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubewright/kubewright/state"
)

// Addons returns CoreDNS and kube-proxy only, of a configuration that Check has not seen yet.
func Addons(in Input) ([]Object, error) { return in.settings().addonObjects() }

// addonObjects returns the objects of CoreDNS and kube-proxy, unless disabled.
func (s *settings) addonObjects() ([]Object, error) {
	var out []Object
	if !s.DNS.Disabled {
		objects, err := coreDNS{s}.objects()
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	if !s.KubeProxy.Disabled {
		objects, err := kubeProxy{s}.objects()
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// patched applies the patches of a target to an object. Like kubeadm, which decodes the result into
// the object's Go type, it drops fields that the type does not have, and fails for values that do
// not fit.
func patched[T any](s *settings, o Object, target string) (Object, error) {
	patches := s.patches(target)
	if len(patches) == 0 {
		return o, nil
	}
	content, err := json.Marshal(o.Object)
	if err != nil {
		return o, err
	}
	content, typed, err := readPatched(content, patches, o.Ref.Kind+" "+o.Ref.Name, func(b []byte, o *T) error { return utiljson.Unmarshal(b, o) })
	if err != nil {
		return o, err
	}
	if err := o.Object.UnmarshalJSON(content); err != nil {
		return o, err
	}
	o.Object = known(o.Object, tree(typed))
	return o, nil
}

// known drops the fields of a tree that the object's Go type does not have.
func known(v, typed state.Value) state.Value {
	switch {
	case v.Kind() == state.KindMap && typed.Kind() == state.KindMap:
		m := fieldMap{}
		for k, e := range v.AsMap() {
			if t, ok := typed.AsMap()[k]; ok {
				m[k] = known(e, t)
			}
		}
		return state.Map(m)
	case v.Kind() == state.KindList && len(v.AsList()) == len(typed.AsList()):
		list := make([]state.Value, len(v.AsList()))
		for i, e := range v.AsList() {
			list[i] = known(e, typed.AsList()[i])
		}
		return state.List(list...)
	}
	return v
}
