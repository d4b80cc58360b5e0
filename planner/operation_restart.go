package planner

import "time"

// RestartDaemonSet has a DaemonSet start its pods anew, as kubectl rollout
// restart does, and waits until all of them run. It is done when its pods carry
// the mark.
type RestartDaemonSet struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Mark tells one restart from the next: what the pods are to take up.
	Mark    string        `json:"mark"`
	Timeout time.Duration `json:"timeout"`
}

// RestartAnnotation is the annotation of the pods that holds the mark.
const RestartAnnotation = "kubewright.io/restarted-for"

// Op is the name in JSON.
func (RestartDaemonSet) Op() string { return "restart_daemon_set" }

// Summary is one line for the progress display.
func (o RestartDaemonSet) Summary() string { return "restart the pods of " + o.Name + " on every node" }
