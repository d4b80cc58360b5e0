package planner

import "time"

// RestartPods makes a DaemonSet or Deployment restart its pods, as kubectl rollout restart does,
// and waits until all of them run. Without a mark it only waits, for the pods of the current
// template. Done when all of its pods carry the mark and run, or when there is no such object.
type RestartPods struct {
	// Kind is DaemonSet or Deployment.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Mark identifies this restart: it stands for what the pods have to pick up. It is empty where
	// another change of the template makes them restart.
	Mark    string        `json:"mark,omitempty"`
	Timeout time.Duration `json:"timeout"`
}

// RestartAnnotation is the annotation of the pods that holds the mark.
const RestartAnnotation = "kubewright.io/restarted-for"

// Op returns the name in JSON.
func (RestartPods) Op() string { return "restart_pods" }

// Summary returns one line for the progress display.
func (o RestartPods) Summary() string {
	if o.Mark == "" {
		return "wait until the pods of " + o.Kind + " " + o.Namespace + "/" + o.Name + " have restarted"
	}
	return "restart the pods of " + o.Kind + " " + o.Namespace + "/" + o.Name
}
