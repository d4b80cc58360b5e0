package kube_test

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/state"
)

// TestObservePlacement checks that the taints that pods tolerate, and the labels that they
// require of their node, are observed.
func TestObservePlacement(t *testing.T) {
	t.Parallel()
	affinity := func(terms ...any) object {
		return object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": terms}}}
	}
	many := slices.Repeat([]any{object{"key": "a", "operator": "Exists"}}, 65)
	for _, c := range []struct {
		name        string
		spec        object
		tolerations []state.Toleration
		selectors   []string
	}{
		{"anywhere", object{}, nil, nil},
		{"what every pod tolerates", object{"tolerations": []any{object{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}}}, nil, nil},
		{
			"taints",
			object{"tolerations": []any{object{"key": "a", "value": "b", "effect": "NoSchedule"}, object{"key": "c", "operator": "Exists"}, object{"operator": "Exists"}}},
			[]state.Toleration{{Key: "a", Value: "b", Effect: "NoSchedule"}, {Key: "c", Any: true}, {Any: true}},
			nil,
		},
		{"more than is looked into", object{"tolerations": many}, []state.Toleration{{Any: true}}, nil},
		{"labels", object{"nodeSelector": object{"disk": "fast", "arch": "amd64"}}, nil, []string{"arch=amd64,disk=fast"}},
		{
			"an affinity",
			object{"nodeSelector": object{"disk": "fast"}, "affinity": affinity(
				term(requirement("zone", "In", "a", "b"), requirement("old", "DoesNotExist")), object{"matchFields": []any{requirement("metadata.name", "NotIn", "w1")}}, object{},
			)},
			nil,
			[]string{"disk=fast,!old,zone in (a,b)", "disk=fast,metadata.name notin (w1)"},
		},
		{"one that no node can have", object{"affinity": affinity(object{})}, nil, []string{"!metadata.name"}},
		{"more terms than are looked into", object{"affinity": affinity(slices.Repeat([]any{term(requirement("a", "Exists"))}, 17)...)}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &shop{pods: []any{with(pod("web", "ReplicaSet", nil), "spec", c.spec)}}
			_, h := start(t, s.answer)
			report, err := open(t, h).Observe(t.Context(), state.ClusterQuery{PodsOn: []string{"w1"}})
			if err != nil {
				t.Fatal(err)
			}
			p := report.Pods[0]
			if !slices.Equal(p.Tolerations, c.tolerations) || !slices.Equal(p.NodeSelectors, c.selectors) {
				t.Errorf("got %+v, %q", p.Tolerations, p.NodeSelectors)
			}
		})
	}
}

// TestTolerationMatching checks that key, value and effect count, as for the scheduler.
func TestTolerationMatching(t *testing.T) {
	t.Parallel()
	taint := state.Taint{Key: "a", Value: "b", Effect: "NoSchedule"}
	for _, c := range []struct {
		of   state.Toleration
		want bool
	}{
		{state.Toleration{}, false},
		{state.Toleration{Any: true}, true},
		{state.Toleration{Any: true, Effect: "NoExecute"}, false},
		{state.Toleration{Key: "a"}, false},
		{state.Toleration{Key: "a", Any: true}, true},
		{state.Toleration{Key: "a", Value: "b"}, true},
		{state.Toleration{Key: "a", Value: "b", Effect: "NoSchedule"}, true},
		{state.Toleration{Key: "a", Value: "b", Effect: "NoExecute"}, false},
		{state.Toleration{Key: "b", Value: "b"}, false},
	} {
		if c.of.Tolerates(taint) != c.want {
			t.Errorf("%+v", c.of)
		}
	}
}
