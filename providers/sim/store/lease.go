package store

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// Lease is a Lease object of a simulated cluster: the fields that are looked at.
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

// LeaseRef names a lease as objects are named.
func LeaseRef(name string) string {
	return state.ObjectRef{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Namespace: "kube-system", Name: name}.String()
}
