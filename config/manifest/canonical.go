package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	sigsjson "sigs.k8s.io/json"

	"github.com/kubewright/kubewright/state"
)

// extensions are the kinds that client-go's scheme lacks: CustomResourceDefinitions.
var extensions = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(apiextensions.AddToScheme(s))
	return s
}()

// shapeOf returns an empty object of one of Kubernetes' own kinds.
func shapeOf(kind schema.GroupVersionKind) (runtime.Object, error) {
	if o, err := scheme.Scheme.New(kind); err == nil {
		return o, nil
	}
	return extensions.New(kind)
}

// Object is an object of a manifest.
type Object struct {
	// Value is the object as given, with its values in canonical spelling.
	Value state.Value
	// Omits are the paths of values that the API omits when it returns the object, because they
	// are the zero values of their types: hostPID: false. Elements of lists are named by their
	// index.
	Omits []string
}

// Canonical spells an object as the API returns it after it was applied, so that the two can be
// compared: the API decodes an object into its types and encodes it again, which turns cpu:
// 1000m into "1". It adds nothing that the object does not have. The API keeps objects of kinds
// that are not Kubernetes' own as given.
//
// The error names a field that the kind does not have, or whose value has another
// type; the API would refuse the object.
func Canonical(o state.Value) (Object, error) {
	gvk := schema.FromAPIVersionAndKind(o.Get("apiVersion").AsString(), o.Get("kind").AsString())
	shape, err := shapeOf(gvk)
	if err != nil {
		return Object{Value: o}, nil //nolint:nilerr // the kind is not one of Kubernetes' own
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return Object{}, err
	}
	strict, err := sigsjson.UnmarshalStrict(text, shape)
	if err != nil {
		return Object{}, fmt.Errorf("%s %q: %s", gvk.Kind, o.Get("metadata.name").AsString(), strings.TrimPrefix(err.Error(), "json: "))
	}
	if len(strict) > 0 {
		var fields []string
		for _, e := range strict {
			fields = append(fields, e.Error())
		}
		slices.Sort(fields)
		return Object{}, fmt.Errorf("%s %q: %s", gvk.Kind, o.Get("metadata.name").AsString(), strings.Join(fields, ", "))
	}
	if text, err = json.Marshal(shape); err != nil {
		return Object{}, err
	}
	var shown state.Value
	if err := shown.UnmarshalJSON(text); err != nil {
		return Object{}, err
	}
	out := Object{}
	out.Value = out.respelled("", o, shown)
	return out, nil
}

// respelled returns the given value in the spelling of the encoded one. It records an empty
// value that the encoding omits; null is no value.
func (o *Object) respelled(path string, given, shown state.Value) state.Value {
	switch {
	case given.Kind() == state.KindMap && shown.Kind() == state.KindMap:
		out := map[string]state.Value{}
		for key, v := range given.AsMap() {
			if v.IsNull() {
				continue
			}
			at := state.JoinPath(path, key)
			s, ok := shown.AsMap()[key]
			if !ok {
				o.Omits = append(o.Omits, at)
				out[key] = v
				continue
			}
			out[key] = o.respelled(at, v, s)
		}
		slices.Sort(o.Omits)
		return state.Map(out)
	case given.Kind() == state.KindList && shown.Kind() == state.KindList && len(given.AsList()) == len(shown.AsList()):
		var out []state.Value
		for i, v := range given.AsList() {
			out = append(out, o.respelled(state.JoinPath(path, strconv.Itoa(i)), v, shown.AsList()[i]))
		}
		return state.List(out...)
	}
	return shown
}
