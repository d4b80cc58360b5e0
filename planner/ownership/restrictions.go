package ownership

import (
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
)

// Restrictions returns the options that restrict a plan.
func Restrictions(o planner.Options) remedy.Remedy {
	var out []remedy.Option
	for _, s := range o.Targets {
		out = append(out, remedy.Only.Of(s))
	}
	for _, s := range o.Excludes {
		out = append(out, remedy.Except.Of(s))
	}
	for _, name := range o.SkipPhases {
		out = append(out, remedy.Option{Kind: remedy.SkipPhase, Value: name})
	}
	return remedy.With(out...)
}
