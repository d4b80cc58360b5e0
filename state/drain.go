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
	// EmptyDir tells that it has a volume that goes with it.
	EmptyDir bool
	// Finished tells that it has run to its end: nothing is lost with it.
	Finished bool
	// LocalClaims are its PersistentVolumeClaims whose volume the node alone has.
	LocalClaims []string
	// Budgets are the PodDisruptionBudgets that its eviction has to ask, as
	// NAMESPACE/NAME. The API refuses one that would have to ask several.
	Budgets []string
	// GoneBy is when it was to be gone, of one that terminates already.
	GoneBy time.Time
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

// Never tells that it allows no eviction even when all its pods are healthy.
func (b BudgetReport) Never() bool {
	return b.Failed != "" || b.Expected > 0 && b.Wanted >= b.Expected
}
