package phases

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// reader is a component of a control plane and what it reads of certificates,
// keys and kubeconfigs.
type reader struct {
	component, phase string
	// argument tells the component's process from others of its name.
	argument func(n *node) string
	// once are the files that it reads only when it starts: it has to be restarted
	// when one of them changes.
	once func(n *node) []string
	// shown are the certificates that it shows to whoever connects, and reads anew
	// by itself: that it has done so can be seen on the wire.
	shown func(n *node) []shownAt
}

// shownAt is a certificate, by its path without .crt, and where it is shown.
type shownAt struct{ base, url string }

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
	return []reader{
		{
			component: "etcd", phase: etcdPhase,
			argument: func(n *node) string { return "--data-dir=" + n.cluster.Etcd.DataDir },
			once:     func(n *node) []string { return []string{n.cluster.Certificates.Dir + "/etcd/ca.crt"} },
			shown: func(n *node) []shownAt {
				dir := n.cluster.Certificates.Dir + "/etcd"
				return []shownAt{{dir + "/server", kubeadm.ClientURL(n.Node)}, {dir + "/peer", n.peerURL()}}
			},
		},
		{
			component: "kube-apiserver", phase: controlPlanePhase,
			argument: func(*node) string { return "--etcd-servers=" },
			once:     func(n *node) []string { return append(n.serviceAccountFiles(), n.etcdCA()...) },
			shown: func(n *node) []shownAt {
				url, _ := kubeadm.Healthz(n.input(), "kube-apiserver")
				return []shownAt{{n.cluster.Certificates.Dir + "/apiserver", strings.TrimSuffix(url, "/livez")}}
			},
		},
		{
			component: "kube-controller-manager", phase: controlPlanePhase,
			argument: func(*node) string { return controllerConf },
			once: func(n *node) []string {
				return []string{controllerConf, n.cluster.caFile(), n.serviceAccountKey() + ".key"}
			},
		},
		{
			component: "kube-scheduler", phase: controlPlanePhase,
			argument: func(*node) string { return schedulerConf },
			once:     func(*node) []string { return []string{schedulerConf} },
		},
	}
}

func (n *node) serviceAccountFiles() []string {
	return []string{n.serviceAccountKey() + ".key", n.serviceAccountKey() + ".pub"}
}

// etcdCA is the file of the CA that the API server trusts for etcd, if there is one.
func (n *node) etcdCA() []string {
	switch e := n.cluster.Etcd.External; {
	case e == nil:
		return []string{n.cluster.Certificates.Dir + "/etcd/ca.crt"}
	case e.CAFile != "":
		return []string{e.CAFile}
	}
	return nil
}

// readersOf are the components that run on a node as its configuration has them.
func (n *node) readersOf(phase string) []reader {
	if !n.isControlPlane() {
		return nil
	}
	return slices.DeleteFunc(readers(), func(r reader) bool {
		return phase != "" && r.phase != phase || r.component == "etcd" && n.cluster.Etcd.External != nil
	})
}

func (r reader) process(n *node) state.Process {
	return state.Process{Name: r.component, Argument: r.argument(n)}
}

// readersQuery adds what tells whether components know the present files.
func (n *node) readersQuery(q *state.Query) {
	for _, r := range n.readersOf("") {
		q.Processes = append(q.Processes, r.process(n))
		for _, p := range r.once(n) {
			q.Files = append(q.Files, state.FileQuery{Path: p})
		}
	}
}

// staleFiles is the attribute of a static pod that was observed to run as it was
// before these files were written. It is never desired.
const staleFiles = "stale_files"

// withStale adds what the component of a static pod has not read as it is now.
func (n *node) withStale(path string, attrs state.Value) state.Value {
	for _, r := range n.readersOf("") {
		if manifest(r.component) != path {
			continue
		}
		var stale []any
		for _, f := range r.once(n) {
			if n.report.Outdated(r.component, f) {
				stale = append(stale, f)
			}
		}
		if len(stale) > 0 {
			m := maps.Clone(attrs.AsMap())
			m[staleFiles] = state.FromGo(stale)
			return state.Map(m)
		}
	}
	return attrs
}

// rewrites tells that a change of a static pod is one of its manifest.
func rewrites(c planner.Change) bool {
	return len(c.Attributes) == 0 || slices.ContainsFunc(c.Attributes, func(a planner.AttributeChange) bool { return !strings.HasPrefix(a.Path, staleFiles) })
}

// renewed are the files with certificates, keys and kubeconfigs that a plan
// writes on a node, among those that its components may have read.
func (w work) renewed() map[string]bool {
	out := map[string]bool{}
	for _, phase := range []string{certsPhase, kubeconfigPhase} {
		for _, c := range w.peer(phase) {
			path := c.Address.ID()
			if c.Address.Class() == "certificate" {
				path += ".crt"
			}
			out[path] = true
		}
	}
	return out
}

// takeUp lets the components of a phase take up what the plan renews, and what
// was renewed without them: it restarts those that read it only when they start,
// and waits until others show it. Components in rewritten are restarted anyway.
func (n *node) takeUp(s *planner.Step, w work, phase string, rewritten []string) (restarted []string) {
	renewed := w.renewed()
	var waits []planner.Operation
	for _, r := range n.readersOf(phase) {
		if !n.report.Files[manifest(r.component)].Exists {
			continue // it will read them when it starts
		}
		files := slices.DeleteFunc(r.once(n), func(p string) bool { return !renewed[p] && !n.report.Outdated(r.component, p) })
		if len(files) > 0 && !slices.Contains(rewritten, r.component) {
			restarted = append(restarted, r.component)
			s.Operations = append(s.Operations, planner.RestartProcess{Process: r.process(n), Files: files})
			waits = append(waits, planner.Wait{For: planner.WaitRestarted, Process: r.process(n), Files: files, Timeout: n.patience()})
		}
		waits = append(waits, n.showWaits(r, renewed)...)
	}
	s.Operations = append(s.Operations, waits...)
	return restarted
}

// showWaits wait until a component shows the certificates that are renewed.
func (n *node) showWaits(r reader, renewed map[string]bool) []planner.Operation {
	if r.shown == nil {
		return nil
	}
	var out []planner.Operation
	for _, at := range r.shown(n) {
		if renewed[at.base+".crt"] && at.url != "" {
			out = append(out, planner.Wait{For: planner.WaitServed, URL: at.url, Name: at.base + ".crt", Timeout: n.patience()})
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
