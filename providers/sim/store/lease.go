package store

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// Lease is a Lease object: the fields that are used.
type Lease struct {
	Lineage  string        `json:"lineage"`
	Run      string        `json:"run"`
	Who      string        `json:"who"`
	Token    int64         `json:"token"`
	Since    time.Time     `json:"since"`
	Renewed  time.Time     `json:"renewed"`
	Duration time.Duration `json:"duration"`
	Version  string        `json:"version"`
}

// LeaseRef returns the key of a lease.
func LeaseRef(name string) string {
	return state.ObjectRef{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: "kube-system", Name: name}.String()
}
