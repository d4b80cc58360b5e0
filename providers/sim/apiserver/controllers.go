package apiserver

import (
	"strings"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
)

// Signer finds a controller manager of the cluster that signs certificates,
// and its CA's path without extension.
func (a API) Signer() (*machine.Machine, string) {
	for _, m := range a.servers.StaticPodHosts() {
		running, p := m.Processes().Pod(staticpod.ControllerManager)
		if p == nil || a.servers.Fault(m, staticpod.ControllerManager) != nil {
			continue
		}
		if s, err := a.servers.Dial(m, &file.File{Record: running.Conf}); err != nil || s.Cluster != a.c {
			continue
		}
		if base := strings.TrimSuffix(p.Flag("cluster-signing-cert-file", ""), ".crt"); base != "" {
			return m, base
		}
	}
	return nil, ""
}

// RootCAs returns what a controller manager that is well publishes in every
// namespace; nil when there is none.
func (a API) RootCAs() []string {
	for _, m := range a.servers.StaticPodHosts() {
		running, _ := m.Processes().Pod(staticpod.ControllerManager)
		if running == nil || a.servers.Fault(m, staticpod.ControllerManager) != nil {
			continue
		}
		if s, err := a.servers.Dial(m, &file.File{Record: running.Conf}); err == nil && s.Cluster == a.c {
			return running.Trusts["root-ca-file"]
		}
	}
	return nil
}
