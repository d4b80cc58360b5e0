package planner

import "github.com/kubewright/kubewright/state"

// RestartProcess ends the process of a static pod, which the kubelet then
// restarts: so it reads again what it reads only when it starts. One that does
// not end within 30 s, the kubelet's own grace period, is killed. It is an
// operation of the host alone. Done when the process was started after the last
// of Files was written, or does not run.
type RestartProcess struct {
	Process state.Process `json:"process"`
	Files   []string      `json:"files"`
}
