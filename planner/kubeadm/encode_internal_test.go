package kubeadm

import (
	"math"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// TestMarshalYAMLMatchesKubeadm checks that the encoding is byte-identical to kubeadm's.
func TestMarshalYAMLMatchesKubeadm(t *testing.T) {
	t.Parallel()
	port := int32(6443)
	for name, object := range map[string]any{
		"nothing": map[string]any{},
		"numbers": map[string]any{"int": 7, "big": int64(math.MaxInt64), "float": 0.1, "round": 5.0, "tiny": 1e-9, "huge": 1e30, "negative": -3},
		"words": map[string]any{
			"yes": "yes", "number": "017", "float": "1e3", "null": "null", "empty": "", "markup": "<a href='x'>&\u2028</a>",
			"lines": "one\ntwo\n", "tab": "\ta: b", "long": "a long line that an encoder might be tempted to fold because it does not fit on a screen of eighty columns",
			"unicode": "Zürich \U0001f600", "colon": "a: b #c", "time": "2026-01-02T03:04:05Z",
		},
		"lists": []any{nil, true, []any{}, []any{1, "a"}, map[string]any{"b": 1, "a": nil}},
		"a pod": corev1.Pod{Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64),
			Containers: []corev1.Container{{
				Name: "c", Command: []string{"--a=b", "--c"}, Ports: []corev1.ContainerPort{{ContainerPort: port}},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("1e3")}},
			}},
		}},
	} {
		got, err := marshalYAML(object)
		want, wantErr := yaml.Marshal(object)
		if err != nil || wantErr != nil || string(got) != string(want) {
			t.Errorf("%s is written as\n%s(%v), want\n%s(%v)", name, got, err, want, wantErr)
		}
	}
}

// TestPodYAMLKeepsEveryField checks that the detour through protobuf loses nothing of a pod, whichever of its
// fields is set.
func TestPodYAMLKeepsEveryField(t *testing.T) {
	t.Parallel()
	var pod corev1.Pod
	compare := func(what string) {
		got, err := podYAML(&pod)
		want, wantErr := marshalYAML(pod)
		if err != nil || wantErr != nil || string(got) != string(want) {
			t.Errorf("%s is written as\n%s(%v), want\n%s(%v)", what, got, err, want, wantErr)
		}
	}
	fields := reflect.ValueOf(&pod.Spec).Elem()
	for i := range fields.NumField() {
		pod = corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
		fill(fields.Field(i))
		compare(fields.Type().Field(i).Name)
	}
	fill(reflect.ValueOf(&pod).Elem())
	compare("a pod with everything")
}

// fill sets every field of a value.
func fill(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *resource.Quantity:
		*x = resource.MustParse("250m")
		return
	case *metav1.Time:
		*x = metav1.Unix(1_700_000_000, 0)
		return
	case *metav1.FieldsV1: // it has its own JSON
		x.SetRawString("{}")
		return
	case *intstr.IntOrString:
		*x = intstr.FromString("80")
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	default:
		panic("a pod holds a " + v.Type().String())
	}
}
