package planjson

import (
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/outline"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// WithheldStep is work that waits until what could not be observed is back.
type WithheldStep struct {
	Step       state.Address  `json:"step"`
	Action     planner.Action `json:"action"`
	Reason     string         `json:"reason"`
	Items      []Item         `json:"items,omitempty"`
	Operations []string       `json:"operations,omitempty"`
}

func withheldSteps(plan *planner.Plan) []WithheldStep {
	var out []WithheldStep
	for _, w := range plan.WithheldSteps {
		s := WithheldStep{Step: w.Step, Action: w.Action, Reason: w.Reason, Operations: w.Operations}
		for _, c := range w.Changes {
			s.Items = append(s.Items, NewItem(outline.WithoutOrigins(c)))
		}
		out = append(out, s)
	}
	return out
}
