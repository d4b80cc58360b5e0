package pipeline_test

import (
	"testing"

	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TestFlagsAreQuotedForShell checks that printed flags can be copied to a shell, where each is one word whatever key a
// node has.
func TestFlagsAreQuotedForShell(t *testing.T) {
	got := topology.AsFlags(state.NodeKeyTarget("worker", "o'brien"), topology.ReplaceFlag, topology.AcceptNewHostFlag)
	if want := `-replace='node.worker["o'\''brien"]' -accept-new-host='node.worker["o'\''brien"]'`; got != want {
		t.Errorf("the flags are %s, want %s", got, want)
	}
	if got, want := topology.AsFlags(state.NodeTarget("gw"), topology.ForgetUnreachableFlag), "-forget-unreachable=node.gw"; got != want {
		t.Errorf("the flag is %s, want %s", got, want)
	}
}
