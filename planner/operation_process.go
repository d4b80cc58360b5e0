package planner

import "github.com/kubewright/kubewright/state"

// RestartProcess ends the process of a static pod, which the kubelet then restarts, so that it
// reads the files that it reads only at start. A process that does not end within 30 s, the
// kubelet's own grace period, is killed. The host alone performs it. Done when the process was
// started after the last of Files was written, or does not run.
type RestartProcess struct {
	Process state.Process `json:"process"`
	Files   []string      `json:"files"`
}
