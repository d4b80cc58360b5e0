package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// Access opens the API and etcd of clusters that live on simulated hosts.
type Access struct{}

var _ providers.Access = Access{}

// API is reached on a host's API server with the administrator's kubeconfig of via.
func (Access) API(ctx context.Context, via providers.Host, endpoint string) (providers.API, error) {
	h, err := hostOf(via)
	if err != nil {
		return nil, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if err := h.w.connected(ctx, h.machine()); err != nil {
		return nil, err
	}
	return &api{h, endpoint}, nil
}

// Etcd is reached with the healthcheck client certificate of via.
func (Access) Etcd(ctx context.Context, via providers.Host, endpoints []string, folder string) (providers.Etcd, error) {
	h, err := hostOf(via)
	if err != nil {
		return nil, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if err := h.w.connected(ctx, h.machine()); err != nil {
		return nil, err
	}
	return &etcdClient{h, endpoints, path.Join(cmp.Or(folder, providers.CertificatesFolder), "etcd", healthcheckClient)}, nil
}

// externalEtcdVersion is that of every etcd outside the world.
const externalEtcdVersion = "3.6.8"

// ExternalEtcd returns an etcd that is not in the world.
func (Access) ExternalEtcd(ctx context.Context, via providers.Host, endpoints []string, _ providers.EtcdCredentials, _ string) (state.ExternalEtcdReport, error) {
	h, err := hostOf(via)
	if err != nil {
		return state.ExternalEtcdReport{}, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	r := state.ExternalEtcdReport{Versions: map[string]string{}}
	err = h.w.read(ctx, h.machine(), "external_etcd", strings.Join(endpoints, ","), func() error {
		if h.machine().Conditions.NoForwarding {
			return &providers.Error{Kind: providers.ErrNoForwarding, Do: "reach the external etcd"}
		}
		c := h.w.externalEtcd(endpoints)
		for _, endpoint := range endpoints {
			r.Versions[endpoint] = externalEtcdVersion
		}
		r.Keys = int64(len(c.Nodes) + len(c.Objects))
		return nil
	})
	return r, err
}

const (
	adminConf      = "/etc/kubernetes/admin.conf"
	superAdminConf = "/etc/kubernetes/super-admin.conf"
)

// administrator connects with the administrator's rights: admin.conf has them
// once the group it is in is bound, super-admin.conf always.
func (a *api) administrator() (*session, error) {
	w, m := a.h.w, a.h.machine()
	server, err := a.server()
	if err != nil {
		return nil, &providers.Error{Kind: providers.ErrUnavailable, Do: "reach the API through " + m.address, Cause: err}
	}
	denied := errors.New("open " + adminConf + ": no such file or directory")
	for _, p := range []string{adminConf, superAdminConf} {
		conf := w.resolve(m, p)
		if conf == nil || conf.Record == nil || conf.Record.Kubeconfig == nil {
			continue
		}
		s, err := w.handshakeTo(m, server, conf.Record)
		if err != nil {
			denied = err
			continue
		}
		if s.mayAdminister() {
			return s, nil
		}
		denied = fmt.Errorf("forbidden: User %q cannot do this at the cluster scope", s.user)
	}
	return nil, fmt.Errorf("cannot use the API of %s: %w", m.address, denied)
}

func (s *session) mayAdminister() bool {
	return slices.Contains(s.groups, "system:masters") ||
		slices.Contains(s.groups, "kubeadm:cluster-admins") && s.cluster.has(clusterRoleBinding("kubeadm:cluster-admins"))
}

// handshakeTo is handshake with the server's own address as name: the
// administrator's client dials the host, whatever its kubeconfig names.
func (w *World) handshakeTo(m, server *machine, r *record) (*session, error) {
	_, p := w.podOf(server, compAPI)
	cert, err := w.certificateAt(server, p.flag("tls-cert-file", ""), "")
	if err != nil {
		return nil, err
	}
	names := append(slices.Clone(cert.IPAddresses), cert.DNSNames...)
	if len(names) == 0 {
		return nil, errors.New("x509: certificate is not valid for any names")
	}
	return w.handshake(m, server, names[0], r)
}

// server returns the host whose API server answers at the endpoint.
func (a *api) server() (*machine, error) {
	w, m := a.h.w, a.h.machine()
	host, port := splitEndpoint(a.endpoint)
	var last error = fmt.Errorf("dial tcp %s: connect: connection refused", a.endpoint)
	targets := []*machine{m}
	if host != "" {
		targets = w.behind(m, host)
	}
	for _, target := range targets {
		_, p := w.podOf(target, compAPI)
		if p == nil || port != "" && w.find(host) != nil && p.flag("secure-port", "6443") != port {
			continue
		}
		if err := w.fault(target, compAPI); err != nil {
			last = err
			continue
		}
		return target, nil
	}
	return nil, last
}

func splitEndpoint(endpoint string) (host, port string) {
	if u, err := url.Parse(endpoint); err == nil && u.Host != "" {
		return u.Hostname(), u.Port()
	}
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return strings.Trim(endpoint, "[]"), ""
	}
	return host, port
}
