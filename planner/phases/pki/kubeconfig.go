package pki

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Kubeconfigs writes the kubeconfigs of a control plane. Those of the founder
// alone matter only while they are made; super-admin.conf is renewed where it is,
// as by kubeadm certs renew. With an external CA nothing in the
// cluster signs, so every node's kubelet has its kubeconfig from here, for good.
var Kubeconfigs = topology.Phase{
	Name: topology.KubeconfigPhase,
	NodeItems: func(n *topology.Node) []state.Item {
		var items []state.Item
		for _, k := range kubeconfigSpecs(n) {
			it := kubeconfigItem(n, topology.KubeconfigPhase, k)
			if s, ok := suppliedConf(n, k); ok {
				it = suppliedConfItem(n, s)
			}
			it.CreateOnly = k.Path == SuperAdminConf || k.Path == topology.KubeletConf && !n.Cluster.ExternalCA()
			if it.CreateOnly && k.Path == topology.KubeletConf {
				it.Initial = []string{"mode", "owner", planner.CASerial} // later on they are those of kubelet-finalize
			}
			items = append(items, it)
		}
		if n.IsControlPlane() && !n.Cluster.ExternalCA() {
			items = append(items, KubeletCertificateItem(n, topology.KubeconfigPhase))
		}
		return items
	},
	NodeStep: kubeconfigStep,
	NodeNeeds: func(n *topology.Node) []state.Address {
		return []state.Address{topology.StepAddress(n.Target, topology.CertsPhase)}
	},
}

const (
	SuperAdminConf = "/etc/kubernetes/super-admin.conf"
	KubeletConf    = "/etc/kubernetes/kubelet.conf"
	BootstrapConf  = "/etc/kubernetes/bootstrap-kubelet.conf"
	ControllerConf = "/etc/kubernetes/controller-manager.conf"
	SchedulerConf  = "/etc/kubernetes/scheduler.conf"
)

func kubeconfigSpecs(n *topology.Node) []kubeadm.Kubeconfig {
	switch {
	case n.IsControlPlane():
		specs := kubeadm.Kubeconfigs(n.Input(), n.IsFounder())
		if !n.IsFounder() && keepsSuperAdmin(n) {
			specs = append(specs, kubeadm.SuperAdminKubeconfig(n.Input()))
		}
		return specs
	case n.Cluster.ExternalCA():
		return []kubeadm.Kubeconfig{kubeadm.KubeletKubeconfig(n.Input())}
	}
	return nil
}

// keepsSuperAdmin reports whether the founder's super-admin.conf is on the host still,
// and can be renewed with the others.
func keepsSuperAdmin(n *topology.Node) bool {
	return n.Report != nil && n.Report.Files[SuperAdminConf].Kubeconfig != nil && n.Cluster.Authority(n.Cluster.CABase()).KeyLocation != topology.Keyless
}

func kubeconfigStep(n *topology.Node, w topology.PhaseWork) planner.Step {
	if w.Empty() {
		return planner.Step{}
	}
	ops := []planner.Operation{topology.EnsureFolder("/etc/kubernetes", "0755")}
	written, kept := false, false // of the kubelet, which runs
	for _, k := range kubeconfigSpecs(n) {
		for _, c := range w.Changes {
			if c.Address.ID() != k.Path {
				continue
			}
			switch s, ok := suppliedConf(n, k); {
			case c.OnlyRereads():
			case ok && keeps(n, s):
				ops, kept = append(ops, trustGiven(n, k)...), k.Path == topology.KubeletConf
			default:
				ops = append(ops, WriteKubeconfig(n, k, c))
			}
			written = written || k.Path == topology.KubeletConf && !n.Joins()
		}
	}
	s := planner.Step{Operations: ops}
	if RenewsKubelet(w) {
		s.Operations, s.Impact = append(s.Operations, ReviveKubelet(n)...), RevivesImpact(n)
	}
	switch {
	case kept && KubeletChanges(n), !written: // in its turn it is restarted
	case kept:
		RestartKubelet(n, &s) // it goes on with the certificate that it has
	default:
		takeOver(n, &s)
	}
	return s
}

// takeOver has a kubelet that runs use the certificate that is in its kubeconfig for good.
// When it first starts it copies that into a file of its own, and from then on stays with
// the copy until it ends (client-go, util/certificate), so that this has to go. It is
// stopped first: one that was cut short in between is started by the next apply.
func takeOver(n *topology.Node, s *planner.Step) {
	copied, stop, remove := n.Report.Files[topology.KubeletClientCert].Exists, planner.Unit{Unit: topology.KubeletUnit, Action: "stop"}, planner.RemovePath{Path: topology.KubeletClientCert}
	switch {
	case !copied && !KubeletChanges(n):
		RestartKubelet(n, s)
	case copied && KubeletChanges(n): // and is restarted then
		s.Operations = append(s.Operations, remove)
	case copied:
		s.Operations = append(s.Operations, stop, remove)
		RestartKubelet(n, s, planner.Wait{For: planner.WaitFile, Name: topology.KubeletClientCert, Files: []string{topology.KubeletConf}, Timeout: n.Cluster.Timeouts.KubeletHealthCheck})
	}
}

// WithOldCopy adds that a kubelet stays with an older certificate than the one that it has
// from here. Where somebody outside the cluster signs what it asks for, its own is the newer.
func WithOldCopy(n *topology.Node, path string, attrs state.Value) state.Value {
	if path != topology.KubeletConf || !n.Cluster.ExternalCA() {
		return attrs
	}
	conf, own := n.Report.Files[path].Kubeconfig, n.Report.Files[topology.KubeletClientCert].Certificates
	if conf == nil || conf.Client == nil || len(own) == 0 || own[0].Serial == conf.Client.Serial || !own[0].NotBefore.Before(conf.Client.NotBefore) {
		return attrs
	}
	return topology.WithAttribute(attrs, planner.StaleFiles, []any{path})
}

// WriteKubeconfig issues a kubeconfig, or brings the one that was supplied.
func WriteKubeconfig(n *topology.Node, k kubeadm.Kubeconfig, c planner.Change) planner.Operation {
	if s, ok := suppliedConf(n, k); ok {
		return planner.ImportSecrets{Files: bring(n, s)}
	}
	return planner.WriteKubeconfig{
		Path: k.Path, CA: Signer(n.Cluster, n.Cluster.Certificates.Dir+"/ca"),
		Cluster: k.Cluster, Server: k.Server, User: k.User, CommonName: k.CommonName, Organizations: k.Organizations,
		Algorithm: Algorithm(n), Validity: n.Cluster.Certificates.Validity,
		Renew: c.Action != planner.Create,
	}
}

// trustGiven has a kubeconfig for which there is nothing to rewrite it with trust the CA
// as it is given, which comes to a worker later otherwise.
func trustGiven(n *topology.Node, k kubeadm.Kubeconfig) []planner.Operation {
	var ops []planner.Operation
	if !n.IsControlPlane() {
		ops = BringCA(n)
	}
	return append(ops, planner.SetKubeconfig{Path: k.Path, Trust: n.Cluster.CAFile()})
}

// RestartKubelet lets a kubelet that runs take up what it reads only when it starts, and
// waits for what shows that it has.
func RestartKubelet(n *topology.Node, s *planner.Step, shown ...planner.Operation) {
	s.Via, s.Impact = n.Cluster.Primary, "restarts the kubelet here; pods keep running"
	s.Operations = append(s.Operations, planner.Unit{Unit: topology.KubeletUnit, Action: "restart"})
	s.Operations = append(s.Operations, shown...)
	s.Operations = append(s.Operations, planner.Wait{For: planner.WaitHTTP, URL: KubeletHealth(n), Timeout: n.Cluster.Timeouts.KubeletHealthCheck})
	s.Operations = append(s.Operations, ReadyWait(n)...)
}

// ReadyWait waits until the node is ready. Where nobody answers for the cluster
// nobody could tell, and what is done on the node may be what is missing.
func ReadyWait(n *topology.Node) []planner.Operation {
	if n.Cluster.Report == nil {
		return nil
	}
	return []planner.Operation{planner.Wait{For: planner.WaitNodeReady, Name: n.NodeName, Timeout: n.Cluster.Timeouts.KubeletHealthCheck}}
}

func kubeconfigItem(n *topology.Node, phase string, k kubeadm.Kubeconfig) state.Item {
	it := state.Item{Address: topology.ItemAddress(n.Target, phase, "file", k.Path), Kind: state.KindKubeconfig}
	if n.Cluster.Fleet.PathsOnly {
		return it
	}
	m := map[string]any{
		"server": k.Server, "cluster": k.Cluster, "user": k.User, "common_name": k.CommonName,
		"mode": KeyMode, "owner": topology.Root, planner.RenewalDue: false, "renew_before": n.Cluster.Certificates.RenewBefore.String(),
		"ca": SignedBy(n.Cluster, n.Cluster.Certificates.Dir+"/ca"), "algorithm": Algorithm(n),
		"validity": n.Cluster.Certificates.Validity.String(),
	}
	topology.AddList(m, "organizations", k.Organizations)
	it.Attributes, it.Classes = WithCASerial(n.Cluster, state.FromGo(m)), shownOfCertificates
	it.Origin = map[string]state.Source{
		"": provenance.Usual(n.Cluster), "server": ServerOrigin(n, k.Server), "cluster": provenance.ClusterOrigin(n.Cluster, "cluster_name"),
		"algorithm": provenance.ClusterOrigin(n.Cluster, "certificates.algorithm"), "validity": provenance.ClusterOrigin(n.Cluster, "certificates.validity"),
		planner.RenewalDue: provenance.ClusterOrigin(n.Cluster, "certificates.renew_before", "certificates.validity"),
		planner.CASerial:   provenance.ClusterOrigin(n.Cluster, provenance.GivenCertificate),
	}
	return it
}
