package pki_test

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/diagnosis"
	"github.com/kubewright/kubewright/providers/rehearsal"
	"github.com/kubewright/kubewright/state"
)

// memory is a host that holds files and counts round trips.
type memory struct {
	mu      sync.Mutex
	files   map[string][]byte
	written []planner.WriteFile
	// contents are those of the last batch.
	contents map[string]state.Secret
	reads    int
	performs int
	// failAfter makes Perform fail after so many files; 0 for never.
	failAfter int
}

var errLost = errors.New("connection lost")

func newMemory() *memory { return &memory{files: map[string][]byte{}} }

func (m *memory) Observe(context.Context, state.Query) (*state.Report, error) {
	return nil, errors.New("not expected")
}

func (m *memory) Perform(_ context.Context, batch providers.Batch) ([]providers.Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.performs++
	m.contents = batch.Contents
	var out []providers.Outcome
	for n, op := range batch.Operations {
		if m.failAfter > 0 && n == m.failAfter {
			return out, errLost
		}
		w, ok := op.(planner.WriteFile)
		if !ok {
			return out, errors.New("unexpected operation " + op.Op())
		}
		content := batch.Contents[w.Content.Ref].Reveal()
		out = append(out, providers.Outcome{Changed: string(m.files[w.Path]) != string(content)})
		m.files[w.Path] = content
		m.written = append(m.written, w)
	}
	return out, nil
}

func (m *memory) ReadSecrets(_ context.Context, paths []string) (map[string]state.Secret, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	out := map[string]state.Secret{}
	for _, p := range paths {
		if b, ok := m.files[p]; ok {
			out[p] = state.NewSecret(b)
		}
	}
	return out, nil
}

func (m *memory) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("not expected")
}

func (m *memory) HTTPStatus(context.Context, string, string) (int, error) {
	return 0, errors.New("not expected")
}

func (m *memory) Diagnose(context.Context) (*diagnosis.Report, error) {
	return nil, errors.ErrUnsupported
}

func (m *memory) Rehearse(context.Context, rehearsal.Request) (*rehearsal.Report, error) {
	return nil, errors.ErrUnsupported
}

func (m *memory) ServedCertificate(context.Context, string) (state.CertificateInfo, error) {
	return state.CertificateInfo{}, errors.New("not expected")
}

func (m *memory) Close() error { return nil }
