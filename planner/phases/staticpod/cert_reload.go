package staticpod

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// readers lists for every component the files that it reads only at its start, according to the sources
// of Kubernetes 1.34 to 1.37 and etcd 3.6 and 3.7. Files that are read again are not listed: the
// serving pair, the client CA, the CA and the pair of the front proxy, the kubelet client's pair
// (apiserver: dynamiccertificates; client-go: transport, ReloadTLSFiles), the pair of the etcd client
// and etcd's own two pairs (etcd: client/pkg/transport, at each handshake), the CA with which the
// controller manager signs (pkg/controller/certificates/signer), and the kubelet's client CA. No
// component reads admin.conf, super-admin.conf and the healthcheck client's pair.
func readers() []topology.CertConsumer {
	inPKI := func(n *topology.Node, name string) string { return n.Cluster.Certificates.Dir + "/" + name }
	return []topology.CertConsumer{
		{
			Component: "etcd", Phase: topology.EtcdPhase, Args: func(c *config.Cluster) []config.Arg { return c.Etcd.Args },
			Once: func(n *topology.Node) []topology.CertUse {
				return []topology.CertUse{{Flag: "trusted-ca-file", Path: inPKI(n, "etcd/ca.crt")}, {Flag: "peer-trusted-ca-file", Path: inPKI(n, "etcd/ca.crt")}}
			},
			Shown: func(n *topology.Node) []topology.CertUse {
				return []topology.CertUse{{Flag: "cert-file", Path: inPKI(n, "etcd/server.crt"), URL: kubeadm.ClientURL(n.Node)}, {Flag: "peer-cert-file", Path: inPKI(n, "etcd/peer.crt"), URL: n.PeerURL()}}
			},
		},
		{
			Component: "kube-apiserver", Phase: topology.ControlPlanePhase, Args: func(c *config.Cluster) []config.Arg { return c.APIServer.Component.Args },
			Once: func(n *topology.Node) []topology.CertUse {
				return []topology.CertUse{
					{Flag: "etcd-cafile", Path: etcdCA(n)},
					{Flag: "service-account-key-file", Path: n.ServiceAccountKey() + ".pub"},
					{Flag: "service-account-signing-key-file", Path: n.ServiceAccountKey() + ".key"},
					kubeletCA(n),
				}
			},
			Trusts: func(n *topology.Node) []topology.CertUse {
				return []topology.CertUse{{Flag: "client-ca-file", Path: n.Cluster.CAFile()}, {Flag: "requestheader-client-ca-file", Path: inPKI(n, "front-proxy-ca.crt")}}
			},
			Shown: func(n *topology.Node) []topology.CertUse {
				return []topology.CertUse{{Flag: "tls-cert-file", Path: inPKI(n, "apiserver.crt"), URL: strings.TrimSuffix(Health(n, "kube-apiserver").URL, "/livez")}}
			},
		},
		{
			Component: "kube-controller-manager", Phase: topology.ControlPlanePhase, Args: func(c *config.Cluster) []config.Arg { return c.ControllerManager.Args },
			Once: func(n *topology.Node) []topology.CertUse {
				return []topology.CertUse{
					{Flag: "kubeconfig", Path: pki.ControllerConf},
					{Flag: "root-ca-file", Path: n.Cluster.CAFile()},
					{Flag: "service-account-private-key-file", Path: n.ServiceAccountKey() + ".key"},
				}
			},
		},
		{
			Component: "kube-scheduler", Phase: topology.ControlPlanePhase, Args: func(c *config.Cluster) []config.Arg { return c.Scheduler.Args },
			Once: func(*topology.Node) []topology.CertUse {
				return []topology.CertUse{{Flag: "kubeconfig", Path: pki.SchedulerConf}}
			},
		},
	}
}

// etcdCA returns the path of the CA that the API server trusts for etcd, or "".
func etcdCA(n *topology.Node) string {
	if e := n.Cluster.Etcd.External; e != nil {
		return e.CAFile
	}
	return n.Cluster.Certificates.Dir + "/etcd/ca.crt"
}

// kubeletCA returns the CA of the kubelets' certificates, where API servers verify them.
func kubeletCA(n *topology.Node) topology.CertUse {
	path := n.Cluster.CAFile()
	if n.Report == nil || n.Seen(state.KindStaticPod, topology.Manifest("kube-apiserver")).Get("args").Get(kubeadm.VerifyKubelets).AsString() != path {
		return topology.CertUse{}
	}
	return topology.CertUse{Flag: kubeadm.VerifyKubelets, Path: path}
}

// ReadersOf returns the components of a phase that run on a node; of all phases for "".
func ReadersOf(n *topology.Node, phase string) []topology.CertConsumer {
	if !n.IsControlPlane() {
		return nil
	}
	return slices.DeleteFunc(readers(), func(r topology.CertConsumer) bool {
		return phase != "" && r.Phase != phase || r.Component == "etcd" && n.Cluster.Etcd.External != nil || len(held(r, n)) == 0
	})
}

// held returns the uses whose flag the configuration does not point to another file.
func held(r topology.CertConsumer, n *topology.Node) []topology.CertUse {
	return configured(r, n, r.Once(n))
}

func configured(r topology.CertConsumer, n *topology.Node, uses []topology.CertUse) []topology.CertUse {
	args := r.Args(n.Cluster.Cluster)
	return slices.DeleteFunc(uses, func(u topology.CertUse) bool {
		return u.Path == "" || slices.ContainsFunc(args, func(a config.Arg) bool { return a.Name == u.Flag && a.Value != u.Path })
	})
}

// FilesRead returns the files that the component reads at its start, each once, with those of the user.
func FilesRead(r topology.CertConsumer, n *topology.Node) []string {
	var out []string
	for _, u := range held(r, n) {
		if !slices.Contains(out, u.Path) {
			out = append(out, u.Path)
		}
	}
	for _, p := range topology.FilesFor(n, r.Component) {
		out = pki.AppendNew(out, p)
	}
	return out
}

// HeldFiles returns these files, and with trust also the CA files that the component reloads by itself.
func HeldFiles(r topology.CertConsumer, n *topology.Node, trust bool) []string {
	files := FilesRead(r, n)
	if trust && r.Trusts != nil {
		for _, u := range configured(r, n, r.Trusts(n)) {
			files = pki.AppendNew(files, u.Path)
		}
	}
	return files
}

// process identifies the component's process among others of its name, by the first file that it reads.
func process(r topology.CertConsumer, n *topology.Node) state.Process {
	first := held(r, n)[0]
	return state.Process{Name: r.Component, Argument: "--" + first.Flag + "=" + first.Path}
}

// ReadersQuery queries what shows whether components have read the present files.
func ReadersQuery(n *topology.Node, q *state.Query) {
	for _, r := range ReadersOf(n, "") {
		q.Processes = append(q.Processes, process(r, n))
		for _, p := range FilesRead(r, n) {
			q.Files = append(q.Files, state.FileQuery{Path: p})
		}
	}
}

// leavesToStages reports whether a stage of a rotation restarts the component for its files: a stage
// needs an API that answers, and the API does not depend on this component.
func leavesToStages(c *topology.Cluster, r topology.CertConsumer) bool {
	return c.Report == nil && len(c.Rotating) > 0 && r.Component != "etcd" && r.Component != "kube-apiserver"
}

// WithStale adds to a static pod the files that changed after its component had read them. During a CA
// rotation the stages restart the components.
func WithStale(n *topology.Node, path string, attrs state.Value) state.Value {
	for _, r := range ReadersOf(n, "") {
		if topology.Manifest(r.Component) != path || n.Cluster.Rotates() || leavesToStages(n.Cluster, r) {
			continue
		}
		var stale []any
		for _, f := range FilesRead(r, n) {
			if n.Report.Outdated(r.Component, f) {
				stale = append(stale, f)
			}
		}
		if len(stale) > 0 {
			m := maps.Clone(attrs.AsMap())
			m[planner.StaleFiles] = state.FromGo(stale)
			return state.Map(m)
		}
	}
	return attrs
}

// renewed returns the files with certificates, keys and kubeconfigs, and those of the user, that a plan
// writes on a node.
func renewed(w topology.PhaseWork) map[string]bool {
	out := map[string]bool{}
	for _, c := range w.Peer(topology.HostFilesPhase) {
		if c.Kind == state.KindFile && w.Find(c) != nil && !c.OnlyRereads() && !host.OnlyHostAccess(c) {
			out[c.Address.ID()] = true
		}
	}
	for _, phase := range []string{topology.CertsPhase, topology.KubeconfigPhase} {
		for _, c := range w.Peer(phase) {
			out[FileOf(c)] = true
		}
	}
	return out
}

// FileOf returns the path of an item with a certificate, a key or a kubeconfig.
func FileOf(c planner.Change) string {
	if c.Address.Class() == "certificate" {
		return c.Address.ID() + ".crt"
	}
	return c.Address.ID()
}

// takeUp makes the components of a phase use the files that the plan renews, and files that were
// renewed without a restart: it restarts components that read them only at their start, and waits until
// the others serve them. Components in rewritten are restarted anyway.
func takeUp(n *topology.Node, s *planner.Step, w topology.PhaseWork, phase string, rewritten []string) (restarted []string) {
	return TakeUpFiles(n, s, phase, rewritten, CertReload{Files: renewed(w), Trust: ReplacesAtOnce(n.Cluster), Beyond: func(string) bool { return false }})
}

// CertReload describes what components have to reload: the written Files, with Trust also CA files that
// the components reload by themselves, and stale files, except for those that Beyond excludes. Started
// reports whether components without a manifest have been started by then.
type CertReload struct {
	Files   map[string]bool
	Trust   bool
	Beyond  func(path string) bool
	Started bool
}

func TakeUpFiles(n *topology.Node, s *planner.Step, phase string, rewritten []string, t CertReload) (restarted []string) {
	var waits []planner.Operation
	for _, r := range takers(n, phase, t) {
		if !t.Started && !n.Report.Files[topology.Manifest(r.Component)].Exists {
			continue // it reads them at its start
		}
		if files := unread(n, r, t); len(files) > 0 && !slices.Contains(rewritten, r.Component) {
			restarted = append(restarted, r.Component)
			s.Operations = append(s.Operations, planner.RestartProcess{Process: process(r, n), Files: files})
			waits = append(waits, planner.Wait{For: planner.WaitRestarted, Process: process(r, n), Files: files, Timeout: patience(n)})
			if blind(n, phase, restarted) {
				continue
			}
		}
		waits = append(waits, showWaits(n, r, t.Files)...)
	}
	s.Operations = append(s.Operations, waits...)
	return restarted
}

// takers returns the components that reload something in a phase, in the order in which they go down.
// An API server that has to restart together with the etcd beside it goes down first: it cannot serve
// without that etcd, but would continue to accept requests, and connected clients would wait for those.
func takers(n *topology.Node, phase string, t CertReload) []topology.CertConsumer {
	takers := ReadersOf(n, phase)
	if n.Cluster.Report == nil { // no client is connected
		return slices.DeleteFunc(takers, func(r topology.CertConsumer) bool {
			written := slices.ContainsFunc(FilesRead(r, n), func(path string) bool { return t.Files[path] })
			return leavesToStages(n.Cluster, r) && !written // with the former files no API server would accept it
		})
	}
	all := ReadersOf(n, "")
	member := slices.IndexFunc(all, func(r topology.CertConsumer) bool { return r.Component == "etcd" && len(unread(n, r, t)) > 0 })
	server := slices.IndexFunc(all, func(r topology.CertConsumer) bool { return r.Component == "kube-apiserver" && len(unread(n, r, t)) > 0 })
	switch {
	case member < 0 || server < 0:
	case phase == topology.EtcdPhase:
		return []topology.CertConsumer{all[server], all[member]}
	default:
		takers = slices.DeleteFunc(takers, func(r topology.CertConsumer) bool { return r.Component == "kube-apiserver" })
	}
	return takers
}

// unread returns the files for which a component has to restart.
func unread(n *topology.Node, r topology.CertConsumer, t CertReload) []string {
	return slices.DeleteFunc(HeldFiles(r, n, t.Trust), func(p string) bool { return !t.Files[p] && (t.Beyond(p) || !n.Report.Outdated(r.Component, p)) })
}

// showWaits wait until a component serves the renewed certificates.
func showWaits(n *topology.Node, r topology.CertConsumer, renewed map[string]bool) []planner.Operation {
	if r.Shown == nil {
		return nil
	}
	var out []planner.Operation
	for _, at := range configured(r, n, r.Shown(n)) {
		if renewed[at.Path] && at.URL != "" {
			out = append(out, planner.Wait{For: planner.WaitServed, URL: at.URL, Name: at.Path, Timeout: patience(n)})
		}
	}
	return out
}

// maxBackOff is the longest time after which a kubelet restarts a container that keeps exiting
// (pkg/kubelet, MaxContainerBackOff).
const maxBackOff = 5 * time.Minute

// patience returns how long a component may take to come up again. While the API does not answer,
// components may have been exiting for hours.
func patience(n *topology.Node) time.Duration {
	if n.Cluster.Report == nil {
		return n.Cluster.Timeouts.UpgradeManifests + maxBackOff
	}
	return n.Cluster.Timeouts.UpgradeManifests
}

// ReplacesAtOnce reports whether this plan replaces expired CAs at once.
func ReplacesAtOnce(c *topology.Cluster) bool { return len(c.AtOnce) > 0 }

// blind reports whether members of etcd restart to trust another CA while the API does not answer: no
// member can be healthy before all have restarted, so that the plan waits for the API servers instead.
func blind(n *topology.Node, phase string, restarted []string) bool {
	return phase == topology.EtcdPhase && n.Cluster.Report == nil && slices.Contains(restarted, "etcd")
}

// RotationBegun reports whether an earlier apply began a rotation that this plan continues.
func RotationBegun(c *topology.Cluster) bool {
	return c.Keys.Acts() && c.Keys.Begun || slices.ContainsFunc(c.Rotating, func(r *topology.CARotation) bool { return r.Begun })
}
