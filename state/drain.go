package state

import "time"

// PodReport is a pod that a drain of its node would consider: no mirror pod and none of a
// DaemonSet.
type PodReport struct {
	Namespace, Name string
	Node            string
	// Controller is the kind of its controller, which recreates it: ReplicaSet, Job …; empty for
	// none.
	Controller string
	Labels     map[string]string
	// EmptyDir reports whether it has a volume that is deleted with it.
	EmptyDir bool
	// Finished reports whether it has run to completion: nothing is lost with it.
	Finished bool
	// LocalClaims are its PersistentVolumeClaims whose volume exists only on the node.
	LocalClaims []string
	// Budgets are the PodDisruptionBudgets that apply to its eviction, as NAMESPACE/NAME. The API
	// refuses an eviction to which several apply.
	Budgets []string
	// GoneBy is when a terminating pod should be gone.
	GoneBy time.Time
	// Tolerations are the tolerations of taints that operators set; those of Kubernetes' own
	// temporary node conditions are left out.
	Tolerations []Toleration
	// NodeSelectors are label selectors of which the pod's node has to match one, with the node's
	// name as the label metadata.name. Without any it may run on all nodes.
	NodeSelectors []string
}

// Toleration lets a pod run on nodes that have a taint. An empty key matches any key, and an
// empty effect any effect. Any reports whether any value matches.
type Toleration struct {
	Key    string `json:"key,omitempty"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect,omitempty"`
	Any    bool   `json:"any,omitempty"`
}

// Tolerates reports whether a toleration matches a taint.
func (t Toleration) Tolerates(x Taint) bool {
	return (t.Effect == "" || t.Effect == x.Effect) && (t.Key == x.Key || t.Key == "" && t.Any) && (t.Any || t.Value == x.Value)
}

// String returns NAMESPACE/NAME.
func (p PodReport) String() string { return p.Namespace + "/" + p.Name }

// ClaimReport is a PersistentVolumeClaim whose volume only one node has.
type ClaimReport struct {
	Namespace, Name string
	// Volume is its PersistentVolume, and Node the node that has it.
	Volume, Node string
}

// String returns NAMESPACE/NAME.
func (c ClaimReport) String() string { return c.Namespace + "/" + c.Name }

// BudgetReport is the state of a PodDisruptionBudget in the API.
type BudgetReport struct {
	// Allowed is how many evictions it allows now.
	Allowed int
	// Of Expected pods, Healthy are healthy, and Wanted have to stay.
	Healthy, Wanted, Expected int
	// Failed is why its controller cannot compute how many pods may go, and allows none; empty
	// when it can.
	Failed string
}

// Never reports whether it allows no eviction even when all its pods are healthy.
func (b BudgetReport) Never() bool {
	return b.Failed != "" || b.Expected > 0 && b.Wanted >= b.Expected
}
