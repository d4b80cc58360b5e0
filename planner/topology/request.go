package topology

import (
	"time"

	"github.com/kubewright/kubewright/state"
)

// Request is what a run asks for beyond the configuration.
type Request struct {
	// ObservedAt is the time of the observation; renewals are due relative to it.
	ObservedAt time.Time
	// Destroy plans to remove everything in the configuration.
	Destroy bool
	// AllowUnreachable plans without workers, departing nodes and, in a destroy, any nodes whose
	// hosts could not be observed. Their steps are withheld.
	AllowUnreachable bool
	// AllowOlderState plans with a state that lacks runs seen by its hosts.
	AllowOlderState bool
	// Replace are nodes that are removed and join again on request; for those in AcceptNewHost the
	// host may be another machine than before.
	Replace, AcceptNewHost []state.Target
	// RefreshOnly plans only to record drift in the state.
	RefreshOnly bool
	// ForgetUnreachable are nodes without a block whose hosts are gone for good.
	ForgetUnreachable []state.Target
	// Rotate are the CAs to replace by new ones.
	Rotate []Rotation
	// Moved are the renamings that are already applied to Recorded but not to the state file.
	Moved []state.Moved
	// Key is the key of secret fingerprints. Without one no observed value equals a secret of the
	// configuration.
	Key state.Key
}

// WithKey returns the request with the key of secret fingerprints.
func (r Request) WithKey(key state.Key) Request {
	r.Key = key
	return r
}
