package apiserver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/state"
)

// HTTPStatus returns the answer of a health endpoint to a client on a machine, which
// verifies the server with the CA file unless that is empty.
func (s *Servers) HTTPStatus(m *machine.Machine, address, ca string) (int, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	refused := fmt.Errorf("dial tcp %s: connect: %w", u.Host, providers.ErrRefused)
	last := refused
	for _, target := range s.Behind(m, u.Hostname()) {
		component := target.Processes().ComponentAt(staticpod.Number(u.Port()), s.Find(u.Hostname()) == nil && !loopback(u.Hostname()))
		if component == "" {
			continue
		}
		if component == "kubelet" {
			if u.Port() != "10250" && !loopback(u.Hostname()) && target.Processes().KubeletConfig().Get("healthzBindAddress").AsString() == "" {
				continue // it listens on 127.0.0.1 only
			}
			return 200, nil
		}
		if !target.Processes().Listening(component) {
			continue
		}
		if u.Scheme == "https" && ca != "" {
			if err := s.verify(m, target, component, u.Hostname(), ca); err != nil {
				last = err
				continue
			}
		}
		return s.health(target, component), nil
	}
	return 0, last
}

// health returns the status of a component's health endpoint.
func (s *Servers) health(m *machine.Machine, component string) int {
	if m.Processes().RefusesProbes(component) {
		return 401
	}
	if s.Fault(m, component) != nil {
		return 500
	}
	return 200
}

// verify checks a server's certificate against a CA on a host.
func (s *Servers) verify(m, target *machine.Machine, component, name, ca string) error {
	_, p := target.Processes().Pod(component)
	if component != staticpod.APIServer {
		return errors.New("x509: certificate signed by unknown authority") // self-signed in memory
	}
	cert, err := target.Certificates().At(p.Flag("tls-cert-file", ""), "")
	switch {
	case err != nil:
		return err
	case !m.Certificates().Trusts(ca, cert):
		return errors.New("x509: certificate signed by unknown authority")
	case !covers(cert, name):
		return notFor(cert, name)
	}
	return nil
}

// KubeletCertificate returns the certificate that a running kubelet shows: the one in the file of its
// configuration, which it reloads, or the one that it has signed itself.
func KubeletCertificate(m *machine.Machine) (*state.CertificateInfo, error) {
	path := m.Processes().KubeletConfig().Get("tlsCertFile").AsString()
	if path == "" {
		path = "/var/lib/kubelet/pki/kubelet.crt"
	}
	return m.Certificates().At(file.Clean(path), "")
}

// ServedCertificate returns the certificate that an API server, an etcd or a kubelet shows at an address.
func (s *Servers) ServedCertificate(m *machine.Machine, address string) (*state.CertificateInfo, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	for _, target := range s.Behind(m, name) {
		component := target.Processes().ComponentAt(staticpod.Number(port), false)
		if component == "kubelet" && target.Processes().KubeletRuns() {
			return KubeletCertificate(target)
		}
		if component == "" || component == "kubelet" || !target.Processes().Listening(component) {
			continue
		}
		_, p := target.Processes().Pod(component)
		flag := "tls-cert-file"
		if component == staticpod.Etcd {
			flag = "cert-file"
			if slices.ContainsFunc(strings.Split(p.Flag("listen-peer-urls", ""), ","), func(u string) bool { return strings.HasSuffix(u, ":"+port) }) {
				flag = "peer-cert-file"
			}
		}
		if f := target.Resolve(file.Clean(p.Flag(flag, ""))); f != nil && f.Record != nil && len(f.Record.Certificates) > 0 {
			return &f.Record.Certificates[0], nil
		}
	}
	return nil, fmt.Errorf("dial tcp %s: connect: connection refused", address)
}
