package kube_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
)

// TestCordonMarksReason checks that a cordon with a reason marks the node in the same request. A
// node that was cordoned by another client stays as it is, and is not uncordoned.
func TestCordonMarksReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what          string
		unschedulable bool
		mark          string
		undo          bool
		want          string
	}{
		{"free", false, "", false, `{"metadata":{"annotations":{"kubewright.github.io/cordoned-for":"upgrade"},"resourceVersion":"7"},"spec":{"unschedulable":true}}`},
		{"cordoned by another client", true, "", false, ""},
		{"cordoned for it already", true, "upgrade", false, ""},
		{"let in", true, "upgrade", true, `{"metadata":{"annotations":{"kubewright.github.io/cordoned-for":null},"resourceVersion":"7"},"spec":{"unschedulable":null}}`},
		{"let in, but cordoned by another client", true, "", true, ""},
		{"let in, but cordoned for something else", true, "other", true, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			metadata := object{"name": "w1", "resourceVersion": "7"}
			if c.mark != "" {
				metadata["annotations"] = object{planner.CordonAnnotation: c.mark}
			}
			a, h := start(t, func(_, _, _ string, _ []byte) answer {
				return answer{200, object{"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": object{"unschedulable": c.unschedulable}}}
			})
			if err := open(t, h).Cordon(t.Context(), planner.Cordon{Node: "w1", Undo: c.undo, For: "upgrade"}); err != nil {
				t.Fatal(err)
			}
			if got := string(a.bodies["PATCH /api/v1/nodes/w1"]); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestUncordonRemovesReason checks that an uncordon without a reason removes any mark,
// so that a later cordon by another client is not taken for kubewright's.
func TestUncordonRemovesReason(t *testing.T) {
	t.Parallel()
	a, h := start(t, func(_, _, _ string, _ []byte) answer {
		metadata := object{"name": "w1", "resourceVersion": "7", "annotations": object{planner.CordonAnnotation: "leaving"}}
		return answer{200, object{"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": object{"unschedulable": true}}}
	})
	if err := open(t, h).Cordon(t.Context(), planner.Cordon{Node: "w1", Undo: true}); err != nil {
		t.Fatal(err)
	}
	const want = `{"metadata":{"annotations":{"kubewright.github.io/cordoned-for":null},"resourceVersion":"7"},"spec":{"unschedulable":null}}`
	if got := string(a.bodies["PATCH /api/v1/nodes/w1"]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestUncordonBeforePauseRecordsTime checks that a node followed by a pause records when it was
// uncordoned.
func TestUncordonBeforePauseRecordsTime(t *testing.T) {
	t.Parallel()
	a, h := start(t, func(_, _, _ string, _ []byte) answer {
		metadata := object{"name": "w1", "resourceVersion": "7", "annotations": object{planner.CordonAnnotation: "upgrade"}}
		return answer{200, object{"kind": "Node", "apiVersion": "v1", "metadata": metadata, "spec": object{"unschedulable": true}}}
	})
	before := time.Now().Truncate(time.Second)
	if err := open(t, h).Cordon(t.Context(), planner.Cordon{Node: "w1", Undo: true, For: "upgrade", Remember: "1.36.3"}); err != nil {
		t.Fatal(err)
	}
	var patch struct {
		Metadata struct{ Annotations map[string]string }
	}
	if err := json.Unmarshal(a.bodies["PATCH /api/v1/nodes/w1"], &patch); err != nil {
		t.Fatal(err)
	}
	at, version, _ := strings.Cut(patch.Metadata.Annotations[planner.LetInAnnotation], " ")
	if when, err := time.Parse(time.RFC3339, at); err != nil || when.Before(before) || when.After(time.Now()) || version != "1.36.3" {
		t.Errorf("the node remembers %q, want now and the version", patch.Metadata.Annotations[planner.LetInAnnotation])
	}
}

// TestPatchNodeCordons checks that the configuration decides whether a node is cordoned, also
// after a cordon by hand, and that a node that is as configured is not written.
func TestPatchNodeCordons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		schedulable bool
		cordoned    bool
		purpose     string
		want        string
	}{
		{"cordons", false, false, "", `{"metadata":{"annotations":{"kubewright.github.io/cordoned-for":"configuration"}},"spec":{"unschedulable":true}}`},
		{"takes a cordon over", false, true, "upgrade", `{"metadata":{"annotations":{"kubewright.github.io/cordoned-for":"configuration"}}}`},
		{"is cordoned", false, true, "configuration", ""},
		{"uncordons", true, true, "command", `{"metadata":{"annotations":{"kubewright.github.io/cordoned-for":null}},"spec":{"unschedulable":null}}`},
		{"uncordons what was cordoned by hand", true, true, "", `{"metadata":{},"spec":{"unschedulable":null}}`},
		{"is schedulable", true, false, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			meta := object{"name": "w1", "resourceVersion": "7"}
			if c.purpose != "" {
				meta["annotations"] = object{planner.CordonAnnotation: c.purpose}
			}
			a, h := start(t, func(_, _, _ string, _ []byte) answer {
				return answer{200, object{"kind": "Node", "apiVersion": "v1", "metadata": meta, "spec": object{"unschedulable": c.cordoned}}}
			})
			if err := open(t, h).PatchNode(t.Context(), planner.PatchNode{Node: "w1", Schedulable: &c.schedulable}, nil); err != nil {
				t.Fatal(err)
			}
			if got := string(a.bodies["PATCH /api/v1/nodes/w1"]); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}
