package pipeline_test

import (
	"testing"

	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestRevealRefusesAnotherSecret checks that a plan's reference resolves to the secret that it
// was planned with, and to no other.
func TestRevealRefusesAnotherSecret(t *testing.T) {
	t.Parallel()
	v := tt.Running(1, 0)
	v.Key = state.NewKey("k1")
	at := topology.ItemAddress(tt.CP(1), topology.CertsPhase, "file", "/etc/kubernetes/pki/ca.key")
	desired := &state.Snapshot{Items: []state.Item{{Address: at, Content: []byte("planned")}}}
	desired.Sort()
	ref := sensitive.Reference(at, sensitive.ContentField)
	secret, err := pipeline.Reveal(v, desired, state.Sensitive{Ref: ref, Fingerprint: v.Key.Sum([]byte("planned"))})
	if err != nil || string(secret.Reveal()) != "planned" {
		t.Errorf("got %q, %v", secret.Reveal(), err)
	}
	want := "cannot use " + ref + ": its sensitive values differ from those of the plan; plan again"
	if _, err := pipeline.Reveal(v, desired, state.Sensitive{Ref: ref, Fingerprint: v.Key.Sum([]byte("another"))}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := pipeline.Reveal(v, &state.Snapshot{}, state.Sensitive{Ref: ref}); err == nil {
		t.Error("a reference to an item that the configuration has not was resolved")
	}
}
