package providers_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// TestFileIsComparedWithPlanOnFirstWrite checks that a file is compared with the plan when the step first
// overwrites it; later content is the step's own.
func TestFileIsComparedWithPlanOnFirstWrite(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.files["/w"] = ""
	expect := map[string]string{
		planner.FileExpectation("/a"): planner.ExpectedFile("aa"), planner.FileExpectation("/b"): planner.ExpectedFile("bb"),
	}
	_, err := s.performStep(t, providers.Run{}, expect,
		planner.WriteFile{Path: "/a"}, planner.Wait{For: planner.WaitFile, Name: "/w"}, planner.WriteFile{Path: "/a"}, planner.RemovePath{Path: "/b"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []map[string]string{{"/a": "aa"}, {"/b": "bb"}} {
		if got := s.batches[i].Expect; !maps.Equal(got, want) {
			t.Errorf("batch %d expects %v, want %v", i, got, want)
		}
	}
}

var expectedRef = state.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "c"}

func configMap(version, data, other string) state.Value {
	return state.FromGo(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "kube-system", "name": "c", "resourceVersion": version},
		"data": map[string]any{"ours": data, "theirs": other},
	})
}

// TestObjectIsComparedWithPlan checks that an object is compared with the plan at the leaves that
// are ours. An attempt whose answer was lost may have changed it; a refused one has not.
func TestObjectIsComparedWithPlan(t *testing.T) {
	t.Parallel()
	wanted := state.FromGo(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "kube-system", "name": "c"}, "data": map[string]any{"ours": "new"},
	})
	expect := map[string]string{planner.ObjectExpectation(expectedRef): planner.ApplyDigest(wanted, configMap("1", "old", "x"))}
	for _, tt := range []struct {
		name string
		live state.Value
		// first is the result of the first attempt, after it left an object.
		first  error
		left   state.Value
		moved  bool
		tried  int
		latest string
	}{
		{"as it was", configMap("1", "old", "x"), nil, state.Value{}, false, 1, "1"},
		{"something else changed", configMap("2", "old", "y"), nil, state.Value{}, false, 1, "2"},
		{"changed", configMap("2", "other", "x"), nil, state.Value{}, true, 0, ""},
		{"gone", state.Value{}, nil, state.Value{}, true, 0, ""},
		{"answered late, ours is there", configMap("1", "old", "x"), providers.ErrTimeout, configMap("2", "new", "x"), false, 2, ""},
		{"answer lost", configMap("1", "old", "x"), providers.ErrDisconnected, configMap("2", "new", "x"), false, 2, ""},
		{"refused, something else changed", configMap("1", "old", "x"), providers.ErrUnavailable, configMap("2", "old", "y"), false, 2, "2"},
		{"refused, changed", configMap("1", "old", "x"), providers.ErrUnavailable, configMap("2", "other", "x"), true, 1, "1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScene()
			s.objects = map[state.ObjectRef]state.Value{expectedRef: tt.live}
			tried := 0
			s.applying = func() error {
				if tried++; tried == 1 && tt.first != nil {
					s.objects[expectedRef] = tt.left
					return tt.first
				}
				return nil
			}
			_, err := s.performStep(t, providers.Run{}, expect, planner.ApplyObject{Object: wanted})
			if errors.Is(err, providers.ErrMoved) != tt.moved || !tt.moved && err != nil {
				t.Errorf("got %v", err)
			}
			if tt.moved && (!strings.HasPrefix(err.Error(), "cannot change "+expectedRef.String()+": what is to be set there has changed since the plan was made (sha256 ") ||
				!strings.HasSuffix(err.Error(), " now), so nothing was written over it. Find out who changes it, and plan again")) {
				t.Errorf("it says %v", err)
			}
			if version := s.applied.Get("metadata.resourceVersion").AsString(); tried != tt.tried || version != tt.latest {
				t.Errorf("tried %d times, last over version %q", tried, version)
			}
		})
	}
}

// TestNodeIsComparedWithPlan checks that a node is compared with the plan in the labels and taints
// that are to be set.
func TestNodeIsComparedWithPlan(t *testing.T) {
	t.Parallel()
	op := planner.PatchNode{Node: "n", Labels: map[string]string{"a": "new"}, RemoveTaints: []state.Taint{{Key: "k", Effect: "NoSchedule"}}}
	was := state.NodeReport{Labels: map[string]string{"a": "old"}, Taints: []state.Taint{{Key: "k", Effect: "NoSchedule"}}}
	expect := map[string]string{planner.ObjectExpectation(planner.NodeRef("n")): planner.PatchDigest(op, was)}
	for _, tt := range []struct {
		name string
		now  state.NodeReport
		// first is the result of the first attempt, after which the node is as left.
		first error
		left  state.NodeReport
		moved bool
	}{
		{"another label", state.NodeReport{Labels: map[string]string{"a": "old", "b": "x"}, Taints: was.Taints}, nil, state.NodeReport{}, false},
		{"the label", state.NodeReport{Labels: map[string]string{"a": "other"}, Taints: was.Taints}, nil, state.NodeReport{}, true},
		{"the label is gone", state.NodeReport{Taints: was.Taints}, nil, state.NodeReport{}, true},
		{"the label is empty", state.NodeReport{Labels: map[string]string{"a": ""}, Taints: was.Taints}, nil, state.NodeReport{}, true},
		{"the taint is gone", state.NodeReport{Labels: was.Labels}, nil, state.NodeReport{}, true},
		{"answered late, ours is there", was, providers.ErrTimeout, state.NodeReport{Labels: op.Labels}, false},
		{"refused, changed", was, providers.ErrUnavailable, state.NodeReport{Labels: map[string]string{"a": "other"}}, true},
	} {
		s := newScene()
		s.nodes = map[string]state.NodeReport{"n": tt.now}
		if tt.first != nil {
			s.apiErrs = []error{tt.first}
			s.patching = func() { s.nodes["n"] = tt.left }
		}
		_, err := s.performStep(t, providers.Run{}, expect, op)
		if errors.Is(err, providers.ErrMoved) != tt.moved || !tt.moved && err != nil {
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}
