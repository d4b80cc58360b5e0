package providers

import (
	"context"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// KeyRequest is one operation with keys, with its inputs from elsewhere.
type KeyRequest struct {
	// Operation is one of the operations for which Issuer has a method.
	Operation planner.Operation
	// Source is the host with the CA's key, or for CopySecrets the host with the files; nil
	// for the host of the operation itself.
	Source Host
	// Token is for WriteKubeconfig with a bootstrap token.
	Token state.Secret
}

// GroupIssuer is an Issuer that performs consecutive operations for one host together: it
// reads each other host once, and writes everything made in one round trip. The outcomes
// are those of Host.Perform: one per attempted operation.
type GroupIssuer interface {
	Issuer
	IssueAll(ctx context.Context, on Host, requests []KeyRequest, batch Batch) ([]Outcome, error)
}

// keyWork is the part of a step in which keys are made and copied.
type keyWork struct{ *work }

// perform makes and writes all keys of a group together, if the issuer can.
func (w keyWork) perform(ctx context.Context, ops []planner.Operation) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	requests := make([]KeyRequest, len(ops))
	for i, op := range ops {
		if requests[i], err = w.keyRequest(ctx, op); err != nil {
			return err
		}
	}
	b := w.batch(nil)
	if b.Contents, err = w.contents(ctx, ops); err != nil {
		return err
	}
	if all, ok := w.Issuer.(GroupIssuer); ok {
		b.Expect = w.expected(ops)
		_, err = all.IssueAll(ctx, host, requests, b)
		return err
	}
	for i, r := range requests {
		b.Expect = w.expected(ops[i : i+1])
		if err := w.issue(ctx, host, r, b); err != nil {
			return err
		}
	}
	return nil
}

func (w keyWork) keyRequest(ctx context.Context, op planner.Operation) (KeyRequest, error) {
	r := KeyRequest{Operation: op}
	var err error
	switch op := op.(type) {
	case planner.IssueCertificate:
		r.Source, err = w.signer(ctx, op.CA)
	case planner.CopySecrets:
		r.Source, err = w.Host(ctx, op.From)
	case planner.WriteEncryption:
		if !op.From.IsZero() {
			r.Source, err = w.Host(ctx, op.From)
		}
	case planner.WriteKubeconfig:
		if r.Source, err = w.signer(ctx, op.CA); err == nil && op.Token != nil {
			r.Token, err = w.token(*op.Token)
		}
	}
	return r, err
}

// signer returns the host with the CA; the step's own if the operation names none.
func (w keyWork) signer(ctx context.Context, ca planner.Signer) (Host, error) {
	if ca.Operator != "" || ca.On.IsZero() {
		return w.host(ctx)
	}
	return w.Host(ctx, ca.On)
}

// issue performs one operation with keys.
func (w keyWork) issue(ctx context.Context, on Host, r KeyRequest, b Batch) error {
	var err error
	switch op := r.Operation.(type) {
	case planner.IssueCA:
		_, err = w.Issuer.IssueCA(ctx, on, op, b)
	case planner.IssueKeyPair:
		_, err = w.Issuer.IssueKeyPair(ctx, on, op, b)
	case planner.IssueCertificate:
		_, err = w.Issuer.IssueCertificate(ctx, on, r.Source, op, b)
	case planner.WriteKubeconfig:
		_, err = w.Issuer.WriteKubeconfig(ctx, on, r.Source, op, r.Token, b)
	case planner.SetKubeconfig:
		_, err = w.Issuer.SetKubeconfig(ctx, on, op, b)
	case planner.CopySecrets:
		_, err = w.Issuer.CopySecrets(ctx, r.Source, on, op, b)
	case planner.BundleTrust:
		_, err = w.Issuer.BundleTrust(ctx, on, op, b)
	case planner.WriteEncryption:
		_, err = w.Issuer.WriteEncryption(ctx, on, r.Source, op, b)
	case planner.ImportSecrets:
		_, err = w.Issuer.ImportSecrets(ctx, on, op, b)
	}
	return err
}
