package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/state"
)

// Access opens the API and etcd of clusters that live on simulated hosts.
type Access struct{}

// API opens a host's API server with the administrator's kubeconfig of via.
func (Access) API(ctx context.Context, via providers.Host, endpoint string) (providers.API, error) {
	h, err := hostOf(via)
	if err != nil {
		return nil, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if err := h.machine().Connected(ctx); err != nil {
		return nil, err
	}
	return &api{h, endpoint}, nil
}

// Etcd opens etcd with the healthcheck client certificate of via.
func (Access) Etcd(ctx context.Context, via providers.Host, endpoints []string, folder string) (providers.Etcd, error) {
	h, err := hostOf(via)
	if err != nil {
		return nil, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if err := h.machine().Connected(ctx); err != nil {
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
		c := h.w.etcds.External(endpoints)
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

// administrator connects with the administrator's rights: admin.conf has them once its
// group is bound, super-admin.conf always.
func (a *api) administrator() (*apiserver.Session, error) {
	w, m := a.h.w, a.h.machine()
	server, err := a.server()
	if err != nil {
		return nil, &providers.Error{Kind: providers.ErrUnavailable, Do: "reach the API through " + m.Address, Cause: err}
	}
	denied := errors.New("open " + adminConf + ": no such file or directory")
	for _, p := range []string{adminConf, superAdminConf} {
		conf := m.Resolve(p)
		if conf == nil || conf.Record == nil || conf.Record.Kubeconfig == nil {
			continue
		}
		s, err := w.servers.HandshakeTo(m, server, conf.Record)
		if err != nil {
			denied = err
			continue
		}
		if s.MayAdminister() {
			return s, handle(w, s)
		}
		denied = fmt.Errorf("forbidden: User %q cannot do this at the cluster scope", s.User)
	}
	return nil, fmt.Errorf("cannot use the API of %s: %w", m.Address, denied)
}

// handle has an API server handle the requests of a session, which needs what is in etcd.
func handle(w *World, s *apiserver.Session) error {
	w.servers.Look(s.On)
	w.servers.Handling = s.On
	running, _ := s.On.Processes().Pod(staticpod.APIServer)
	if what := w.servers.Undecryptable(running, s.Cluster); what != "" {
		return fmt.Errorf("cannot use the API of %s: Internal error occurred: no matching key was found for %s", s.On.Address, what)
	}
	return nil
}

// server returns the host whose API server answers at the endpoint.
func (a *api) server() (*machine.Machine, error) {
	w, m := a.h.w, a.h.machine()
	host, port := splitEndpoint(a.endpoint)
	var last error = fmt.Errorf("dial tcp %s: connect: connection refused", a.endpoint)
	targets := []*machine.Machine{m}
	if host != "" {
		targets = w.servers.Behind(m, host)
	}
	for _, target := range targets {
		_, p := target.Processes().Pod(staticpod.APIServer)
		if p == nil || port != "" && w.fleet.Find(host) != nil && p.Flag("secure-port", "6443") != port {
			continue
		}
		if err := w.servers.Fault(target, staticpod.APIServer); err != nil {
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
