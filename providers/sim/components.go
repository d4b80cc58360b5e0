package sim

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/state"
)

// The components of a control plane, as their pods are labelled.
const (
	compEtcd       = "etcd"
	compAPI        = "kube-apiserver"
	compController = "kube-controller-manager"
	compScheduler  = "kube-scheduler"
)

// startup returns how long a component takes from its pod's start to being ready.
func startup(component string) time.Duration {
	switch component {
	case compEtcd:
		return 2 * time.Second
	case compAPI:
		return 4 * time.Second
	}
	return 3 * time.Second
}

// podOf returns the running pod of a component, or nil.
func (w *World) podOf(m *machine, component string) (*pod, *manifest) {
	if m.Off {
		return nil, nil
	}
	found := "" // the first by name
	for name, p := range m.Pods {
		if (found == "" || name < found) && w.manifest(p.Manifest).component() == component {
			found = name
		}
	}
	if found == "" {
		return nil, nil
	}
	return m.Pods[found], w.manifest(m.Pods[found].Manifest)
}

// fault says why a component of a host does not answer as healthy, or nil.
func (w *World) fault(m *machine, component string) error {
	running, p := w.podOf(m, component)
	if running == nil {
		return errors.New("connection refused")
	}
	if w.d.Now.Before(running.Started.Add(startup(component))) {
		return errors.New("connection refused: " + component + " is starting")
	}
	if running.Exited != "" {
		return fmt.Errorf("%s exits: %s", component, running.Exited)
	}
	switch component {
	case compEtcd:
		return w.etcdFault(m)
	case compAPI:
		return w.apiFault(m, p)
	case compController, compScheduler:
		return w.clientFault(m, component, p)
	}
	return nil
}

// apiFault checks what an API server needs besides its files.
func (w *World) apiFault(m *machine, p *manifest) error {
	cert, err := w.certificateAt(m, p.flag("tls-cert-file", ""), w.unlessGone(m, p.flag("tls-private-key-file", "")))
	if err != nil {
		return err
	}
	if !slices.Contains(cert.Usages, "server auth") {
		return errors.New("x509: certificate specifies an incompatible key usage")
	}
	c, err := w.etcdOf(m, p)
	if err != nil {
		return err
	}
	if !w.hasQuorum(c) {
		return errors.New("etcd has no leader")
	}
	return nil
}

// etcdOf returns the etcd cluster that an API server stores its objects in.
func (w *World) etcdOf(m *machine, p *manifest) (*cluster, error) {
	endpoints := strings.Split(p.flag("etcd-servers", ""), ",")
	if file, ok := p.arg("etcd-certfile"); ok {
		if _, err := w.certificateAt(m, file, w.unlessGone(m, p.flag("etcd-keyfile", ""))); err != nil {
			return nil, err
		}
	}
	last := errors.New("no etcd servers given")
	for _, endpoint := range endpoints {
		c, err := w.etcdAt(m, endpoint, endpoints)
		if err != nil {
			last = err
			continue
		}
		return c, nil
	}
	return nil, last
}

// clientFault checks a component that lives on the API.
func (w *World) clientFault(m *machine, component string, p *manifest) error {
	running, _ := w.podOf(m, component)
	if running.Conf == nil {
		return errors.New("no kubeconfig")
	}
	s, err := w.dial(m, &file{Record: running.Conf})
	if err != nil {
		return err
	}
	if s.user != "system:"+component {
		return fmt.Errorf("%s is not allowed to get leases: user %s", component, s.user)
	}
	if version, known := w.versionOfPod(m, component); known {
		return w.skewed(component, version, s.on)
	}
	return nil
}

// signerOf finds a controller manager of the cluster that signs certificates,
// and its CA's path without extension.
func (w *World) signerOf(c *cluster) (*machine, string) {
	for _, address := range sortedKeys(w.planes) {
		m := w.d.Hosts[address]
		running, p := w.podOf(m, compController)
		if p == nil || w.fault(m, compController) != nil {
			continue
		}
		if s, err := w.dial(m, &file{Record: running.Conf}); err != nil || s.cluster != c {
			continue
		}
		if base := strings.TrimSuffix(p.flag("cluster-signing-cert-file", ""), ".crt"); base != "" {
			return m, base
		}
	}
	return nil, ""
}

// session is an authenticated connection to an API server.
type session struct {
	on      *machine
	cluster *cluster
	user    string
	groups  []string
}

// dial connects as a kubeconfig on a host says.
func (w *World) dial(m *machine, conf *file) (*session, error) {
	if conf == nil || conf.Record == nil || conf.Record.Kubeconfig == nil {
		return nil, errors.New("invalid kubeconfig")
	}
	u, err := url.Parse(conf.Record.Kubeconfig.Server)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("invalid server %q", conf.Record.Kubeconfig.Server)
	}
	servers := w.behind(m, u.Hostname())
	last := fmt.Errorf("dial tcp %s: connect: connection refused", u.Host)
	for _, server := range servers {
		_, p := w.podOf(server, compAPI)
		if p == nil || w.find(u.Hostname()) != nil && p.flag("secure-port", "6443") != u.Port() {
			continue
		}
		if err := w.fault(server, compAPI); err != nil {
			last = err
			continue
		}
		s, err := w.handshake(m, server, u.Hostname(), conf.Record)
		if err == nil {
			return s, nil
		}
		last = err
	}
	return nil, last
}

// behind lists the hosts that a name leads to: one, or all API servers when it
// is nobody's and so a balancer's.
func (w *World) behind(m *machine, name string) []*machine {
	if loopback(name) {
		return []*machine{m}
	}
	if one := w.find(name); one != nil {
		return []*machine{one}
	}
	var out []*machine
	for _, address := range sortedKeys(w.planes) {
		out = append(out, w.d.Hosts[address])
	}
	return out
}

// handshake checks both sides' credentials.
func (w *World) handshake(m, server *machine, name string, r *record) (*session, error) {
	_, p := w.podOf(server, compAPI)
	cert, err := w.certificateAt(server, p.flag("tls-cert-file", ""), "")
	if err != nil {
		return nil, err
	}
	if err := w.vouch(m, r.Kubeconfig.CAs, cert); err != nil {
		return nil, err
	}
	if !covers(cert, name) {
		return nil, notFor(cert, name)
	}
	c, err := w.etcdOf(server, p)
	if err != nil {
		return nil, err
	}
	s := &session{on: server, cluster: c}
	if r.Token != "" {
		if s.user, s.groups, err = w.tokenUser(c, r.Token); err != nil {
			return nil, err
		}
		return s, nil
	}
	client := w.clientCertificate(m, r.Kubeconfig)
	if client == nil {
		return nil, errors.New("no client certificate")
	}
	if err := w.valid(server, client); err != nil {
		return nil, err
	}
	if !w.stillTrusts(server, p.flag("client-ca-file", ""), client) {
		return nil, errors.New("unauthorized: x509: certificate signed by unknown authority")
	}
	s.user, s.groups = client.CommonName, client.Organizations
	return s, nil
}

// clientCertificate returns a kubeconfig's, inlined or in a file beside it.
func (w *World) clientCertificate(m *machine, k *state.KubeconfigInfo) *state.CertificateInfo {
	if k.Client != nil || k.ClientCertificate == "" {
		return k.Client
	}
	c, err := w.certificateAt(m, k.ClientCertificate, "")
	if err != nil {
		return nil
	}
	return c
}

// covers reports whether a certificate speaks for a name or an IP address.
func covers(c *state.CertificateInfo, name string) bool {
	if slices.Contains(c.IPAddresses, name) {
		return true
	}
	return slices.ContainsFunc(c.DNSNames, func(pattern string) bool {
		if _, rest, _ := strings.Cut(name, "."); strings.HasPrefix(pattern, "*.") && pattern[2:] == rest {
			return true
		}
		return pattern == name
	})
}

// listens reports whether somebody listens on a TCP port of a host.
func (w *World) listens(m *machine, port int) bool {
	switch {
	case m.Off:
		return false
	case port == 22 || slices.Contains(m.Conditions.Ports, port):
		return true
	case port == 10250, port == w.healthPort(m):
		return w.kubeletRuns(m)
	}
	for _, component := range []string{compEtcd, compAPI, compController, compScheduler} {
		if _, p := w.podOf(m, component); p != nil && slices.Contains(ports(component, p), port) {
			return true
		}
	}
	return false
}

// healthPort returns where a kubelet that runs answers for its health.
func (w *World) healthPort(m *machine) int {
	if m.Kubelet == nil {
		return 0
	}
	if p := w.kubeletTree(m).Get("healthzPort"); !p.IsNull() {
		return number(p.AsString())
	}
	return 10248
}

func ports(component string, p *manifest) []int {
	switch component {
	case compAPI:
		return []int{number(p.flag("secure-port", "6443"))}
	case compController:
		return []int{number(p.flag("secure-port", "10257"))}
	case compScheduler:
		return []int{number(p.flag("secure-port", "10259"))}
	}
	out := []int{}
	for _, flag := range []string{"listen-client-urls", "listen-peer-urls", "listen-metrics-urls"} {
		for s := range strings.SplitSeq(p.flag(flag, ""), ",") {
			if u, err := url.Parse(s); err == nil && u.Port() != "" {
				out = append(out, number(u.Port()))
			}
		}
	}
	return out
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// runDaemons takes up the DaemonSets that are in the API, and leaves on the
// host what they make there.
func (w *World) runDaemons(m *machine, c *cluster) bool {
	changed := false
	for _, key := range c.kinds("apps/v1/DaemonSet/") {
		name := c.Objects[key].name()
		if slices.Contains(m.Daemons, name) {
			continue
		}
		insert(&m.Daemons, name)
		changed = true
		volumes := "/var/lib/kubelet/pods/" + w.derive(32, "pod", m.address, name)
		w.put(m, volumes, &file{Type: typeDirectory, Mode: "0750"})
		insert(&m.Mounts, volumes+"/volumes/kubernetes.io~projected/kube-api-access")
		if strings.Contains(name, "kube-proxy") {
			w.startProxy(m, c)
			w.tune(m, map[string]string{"net.netfilter.nf_conntrack_max": "131072", "net.netfilter.nf_conntrack_udp_timeout": "250"})
		}
		w.runNetwork(m, name, c.Objects[key].hostPaths())
	}
	return changed
}

// runNetwork leaves what a network addon makes on a host: it is one when it
// mounts the folder of CNI configurations.
func (w *World) runNetwork(m *machine, name string, hostPaths []string) {
	network := slices.Contains(hostPaths, cniFolder)
	for _, p := range hostPaths {
		if f := w.get(m, clean(p)); f == nil && network {
			w.put(m, clean(p), &file{Type: typeDirectory})
		}
	}
	if !network {
		return
	}
	w.put(m, path.Join(cniFolder, "10-"+name+".conflist"), w.contentFile([]byte(`{"cniVersion":"1.0.0","name":"`+name+`"}`+"\n"), "", ""))
	if w.get(m, "/var/lib/cni/networks/"+name) == nil {
		w.put(m, "/var/lib/cni/networks/"+name, &file{Type: typeDirectory})
	}
	insert(&m.Links, "cni0")
	insert(&m.Links, "veth"+w.derive(8, "veth", m.address))
	if strings.Contains(name, "flannel") {
		insert(&m.Links, "flannel.1")
	}
	insert(&m.Rules, "cni "+name)
}

const cniFolder = "/etc/cni/net.d"

// hasNetwork reports whether a CNI configuration is in place.
func (w *World) hasNetwork(m *machine) bool {
	return slices.ContainsFunc(w.children(m, cniFolder), func(p string) bool {
		return strings.HasSuffix(p, ".conflist") || strings.HasSuffix(p, ".conf")
	})
}
