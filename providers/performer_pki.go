package providers

import (
	"context"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// KeyRequest is one operation with keys, and what it needs from elsewhere.
type KeyRequest struct {
	// Operation is one of the operations that Issuer has a method for.
	Operation planner.Operation
	// Source is the host with the CA's key, or in CopySecrets the host that has
	// the files; nil for the host that the operation is for.
	Source Host
	// Token is for WriteKubeconfig with a bootstrap token.
	Token state.Secret
}

// GroupIssuer is an Issuer that does consecutive operations for one host
// together: each other host is read once, and everything made is written in
// one round trip. The outcomes are as those of Host.Perform: one for each
// operation that was attempted.
type GroupIssuer interface {
	Issuer
	IssueAll(ctx context.Context, on Host, requests []KeyRequest, batch Batch) ([]Outcome, error)
}
