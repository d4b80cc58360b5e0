package planner

import (
	"slices"

	"github.com/kubewright/kubewright/state"
)

// Restarts reports whether the step starts, stops or restarts a unit of its node: a kubelet, a
// container runtime, or a unit of the configuration.
func (s *Step) Restarts() bool {
	return slices.ContainsFunc(s.Operations, func(op Operation) bool {
		u, ok := op.(Unit)
		return ok && (u.Action == "restart" || u.Action == "start" || u.Action == "stop")
	})
}

// RestartProcess ends the process of a static pod, which the kubelet then restarts, so that it
// reads the files that it reads only at start. A process that does not end within 30 s, the
// kubelet's own grace period, is killed. The host alone performs it. Done when the process was
// started after the last of Files was written, or does not run.
type RestartProcess struct {
	Process state.Process `json:"process"`
	Files   []string      `json:"files"`
}
