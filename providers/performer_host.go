package providers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// batch returns operations with the run's fence. It fills in the lineage and token of
// marks: a plan does not know the run that applies it.
func (w *work) batch(ops []planner.Operation) Batch {
	own := make([]planner.Operation, len(ops))
	for i, op := range ops {
		if m, ok := op.(planner.Mark); ok {
			m.Marks.Lineage, m.Marks.Token = w.run.Lineage, w.run.Token
			op = m
		}
		own[i] = op
	}
	return Batch{Token: w.run.Token, Run: w.run.ID, Lineage: w.run.Lineage, Void: w.run.Void[w.own()], Expect: w.expected(ops), Operations: own}
}

// expected returns the files that the operations overwrite and that must not have changed
// since the plan was made.
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

// performHost has the host perform operations, and returns what became of each.
func (w *work) performHost(ctx context.Context, ops []planner.Operation) ([]Outcome, error) {
	host, err := w.host(ctx)
	if err != nil {
		return nil, err
	}
	if ops, err = marked(ctx, host, ops); err != nil {
		return nil, err
	}
	if err := w.recheck.keep(ctx, host, ops); err != nil {
		return nil, err
	}
	b := w.batch(ops)
	if b.Contents, err = w.contents(ctx, ops); err != nil {
		return nil, err
	}
	hear, end := w.listen()
	defer end()
	sent, err := w.artifacts(ops, hear)
	if err != nil {
		return nil, err
	}
	defer sent.close()
	b.Artifacts, b.Hear = sent.artifacts, hear
	out, err := host.Perform(ctx, b)
	if changed := sent.changed(); changed != nil {
		return nil, changed // not the host's wording, since the host got something else than was planned
	}
	return out, err
}

// marked adds to marks the CA by which the host is part of its cluster: it was made or
// brought in this very run, so the plan does not know it.
func marked(ctx context.Context, host Host, ops []planner.Operation) ([]planner.Operation, error) {
	out := slices.Clone(ops)
	for i, op := range ops {
		m, ok := op.(planner.Mark)
		if !ok || m.CA == "" || m.Remove {
			continue
		}
		r, err := host.Observe(ctx, state.Query{Files: []state.FileQuery{{Path: m.CA, Read: state.ReadCertificate}}})
		if err != nil {
			return nil, err
		}
		m.Marks, m.CA = ofCA(m.Marks, r, m.CA), ""
		out[i] = m
	}
	return out, nil
}

// ofCA returns a mark that names the CA that a host holds, and those that it held before.
func ofCA(m state.Marks, r *state.Report, file string) state.Marks {
	former := append(slices.Clone(m.FormerCAs), m.ClusterCA)
	if r.Marks != nil {
		former = append(append(former, r.Marks.FormerCAs...), r.Marks.ClusterCA)
		m.ClusterCA = cmp.Or(m.ClusterCA, r.Marks.ClusterCA)
	}
	if certs := r.Files[file].Certificates; len(certs) > 0 {
		m.ClusterCA = certs[0].KeyDigest
	}
	slices.Sort(former)
	m.FormerCAs = slices.DeleteFunc(slices.Compact(former), func(ca string) bool { return ca == "" || ca == m.ClusterCA })
	if len(m.FormerCAs) == 0 {
		m.FormerCAs = nil
	}
	return m
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
		return state.Secret{}, fmt.Errorf("internal error: nothing is known of content %s", s.Ref)
	}
	return w.Content(ctx, s)
}

func (w *work) token(p state.Pending) (state.Secret, error) {
	o, ok := w.output(p)
	if !ok || o.Secret.IsZero() {
		return state.Secret{}, fmt.Errorf("cannot find the bootstrap token of %s: it is known only to the run that made it; plan again", p.Step)
	}
	return o.Secret, nil
}
