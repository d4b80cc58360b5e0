package phases

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// reader is a component of a control plane and what it reads of certificates,
// keys and kubeconfigs.
type reader struct {
	component, phase string
	args             func(c *config.Cluster) []config.Arg
	// once are the files that it reads only when it starts: it has to be restarted
	// when one of them changes.
	once func(n *node) []use
	// trusts are CAs that it reads anew by itself, within a minute, which nobody can
	// see. It is restarted where nothing may go on before it has.
	trusts func(n *node) []use
	// shown are the certificates that it shows to whoever connects, and reads anew
	// by itself: that it has done so can be seen on the wire.
	shown func(n *node) []use
}

// use is a file that a component uses because its flag says so, and where what
// is in it is shown.
type use struct{ flag, path, url string }

// readers says of every component what it reads only when it starts, after the
// sources of Kubernetes 1.34 to 1.37 and etcd 3.6 and 3.7. Read anew, and so not
// here, are: the serving pair, the client CA, the CA and the pair of the front
// proxy, the kubelet client's pair (apiserver: dynamiccertificates; client-go:
// transport, ReloadTLSFiles), the pair of the etcd client and etcd's own two
// pairs (etcd: client/pkg/transport, at each handshake), the CA with which the
// controller manager signs (pkg/controller/certificates/signer), and the
// kubelet's client CA. Nobody holds admin.conf, super-admin.conf and the
// healthcheck client's pair.
func readers() []reader {
	pki := func(n *node, name string) string { return n.cluster.Certificates.Dir + "/" + name }
	return []reader{
		{
			component: "etcd", phase: etcdPhase, args: func(c *config.Cluster) []config.Arg { return c.Etcd.Args },
			once: func(n *node) []use {
				return []use{{flag: "trusted-ca-file", path: pki(n, "etcd/ca.crt")}, {flag: "peer-trusted-ca-file", path: pki(n, "etcd/ca.crt")}}
			},
			shown: func(n *node) []use {
				return []use{{"cert-file", pki(n, "etcd/server.crt"), kubeadm.ClientURL(n.Node)}, {"peer-cert-file", pki(n, "etcd/peer.crt"), n.peerURL()}}
			},
		},
		{
			component: "kube-apiserver", phase: controlPlanePhase, args: func(c *config.Cluster) []config.Arg { return c.APIServer.Component.Args },
			once: func(n *node) []use {
				return []use{
					{flag: "etcd-cafile", path: n.etcdCA()},
					{flag: "service-account-key-file", path: n.serviceAccountKey() + ".pub"},
					{flag: "service-account-signing-key-file", path: n.serviceAccountKey() + ".key"},
				}
			},
			trusts: func(n *node) []use {
				return []use{{flag: "client-ca-file", path: n.cluster.caFile()}, {flag: "requestheader-client-ca-file", path: pki(n, "front-proxy-ca.crt")}}
			},
			shown: func(n *node) []use {
				return []use{{"tls-cert-file", pki(n, "apiserver.crt"), strings.TrimSuffix(n.health("kube-apiserver").url, "/livez")}}
			},
		},
		{
			component: "kube-controller-manager", phase: controlPlanePhase, args: func(c *config.Cluster) []config.Arg { return c.ControllerManager.Args },
			once: func(n *node) []use {
				return []use{
					{flag: "kubeconfig", path: controllerConf},
					{flag: "root-ca-file", path: n.cluster.caFile()},
					{flag: "service-account-private-key-file", path: n.serviceAccountKey() + ".key"},
				}
			},
		},
		{
			component: "kube-scheduler", phase: controlPlanePhase, args: func(c *config.Cluster) []config.Arg { return c.Scheduler.Args },
			once: func(*node) []use { return []use{{flag: "kubeconfig", path: schedulerConf}} },
		},
	}
}

// etcdCA is the file of the CA that the API server trusts for etcd, or empty.
func (n *node) etcdCA() string {
	if e := n.cluster.Etcd.External; e != nil {
		return e.CAFile
	}
	return n.cluster.Certificates.Dir + "/etcd/ca.crt"
}

// readersOf are the components of a phase, or of all, that run on a node.
func (n *node) readersOf(phase string) []reader {
	if !n.isControlPlane() {
		return nil
	}
	return slices.DeleteFunc(readers(), func(r reader) bool {
		return phase != "" && r.phase != phase || r.component == "etcd" && n.cluster.Etcd.External != nil || len(r.held(n)) == 0
	})
}

// held are the uses that the configuration does not give to other files.
func (r reader) held(n *node) []use { return r.configured(n, r.once(n)) }

func (r reader) configured(n *node, uses []use) []use {
	args := r.args(n.cluster.Cluster)
	return slices.DeleteFunc(uses, func(u use) bool {
		return u.path == "" || slices.ContainsFunc(args, func(a config.Arg) bool { return a.Name == u.flag && a.Value != u.path })
	})
}

// files are the files that the component holds, each once.
func (r reader) files(n *node) []string {
	var out []string
	for _, u := range r.held(n) {
		if !slices.Contains(out, u.path) {
			out = append(out, u.path)
		}
	}
	return out
}

// heldFiles are files, and with trust those with CAs that it would read by itself.
func (r reader) heldFiles(n *node, trust bool) []string {
	files := r.files(n)
	if trust && r.trusts != nil {
		for _, u := range r.configured(n, r.trusts(n)) {
			files = appendNew(files, u.path)
		}
	}
	return files
}

// process is the component's among others of its name: by the first file that it holds.
func (r reader) process(n *node) state.Process {
	first := r.held(n)[0]
	return state.Process{Name: r.component, Argument: "--" + first.flag + "=" + first.path}
}

// readersQuery adds what tells whether components know the present files.
func (n *node) readersQuery(q *state.Query) {
	for _, r := range n.readersOf("") {
		q.Processes = append(q.Processes, r.process(n))
		for _, p := range r.files(n) {
			q.Files = append(q.Files, state.FileQuery{Path: p})
		}
	}
}

// leavesToStages tells that a component is to read its files in a stage of a rotation,
// for which the API has to answer first, and that does not live on the component.
func (c *cluster) leavesToStages(r reader) bool {
	return c.report == nil && len(c.rotating) > 0 && r.component != "etcd" && r.component != "kube-apiserver"
}

// withStale adds what the component of a static pod has not read as it is now. While
// CAs are rotated the stages see to it.
func (n *node) withStale(path string, attrs state.Value) state.Value {
	for _, r := range n.readersOf("") {
		if manifest(r.component) != path || n.cluster.rotates() || n.cluster.leavesToStages(r) {
			continue
		}
		var stale []any
		for _, f := range r.files(n) {
			if n.report.Outdated(r.component, f) {
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

// renewed are the files with certificates, keys and kubeconfigs that a plan
// writes on a node, among those that its components may have read.
func (w work) renewed() map[string]bool {
	out := map[string]bool{}
	for _, phase := range []string{certsPhase, kubeconfigPhase} {
		for _, c := range w.peer(phase) {
			out[fileOf(c)] = true
		}
	}
	return out
}

// fileOf is the file of an item with a certificate, a key or a kubeconfig.
func fileOf(c planner.Change) string {
	if c.Address.Class() == "certificate" {
		return c.Address.ID() + ".crt"
	}
	return c.Address.ID()
}

// takeUp lets the components of a phase take up what the plan renews, and what
// was renewed without them: it restarts those that read it only when they start,
// and waits until others show it. Components in rewritten are restarted anyway.
func (n *node) takeUp(s *planner.Step, w work, phase string, rewritten []string) (restarted []string) {
	return n.takeUpFiles(s, phase, rewritten, taking{files: w.renewed(), trust: n.cluster.replacesAtOnce(), beyond: func(string) bool { return false }})
}

// taking is what components are to take up: files that are written, also those
// to trust which they would read by themselves, and files that they have not read
// since, but for some. started tells that those without a manifest have been started by then.
type taking struct {
	files   map[string]bool
	trust   bool
	beyond  func(path string) bool
	started bool
}

func (n *node) takeUpFiles(s *planner.Step, phase string, rewritten []string, t taking) (restarted []string) {
	var waits []planner.Operation
	for _, r := range n.takers(phase, t) {
		if !t.started && !n.report.Files[manifest(r.component)].Exists {
			continue // it will read them when it starts
		}
		if files := n.unread(r, t); len(files) > 0 && !slices.Contains(rewritten, r.component) {
			restarted = append(restarted, r.component)
			s.Operations = append(s.Operations, planner.RestartProcess{Process: r.process(n), Files: files})
			waits = append(waits, planner.Wait{For: planner.WaitRestarted, Process: r.process(n), Files: files, Timeout: n.patience()})
			if n.blind(phase, restarted) {
				continue
			}
		}
		waits = append(waits, n.showWaits(r, t.files)...)
	}
	s.Operations = append(s.Operations, waits...)
	return restarted
}

// takers are the components that take something up in a phase, in the order in which
// they go down. An API server that has to restart when the etcd beside it does goes
// down with it, and first: it cannot serve without it, but would go on to accept
// requests, and whoever is connected to it would wait for those.
func (n *node) takers(phase string, t taking) []reader {
	takers := n.readersOf(phase)
	if n.cluster.report == nil { // nobody is connected
		return slices.DeleteFunc(takers, func(r reader) bool {
			written := slices.ContainsFunc(r.files(n), func(path string) bool { return t.files[path] })
			return n.cluster.leavesToStages(r) && !written // nobody would know it before, by what it has read
		})
	}
	all := n.readersOf("")
	member := slices.IndexFunc(all, func(r reader) bool { return r.component == "etcd" && len(n.unread(r, t)) > 0 })
	server := slices.IndexFunc(all, func(r reader) bool { return r.component == "kube-apiserver" && len(n.unread(r, t)) > 0 })
	switch {
	case member < 0 || server < 0:
	case phase == etcdPhase:
		return []reader{all[server], all[member]}
	default:
		takers = slices.DeleteFunc(takers, func(r reader) bool { return r.component == "kube-apiserver" })
	}
	return takers
}

// unread are the files for which a component has to be restarted.
func (n *node) unread(r reader, t taking) []string {
	return slices.DeleteFunc(r.heldFiles(n, t.trust), func(p string) bool { return !t.files[p] && (t.beyond(p) || !n.report.Outdated(r.component, p)) })
}

// showWaits wait until a component shows the certificates that are renewed.
func (n *node) showWaits(r reader, renewed map[string]bool) []planner.Operation {
	if r.shown == nil {
		return nil
	}
	var out []planner.Operation
	for _, at := range r.configured(n, r.shown(n)) {
		if renewed[at.path] && at.url != "" {
			out = append(out, planner.Wait{For: planner.WaitServed, URL: at.url, Name: at.path, Timeout: n.patience()})
		}
	}
	return out
}

// maxBackOff is how long a kubelet waits at most before it starts a container
// again that has exited many times (pkg/kubelet, MaxContainerBackOff).
const maxBackOff = 5 * time.Minute

// patience is how long a component may take to come up again. Where nobody
// answers for the cluster, components may have exited for hours.
func (n *node) patience() time.Duration {
	if n.cluster.report == nil {
		return n.cluster.Timeouts.UpgradeManifests + maxBackOff
	}
	return n.cluster.Timeouts.UpgradeManifests
}
