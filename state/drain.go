package state

import "time"

// PodReport is a pod that a drain of its node would look at: no mirror pod and
// none of a DaemonSet.
type PodReport struct {
	Namespace, Name string
	Node            string
	// Controller is the kind of what brings it back: ReplicaSet, Job …; empty for none.
	Controller string
	Labels     map[string]string
	// EmptyDir reports whether it has a volume that goes with it.
	EmptyDir bool
	// Finished reports whether it has run to its end: nothing is lost with it.
	Finished bool
	// LocalClaims are its PersistentVolumeClaims whose volume the node alone has.
	LocalClaims []string
	// Budgets are the PodDisruptionBudgets that its eviction has to ask, as
	// NAMESPACE/NAME. The API refuses one that would have to ask several.
	Budgets []string
	// GoneBy is when it was to be gone, of one that terminates already.
	GoneBy time.Time
	// Tolerations are those of taints that somebody sets; of what Kubernetes notes of a
	// node for a while nothing is told.
	Tolerations []Toleration
	// NodeSelectors are label selectors, of which the node that it may run on has to match
	// one, with its name as the label metadata.name. Without any it may run on all.
	NodeSelectors []string
}

// Toleration lets a pod run on nodes that have a taint. An empty key is any, and so is an
// empty effect. Any reports whether the value may be any.
type Toleration struct {
	Key    string `json:"key,omitempty"`
	Value  string `json:"value,omitempty"`
	Effect string `json:"effect,omitempty"`
	Any    bool   `json:"any,omitempty"`
}

// Tolerates reports whether a toleration is of a taint.
func (t Toleration) Tolerates(x Taint) bool {
	return (t.Effect == "" || t.Effect == x.Effect) && (t.Key == x.Key || t.Key == "" && t.Any) && (t.Any || t.Value == x.Value)
}

// String is NAMESPACE/NAME.
func (p PodReport) String() string { return p.Namespace + "/" + p.Name }

// ClaimReport is a PersistentVolumeClaim whose volume one node alone has.
type ClaimReport struct {
	Namespace, Name string
	// Volume is its PersistentVolume, and Node who has it.
	Volume, Node string
}

// String is NAMESPACE/NAME.
func (c ClaimReport) String() string { return c.Namespace + "/" + c.Name }

// BudgetReport is what the API shows of a PodDisruptionBudget.
type BudgetReport struct {
	// Allowed is how many evictions it allows now.
	Allowed int
	// Healthy pods are there of Expected, and Wanted have to stay.
	Healthy, Wanted, Expected int
	// Failed is why its controller cannot tell how many pods may go, and lets none go;
	// empty when it can.
	Failed string
}

// Never reports whether it allows no eviction even when all its pods are healthy.
func (b BudgetReport) Never() bool {
	return b.Failed != "" || b.Expected > 0 && b.Wanted >= b.Expected
}
