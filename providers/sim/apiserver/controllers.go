package apiserver

import (
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/providers/sim/store"
	"github.com/kubewright/kubewright/state"
)

// Signer returns a controller manager of the cluster that signs certificates, and its CA's
// path without extension.
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

// RootCAs returns the identities of the CAs that a healthy controller manager publishes in
// every namespace; nil if there is none.
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

// Restart marks the pods of a DaemonSet or Deployment; simulated ones start at once, and
// read which CAs to trust.
func (a API) Restart(op planner.RestartPods) error {
	ref := state.ObjectRef{APIVersion: "apps/v1", Kind: op.Kind, Namespace: op.Namespace, Name: op.Name}
	o := a.c.Objects[ref.String()]
	if o == nil {
		return nil
	}
	if op.Mark == "" {
		return nil // ApplyObject has restarted them
	}
	o.Live = store.With(o.Live, state.String(op.Mark), "spec", "template", "metadata", "annotations", planner.RestartAnnotation)
	if roots := a.RootCAs(); roots != nil {
		o.Trusts = roots
	}
	a.issueTokens(o)
	a.restartProxies(ref)
	return nil
}
