package phases

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// kubeconfigs writes the kubeconfigs of a control plane. Those of the founder
// alone matter only while they are made; super-admin.conf is renewed where it is,
// as by kubeadm certs renew. With an external CA nothing in the
// cluster signs, so every node's kubelet has its kubeconfig from here, for good.
var kubeconfigs = phase{
	name: kubeconfigPhase,
	nodeItems: func(n *node) []state.Item {
		var items []state.Item
		for _, k := range n.kubeconfigSpecs() {
			it := n.kubeconfigItem(kubeconfigPhase, k)
			if s, ok := n.suppliedConf(k); ok {
				it = n.suppliedConfItem(s)
			}
			it.CreateOnly = k.Path == superAdminConf || k.Path == kubeletConf && !n.cluster.externalCA()
			if it.CreateOnly && k.Path == kubeletConf {
				it.Initial = []string{"mode", "owner", planner.CASerial} // later on they are those of kubelet-finalize
			}
			items = append(items, it)
		}
		if n.isControlPlane() && !n.cluster.externalCA() {
			items = append(items, n.kubeletCertificateItem(kubeconfigPhase))
		}
		return items
	},
	nodeStep:  kubeconfigStep,
	nodeNeeds: func(n *node) []state.Address { return []state.Address{step(n.target, certsPhase)} },
}

const (
	adminConf         = "/etc/kubernetes/admin.conf"
	superAdminConf    = "/etc/kubernetes/super-admin.conf"
	kubeletConf       = "/etc/kubernetes/kubelet.conf"
	bootstrapConf     = "/etc/kubernetes/bootstrap-kubelet.conf"
	controllerConf    = "/etc/kubernetes/controller-manager.conf"
	schedulerConf     = "/etc/kubernetes/scheduler.conf"
	kubeletClientCert = "/var/lib/kubelet/pki/kubelet-client-current.pem"
)

// givenCertificate is where the configuration gives the cluster's CA.
const givenCertificate = "certificates.ca.certificate"

func (n *node) kubeconfigSpecs() []kubeadm.Kubeconfig {
	switch {
	case n.isControlPlane():
		specs := kubeadm.Kubeconfigs(n.input(), n.isFounder())
		if !n.isFounder() && n.keepsSuperAdmin() {
			specs = append(specs, kubeadm.SuperAdminKubeconfig(n.input()))
		}
		return specs
	case n.cluster.externalCA():
		return []kubeadm.Kubeconfig{kubeadm.KubeletKubeconfig(n.input())}
	}
	return nil
}

// keepsSuperAdmin tells that the founder's super-admin.conf is on the host still,
// and can be renewed with the others.
func (n *node) keepsSuperAdmin() bool {
	return n.report != nil && n.report.Files[superAdminConf].Kubeconfig != nil && n.cluster.authority(n.cluster.caBase()).custody != keyless
}

func kubeconfigStep(n *node, w work) planner.Step {
	if w.empty() {
		return planner.Step{}
	}
	ops := []planner.Operation{folder("/etc/kubernetes", "0755")}
	written, kept := false, false // of the kubelet, which runs
	for _, k := range n.kubeconfigSpecs() {
		for _, c := range w.changes {
			if c.Address.ID() != k.Path {
				continue
			}
			switch s, ok := n.suppliedConf(k); {
			case c.OnlyRereads():
			case ok && n.keeps(s):
				ops, kept = append(ops, n.trustGiven(k)...), k.Path == kubeletConf
			default:
				ops = append(ops, n.writeKubeconfig(k, c))
			}
			written = written || k.Path == kubeletConf && !n.joins()
		}
	}
	s := planner.Step{Operations: ops}
	if w.hasEnded() {
		s.Operations, s.Impact = append(s.Operations, n.reviveKubelet()...), n.revivesImpact()
	}
	switch {
	case kept && n.turns(), !written: // in its turn it is restarted
	case kept:
		n.restartKubelet(&s) // it goes on with the certificate that it has
	default:
		n.takeOver(&s)
	}
	return s
}

// takeOver has a kubelet that runs use the certificate that is in its kubeconfig for good.
// When it first starts it copies that into a file of its own, and from then on stays with
// the copy until it ends (client-go, util/certificate), so that this has to go. It is
// stopped first: one that was cut short in between is started by the next apply.
func (n *node) takeOver(s *planner.Step) {
	copied, stop, remove := n.report.Files[kubeletClientCert].Exists, planner.Unit{Unit: kubeletUnit, Action: "stop"}, planner.RemovePath{Path: kubeletClientCert}
	switch {
	case !copied && !n.turns():
		n.restartKubelet(s)
	case copied && n.turns(): // and is restarted then
		s.Operations = append(s.Operations, remove)
	case copied:
		s.Operations = append(s.Operations, stop, remove)
		n.restartKubelet(s, planner.Wait{For: planner.WaitFile, Name: kubeletClientCert, Files: []string{kubeletConf}, Timeout: n.cluster.Timeouts.KubeletHealthCheck})
	}
}

// withOldCopy adds that a kubelet stays with an older certificate than the one that it has
// from here. Where somebody outside the cluster signs what it asks for, its own is the newer.
func (n *node) withOldCopy(path string, attrs state.Value) state.Value {
	if path != kubeletConf || !n.cluster.externalCA() {
		return attrs
	}
	conf, own := n.report.Files[path].Kubeconfig, n.report.Files[kubeletClientCert].Certificates
	if conf == nil || conf.Client == nil || len(own) == 0 || own[0].Serial == conf.Client.Serial || !own[0].NotBefore.Before(conf.Client.NotBefore) {
		return attrs
	}
	return with(attrs, planner.StaleFiles, []any{path})
}

// writeKubeconfig issues a kubeconfig, or brings the one that was supplied.
func (n *node) writeKubeconfig(k kubeadm.Kubeconfig, c planner.Change) planner.Operation {
	if s, ok := n.suppliedConf(k); ok {
		return planner.ImportSecrets{Files: n.bring(s)}
	}
	return planner.WriteKubeconfig{
		Path: k.Path, CA: n.cluster.signer(n.cluster.Certificates.Dir + "/ca"),
		Cluster: k.Cluster, Server: k.Server, User: k.User, CommonName: k.CommonName, Organizations: k.Organizations,
		Algorithm: n.algorithm(), Validity: n.cluster.Certificates.Validity,
		Renew: c.Action != planner.Create,
	}
}

// trustGiven has a kubeconfig for which there is nothing to rewrite it with trust the CA
// as it is given, which comes to a worker later otherwise.
func (n *node) trustGiven(k kubeadm.Kubeconfig) []planner.Operation {
	var ops []planner.Operation
	if !n.isControlPlane() {
		ops = n.bringCA()
	}
	return append(ops, planner.SetKubeconfig{Path: k.Path, Trust: n.cluster.caFile()})
}

// restartKubelet lets a kubelet that runs take up what it reads only when it starts, and
// waits for what shows that it has.
func (n *node) restartKubelet(s *planner.Step, shown ...planner.Operation) {
	s.Via, s.Impact = n.cluster.seat, "restarts the kubelet here; pods keep running"
	s.Operations = append(s.Operations, planner.Unit{Unit: kubeletUnit, Action: "restart"})
	s.Operations = append(s.Operations, shown...)
	s.Operations = append(s.Operations, planner.Wait{For: planner.WaitHTTP, URL: n.kubeletHealth(), Timeout: n.cluster.Timeouts.KubeletHealthCheck})
	s.Operations = append(s.Operations, n.readyWait()...)
}

// readyWait waits until the node is ready. Where nobody answers for the cluster
// nobody could tell, and what is done on the node may be what is missing.
func (n *node) readyWait() []planner.Operation {
	if n.cluster.report == nil {
		return nil
	}
	return []planner.Operation{planner.Wait{For: planner.WaitNodeReady, Name: n.name, Timeout: n.cluster.Timeouts.KubeletHealthCheck}}
}

func (n *node) kubeconfigItem(phase string, k kubeadm.Kubeconfig) state.Item {
	it := state.Item{Address: item(n.target, phase, "file", k.Path), Kind: state.KindKubeconfig}
	if n.cluster.view.pathsOnly {
		return it
	}
	m := map[string]any{
		"server": k.Server, "cluster": k.Cluster, "user": k.User, "common_name": k.CommonName,
		"mode": keyMode, "owner": root, planner.RenewalDue: false, "renew_before": n.cluster.Certificates.RenewBefore.String(),
		"ca": n.cluster.signedBy(n.cluster.Certificates.Dir + "/ca"), "algorithm": n.algorithm(),
		"validity": n.cluster.Certificates.Validity.String(),
	}
	addList(m, "organizations", k.Organizations)
	it.Attributes, it.Classes = n.cluster.trusting(state.FromGo(m)), shownOfCertificates
	it.Origin = map[string]state.Source{
		"": n.cluster.usual(), "server": n.serverOrigin(k.Server), "cluster": n.cluster.origin("cluster_name"),
		"algorithm": n.cluster.origin("certificates.algorithm"), "validity": n.cluster.origin("certificates.validity"),
		planner.RenewalDue: n.cluster.origin("certificates.renew_before", "certificates.validity"),
		planner.CASerial:   n.cluster.origin(givenCertificate),
	}
	return it
}
