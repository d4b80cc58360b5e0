package sim

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// HTTPStatus returns what a health endpoint of the kubelet or of a control
// plane component would: 200, or 500 when the component runs and is not well.
func (h *Host) HTTPStatus(ctx context.Context, address, ca string) (int, error) {
	w := h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := h.machine()
	status := 0
	err := w.read(ctx, m, "http", address, func() error {
		var err error
		if status, err = w.get200(m, address, ca); err != nil {
			return &providers.Error{Kind: providers.ErrUnreachable, Do: "get " + address + " from " + m.address, Cause: err}
		}
		return nil
	})
	return status, err
}

func (w *World) get200(m *machine, address, ca string) (int, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	refused := fmt.Errorf("dial tcp %s: connect: %w", u.Host, providers.ErrRefused)
	last := refused
	for _, target := range w.behind(m, u.Hostname()) {
		component := w.componentOn(target, number(u.Port()), w.find(u.Hostname()) == nil && !loopback(u.Hostname()))
		if component == "" {
			continue
		}
		if component == "kubelet" {
			if u.Port() != "10250" && !loopback(u.Hostname()) && w.kubeletTree(target).Get("healthzBindAddress").AsString() == "" {
				continue // it listens on 127.0.0.1 only
			}
			return 200, nil
		}
		if !w.up(target, component) {
			continue
		}
		if u.Scheme == "https" && ca != "" {
			if err := w.verify(m, target, component, u.Hostname(), ca); err != nil {
				last = err
				continue
			}
		}
		return w.health(target, component), nil
	}
	return 0, last
}

// loopback reports whether a name leads to the host that asks: so does the address of no
// host in particular, at which Linux connects to itself.
func loopback(name string) bool {
	return slices.Contains([]string{"127.0.0.1", "::1", "localhost", "0.0.0.0", "::"}, name)
}

// componentOn returns who listens on a port; behind a balancer that is an API server.
func (w *World) componentOn(m *machine, port int, balanced bool) string {
	if w.kubeletRuns(m) && (port == w.healthPort(m) || port == 10250) && !balanced {
		return "kubelet"
	}
	for _, component := range []string{compAPI, compController, compScheduler, compEtcd} {
		_, p := w.podOf(m, component)
		switch {
		case p == nil:
		case balanced && component == compAPI:
			return component
		case !balanced && slices.Contains(ports(component, p), port):
			return component
		}
	}
	return ""
}

// up reports whether a component has come up as far as to listen.
func (w *World) up(m *machine, component string) bool {
	running, _ := w.podOf(m, component)
	return running != nil && running.Exited == "" && !w.d.Now.Before(running.Started.Add(startup(component)))
}

// health returns the status of a component's health endpoint.
func (w *World) health(m *machine, component string) int {
	if w.refusesProbes(m, component) {
		return 401
	}
	if w.fault(m, component) != nil {
		return 500
	}
	return 200
}

// refusesProbes reports whether a component answers no request without credentials, as
// those of probes are.
func (w *World) refusesProbes(m *machine, component string) bool {
	_, p := w.podOf(m, component)
	if component != compAPI || p == nil {
		return false
	}
	anonymous, err := strconv.ParseBool(p.flag("anonymous-auth", "true"))
	return err == nil && !anonymous
}

// verify checks a server's certificate against a CA on a host.
func (w *World) verify(m, target *machine, component, name, ca string) error {
	_, p := w.podOf(target, component)
	if component != compAPI {
		return errors.New("x509: certificate signed by unknown authority") // self-signed in memory
	}
	cert, err := w.certificateAt(target, p.flag("tls-cert-file", ""), "")
	switch {
	case err != nil:
		return err
	case !w.trusts(m, ca, cert):
		return errors.New("x509: certificate signed by unknown authority")
	case !covers(cert, name):
		return notFor(cert, name)
	}
	return nil
}

func notFor(c *state.CertificateInfo, name string) error {
	return fmt.Errorf("x509: certificate is valid for %s, not %s", strings.Join(slices.Concat(c.DNSNames, c.IPAddresses), ", "), name)
}
