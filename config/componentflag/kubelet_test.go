package componentflag

import (
	"reflect"
	"strings"
	"testing"

	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/kubewright/kubewright/state"
)

// TestKubeletFieldsExist checks that each flag's field is one of a KubeletConfiguration, of the flag's type.
func TestKubeletFieldsExist(t *testing.T) {
	t.Parallel()
	for name, field := range kubeletFields {
		at := reflect.TypeFor[kubeletconfig.KubeletConfiguration]()
		for _, part := range strings.Split(field, ".") {
			if at = fieldOf(at, part); at == nil {
				t.Fatalf("--%s: there is no field %s", name, field)
			}
		}
		flag, known := Flags["kubelet"][name]
		want := "string"
		switch value, _ := asField(flag.Type, "1"); value.(type) {
		case int64:
			want = "int"
		case bool:
			want = "bool"
		case []any:
			want = "slice"
		case nil, map[string]any:
			want = "map"
		}
		found := at.Kind().String()
		if at.Name() == "Duration" {
			found = "string"
		}
		if !known || !strings.HasPrefix(found, want) {
			t.Errorf("--%s is a %s (known: %v), and %s a %s", name, want, known, field, found)
		}
	}
}

// fieldOf returns the type of a field of a struct by its name in JSON; nil if there is none.
func fieldOf(of reflect.Type, name string) reflect.Type {
	for f := range of.Fields() {
		tag, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "" && strings.Contains(rest, "inline") {
			if found := fieldOf(f.Type, name); found != nil {
				return found
			}
		}
		if tag == name {
			found := f.Type
			if found.Kind() == reflect.Pointer {
				found = found.Elem()
			}
			return found
		}
	}
	return nil
}

func TestKubeletFlagsReadAsTheirFields(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for _, c := range []struct {
		name, value string
		want        any
	}{
		{"max-pods", "60", m{"maxPods": int64(60)}},
		{"max-pods", "many", nil},
		{"cgroups-per-qos", "f", m{"cgroupsPerQOS": false}},
		{"authorization-mode", "Webhook", m{"authorization": m{"mode": "Webhook"}}},
		{"eviction-hard", "memory.available<200Mi, nodefs.available<10%", m{"evictionHard": m{"memory.available": "200Mi", "nodefs.available": "10%"}}},
		{"eviction-hard", "memory.available=200Mi", nil},
		{"eviction-hard", "memory.available<200Mi,", m{"evictionHard": m{"memory.available": "200Mi"}}},
		{"kube-reserved", "cpu=100m,memory=1Gi", m{"kubeReserved": m{"cpu": "100m", "memory": "1Gi"}}},
		{"enforce-node-allocatable", "pods,kube-reserved", m{"enforceNodeAllocatable": []any{"pods", "kube-reserved"}}},
		{"node-ip", "10.0.0.1", nil},
	} {
		want := state.Null()
		if c.want != nil {
			want = state.FromGo(c.want)
		}
		if got := KubeletTree(c.name, c.value); !got.Equal(want) {
			t.Errorf("--%s=%s is %v, want %v", c.name, c.value, got.Go(), c.want)
		}
	}
}
