package apiserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
)

// Servers are the API servers of a world.
type Servers struct {
	*etcd.Clusters
	// Handling is the host whose API server handles the request under way, or has handled the
	// last one.
	Handling *machine.Machine
}

// API is the API of one cluster.
type API struct {
	servers *Servers
	c       *etcd.Cluster
}

// API returns the API of a cluster.
func (s *Servers) API(c *etcd.Cluster) API { return API{s, c} }

// Servers returns all API servers of the world.
func (a API) Servers() *Servers { return a.servers }

// Cluster returns the etcd cluster that stores the API's objects.
func (a API) Cluster() *etcd.Cluster { return a.c }

// Fault returns why a component of a host does not answer as healthy, or nil.
func (s *Servers) Fault(m *machine.Machine, component string) error {
	if err := m.Processes().PodFault(component); err != nil {
		return err
	}
	_, p := m.Processes().Pod(component)
	switch component {
	case staticpod.Etcd:
		ep, _ := s.ProcessOn(m)
		return ep.Fault()
	case staticpod.APIServer:
		return s.apiFault(m, p)
	case staticpod.ControllerManager, staticpod.Scheduler:
		return s.clientFault(m, component, p)
	}
	return nil
}

// apiFault checks the dependencies of an API server besides its files.
func (s *Servers) apiFault(m *machine.Machine, p *staticpod.Manifest) error {
	running, _ := m.Processes().Pod(staticpod.APIServer)
	for _, endpoint := range running.Plugins { // which it reads at the start, and is not ready without
		if err := pluginFault(m, p, endpoint); err != nil {
			return fmt.Errorf("readyz: [-]kms-providers failed: %w", err)
		}
	}
	cert, err := m.Certificates().At(p.Flag("tls-cert-file", ""), m.Certificates().PathIfPresent(p.Flag("tls-private-key-file", "")))
	if err != nil {
		return err
	}
	if !slices.Contains(cert.Usages, "server auth") {
		return errors.New("x509: certificate specifies an incompatible key usage")
	}
	c, err := s.StorageOf(m, p)
	if err != nil {
		return err
	}
	if !c.HasQuorum() {
		return errors.New("etcd has no leader")
	}
	return nil
}

// clientFault checks a component that depends on the API.
func (s *Servers) clientFault(m *machine.Machine, component string, p *staticpod.Manifest) error {
	running, _ := m.Processes().Pod(component)
	if running.Conf == nil {
		return errors.New("no kubeconfig")
	}
	server, err := s.Dial(m, &file.File{Record: running.Conf})
	if err != nil {
		return err
	}
	if server.User != "system:"+component {
		return fmt.Errorf("%s is not allowed to get leases: user %s", component, server.User)
	}
	if version, known := m.Processes().Version(component); known {
		return server.On.Processes().CheckSkew(component, version)
	}
	return nil
}

// CNIFolder is the folder of CNI configurations.
const CNIFolder = "/etc/cni/net.d"

// hasNetwork reports whether there is a CNI configuration.
func hasNetwork(m *machine.Machine) bool {
	return slices.ContainsFunc(m.Children(CNIFolder), func(p string) bool {
		return strings.HasSuffix(p, ".conflist") || strings.HasSuffix(p, ".conf")
	})
}
