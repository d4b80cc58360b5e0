package shell

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
)

// TestEveryHostOperationIsCompiled checks that a real host has a script for each operation that the
// host alone performs. The zero values themselves may be refused.
func TestEveryHostOperationIsCompiled(t *testing.T) {
	t.Parallel()
	const unknown = "is no operation of a host"
	for _, op := range planner.HostOperations() {
		if _, err := (&compiler{}).operation(op); err != nil && strings.Contains(err.Error(), unknown) {
			t.Errorf("%s: add it to compiler.operation in perform.go, with a function of scripts/perform.sh or machine.sh", op.Op())
		}
	}
	if _, err := (&compiler{}).operation(planner.Drain{}); err == nil || !strings.Contains(err.Error(), unknown) {
		t.Errorf("a drain gives %v, not that it %s", err, unknown)
	}
}
