package planfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// ShortDigest is how many characters of a digest are shown, and are enough to
// approve a plan by.
const ShortDigest = 16

// Digest returns the hex SHA-256 of what a plan would do. It does not depend on when
// and by which version of the tool the plan was made, on the state's serial, on
// where in which file the configuration says something, on how a file that is to
// be changed was written (values are compared, never bytes), on which control plane
// the API is reached through, or on what is only shown, such as days left, how large
// etcd's databases are, what a change costs and how an operation is told to be done. Two
// plans with the same digest do the same for the same reasons.
func Digest(p *planner.Plan) string {
	same := *p
	same.ToolVersion, same.Serial, same.ConfigDigest = "", 0, ""
	same.Changes, same.Drift = alone(p.Changes), alone(p.Drift)
	same.Steps, same.Withheld = slices.Clone(p.Steps), slices.Clone(p.Withheld)
	same.Resources = slices.Clone(p.Resources)
	for i := range same.Resources {
		same.Resources[i].Before, same.Resources[i].After, same.Resources[i].There = nil, nil, nil
	}
	same.Policies = nil // when it is, and who has approved
	same.Certificates = nil
	// A warning is about the plan. It tells where in which file, how often an API was asked
	// and for how many days something lasts, none of which makes it another plan. What
	// somebody has to have approved is in the plan itself: which pods end, and which budgets
	// say no, in the impact of the step.
	same.Diagnostics = nil
	for i := range same.Withheld {
		same.Withheld[i].Reason, same.Withheld[i].Remedy = "", "" // what was heard, and from whom
	}
	for i := range same.Steps {
		same.Steps[i].Expect, same.Steps[i].Via, same.Steps[i].Pods = nil, state.Target{}, nil
		if slices.ContainsFunc(same.Steps[i].Operations, measures) {
			same.Steps[i].Impact = ""
		}
		same.Steps[i].Operations = bare(p.Steps[i].Operations)
	}
	b, err := json.Marshal(same)
	if err != nil {
		panic("internal error: a plan cannot be written as JSON: " + err.Error()) // each of its types can
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// measures tells an operation whose step says how large something is by now.
func measures(op planner.Operation) bool {
	_, is := op.(planner.DefragmentEtcd)
	return is
}

// bareOperation is an operation that does not say when it is done.
type bareOperation struct{ planner.Operation }

func (bareOperation) DoneWhen() string { return "" }

// MarshalJSON writes the operation alone.
func (o bareOperation) MarshalJSON() ([]byte, error) { return json.Marshal(o.Operation) }

// bare leaves out words for the reader, which may be others in the next version.
func bare(ops planner.Operations) planner.Operations {
	out := slices.Clone(ops)
	for i, op := range out {
		out[i] = bareOperation{op}
	}
	return out
}

// alone leaves of changes what they change: where the configuration says so, and what
// follows from the rest, is left out.
func alone(changes []planner.Change) []planner.Change {
	out := slices.Clone(changes)
	for i, c := range out {
		out[i].Attributes, out[i].Shown, out[i].Cost = slices.Clone(c.Attributes), nil, ""
		for j := range out[i].Attributes {
			a := &out[i].Attributes[j]
			a.Origin, a.Origins, a.Outside = state.Source{}, nil, false
		}
	}
	return out
}
