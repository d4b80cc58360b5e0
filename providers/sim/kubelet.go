package sim

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner/skew"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/cache"
)

// kubelet is a kubelet's process. It is kept while the unit is active.
type kubelet struct {
	// Config and Flags are digests of what it read when it started.
	Config string `json:"config,omitempty"`
	Flags  string `json:"flags,omitempty"`
	// Started is when it last came up.
	Started time.Time `json:"started"`
	// Up reports whether it runs and did not exit for want of something.
	Up bool `json:"up,omitempty"`
	// Trusts are the CAs of the kubeconfig that it read when it started.
	Trusts []state.CertificateInfo `json:"trusted,omitempty"`
	// Node and Cluster say as what it has registered since it started.
	Node    string `json:"node,omitempty"`
	Cluster string `json:"cluster,omitempty"`
}

// pod is a static pod that runs.
type pod struct {
	// Manifest is the digest of the file that it was started from.
	Manifest string    `json:"manifest"`
	Path     string    `json:"path,omitempty"` // where that lies, if not where kubeadm puts it
	Started  time.Time `json:"started"`
	// Conf is the kubeconfig that a component read when it started.
	Conf *record `json:"conf,omitempty"`
	// Trusts are the CAs, by flag, that it read when it started.
	Trusts map[string][]string `json:"trusts,omitempty"`
	// Exited says why it has exited.
	Exited string `json:"exited,omitempty"`
	// Published tells of an etcd that it has had a quorum since it was started.
	Published bool `json:"published,omitempty"`
}

const (
	kubeletConfig   = "/var/lib/kubelet/config.yaml"
	kubeletFlags    = "/var/lib/kubelet/kubeadm-flags.env"
	kubeletConf     = "/etc/kubernetes/kubelet.conf"
	bootstrapConf   = "/etc/kubernetes/bootstrap-kubelet.conf"
	kubeletPKI      = "/var/lib/kubelet/pki"
	kubeletClient   = kubeletPKI + "/kubelet-client-current.pem"
	manifestsFolder = "/etc/kubernetes/manifests"
)

// kubeletTurned starts or stops the process when its unit was.
func (w *World) kubeletTurned(m *machine, on bool) {
	m.Kubelet = nil
	if on {
		m.Kubelet = &kubelet{}
		w.did(m, "start kubelet")
	}
	w.wake(m)
}

// kubeletFault says why an active kubelet does not run, or "". systemd starts
// it again and again, so it comes up as soon as nothing is wrong any more.
func (w *World) kubeletFault(m *machine) string {
	if m.Kubelet != nil && m.Kubelet.Up {
		return ""
	}
	config := w.resolve(m, kubeletConfig)
	if !w.hasProgram(m, "kubelet") {
		return "Failed at step EXEC: No such file or directory"
	}
	if config == nil {
		return "open " + kubeletConfig + ": no such file or directory"
	}
	read := w.settingsIn(config.SHA256)
	switch {
	case read.err != nil:
		return "failed to load kubelet config file: " + read.err.Error()
	case read.tree.Get("kind").AsString() != "KubeletConfiguration":
		return "failed to load kubelet config file: no kind KubeletConfiguration"
	case !w.active(m, "containerd"):
		return "validate CRI v1 runtime API: no such file or directory"
	case !w.servesCRI(m):
		return "validate CRI v1 runtime API: rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"
	case w.resolve(m, kubeletConf) == nil && w.resolve(m, bootstrapConf) == nil:
		return "unable to load bootstrap kubeconfig: " + bootstrapConf + ": no such file or directory"
	case w.resolve(m, kubeletConf) != nil && w.resolve(m, bootstrapConf) == nil && w.kubeletEnded(m):
		return "part of the existing bootstrap client certificate in " + kubeletConf + " is expired"
	case w.swap(m) && w.failsOnSwap(m, read.tree):
		return "running with swap on is not supported"
	}
	if ca := read.tree.Get("authentication.x509.clientCAFile").AsString(); ca != "" && w.resolve(m, clean(ca)) == nil {
		return "unable to load client CA file " + ca
	}
	return ""
}

// failsOnSwap reports whether a kubelet which starts refuses swap. Its flag counts before its file.
func (w *World) failsOnSwap(m *machine, tree state.Value) bool {
	if on, err := strconv.ParseBool(flagIn(w.content(w.resolve(m, kubeletFlags)), "fail-swap-on")); err == nil {
		return on
	}
	return !tree.Get("failSwapOn").Equal(state.Bool(false))
}

// servesCRI reports whether the kubelet is answered by the containerd that runs.
func (w *World) servesCRI(m *machine) bool {
	return !m.Conditions.CRIDisabled || m.Files["/etc/containerd/config.toml"] != nil
}

// stepHost lets one host go on. It reports whether anything changed, and
// whether nothing will change before something else happens.
func (w *World) stepHost(m *machine) (changed, done bool) {
	if m.Off || m.Kubelet == nil || !w.active(m, "kubelet") {
		return false, true
	}
	if !m.Kubelet.Up {
		if w.kubeletFault(m) != "" {
			return false, true
		}
		w.startKubelet(m)
		changed = true
	}
	changed = w.syncPods(m) || changed
	moved, etcdDone := w.stepEtcd(m)
	changed = changed || moved
	moved, nodeDone := w.stepNode(m)
	return changed || moved, etcdDone && nodeDone
}

func (w *World) startKubelet(m *machine) {
	k := &kubelet{Up: true, Started: w.d.Now}
	k.Config = w.resolve(m, kubeletConfig).SHA256
	if f := w.resolve(m, kubeletFlags); f.isRegular() {
		k.Flags = f.SHA256
	}
	m.Kubelet = k
	w.takeOver(m)
	if conf := w.resolve(m, kubeletConf); conf.isRegular() && conf.Record != nil && conf.Record.Kubeconfig != nil {
		k.Trusts = conf.Record.Kubeconfig.CAs
	}
	// What the kubelet sets unless protectKernelDefaults forbids it (pkg/kubelet/cm).
	w.tune(m, map[string]string{
		"kernel.panic": "10", "kernel.panic_on_oops": "1", "vm.overcommit_memory": "1", "vm.panic_on_oom": "0",
		"kernel.keys.root_maxkeys": "1000000", "kernel.keys.root_maxbytes": "25000000",
	})
	for _, dir := range []string{kubeletPKI, "/var/lib/kubelet/pods", "/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry", "/var/lib/kubelet/device-plugins"} {
		if w.get(m, dir) == nil {
			w.put(m, dir, &file{Type: typeDirectory, Mode: "0750"})
		}
	}
	for _, dir := range []string{"/var/log/pods", "/var/log/containers", "/usr/libexec/kubernetes/kubelet-plugins/volume/exec"} {
		if w.get(m, dir) == nil {
			w.put(m, dir, &file{Type: typeDirectory})
		}
	}
	for _, name := range []string{"cpu_manager_state", "memory_manager_state"} {
		w.put(m, "/var/lib/kubelet/"+name, w.opaque(name, "0600"))
	}
	// For a graceful shutdown it has logind wait (pkg/kubelet/nodeshutdown/systemd).
	if grace := w.kubeletTree(m).Get("shutdownGracePeriod").AsString(); grace != "" && grace != "0s" {
		w.put(m, "/etc/systemd/logind.conf.d/99-kubelet.conf", w.opaque("99-kubelet.conf", "0644"))
	}
	if w.get(m, kubeletPKI+"/kubelet.crt") == nil {
		w.selfSign(m)
	}
	insert(&m.Rules, "kubelet KUBE-FIREWALL")
	insert(&m.Rules, "kubelet KUBE-KUBELET-CANARY")
}

// tune sets the kernel parameters that the kernel has.
func (w *World) tune(m *machine, sysctls map[string]string) {
	for name, value := range sysctls {
		if _, has := w.sysctl(m, name); has {
			setText(&m.Sysctls, name, value, w.base(m).sysctls[name])
		}
	}
}

// kubeletTree returns the configuration that a running kubelet has read.
func (w *World) kubeletTree(m *machine) state.Value { return w.settingsIn(m.Kubelet.Config).tree }

// settings are a configuration in YAML, or why it is none.
type settings struct {
	tree state.Value
	err  error
}

// settingsIn parses the content of a file, once per content.
func (w *World) settingsIn(digest string) settings {
	s, known := w.settings[digest]
	if !known {
		s = allSettings.Of(string(w.d.Blobs[digest]))
		w.settings[digest] = s
	}
	return s
}

var allSettings = cache.New(func(content string) settings {
	tree, err := parseYAML([]byte(content))
	if err != nil {
		return settings{err: err}
	}
	return settings{tree: state.FromGo(tree)}
})

// kubeletFlag returns the value of one of the flags that a running kubelet was given.
func (w *World) kubeletFlag(m *machine, name string) string {
	return flagIn([]byte(w.d.Blobs[m.Kubelet.Flags]), name)
}

// flagIn returns the value of a flag in a file of flags; the last one counts.
func flagIn(file []byte, name string) string {
	_, quoted, _ := strings.Cut(strings.TrimSpace(string(file)), "=")
	line, err := strconv.Unquote(quoted)
	if err != nil {
		line = quoted
	}
	value := ""
	for word := range strings.FieldsSeq(line) {
		if n, v, _ := strings.Cut(strings.TrimPrefix(word, "--"), "="); n == name {
			value = v
		}
	}
	return value
}

// syncPods runs the static pods of the manifests folder and no others.
func (w *World) syncPods(m *machine) bool {
	folder := w.kubeletTree(m).Get("staticPodPath").AsString()
	if folder == "" && len(m.Pods) == 0 || !w.active(m, "containerd") {
		return false
	}
	wanted, paths := map[string]string{}, map[string]string{}
	for _, p := range w.children(m, clean(folder)) {
		f := w.resolve(m, p)
		if folder == "" || !f.isRegular() || strings.HasPrefix(path.Base(p), ".") {
			continue
		}
		if pod := w.manifest(f.SHA256); pod.err == nil {
			wanted[pod.name], paths[pod.name] = f.SHA256, p
		}
	}
	changed := false
	for _, name := range sortedKeys(m.Pods) {
		if _, ok := wanted[name]; !ok {
			delete(m.Pods, name)
			changed = true
		}
	}
	for _, name := range sortedKeys(wanted) {
		changed = w.syncPod(m, name, wanted[name], paths[name]) || changed
	}
	if len(m.Pods) > 0 {
		w.planes[m.address] = true
	} else {
		delete(w.planes, m.address)
	}
	return changed
}

func (w *World) syncPod(m *machine, name, digest, path string) bool {
	running := m.Pods[name]
	if running != nil && w.manifest(running.Manifest).hash == w.manifest(digest).hash {
		return w.startAgain(m, running)
	}
	image := w.manifest(digest).image
	if !w.hasImage(m, image) {
		if m.Conditions.NoRegistry {
			delete(m.Pods, name)
			return running != nil
		}
		w.setImage(m, image, true) // the kubelet pulls it
	}
	if m.Pods == nil {
		m.Pods = map[string]*pod{}
	}
	w.did(m, "start "+name)
	m.Pods[name] = &pod{Manifest: digest}
	w.startPod(m, m.Pods[name])
	if path != usualManifest(name) {
		m.Pods[name].Path = path
	}
	return true
}

// kubeletRuns reports whether a kubelet is up.
func (w *World) kubeletRuns(m *machine) bool {
	return !m.Off && m.Kubelet != nil && m.Kubelet.Up && w.active(m, "kubelet")
}

// stepNode brings a kubelet to its node: credentials, registration, rotation, DaemonSets.
func (w *World) stepNode(m *machine) (changed, done bool) {
	k := m.Kubelet
	if k.Node == "" {
		if err := w.register(m); err != nil {
			return false, false
		}
		changed = true
	}
	c := w.d.Clusters[k.Cluster]
	if c == nil {
		return changed, true
	}
	due := w.kubeletTree(m).Get("rotateCertificates").AsBool() && w.rotationDue(m)
	if due && w.rotate(m, c) {
		due, changed = false, true
	}
	changed = w.runDaemons(m, c) || changed
	if n := c.Nodes[k.Node]; n != nil && w.starting(n) {
		return changed, false
	}
	if due {
		if signer, _ := w.signerOf(c); signer != nil {
			return changed, false // with an external CA nobody will ever sign
		}
	}
	c.stale = c.stale || slices.ContainsFunc(c.Pods, func(p *Pod) bool { return p.Node == "" })
	return changed, true
}

// nodeName returns the name that the kubelet registers under.
func (w *World) nodeName(m *machine) string {
	if name := w.kubeletFlag(m, "hostname-override"); name != "" {
		return name
	}
	return w.hostname(m)
}

// register bootstraps where it has to, and makes the Node.
func (w *World) register(m *machine) error {
	name := w.nodeName(m)
	conf := w.resolve(m, kubeletConf)
	if w.bootstraps(m, conf) {
		if err := w.bootstrap(m, name); err != nil {
			return err
		}
		conf = w.resolve(m, kubeletConf)
	}
	server, err := w.dial(m, conf)
	if err != nil {
		return err
	}
	if server.user != "system:node:"+name || !slices.Contains(server.groups, "system:nodes") {
		return errors.New(server.user + " may not register node " + name)
	}
	if kubelet, ok := skew.ParseRelease(w.versionOf(m, "kubelet")); ok {
		if err := w.skewed("kubelet", kubelet, server.on); err != nil {
			return err
		}
	}
	server.cluster.registerNode(w, m, name)
	m.Kubelet.Node, m.Kubelet.Cluster = name, server.cluster.ID
	return nil
}

// bootstraps reports whether the kubelet asks for a client certificate: its kubeconfig is not
// there or, where there is something to ask with, has none that counts (the kubelet's
// isClientConfigStillValid, v1.36.3).
func (w *World) bootstraps(m *machine, conf *file) bool {
	if conf == nil || conf.Record == nil || conf.Record.Kubeconfig == nil || w.resolve(m, bootstrapConf) == nil {
		return conf == nil
	}
	c := w.clientCertificate(m, conf.Record.Kubeconfig)
	return c == nil || w.clock(m).After(c.NotAfter)
}

// bootstrap obtains a client certificate with a token and writes the kubeconfig.
func (w *World) bootstrap(m *machine, name string) error {
	conf := w.resolve(m, bootstrapConf)
	if conf == nil {
		return errors.New("no kubeconfig")
	}
	server, err := w.dial(m, conf)
	if err != nil {
		return err
	}
	if !server.cluster.has(clusterRoleBinding("kubeadm:kubelet-bootstrap")) || !server.cluster.has(clusterRoleBinding("kubeadm:node-autoapprove-bootstrap")) {
		return errors.New("certificate request is not approved")
	}
	if err := w.signClient(m, server.cluster, name); err != nil {
		return err
	}
	k := conf.Record.Kubeconfig
	w.put(m, kubeletConf, recordFile(&record{Kubeconfig: &state.KubeconfigInfo{
		Server: k.Server, Cluster: "default-cluster", User: "default-auth", Context: "default-context",
		CAs: k.CAs, ClientCertificate: kubeletClient, ClientKey: kubeletClient,
	}}, "0600", ""))
	m.Kubelet.Trusts = k.CAs
	return nil
}

// rotationDue reports whether a kubelet has no certificate of its own yet, or
// one that has lived through four fifths of its life.
func (w *World) rotationDue(m *machine) bool {
	f := w.resolve(m, kubeletClient)
	if f == nil || f.Record == nil || len(f.Record.Certificates) == 0 {
		return true
	}
	c := f.Record.Certificates[0]
	return w.clock(m).After(c.NotAfter.Add(-c.NotAfter.Sub(c.NotBefore) / 5))
}

// rotate replaces an inlined client certificate by one of the kubelet's own.
func (w *World) rotate(m *machine, c *cluster) bool {
	conf := w.resolve(m, kubeletConf)
	if conf == nil || !c.has(clusterRoleBinding("kubeadm:node-autoapprove-certificate-rotation")) {
		return false
	}
	if _, err := w.dial(m, conf); err != nil {
		return false
	}
	return w.signClient(m, c, m.Kubelet.Node) == nil
}

// signClient lets the cluster's controller manager sign a kubelet's client certificate.
func (w *World) signClient(m *machine, c *cluster, name string) error {
	signer, base := w.signerOf(c)
	if signer == nil {
		return errors.New("no controller manager signs certificates")
	}
	ca, err := w.certificateAt(signer, base+".crt", base+".key")
	if err != nil {
		return err
	}
	key := w.derive(64, "key", m.address, m.next())
	cert := state.CertificateInfo{
		CommonName: "system:node:" + name, Organizations: []string{"system:nodes"},
		Usages: []string{"digital signature", "client auth"}, Algorithm: "ECDSA-P256",
		NotBefore: w.d.Now.Add(-5 * time.Minute), NotAfter: w.d.Now.Add(365 * 24 * time.Hour),
		Serial: w.derive(16, "serial", key), Issuer: ca.CommonName, KeyDigest: key, IssuerKeyDigest: ca.KeyDigest,
	}
	stamped := kubeletPKI + "/kubelet-client-" + w.d.Now.UTC().Format("2006-01-02-15-04-05") + ".pem"
	w.put(m, stamped, recordFile(&record{Certificates: []state.CertificateInfo{cert}, Key: key}, "0600", ""))
	w.put(m, kubeletClient, &file{Type: typeLink, Link: stamped})
	return nil
}

// selfSign makes the kubelet's serving certificate.
func (w *World) selfSign(m *machine) {
	key := w.derive(64, "key", m.address, m.next())
	cert := state.CertificateInfo{
		CommonName: w.hostname(m) + "@1", DNSNames: []string{w.hostname(m)}, Usages: []string{"digital signature", "key encipherment", "server auth"},
		Algorithm: "RSA-2048", NotBefore: w.d.Now.Add(-time.Hour), NotAfter: w.d.Now.Add(365 * 24 * time.Hour),
		Serial: w.derive(16, "serial", key), Issuer: w.hostname(m) + "-ca@1", KeyDigest: key,
	}
	w.put(m, kubeletPKI+"/kubelet.crt", recordFile(&record{Certificates: []state.CertificateInfo{cert}}, "", ""))
	w.put(m, kubeletPKI+"/kubelet.key", recordFile(&record{Key: key}, "0600", ""))
}
