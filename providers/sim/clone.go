package sim

import (
	"reflect"
	"slices"
	"time"

	"github.com/kubewright/kubewright/state"
)

// Clone returns an independent copy of the world. It belongs to no file and has no hooks
// for effects and observations; other settings are copied.
func (w *World) Clone() *World {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := deep(reflect.ValueOf(w.saved())).Interface().(saved)
	out := newWorld(w.fleet.Clone(d.Hosts, d.Blobs), d)
	out.PodHash, out.Pace, out.Watch = w.PodHash, w.Pace, w.Watch
	out.effects, out.violations = w.effects, slices.Clone(w.violations)
	return out
}

// atoms are the types whose values are immutable.
var atoms = map[reflect.Type]bool{reflect.TypeFor[time.Time](): true, reflect.TypeFor[state.Value](): true}

// deep copies a value and everything that it refers to, so that later additions to the
// world are not shared by mistake. Unexported fields are copied as they are.
func deep(v reflect.Value) reflect.Value {
	switch {
	case atoms[v.Type()]:
	case v.Kind() == reflect.Pointer && !v.IsNil():
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(deep(v.Elem()))
		return out
	case v.Kind() == reflect.Struct:
		return deepStruct(v)
	case v.Kind() == reflect.Slice && !v.IsNil():
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(deep(v.Index(i)))
		}
		return out
	case v.Kind() == reflect.Map && !v.IsNil():
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for entries := v.MapRange(); entries.Next(); {
			out.SetMapIndex(entries.Key(), deep(entries.Value()))
		}
		return out
	}
	return v
}

func deepStruct(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			out.Field(i).Set(deep(v.Field(i)))
		}
	}
	return out
}
