package operation_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/operation"
)

// TestEveryHostOperationIsSimulated checks that the simulator knows each operation that a host alone
// performs.
func TestEveryHostOperationIsSimulated(t *testing.T) {
	t.Parallel()
	const unknown = "the simulator does not know"
	for _, op := range planner.HostOperations() {
		if message := performed(op); strings.Contains(message, unknown) {
			t.Errorf("%s: add it to Operations.Perform in operations.go, and to Check, Subject and Interrupt where they apply", op.Op())
		}
	}
	if message := performed(planner.Drain{}); !strings.Contains(message, unknown) {
		t.Errorf("a drain gives %q, not that %s it", message, unknown)
	}
}

// performed performs an operation on no machine and returns the error. An operation that is known
// panics as soon as it needs the machine.
func performed(op planner.Operation) (message string) {
	defer func() {
		if recover() != nil {
			message = "needs a machine"
		}
	}()
	_, err := operation.On(nil, nil).Perform(op, providers.Batch{})
	if err == nil {
		return ""
	}
	return err.Error()
}
