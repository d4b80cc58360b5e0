package executor

import (
	"context"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// Runner performs steps. Several RunStep calls run at once.
type Runner interface {
	// RunStep checks the step's expectations and gates, then performs its
	// operations in order. Before and after each operation (or batch that
	// travels together) it calls report, synchronously. When report returns an
	// error the operation must not begin, and RunStep returns that error.
	//
	// RunStep returns once nothing of the step is under way any more, soon after ctx is cancelled.
	// The Result counts even with an error: it holds what was observed after the failure. The text
	// of an error must hold no secret.
	RunStep(ctx context.Context, step *planner.Step, run Run, report func(OpEvent) error) (Result, error)
}

// Journal records what is about to be done and what was done.
type Journal interface {
	// Append stores the entry durably before it returns. After an error no further step begins: the
	// run ends with the steps under way. A *StopError means that the run may no longer write, not
	// that writing failed.
	Append(state.Entry) error
}

// Run identifies the run that a step belongs to.
type Run struct {
	ID string
	// Token is the fence: hosts refuse a run whose token is lower than one they have seen.
	Token   int64
	Lineage string
	// Outputs are the outputs of the steps that were done before this one started.
	Outputs Outputs
}

// Result is the result of a step.
type Result struct {
	// Outputs are named values for later steps. They stay in memory.
	Outputs map[string]Output
	// Learned is what was observed after the step; it goes to the journal.
	Learned state.Learned
	// Refused reports, with an error, that something the step was about to overwrite has changed
	// since the plan was made.
	Refused bool
}

// Output is a value, or a secret that stays in memory.
type Output struct {
	Value  state.Value
	Secret state.Secret
}

// Outputs are outputs by step ID and name. They must not be changed.
type Outputs map[string]map[string]Output

// Lookup returns the output of a pending reference.
func (o Outputs) Lookup(p state.Pending) (Output, bool) {
	out, ok := o[p.Step][p.Output]
	return out, ok
}

// OpKind is the kind of an OpEvent.
type OpKind string

// The kinds of an OpEvent.
const (
	// OpBegin comes before operations are performed; it is journalled.
	OpBegin OpKind = "begin"
	// OpDone comes after they were performed or found done; it is journalled.
	OpDone OpKind = "done"
	// OpLog is a line for the user: what the step is waiting for. It is not journalled.
	OpLog OpKind = "log"
	// OpOutput is the latest output of a running operation. It is not journalled.
	OpOutput OpKind = "output"
)

// OpEvent is a report of a Runner about the step that it runs.
type OpEvent struct {
	Kind OpKind
	// Op is the index of the first operation; Count is how many travel together, 0 for one.
	Op, Count int
	// Text is the line of OpLog or OpOutput. It holds no secret and no control characters.
	Text string
	// Observed is a digest of what was observed after the operation.
	Observed string
	// Learned is recorded in the state now, before the step ends.
	Learned state.Learned
}
