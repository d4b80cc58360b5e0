package kubeadm

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// What is written is to the byte what kubeadm's way of writing gives.
func TestMarshalYAML(t *testing.T) {
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
