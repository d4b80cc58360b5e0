package providers

import (
	"context"
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// batch is operations with the run's fence. A mark learns here whose it is: a
// plan does not know the run that carries it out.
func (w *work) batch(ops []planner.Operation) Batch {
	own := make([]planner.Operation, len(ops))
	for i, op := range ops {
		if m, ok := op.(planner.Mark); ok {
			m.Marks.Lineage, m.Marks.Token = w.run.Lineage, w.run.Token
			op = m
		}
		own[i] = op
	}
	return Batch{Token: w.run.Token, Run: w.run.ID, Lineage: w.run.Lineage, Expect: w.expected(ops), Operations: own}
}

// expected are the files that operations overwrite and that nobody may have
// changed since the plan was made.
func (w *work) expected(ops []planner.Operation) map[string]string {
	out := map[string]string{}
	for _, op := range ops {
		for _, path := range planner.Overwrites(op) {
			want, ok := w.step.Expect[planner.FileExpectation(path)]
			if ok && !w.checked[path] {
				out[path] = strings.TrimPrefix(want, planner.ExpectedFile(""))
			}
			w.checked[path] = true
		}
	}
	return out
}

func (w *work) performHost(ctx context.Context, ops []planner.Operation) error {
	host, err := w.host(ctx)
	if err != nil {
		return err
	}
	b := w.batch(ops)
	if b.Contents, err = w.contents(ctx, ops); err != nil {
		return err
	}
	sent, err := w.artifacts(ops)
	if err != nil {
		return err
	}
	defer sent.close()
	b.Artifacts = sent.artifacts
	_, err = host.Perform(ctx, b)
	if changed := sent.changed(); changed != nil {
		return changed // and not how the host put it, which got something else than was planned
	}
	return err
}

// contents resolves everything that the operations refer to.
func (w *work) contents(ctx context.Context, ops []planner.Operation) (map[string]state.Secret, error) {
	out := map[string]state.Secret{}
	for _, op := range ops {
		for _, s := range planner.References(op) {
			if _, known := out[s.Ref]; known {
				continue
			}
			content, err := w.resolve(ctx, s)
			if err != nil {
				return nil, err
			}
			out[s.Ref] = content
		}
	}
	return out, nil
}

func (w *work) resolve(ctx context.Context, s state.Sensitive) (state.Secret, error) {
	if w.Content == nil {
		return state.Secret{}, fmt.Errorf("cannot find content %s: nothing is known of it", s.Ref)
	}
	return w.Content(ctx, s)
}

// performKeys has all keys of a group made and written together, where the
// issuer can do that.
func (w *work) performKeys(ctx context.Context, ops []planner.Operation) error {
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

func (w *work) keyRequest(ctx context.Context, op planner.Operation) (KeyRequest, error) {
	r := KeyRequest{Operation: op}
	var err error
	switch op := op.(type) {
	case planner.IssueCertificate:
		r.Source, err = w.signer(ctx, op.CA)
	case planner.CopySecrets:
		r.Source, err = w.Host(ctx, op.From)
	case planner.WriteKubeconfig:
		if r.Source, err = w.signer(ctx, op.CA); err == nil && op.Token != nil {
			r.Token, err = w.token(*op.Token)
		}
	}
	return r, err
}

// signer is the host with the CA; the step's own when the operation names none.
func (w *work) signer(ctx context.Context, ca planner.Signer) (Host, error) {
	if ca.Operator != "" || ca.On.IsZero() {
		return w.host(ctx)
	}
	return w.Host(ctx, ca.On)
}

func (w *work) token(p state.Pending) (state.Secret, error) {
	o, ok := w.output(p)
	if !ok || o.Secret.IsZero() {
		return state.Secret{}, fmt.Errorf("cannot find the bootstrap token of %s: it is known only to the run that made it; plan again", p.Step)
	}
	return o.Secret, nil
}

// issue does one operation with keys.
func (w *work) issue(ctx context.Context, on Host, r KeyRequest, b Batch) error {
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
	case planner.ImportSecrets:
		_, err = w.Issuer.ImportSecrets(ctx, on, op, b)
	}
	return err
}
