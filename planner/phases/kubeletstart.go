package phases

import (
	"net"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// kubeletStart writes the kubelet's configuration and starts it; a node that
// joins gets a bootstrap kubeconfig with a token made for this join.
var kubeletStart = phase{
	name: kubeletStartPhase,
	nodeItems: func(n *node) []state.Item {
		instance := n.fileItem(kubeletStartPhase, state.KindYAMLFile, instanceConfig, "0644", func(n *node) []byte { return kubeadm.InstanceConfig(n.input()) })
		configFile := n.fileItem(kubeletStartPhase, state.KindYAMLFile, kubeletConfig, "0644", (*node).kubeletConfig)
		flags := n.fileItem(kubeletStartPhase, state.KindEnvFile, kubeletFlags, "0644", func(n *node) []byte { return kubeadm.KubeletFlags(n.input()) })
		n.fileOrigins(&instance, instancePlacings)
		n.fileOrigins(&flags, kubeletFlagPlacings)
		n.kubeletOrigins(&configFile)
		items := append(n.workerCA(), instance, configFile, flags, n.kubeletUnit())
		if !n.isControlPlane() && !n.cluster.externalCA() {
			items = append(items, n.kubeletCertificateItem(kubeletStartPhase))
		}
		return items
	},
	nodeStep: kubeletStep,
	nodeNeeds: func(n *node) []state.Address {
		needs := []state.Address{step(n.target, imagesPhase), step(n.target, certsPhase), step(n.target, kubeconfigPhase)}
		if n.joining() {
			return append(append(needs, step(n.cluster.target, tokenPhase)), n.cluster.beforeJoins()...)
		}
		if n.cluster.report == nil {
			needs = append(needs, step(n.cluster.seat, certsPhase)) // a CA may be new there
		}
		if n.cluster.up != nil {
			needs = append(needs, n.beforeKubelet()...)
		}
		return append(needs, step(n.target, controlPlanePhase), step(n.target, etcdPhase))
	},
}

const (
	kubeletUnit    = "kubelet.service"
	kubeletConfig  = "/var/lib/kubelet/config.yaml"
	instanceConfig = "/var/lib/kubelet/instance-config.yaml"
	kubeletFlags   = "/var/lib/kubelet/kubeadm-flags.env"
)

// workerCA is the cluster's CA certificate on a worker; control planes have it from certs.
func (n *node) workerCA() []state.Item {
	if n.isControlPlane() {
		return nil
	}
	ca := n.cluster.authority(n.cluster.Certificates.Dir + "/ca")
	if ca.certificate != nil {
		return []state.Item{n.authorityItem(kubeletStartPhase, ca)}
	}
	want := map[string]state.Value{"signed_by": n.cluster.signedBy(ca.Base)}
	it := state.Item{Address: item(n.target, kubeletStartPhase, "certificate", ca.Base), Kind: state.KindCertificate, Partial: true}
	if _, ended := n.cluster.atOnce[ca.Base]; ended {
		want[planner.RenewalDue] = state.Bool(false)
		it.Classes = shownOfCertificates
	}
	it.Attributes = state.Map(want)
	return []state.Item{it}
}

// bringCA brings the CA's certificate to a worker.
func (n *node) bringCA() []planner.Operation {
	dir := n.cluster.Certificates.Dir
	ops := []planner.Operation{folder("/etc/kubernetes", "0755"), folder(dir, "0755")}
	if ca := n.cluster.authority(dir + "/ca"); ca.certificate != nil {
		return append(ops, planner.ImportSecrets{Files: []planner.SecretFile{n.cluster.bring(ca.Base+".crt", "0644", ca.block+".certificate")}})
	}
	return append(ops, planner.CopySecrets{From: n.cluster.seat, Files: []planner.SecretFile{{Path: dir + "/ca.crt", Mode: "0644", Owner: root}}})
}

func kubeletStep(n *node, w work) planner.Step {
	switch {
	case w.empty() && n.cordoned():
		return n.resumeStep()
	case w.empty() && n.wasLeaving():
		return n.stayStep()
	case w.empty() && !n.joining():
		return planner.Step{}
	}
	s := planner.Step{Via: n.cluster.seat}
	if n.joins() {
		// Packages enable the kubelet, and systemd starts it again and again until
		// it finds its files. It must not find some of them: without its flags it
		// would register under the host's name. kubeadm stops it as well.
		s.Operations = append(s.Operations, planner.Unit{Unit: kubeletUnit, Action: "stop"})
	}
	s.Operations = append(s.Operations, folder("/var/lib/kubelet", "0700"), folder("/etc/kubernetes", "0755"), folder("/etc/kubernetes/manifests", "0700"))
	if n.outlived() {
		s.Operations = append(s.Operations, planner.RemovePath{Path: manifest("etcd")})
	}
	if w.touches(n.cluster.Certificates.Dir + "/ca") {
		s.Operations = append(s.Operations, n.bringCA()...)
	}
	if w.hasEnded() {
		s.Operations = append(s.Operations, n.reviveKubelet()...)
	}
	if n.bootstraps() {
		s.Operations = append(s.Operations, n.bootstrapOperations()...)
	}
	if n.marksCA() {
		s.Operations = append(s.Operations, n.markCA(n.cluster.atOnce[n.cluster.caBase()]))
	}
	// kubeadm writes into the kubelet's files, which keep their modes; manifests it replaces.
	s.Operations = append(s.Operations, n.keptModes(fileOperations(w))...)
	units := []planner.Operation{
		planner.Unit{Unit: kubeletUnit, Action: "enable"},
		planner.Unit{Unit: kubeletUnit, Action: "restart", Reload: true},
	}
	if n.turns() {
		units = n.turned(w, units)
	}
	s.Operations = append(s.Operations, units...)
	switch {
	case n.joins() || n.isFounder():
		return s
	case n.turns() || n.cordoned():
		return n.turnStep(s, w)
	}
	s.Operations = append(s.Operations, planner.Wait{For: planner.WaitHTTP, URL: n.kubeletHealth(), Timeout: n.cluster.Timeouts.KubeletHealthCheck})
	s.Operations = append(s.Operations, n.readyWait()...)
	s.Operations = append(s.Operations, n.stay()...)
	s.Impact = "restarts the kubelet here; pods keep running"
	if n.taintImpact(w.of(n.markPhase())) != "" {
		s.Impact += " until the taint is set"
	}
	if n.unregistered() {
		s.Impact = "restarts the kubelet here, which makes its Node anew"
	}
	if w.hasEnded() {
		s.Impact = n.revivesImpact()
	}
	if n.wasLeaving() {
		s.Impact += letsIn
	}
	if n.isControlPlane() {
		s.Limits = []string{n.cluster.limit("control-plane-disruption")}
	}
	return s
}

// joining tells that the node gets its identity from a cluster that is there:
// through the seat, which is therefore never one of those.
func (n *node) joining() bool { return n.joins() && n.target != n.cluster.seat }

// bootstraps tells that a joining node's kubelet asks the cluster for its certificate.
func (n *node) bootstraps() bool { return n.joining() && !n.cluster.externalCA() }

// joins tells that the node has no identity in the cluster yet. A kubelet
// writes its kubeconfig when it begins to bootstrap; that it has got its
// certificate shows in the file that the kubeconfig names. One whose certificate
// is replaced has it in the kubeconfig.
func (n *node) joins() bool {
	switch {
	case n.report == nil || n.bereft() != "":
		return false
	case n.target == n.cluster.seat:
		return !n.report.Files[kubeletConf].Exists
	case n.cluster.externalCA():
		return !n.registered()
	}
	conf := n.report.Files[kubeletConf].Kubeconfig
	return !n.report.Files[kubeletClientCert].Exists && (conf == nil || conf.Client == nil)
}

// bootstrapOperations let a kubelet ask the API for its certificate.
func (n *node) bootstrapOperations() []planner.Operation {
	c := n.cluster
	dir := c.Certificates.Dir
	k := kubeadm.BootstrapKubeconfig(n.input())
	if n.isControlPlane() {
		// kubeadm lets a joining control plane's kubelet bootstrap at its own API
		// server, which comes up only after the kubelet; the kubelet's retries then
		// cost up to half a minute. Through the seat it has its certificate at
		// once; kubelet-finalize turns it to its own API server.
		k.Server = kubeadm.KubeletServer(c.seatNode().input())
	}
	token := n.madeToken()
	return []planner.Operation{n.joinToken(), planner.WriteKubeconfig{
		Path: bootstrapConf, CA: c.signer(dir + "/ca"),
		Cluster: k.Cluster, Server: k.Server, User: k.User, Renew: true,
		Token: &token,
	}}
}

// waitBootstrap waits until a joining node is registered with its own
// certificate. A worker's kubelet stays with the server it bootstrapped at.
var waitBootstrap = phase{
	name: waitBootstrapPhase,
	nodeItems: func(n *node) []state.Item {
		if n.isControlPlane() || n.cluster.externalCA() {
			return nil
		}
		return []state.Item{n.kubeletConfItem(waitBootstrapPhase)}
	},
	nodeStep: func(n *node, w work) planner.Step {
		switch {
		case n.joining():
			return planner.Step{Via: n.cluster.seat, Operations: n.registrationWaits()}
		case w.empty() || w.of(kubeletStartPhase).hasEnded(): // that writes it as it is to be
			return planner.Step{}
		}
		return n.turnKubelet()
	},
	nodeNeeds: func(n *node) []state.Address {
		needs := []state.Address{step(n.target, kubeletStartPhase)}
		if n.joining() && !n.bootstraps() && n.isControlPlane() {
			// Its kubelet registers at its own API server.
			needs = append(needs, step(n.target, controlPlanePhase))
		}
		return needs
	},
}

func (n *node) registrationWaits() []planner.Operation {
	t := n.cluster.Timeouts
	ops := []planner.Operation{planner.Wait{For: planner.WaitHTTP, URL: n.kubeletHealth(), Timeout: t.KubeletHealthCheck}}
	if n.bootstraps() {
		// Its kubelet finds the cluster and asks for its certificate in one go.
		ops = append(ops, planner.Wait{For: planner.WaitFile, Name: kubeletClientCert, Timeout: t.Discovery + t.TLSBootstrap})
	}
	ops = append(ops, planner.Wait{For: planner.WaitNodeRegistered, Name: n.name, Timeout: t.TLSBootstrap})
	if n.bootstraps() {
		ops = append(ops, planner.RemovePath{Path: bootstrapConf}, planner.DeleteToken{Token: n.madeToken()})
	}
	return ops
}

// serverOrigin is who wants the server of a kubeconfig: the endpoint of the cluster,
// or the address of the control plane whose own API server is spoken to.
func (n *node) serverOrigin(server string) state.Source {
	c := n.cluster
	if c.ControlPlaneEndpoint != "" && strings.Contains(server, c.ControlPlaneEndpoint) {
		return c.origin("control_plane_endpoint")
	}
	host, _, _ := net.SplitHostPort(strings.TrimPrefix(server, "https://"))
	for _, o := range append([]*node{n}, c.controlPlanes()...) {
		if sameAddress(o.AdvertiseAddress(), host) {
			return o.origin("advertise_addresses", "address")
		}
	}
	return c.origin("control_plane_endpoint")
}

// kubeletConfItem is the kubelet's own kubeconfig, as far as it is ours.
func (n *node) kubeletConfItem(phase string) state.Item {
	server := kubeadm.KubeletServer(n.input())
	return state.Item{
		Address: item(n.target, phase, "file", kubeletConf), Kind: state.KindKubeconfig,
		Attributes: n.cluster.trusting(attributes("server", server, "client_certificate", kubeletClientCert, "mode", keyMode, "owner", root)),
		Origin:     map[string]state.Source{"server": n.serverOrigin(server), planner.CASerial: n.cluster.origin(givenCertificate)},
		// A kubelet that is getting a certificate of another CA is turned by the stages.
		CreateOnly: n.cluster.rotates() && n.cluster.clusterCA() != nil && n.inlined(),
	}
}

// inlined tells that the kubelet's certificate is in its kubeconfig, or was on its way there.
func (n *node) inlined() bool {
	if n.report == nil {
		return false
	}
	conf := n.report.Files[kubeletConf].Kubeconfig
	return conf == nil || conf.Client != nil
}

// turnKubelet points a kubelet at its server and its rotated certificate, and has it trust
// the CA as it is given.
func (n *node) turnKubelet() planner.Step {
	t := n.cluster.Timeouts
	turn := planner.SetKubeconfig{Path: kubeletConf, Server: kubeadm.KubeletServer(n.input()), ClientCertificate: kubeletClientCert}
	if n.cluster.givenSerial() != "" {
		turn.Trust = n.cluster.caFile()
	}
	var reached []planner.Operation
	if !n.isControlPlane() {
		reached = n.reached()
	}
	return planner.Step{Via: n.cluster.seat, Impact: "restarts the kubelet here; pods keep running", Operations: append(reached,
		planner.Wait{For: planner.WaitFile, Name: kubeletClientCert, Timeout: t.TLSBootstrap},
		turn,
		planner.Unit{Unit: kubeletUnit, Action: "restart"},
		planner.Wait{For: planner.WaitHTTP, URL: n.kubeletHealth(), Timeout: t.KubeletHealthCheck},
	)}
}
