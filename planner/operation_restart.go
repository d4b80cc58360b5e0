package planner

import "time"

// RestartPods has a DaemonSet or Deployment start its pods again, as kubectl
// rollout restart does, and waits until all of them run. It is done when all of its
// pods carry the mark and run, and when there is no such object.
type RestartPods struct {
	// Kind is DaemonSet or Deployment.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Mark tells one restart from the next: what the pods are to take up.
	Mark    string        `json:"mark"`
	Timeout time.Duration `json:"timeout"`
}

// RestartAnnotation is the annotation of the pods that holds the mark.
const RestartAnnotation = "kubewright.io/restarted-for"

// Op returns the name in JSON.
func (RestartPods) Op() string { return "restart_pods" }

// Summary returns one line for the progress display.
func (o RestartPods) Summary() string {
	return "restart the pods of " + o.Kind + " " + o.Namespace + "/" + o.Name
}
