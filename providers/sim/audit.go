package sim

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner/skew"

	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/kubelet"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/state"
)

// audit finds violations of invariants.
type audit struct {
	servers *apiserver.Servers
	found   []string
}

func (au *audit) say(format string, args ...any) {
	au.found = append(au.found, fmt.Sprintf(format, args...))
}

// each calls for every host that runs a component.
func (au *audit) each(component string, do func(*machine.Machine, *machine.StaticPod, *staticpod.Manifest)) {
	for _, m := range au.servers.Machines() {
		if running, p := m.Processes().Pod(component); running != nil {
			do(m, running, p)
		}
	}
}

// etcdDistrust checks an etcd, its peers and its health check.
func (au *audit) etcdDistrust(m *machine.Machine, running *machine.StaticPod, p *staticpod.Manifest) {
	au.each(staticpod.Etcd, func(peer *machine.Machine, other *machine.StaticPod, q *staticpod.Manifest) {
		if !m.Certificates().IssuedBy(p.Flag("peer-cert-file", ""), other.Trusts["peer-trusted-ca-file"]) {
			au.say("etcd on %s does not trust its peer on %s", peer.Address, m.Address)
		}
		if !m.Certificates().IssuedBy(p.Flag("cert-file", ""), peer.Certificates().KeyDigests(q.Flag("trusted-ca-file", ""))) {
			au.say("the health check of %s does not trust etcd on %s", peer.Address, m.Address)
		}
	})
	if !m.Certificates().IssuedBy(path.Join(path.Dir(p.Flag("trusted-ca-file", "")), healthcheckClient+".crt"), running.Trusts["trusted-ca-file"]) {
		au.say("etcd on %s does not trust its health check", m.Address)
	}
}

// serverDistrust checks an API server, and the etcds, kubelets and front proxies that it calls.
func (au *audit) serverDistrust(m *machine.Machine, running *machine.StaticPod, p *staticpod.Manifest) {
	au.each(staticpod.Etcd, func(peer *machine.Machine, other *machine.StaticPod, q *staticpod.Manifest) {
		if !peer.Certificates().IssuedBy(q.Flag("cert-file", ""), running.Trusts["etcd-cafile"]) {
			au.say("kube-apiserver on %s does not trust etcd on %s", m.Address, peer.Address)
		}
		if !m.Certificates().IssuedBy(p.Flag("etcd-certfile", ""), other.Trusts["trusted-ca-file"]) {
			au.say("etcd on %s does not trust kube-apiserver on %s", peer.Address, m.Address)
		}
	})
	for _, other := range au.servers.Machines() {
		if !other.Processes().KubeletRuns() || other.Kubelet.Node == "" {
			continue
		}
		ca := other.Processes().KubeletConfig().Get("authentication.x509.clientCAFile").AsString()
		if !m.Certificates().IssuedBy(p.Flag("kubelet-client-certificate", ""), other.Certificates().KeyDigests(ca)) {
			au.say("kubelet on %s does not trust kube-apiserver on %s", other.Address, m.Address)
		}
	}
	au.kubeletDistrust(m, running, p)
	au.each(staticpod.APIServer, func(other *machine.Machine, _ *machine.StaticPod, q *staticpod.Manifest) {
		if !m.Certificates().IssuedBy(p.Flag("proxy-client-cert-file", ""), other.Certificates().KeyDigests(q.Flag("requestheader-client-ca-file", ""))) {
			au.say("what kube-apiserver on %s tells of front proxies does not trust the one on %s", other.Address, m.Address)
		}
	})
}

// kubeletDistrust checks the kubelets that an API server calls for logs and exec, if it verifies them.
func (au *audit) kubeletDistrust(m *machine.Machine, running *machine.StaticPod, p *staticpod.Manifest) {
	if p.Flag("kubelet-certificate-authority", "") == "" {
		return
	}
	c, err := au.servers.StorageOf(m, p)
	if err != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
		other := au.servers.Hosts[c.Nodes[name].Host]
		if other == nil || !other.Processes().KubeletRuns() {
			continue
		}
		shown, err := apiserver.KubeletCertificate(other)
		switch {
		case err != nil:
			au.say("kubelet on %s serves with no certificate: %v", other.Address, err)
		case !slices.Contains(running.Trusts["kubelet-certificate-authority"], shown.IssuerKeyDigest):
			au.say("kube-apiserver on %s does not trust kubelet on %s", m.Address, other.Address)
		case !slices.Contains(shown.IPAddresses, other.Address):
			au.say("the certificate of the kubelet on %s is not for its address", other.Address)
		}
	}
}

// clientDistrust checks the clients on a machine that call API servers with kubeconfigs.
func (au *audit) clientDistrust(m *machine.Machine) {
	type caller struct {
		name  string
		conf  *file.Record
		trust []state.CertificateInfo
	}
	var callers []caller
	for _, component := range []string{staticpod.ControllerManager, staticpod.Scheduler} {
		if running, _ := m.Processes().Pod(component); running != nil && running.Conf != nil && running.Conf.Kubeconfig != nil {
			callers = append(callers, caller{component, running.Conf, running.Conf.Kubeconfig.CAs})
		}
	}
	if f := m.Resolve(adminConf); f.IsRegular() && f.Record != nil && f.Record.Kubeconfig != nil {
		callers = append(callers, caller{"admin.conf", f.Record, f.Record.Kubeconfig.CAs})
	}
	if f := m.Resolve(kubelet.KubeletConf); f.IsRegular() && f.Record != nil && f.Record.Kubeconfig != nil && m.Processes().KubeletRuns() && m.Kubelet.Node != "" {
		callers = append(callers, caller{"kubelet", f.Record, m.Kubelet.Trusts})
	}
	for _, c := range callers {
		au.each(staticpod.APIServer, func(server *machine.Machine, _ *machine.StaticPod, p *staticpod.Manifest) {
			if shown := server.Certificates().AllAt(p.Flag("tls-cert-file", "")); len(shown) > 0 && len(c.trust) > 0 && m.Certificates().Verify(c.trust, &shown[0]) != nil {
				au.say("%s on %s does not trust kube-apiserver on %s", c.name, m.Address, server.Address)
			}
			client, clients := m.Certificates().OfKubeconfig(c.conf.Kubeconfig), server.Certificates().KeyDigests(p.Flag("client-ca-file", ""))
			if client != nil && !slices.Contains(clients, client.IssuerKeyDigest) {
				au.say("kube-apiserver on %s does not trust %s on %s", server.Address, c.name, m.Address)
			}
		})
	}
}

// podDistrust checks pods that call the API.
func (au *audit) podDistrust(c *etcd.Cluster) {
	for _, key := range append(c.Keys("apps/v1/DaemonSet/"), c.Keys("apps/v1/Deployment/")...) {
		o := c.Objects[key]
		au.each(staticpod.APIServer, func(server *machine.Machine, _ *machine.StaticPod, p *staticpod.Manifest) {
			if s, err := au.servers.StorageOf(server, p); err == nil && s == c && !server.Certificates().IssuedBy(p.Flag("tls-cert-file", ""), o.Trusts) {
				au.say("pods of %s do not trust kube-apiserver on %s", strings.TrimPrefix(key, "apps/v1/"), server.Address)
			}
		})
	}
}

// tokenDistrust checks the tokens that an API server does not verify.
func (au *audit) tokenDistrust(m *machine.Machine, running *machine.StaticPod, p *staticpod.Manifest) {
	believed := running.Trusts[apiserver.FlagVerify]
	believes := func(keys []string) bool {
		return len(keys) == 0 || len(believed) == 0 || slices.Contains(believed, keys[0])
	}
	au.each(staticpod.APIServer, func(other *machine.Machine, signs *machine.StaticPod, _ *staticpod.Manifest) {
		if !believes(signs.Trusts[apiserver.FlagSign]) {
			au.say("kube-apiserver on %s does not believe tokens of kube-apiserver on %s", m.Address, other.Address)
		}
	})
	au.each(staticpod.ControllerManager, func(other *machine.Machine, signs *machine.StaticPod, _ *staticpod.Manifest) {
		if !believes(signs.Trusts[apiserver.FlagSignLegacy]) {
			au.say("kube-apiserver on %s does not believe tokens of kube-controller-manager on %s", m.Address, other.Address)
		}
	})
	c, err := au.servers.StorageOf(m, p)
	if err != nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(c.Objects)) {
		if o := c.Objects[key]; o.Token != nil && !believes([]string{o.Token.Key}) {
			au.say("kube-apiserver on %s does not believe the token of %s", m.Address, strings.TrimPrefix(key, "apps/v1/"))
		}
	}
}

// broken returns the current violations: API servers whose local etcd has been removed from
// its cluster, rules of version skew, and the quorum and the API of clusters with three
// voters or more.
func (au *audit) broken() []string {
	var out []string
	for _, m := range au.servers.StaticPodHosts() {
		if au.stranded(m) {
			out = append(out, "the API server of "+m.Address+" has no etcd behind it")
		}
	}
	au.found = nil
	au.each(staticpod.APIServer, func(m *machine.Machine, running *machine.StaticPod, p *staticpod.Manifest) {
		c, err := au.servers.StorageOf(m, p)
		if err != nil || running.Exited != "" {
			return
		}
		if what := au.servers.Undecryptable(running, c); what != "" {
			au.say("the API server of %s cannot read %s", m.Address, what)
		}
	})
	out = append(out, au.found...)
	for _, c := range au.servers.List() {
		v := skew.Versions{
			APIServers: map[string]skew.Release{}, ControllerManagers: map[string]skew.Release{},
			Schedulers: map[string]skew.Release{}, Kubelets: map[string]skew.Release{},
		}
		serving := false
		for _, name := range slices.Sorted(maps.Keys(c.Nodes)) {
			m := au.servers.Hosts[c.Nodes[name].Host]
			if m == nil || m.Off {
				continue
			}
			for component, of := range map[string]map[string]skew.Release{
				staticpod.APIServer: v.APIServers, staticpod.ControllerManager: v.ControllerManagers, staticpod.Scheduler: v.Schedulers,
			} {
				if r, ok := m.Processes().Version(component); ok {
					of[name] = r
				}
			}
			if r, ok := skew.ParseRelease(c.Nodes[name].Kubelet); ok && m.Processes().KubeletRuns() {
				v.Kubelets[name] = r
			}
			serving = serving || au.servers.Fault(m, staticpod.APIServer) == nil
		}
		for _, err := range v.Violations() {
			out = append(out, err.Error())
		}
		if len(c.Voters()) < 3 {
			continue
		}
		if !c.HasQuorum() {
			out = append(out, "etcd has no quorum")
		}
		if !serving {
			out = append(out, "no API server serves")
		}
	}
	return out
}

// stranded reports whether an API server accepts requests while its local etcd has been
// removed from its cluster, so that they fail.
func (au *audit) stranded(m *machine.Machine) bool {
	api, _ := m.Processes().Pod(staticpod.APIServer)
	etcd, runs := au.servers.ProcessOn(m)
	return !m.Off && api != nil && runs && api.Exited == "" && etcd.Removed()
}

// Violations returns the violations that were found after effects while Watch was set.
func (w *World) Violations() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.violations
}

// Distrust lists the running components that do not trust the certificate that another one
// currently shows them: each with the CAs that it read when it started, or rereads by
// itself. While the world is in use it may only be called from OnEffect.
func (w *World) Distrust() []string {
	au := audit{servers: w.servers}
	for _, m := range w.fleet.Machines() {
		if running, p := m.Processes().Pod(staticpod.Etcd); running != nil {
			au.etcdDistrust(m, running, p)
		}
		if running, p := m.Processes().Pod(staticpod.APIServer); running != nil {
			au.serverDistrust(m, running, p)
			au.tokenDistrust(m, running, p)
		}
		au.clientDistrust(m)
	}
	for _, c := range w.etcds.List() {
		au.podDistrust(c)
	}
	return au.found
}
