package pipeline_test

import (
	"testing"

	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TestRotationQueriesTokenSecrets checks that Secrets with tokens are queried while service account keys are rotated,
// through whichever control plane, including one that has lost the next key but still accepts both.
func TestRotationQueriesTokenSecrets(t *testing.T) {
	t.Parallel()
	keys := func(n int) *state.Report {
		return &state.Report{Files: map[string]state.FileReport{"/etc/kubernetes/pki/sa.pub": {Exists: true, PublicKeys: make([]string, n)}}}
	}
	begun := keys(1)
	begun.Files["/etc/kubernetes/pki/sa-next.pub"] = state.FileReport{Exists: true, PublicKeys: make([]string, 1)}
	asked, ok := rotation.ParseRotation("cluster.prod/service-account")
	if !ok {
		t.Fatal("no rotation")
	}
	for name, tt := range map[string]struct {
		seen   *state.Report
		rotate []topology.Rotation
		want   bool
	}{
		"nothing is rotated":    {keys(1), nil, false},
		"asked for":             {keys(1), []topology.Rotation{asked}, true},
		"the next key is there": {begun, nil, true},
		"the next key was lost": {keys(2), nil, true},
	} {
		if got := rotation.AsksForTokens(cluster(1, 0), "prod", tt.rotate, tt.seen); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
