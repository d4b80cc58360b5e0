package sim

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// certificatesAt returns the certificates in a file, or of the CAs in its kubeconfig.
func (w *World) certificatesAt(m *machine, path string) []state.CertificateInfo {
	f := w.resolve(m, clean(path))
	if f == nil || f.Record == nil {
		return nil
	}
	if k := f.Record.Kubeconfig; k != nil {
		return k.CAs
	}
	return f.Record.Certificates
}

// digests returns the identities of the CAs in a file, or in its kubeconfig.
func (w *World) digests(m *machine, path string) []string {
	var out []string
	for _, c := range w.certificatesAt(m, path) {
		out = append(out, c.KeyDigest)
	}
	return out
}

// vouch says why a client on a host that trusts these CAs refuses a certificate; nil when
// it does not. A CA that has ended vouches for nothing (crypto/x509).
func (w *World) vouch(m *machine, cas []state.CertificateInfo, c *state.CertificateInfo) error {
	err := errors.New("x509: certificate signed by unknown authority")
	for i := range cas {
		switch {
		case cas[i].KeyDigest != c.IssuerKeyDigest:
		case w.valid(m, &cas[i]) == nil:
			return nil
		default:
			err = errors.New("x509: certificate has expired or is not yet valid: that of its CA")
		}
	}
	return err
}

// keys returns the identities of the public keys in a file, or of its private one.
func (w *World) keys(m *machine, path string) []string {
	f := w.resolve(m, clean(path))
	switch {
	case f == nil || f.Record == nil:
		return nil
	case f.Record.Key != "":
		return []string{f.Record.Key}
	}
	return f.Record.publics()
}

// trustedBy returns the file with the CAs that a kubeconfig is to trust: what lies
// where its CA does, unless it is told.
func trustedBy(op planner.WriteKubeconfig) string {
	switch {
	case op.Trust != "":
		return op.Trust
	case op.CA.Operator != "":
		return ""
	}
	return op.CA.Base + ".crt"
}

func (w *World) trustedAt(signer providers.Host, own *machine, path string) ([]state.CertificateInfo, error) {
	m := own
	if signer != nil {
		h, err := hostOf(signer)
		if err != nil {
			return nil, err
		}
		m = w.machine(h.address)
	}
	out := w.certificatesAt(m, path)
	if len(out) == 0 {
		return nil, fmt.Errorf("%s is not there", path)
	}
	return out, nil
}

// startTrust are the flags with CAs that components read only when they start.
var startTrust = []string{"trusted-ca-file", "peer-trusted-ca-file", "etcd-cafile", "root-ca-file"}

// readTrust lets a component that starts read whom it trusts from then on. It
// exits where a file is missing that it is told to read; one that vanishes later
// does not end it. A controller manager exits where it is to sign with a bundle
// (pkg/controller/certificates/signer).
func (w *World) readTrust(m *machine, p *pod) {
	p.Trusts, p.Exited = nil, ""
	manifest := w.manifest(p.Manifest)
	read := func(flags []string, in func(*machine, string) []string) {
		for _, flag := range flags {
			if path, ok := manifest.arg(flag); ok {
				if p.Trusts == nil {
					p.Trusts = map[string][]string{}
				}
				p.Trusts[flag] = in(m, path)
			}
		}
	}
	for _, need := range manifest.filesNeeded() {
		if w.resolve(m, clean(need)) == nil {
			p.Exited = "open " + need + ": no such file or directory"
		}
	}
	read(startTrust, w.digests)
	read([]string{flagVerify, flagSign, flagSignLegacy}, w.keys)
	if path := manifest.flag("cluster-signing-cert-file", ""); path != "" {
		if n := len(w.digests(m, path)); n > 1 {
			p.Exited = fmt.Sprintf("error reading CA cert file %q: expected 1 certificate, found %d", path, n)
		}
	}
}

// rootCAs returns what a controller manager that is well publishes in every
// namespace; nil when there is none.
func (w *World) rootCAs(c *cluster) []string {
	for _, address := range sortedKeys(w.planes) {
		m := w.d.Hosts[address]
		running, _ := w.podOf(m, compController)
		if running == nil || w.fault(m, compController) != nil {
			continue
		}
		if s, err := w.dial(m, &file{Record: running.Conf}); err == nil && s.cluster == c {
			return running.Trusts["root-ca-file"]
		}
	}
	return nil
}

// Distrust lists who of all components does not trust the certificate that
// another one shows it at present, as far as both run: each with what it has read
// when it started, or rereads by itself. It may be called from OnEffect, and
// from nowhere else while the world is in use.
func (w *World) Distrust() []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, address := range sortedKeys(w.d.Hosts) {
		m := w.d.Hosts[address]
		if running, p := w.podOf(m, compEtcd); running != nil {
			w.etcdDistrust(m, running, p, say)
		}
		if running, p := w.podOf(m, compAPI); running != nil {
			w.serverDistrust(m, running, p, say)
			w.tokenDistrust(m, running, p, say)
		}
		w.clientDistrust(m, say)
	}
	for _, id := range sortedKeys(w.d.Clusters) {
		w.podDistrust(w.d.Clusters[id], say)
	}
	return out
}

// issuedBy reports whether the first certificate in a file is signed by one of the CAs.
func (w *World) issuedBy(m *machine, path string, cas []string) bool {
	f := w.resolve(m, clean(path))
	if f == nil || f.Record == nil || len(f.Record.Certificates) == 0 || len(cas) == 0 {
		return true // nothing is shown, or nobody is asked
	}
	return slices.Contains(cas, f.Record.Certificates[0].IssuerKeyDigest)
}

// each calls for every host that runs a component.
func (w *World) each(component string, do func(*machine, *pod, *manifest)) {
	for _, address := range sortedKeys(w.d.Hosts) {
		m := w.d.Hosts[address]
		if running, p := w.podOf(m, component); running != nil {
			do(m, running, p)
		}
	}
}

// etcdDistrust: a member and its peers.
func (w *World) etcdDistrust(m *machine, running *pod, p *manifest, say func(string, ...any)) {
	w.each(compEtcd, func(peer *machine, other *pod, q *manifest) {
		if !w.issuedBy(m, p.flag("peer-cert-file", ""), other.Trusts["peer-trusted-ca-file"]) {
			say("etcd on %s does not trust its peer on %s", peer.address, m.address)
		}
		if !w.issuedBy(m, p.flag("cert-file", ""), w.digests(peer, q.flag("trusted-ca-file", ""))) {
			say("the health check of %s does not trust etcd on %s", peer.address, m.address)
		}
	})
	if !w.issuedBy(m, path.Join(path.Dir(p.flag("trusted-ca-file", "")), healthcheckClient+".crt"), running.Trusts["trusted-ca-file"]) {
		say("etcd on %s does not trust its health check", m.address)
	}
}

// serverDistrust: an API server and what it calls.
func (w *World) serverDistrust(m *machine, running *pod, p *manifest, say func(string, ...any)) {
	w.each(compEtcd, func(peer *machine, other *pod, q *manifest) {
		if !w.issuedBy(peer, q.flag("cert-file", ""), running.Trusts["etcd-cafile"]) {
			say("kube-apiserver on %s does not trust etcd on %s", m.address, peer.address)
		}
		if !w.issuedBy(m, p.flag("etcd-certfile", ""), other.Trusts["trusted-ca-file"]) {
			say("etcd on %s does not trust kube-apiserver on %s", peer.address, m.address)
		}
	})
	for _, address := range sortedKeys(w.d.Hosts) {
		other := w.d.Hosts[address]
		if !w.kubeletRuns(other) || other.Kubelet.Node == "" {
			continue
		}
		ca := w.kubeletTree(other).Get("authentication.x509.clientCAFile").AsString()
		if !w.issuedBy(m, p.flag("kubelet-client-certificate", ""), w.digests(other, ca)) {
			say("kubelet on %s does not trust kube-apiserver on %s", other.address, m.address)
		}
	}
	w.each(compAPI, func(other *machine, _ *pod, q *manifest) {
		if !w.issuedBy(m, p.flag("proxy-client-cert-file", ""), w.digests(other, q.flag("requestheader-client-ca-file", ""))) {
			say("what kube-apiserver on %s tells of front proxies does not trust the one on %s", other.address, m.address)
		}
	})
}

// clientDistrust: those on a host who call API servers by kubeconfigs.
func (w *World) clientDistrust(m *machine, say func(string, ...any)) {
	type caller struct {
		name  string
		conf  *record
		trust []state.CertificateInfo
	}
	var callers []caller
	for _, component := range []string{compController, compScheduler} {
		if running, _ := w.podOf(m, component); running != nil && running.Conf != nil && running.Conf.Kubeconfig != nil {
			callers = append(callers, caller{component, running.Conf, running.Conf.Kubeconfig.CAs})
		}
	}
	if f := w.resolve(m, adminConf); f.isRegular() && f.Record != nil && f.Record.Kubeconfig != nil {
		callers = append(callers, caller{"admin.conf", f.Record, f.Record.Kubeconfig.CAs})
	}
	if f := w.resolve(m, kubeletConf); f.isRegular() && f.Record != nil && f.Record.Kubeconfig != nil && w.kubeletRuns(m) && m.Kubelet.Node != "" {
		callers = append(callers, caller{"kubelet", f.Record, m.Kubelet.Trusts})
	}
	for _, c := range callers {
		w.each(compAPI, func(server *machine, _ *pod, p *manifest) {
			if shown := w.certificatesAt(server, p.flag("tls-cert-file", "")); len(shown) > 0 && len(c.trust) > 0 && w.vouch(m, c.trust, &shown[0]) != nil {
				say("%s on %s does not trust kube-apiserver on %s", c.name, m.address, server.address)
			}
			client, clients := w.clientCertificate(m, c.conf.Kubeconfig), w.digests(server, p.flag("client-ca-file", ""))
			if client != nil && !slices.Contains(clients, client.IssuerKeyDigest) {
				say("kube-apiserver on %s does not trust %s on %s", server.address, c.name, m.address)
			}
		})
	}
}

// podDistrust: pods of kube-system that call the API, and what is in cluster-info.
func (w *World) podDistrust(c *cluster, say func(string, ...any)) {
	for _, key := range append(c.kinds("apps/v1/DaemonSet/"), c.kinds("apps/v1/Deployment/")...) {
		o := c.Objects[key]
		w.each(compAPI, func(server *machine, _ *pod, p *manifest) {
			if s, err := w.etcdOf(server, p); err == nil && s == c && !w.issuedBy(server, p.flag("tls-cert-file", ""), o.Trusts) {
				say("pods of %s do not trust kube-apiserver on %s", strings.TrimPrefix(key, "apps/v1/"), server.address)
			}
		})
	}
}

// namespaces returns those that every cluster has, and those that were made.
func (c *cluster) namespaces() []string {
	out := []string{"default", "kube-node-lease", "kube-public", "kube-system"}
	for _, key := range c.kinds("v1/Namespace/") {
		if name := c.Objects[key].name(); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
