package sim

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// startPod starts the container of a static pod. What it reads only now it
// keeps: the kubeconfig of a controller manager or scheduler (client-go loads
// inlined credentials once).
func (w *World) startPod(m *machine, p *pod) {
	p.Started, p.Conf, p.Published = w.d.Now, nil, false
	w.wake(m)
	w.readTrust(m, p)
	if conf := w.resolve(m, clean(w.manifest(p.Manifest).flag("kubeconfig", ""))); conf.isRegular() {
		p.Conf = conf.Record
	}
}

// startAgain starts a container that has exited for want of its kubeconfig.
func (w *World) startAgain(m *machine, p *pod) bool {
	conf := w.manifest(p.Manifest).flag("kubeconfig", "")
	if p.Exited != "" {
		why := p.Exited
		w.startPod(m, p)
		return p.Exited != why
	}
	if p.Conf != nil || conf == "" || !w.resolve(m, clean(conf)).isRegular() {
		return false
	}
	w.startPod(m, p)
	return true
}

// process returns the pod that runs a process, or nil.
func (w *World) process(m *machine, p state.Process) *pod {
	running, manifest := w.podOf(m, p.Name)
	if running == nil || !slices.ContainsFunc(manifest.args, func(a string) bool { return strings.Contains(a, p.Argument) }) {
		return nil
	}
	return running
}

// started tells when processes that run were started.
func (w *World) started(m *machine, list []state.Process) map[string]time.Time {
	out := map[string]time.Time{}
	for _, p := range list {
		if running := w.process(m, p); running != nil && running.Exited == "" {
			out[p.Name] = running.Started
		}
		if p.Name == "kubelet" && w.kubeletRuns(m) {
			out[p.Name] = m.Kubelet.Started
		}
	}
	return out
}

// restart ends a process that is older than one of the files. The kubelet, if
// it runs, starts it again.
func (w *World) restart(m *machine, op planner.RestartProcess) bool {
	running := w.process(m, op.Process)
	if running == nil || !slices.ContainsFunc(op.Files, func(path string) bool {
		f := w.resolve(m, clean(path))
		return f != nil && running.Started.Before(f.Modified)
	}) {
		return false
	}
	if w.kubeletRuns(m) {
		w.did(m, "start "+op.Process.Name)
		w.startPod(m, running)
		return true
	}
	for name, p := range m.Pods {
		if p == running {
			delete(m.Pods, name)
		}
	}
	return true
}

// ServedCertificate returns the certificate of an API server or of etcd, which read
// theirs again for each connection.
func (h *Host) ServedCertificate(ctx context.Context, address string) (state.CertificateInfo, error) {
	w := h.w
	w.mu.Lock()
	defer w.mu.Unlock()
	m := h.machine()
	var out state.CertificateInfo
	err := w.read(ctx, m, "tls", address, func() error {
		c, err := w.shown(m, address)
		if err != nil {
			return &providers.Error{Kind: providers.ErrUnreachable, Do: "see the certificate at " + address, Cause: err}
		}
		out = *c
		return nil
	})
	return out, err
}

func (w *World) shown(m *machine, address string) (*state.CertificateInfo, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	for _, target := range w.behind(m, name) {
		component := w.componentOn(target, number(port), false)
		if component == "" || component == "kubelet" || !w.up(target, component) {
			continue
		}
		_, p := w.podOf(target, component)
		flag := "tls-cert-file"
		if component == compEtcd {
			flag = "cert-file"
			if slices.ContainsFunc(strings.Split(p.flag("listen-peer-urls", ""), ","), func(u string) bool { return strings.HasSuffix(u, ":"+port) }) {
				flag = "peer-cert-file"
			}
		}
		if f := w.resolve(target, clean(p.flag(flag, ""))); f != nil && f.Record != nil && len(f.Record.Certificates) > 0 {
			return &f.Record.Certificates[0], nil
		}
	}
	return nil, fmt.Errorf("dial tcp %s: connect: connection refused", address)
}

// kubeletEnded reports whether the client certificate of a kubelet's kubeconfig is
// not valid any more: it does not start with it.
func (w *World) kubeletEnded(m *machine) bool {
	conf := w.resolve(m, kubeletConf)
	if conf.Record == nil || conf.Record.Kubeconfig == nil {
		return false
	}
	k := conf.Record.Kubeconfig
	c := k.Client
	if f := w.resolve(m, clean(k.ClientCertificate)); c == nil && f.isRegular() && f.Record != nil && len(f.Record.Certificates) > 0 {
		c = &f.Record.Certificates[0]
	}
	return c != nil && w.clock(m).After(c.NotAfter)
}

// hasKey reports whether the key of one of the CAs lies on some host.
func (w *World) hasKey(cas []string) bool {
	for _, m := range w.d.Hosts {
		for _, f := range m.Files {
			if f.Record != nil && slices.Contains(cas, f.Record.Key) {
				return true
			}
		}
	}
	return false
}

// takeOver puts the certificate of a kubelet's kubeconfig into the place of its
// own where that has ended, or was taken away (client-go, util/certificate).
func (w *World) takeOver(m *machine) {
	conf, own := w.resolve(m, kubeletConf), w.resolve(m, kubeletClient)
	if conf == nil || conf.Record == nil || conf.Record.Kubeconfig == nil || conf.Record.Kubeconfig.Client == nil {
		return
	}
	if own == nil {
		// The founder's asks for one at once, if anybody signs it; who had one before waits
		// until it has lived.
		before := slices.ContainsFunc(w.children(m, kubeletPKI), func(p string) bool { return strings.Contains(p, "kubelet-client-") })
		if !before && w.hasKey(conf.Record.Kubeconfig.CAKeyDigests()) {
			return
		}
	} else if own.Record == nil || len(own.Record.Certificates) == 0 || !w.clock(m).After(own.Record.Certificates[0].NotAfter) {
		return
	}
	stamped := kubeletPKI + "/kubelet-client-" + w.d.Now.UTC().Format("2006-01-02-15-04-05") + ".pem"
	w.put(m, stamped, recordFile(&record{Certificates: []state.CertificateInfo{*conf.Record.Kubeconfig.Client}, Key: conf.Record.ClientKey}, "0600", ""))
	w.put(m, kubeletClient, &file{Type: typeLink, Link: stamped})
}
