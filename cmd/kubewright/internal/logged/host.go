package logged

import (
	"context"
	"net"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/diagnosis"
	"github.com/kubewright/kubewright/providers/rehearsal"
	"github.com/kubewright/kubewright/state"
)

// host is a host that logs its requests.
type host struct {
	providers.Host
	log  *Log
	name string
}

// Open connects to a host, which the log names by its address.
func (l *Log) Open(address string, open func() (providers.Host, error)) (providers.Host, error) {
	if l == nil {
		return open()
	}
	done := l.asking("host", "host", address, "for", "connection")
	h, err := open()
	done(err)
	if err != nil {
		return nil, err
	}
	return &host{h, l, address}, nil
}

// Unwrap returns the wrapped host.
func (h *host) Unwrap() providers.Host { return h.Host }

func (h *host) asking(what string, about ...any) func(error, ...any) {
	return h.log.asking("host", append([]any{"host", h.name, "for", what}, about...)...)
}

// Observe implements providers.Host.
func (h *host) Observe(ctx context.Context, q state.Query) (*state.Report, error) {
	done := h.asking("observation", "files", len(q.Files), "units", len(q.Units), "preflight", q.Preflight)
	r, err := h.Host.Observe(ctx, q)
	done(err)
	return r, err
}

// Perform implements providers.Host.
func (h *host) Perform(ctx context.Context, batch providers.Batch) ([]providers.Outcome, error) {
	for _, op := range batch.Operations {
		h.log.Trace("sending operation", "host", h.name, "operation", summary(op))
	}
	done := h.asking("operations", "count", len(batch.Operations), "token", batch.Token)
	outcomes, err := h.Host.Perform(ctx, batch)
	changed := 0
	for _, o := range outcomes {
		if o.Changed {
			changed++
		}
	}
	done(err, "attempted", len(outcomes), "changed", changed)
	return outcomes, err
}

func summary(op planner.Operation) string { return op.Op() + ": " + op.Summary() }

// ReadSecrets implements providers.Host.
func (h *host) ReadSecrets(ctx context.Context, paths []string) (map[string]state.Secret, error) {
	done := h.asking("files kept in memory", "paths", paths)
	secrets, err := h.Host.ReadSecrets(ctx, paths)
	done(err, "found", len(secrets))
	return secrets, err
}

// DialContext implements providers.Host.
func (h *host) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	done := h.asking("way through", "address", address)
	c, err := h.Host.DialContext(ctx, network, address)
	done(err)
	return c, err
}

// HTTPStatus implements providers.Host.
func (h *host) HTTPStatus(ctx context.Context, url, ca string) (int, error) {
	done := h.asking("status", "url", url)
	status, err := h.Host.HTTPStatus(ctx, url, ca)
	done(err, "status", status)
	return status, err
}

// ServedCertificate implements providers.Host.
func (h *host) ServedCertificate(ctx context.Context, address string) (state.CertificateInfo, error) {
	done := h.asking("served certificate", "address", address)
	c, err := h.Host.ServedCertificate(ctx, address)
	done(err)
	return c, err
}

// Diagnose implements providers.Host.
func (h *host) Diagnose(ctx context.Context) (*diagnosis.Report, error) {
	done := h.asking("diagnosis")
	r, err := h.Host.Diagnose(ctx)
	done(err)
	return r, err
}

// Rehearse implements providers.Host.
func (h *host) Rehearse(ctx context.Context, q rehearsal.Request) (*rehearsal.Report, error) {
	done := h.asking("rehearsal", "size", q.Size, "sha256", q.SHA256)
	r, err := h.Host.Rehearse(ctx, q)
	done(err)
	return r, err
}

// Close implements providers.Host.
func (h *host) Close() error {
	h.log.Trace("closing connection", "host", h.name)
	return h.Host.Close()
}

// name returns the name of a host in the log.
func name(h providers.Host) string {
	for h != nil {
		if own, ok := h.(*host); ok {
			return own.name
		}
		inner, ok := h.(interface{ Unwrap() providers.Host })
		if !ok {
			break
		}
		h = inner.Unwrap()
	}
	return ""
}
