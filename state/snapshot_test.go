package state_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/state"
)

func item(address string) state.Item {
	a, err := state.ParseAddress(address)
	if err != nil {
		panic(err)
	}
	return state.Item{Address: a, Kind: state.KindFile, Attributes: state.Map(nil)}
}

func TestSnapshotSortAndLookup(t *testing.T) {
	t.Parallel()
	down := state.Unobserved{Target: state.NodeTarget("c"), Reason: "no route to host"}
	s := state.Snapshot{
		Items:      []state.Item{item("node.b/certs/file:/b"), item("node.a/certs/file:/b"), item("node.a/certs/file:/a")},
		Unobserved: []state.Unobserved{down},
	}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("Check() of unsorted items = %v", err)
	}
	s.Sort()
	if err := s.Check(); err != nil {
		t.Errorf("Check() = %v", err)
	}
	for _, want := range s.Items {
		if got := s.Find(want.Address); got == nil || got.Address != want.Address {
			t.Errorf("Find(%s) = %v", want.Address, got)
		}
	}
	if got := s.Find(item("node.a/certs/file:/c").Address); got != nil {
		t.Errorf("Find of what is not there = %v", got)
	}
	if !s.Dark(state.Address{Target: down.Target, Phase: "certs", Item: "file:/a"}) {
		t.Errorf("%s is not dark", down.Target)
	}
	if s.Dark(state.Address{Target: state.NodeTarget("a")}) {
		t.Error("node.a is dark")
	}
	for name, items := range map[string][]state.Item{
		"twice":  {item("node.a/certs/file:/a"), item("node.a/certs/file:/a")},
		"no map": {{Address: s.Items[0].Address}},
	} {
		if err := (&state.Snapshot{Items: items}).Check(); err == nil {
			t.Errorf("Check() reports nothing: %s", name)
		}
	}
}

func TestItemOriginsAndClasses(t *testing.T) {
	t.Parallel()
	line := state.Source{File: "cluster.hcl", Line: 21}
	i := state.Item{
		Origin:  map[string]state.Source{"": state.DefaultSource("kubeadm 1.36"), "args.audit-log-maxage": line},
		Classes: map[string]state.Class{"days_left": state.Shown},
	}
	for path, want := range map[string]string{
		"args.audit-log-maxage": "cluster.hcl:21", "args.audit-log-maxage.x": "cluster.hcl:21", "args.other": "default(kubeadm 1.36)",
	} {
		if got := i.OriginOf(path).String(); got != want {
			t.Errorf("OriginOf(%s) = %s, want %s", path, got, want)
		}
	}
	if got := (state.Item{}).OriginOf("x"); !got.IsZero() || got.String() != "" {
		t.Errorf("OriginOf without origins = %v", got)
	}
	for path, want := range map[string]state.Class{"days_left": state.Shown, "days_left.x": state.Shown, "mode": state.Bound, "": state.Bound} {
		if got := i.Class(path); got != want {
			t.Errorf("Class(%s) = %s, want %s", path, got, want)
		}
	}
}

func TestObjectRef(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]state.ObjectRef{
		"v1/ConfigMap/kube-system/kubeadm-config":              {APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "kubeadm-config"},
		"rbac.authorization.k8s.io/v1/ClusterRole/system:node": {APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "system:node"},
	} {
		if got := r.String(); got != want {
			t.Errorf("String() = %s, want %s", got, want)
		}
	}
}

// TestEntryJSON checks the format of the journal's lines, and that an entry for the whole step
// differs from one for its first operation.
func TestEntryJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for want, e := range map[string]state.Entry{
		`{"n":2,"time":"2026-08-01T12:00:00Z","event":"begin","step":"node.a/certs","op":0}`:       {N: 2, Time: at, Kind: state.EntryBegin, Step: "node.a/certs", Op: new(0)},
		`{"n":4,"time":"2026-08-01T12:00:00Z","event":"done","step":"node.a/certs","seconds":7.9}`: {N: 4, Time: at, Kind: state.EntryDone, Step: "node.a/certs", Seconds: 7.9},
		`{"n":5,"time":"2026-08-01T12:00:00Z","event":"done","learned":{"gone":["node.a/certs/file:/x"]}}`: {
			N: 5, Time: at, Kind: state.EntryDone, Learned: state.Learned{Gone: []state.Address{item("node.a/certs/file:/x").Address}},
		},
	} {
		if b, err := json.Marshal(e); err != nil || string(b) != want {
			t.Errorf("json = %s, %v, want %s", b, err, want)
		}
	}
}
