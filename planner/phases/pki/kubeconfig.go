package pki

import (
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Kubeconfigs writes the kubeconfigs of a control plane. Two of the founder's kubeconfigs matter only
// when they are created; super-admin.conf is renewed where it exists, as kubeadm certs renew does. With
// an external CA the cluster signs nothing, so that this phase writes the kubelet's kubeconfig of every
// node, permanently.
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
				it.Initial = []string{"mode", "owner", planner.CASerial} // kubelet-finalize manages these later
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

// keepsSuperAdmin reports whether the host still has super-admin.conf, and it can be renewed with the
// others.
func keepsSuperAdmin(n *topology.Node) bool {
	return n.Report != nil && n.Report.Files[SuperAdminConf].Kubeconfig != nil && n.Cluster.Authority(n.Cluster.CABase()).KeyLocation != topology.Keyless
}

func kubeconfigStep(n *topology.Node, w topology.PhaseWork) planner.Step {
	if w.Empty() {
		return planner.Step{}
	}
	ops := []planner.Operation{topology.EnsureFolder("/etc/kubernetes", "0755")}
	written, kept := false, false // the kubeconfig of a running kubelet
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
	case kept && KubeletChanges(n), !written: // restarted with its upgrade, or not written at all
	case kept:
		RestartKubelet(n, &s) // it continues with its current certificate
	default:
		takeOver(n, &s)
	}
	return s
}

// takeOver makes a running kubelet use the certificate that is permanently in its kubeconfig. At its
// first start the kubelet copies that into its own file, and uses the copy until it expires (client-go,
// util/certificate): so the copy has to go. The kubelet is stopped before: if the apply is interrupted
// in between, the next one starts it.
func takeOver(n *topology.Node, s *planner.Step) {
	copied, stop, remove := n.Report.Files[topology.KubeletClientCert].Exists, planner.Unit{Unit: topology.KubeletUnit, Action: "stop"}, planner.RemovePath{Path: topology.KubeletClientCert}
	switch {
	case !copied && !KubeletChanges(n):
		RestartKubelet(n, s)
	case copied && KubeletChanges(n): // its upgrade restarts it
		s.Operations = append(s.Operations, remove)
	case copied:
		s.Operations = append(s.Operations, stop, remove)
		RestartKubelet(n, s, planner.Wait{For: planner.WaitFile, Name: topology.KubeletClientCert, Files: []string{topology.KubeletConf}, Timeout: n.Cluster.Timeouts.KubeletHealthCheck})
	}
}

// WithOldCopy adds that a kubelet uses an older certificate than the one in its kubeconfig. Where an
// external signer answers its requests, its own certificate is the newer one.
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

// WriteKubeconfig issues a kubeconfig, or writes the supplied one.
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

// trustGiven makes a kubeconfig that cannot be rewritten trust the given CA certificate. A worker needs
// that certificate here, which is otherwise written to it later.
func trustGiven(n *topology.Node, k kubeadm.Kubeconfig) []planner.Operation {
	var ops []planner.Operation
	if !n.IsControlPlane() {
		ops = BringCA(n)
	}
	return append(ops, planner.SetKubeconfig{Path: k.Path, Trust: n.Cluster.CAFile()})
}

// RestartKubelet restarts a running kubelet, so that it reads what it only reads at its start, and
// waits until that shows.
func RestartKubelet(n *topology.Node, s *planner.Step, shown ...planner.Operation) {
	s.Via, s.Impact = n.Cluster.Primary, "restarts the kubelet here; pods keep running"
	s.Operations = append(s.Operations, planner.Unit{Unit: topology.KubeletUnit, Action: "restart"})
	s.Operations = append(s.Operations, shown...)
	s.Operations = append(s.Operations, HealthWait(n)...)
	s.Operations = append(s.Operations, ReadyWait(n)...)
}

// KubeletProcess is the kubelet's process as kubeadm starts it.
var KubeletProcess = state.Process{Name: "kubelet", Argument: "--kubeconfig=" + topology.KubeletConf}

// ReadyWait waits until a kubelet that was started by this step reports its node as Ready. Without an API there is nothing to ask, and this step may be
// what the API is waiting for.
func ReadyWait(n *topology.Node) []planner.Operation { return readyWait(n, KubeletProcess) }

// ReadyWaitFor waits until another node than that of the step is Ready.
func ReadyWaitFor(n *topology.Node) []planner.Operation { return readyWait(n, state.Process{}) }

func readyWait(n *topology.Node, started state.Process) []planner.Operation {
	if n.Cluster.Report == nil {
		return nil
	}
	return []planner.Operation{planner.Wait{For: planner.WaitNodeReady, Name: n.NodeName, Process: started, Timeout: n.Cluster.Timeouts.KubeletHealthCheck}}
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
