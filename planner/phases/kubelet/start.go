package kubelet

import (
	"slices"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// KubeletStart writes the kubelet's configuration and starts it. A node that joins gets a bootstrap
// kubeconfig with a token made for this join.
var KubeletStart = topology.Phase{
	Name: topology.KubeletStartPhase,
	NodeItems: func(n *topology.Node) []state.Item {
		instance := host.FileItem(n, topology.KubeletStartPhase, state.KindYAMLFile, InstanceConfig, "0644", func(n *topology.Node) []byte { return kubeadm.InstanceConfig(n.Input()) })
		configFile := host.FileItem(n, topology.KubeletStartPhase, state.KindYAMLFile, topology.KubeletConfig, configMode(n), pki.KubeletConfig)
		flags := host.FileItem(n, topology.KubeletStartPhase, state.KindEnvFile, topology.KubeletFlags, "0644", func(n *topology.Node) []byte { return kubeadm.KubeletFlags(n.Input()) })
		provenance.FileOrigins(n, &instance, provenance.InstancePlacings)
		provenance.FileOrigins(n, &flags, provenance.KubeletFlagPlacings)
		provenance.KubeletOrigins(n, &configFile)
		withConfigOrigin(n, &configFile)
		items := append(pki.WorkerCA(n), instance, configFile, flags, kubeletUnit(n))
		if !n.IsControlPlane() && !n.Cluster.ExternalCA() {
			items = append(items, pki.KubeletCertificateItem(n, topology.KubeletStartPhase))
		}
		return items
	},
	NodeStep: kubeletStep,
	NodeNeeds: func(n *topology.Node) []state.Address {
		needs := []state.Address{topology.StepAddress(n.Target, topology.HostFilesPhase), topology.StepAddress(n.Target, topology.ImagesPhase), topology.StepAddress(n.Target, topology.CertsPhase), topology.StepAddress(n.Target, topology.KubeconfigPhase)}
		switch verifies := n.Cluster.StartsVerifying() && !n.Joins(); {
		case verifies && n.IsControlPlane():
			return needs[:2] // the rest waits for API servers, which wait for the kubelets
		case verifies:
			return needs[:3]
		}
		if n.Joining() {
			return append(append(needs, topology.StepAddress(n.Cluster.Target, topology.TokenPhase)), StepsBeforeJoins(n.Cluster)...)
		}
		if n.Cluster.Report == nil {
			needs = append(needs, topology.StepAddress(n.Cluster.Primary, topology.CertsPhase)) // a CA may be new there
		}
		if n.Cluster.Up != nil {
			needs = append(needs, beforeKubelet(n)...)
		}
		needs = append(needs, staticpod.BeforeUnsigned(n.Cluster)...)
		return append(needs, topology.StepAddress(n.Target, topology.ControlPlanePhase), topology.StepAddress(n.Target, topology.EtcdPhase))
	},
}

const InstanceConfig = "/var/lib/kubelet/instance-config.yaml"

func kubeletStep(n *topology.Node, w topology.PhaseWork) planner.Step {
	switch {
	case w.Empty() && drain.Cordoned(n):
		return resumeStep(n)
	case w.Empty() && drain.WasLeaving(n):
		return stayStep(n)
	case w.Empty() && !n.Joining():
		return planner.Step{}
	case onlyAccess(w) && !n.Joining() && !drain.Cordoned(n):
		return planner.Step{Operations: fileAccess(n, w)}
	}
	s := planner.Step{Via: n.Cluster.Primary, Operations: stopped(n)}
	s.Operations = append(s.Operations, topology.EnsureFolder("/var/lib/kubelet", "0700"), topology.EnsureFolder("/etc/kubernetes", "0755"), topology.EnsureFolder("/etc/kubernetes/manifests", "0700"))
	if staticpod.OrphanedMember(n) {
		s.Operations = append(s.Operations, planner.RemovePath{Path: topology.Manifest("etcd")})
	}
	if pki.ChangesPair(w, n.Cluster.Certificates.Dir+"/ca") {
		s.Operations = append(s.Operations, pki.BringCA(n)...)
	}
	if pki.RenewsKubelet(w) {
		s.Operations = append(s.Operations, pki.ReviveKubelet(n)...)
	}
	if n.Bootstraps() {
		s.Operations = append(s.Operations, bootstrapOperations(n)...)
	}
	if host.MarksCA(n) {
		s.Operations = append(s.Operations, host.MarkCA(n, n.Cluster.AtOnce[n.Cluster.CABase()]))
	}
	s.Operations = append(s.Operations, pki.BeginServing(n, w)...)
	s.Operations = append(s.Operations, release(n)...)
	// As with kubeadm, existing files of the kubelet keep their modes, while manifests are replaced.
	s.Operations = append(s.Operations, pki.KeptModes(n, host.FileOperations(w))...)
	s.Operations = append(s.Operations, fileAccess(n, w)...)
	s.Operations = append(append(s.Operations, restart(n, w)...), pki.EndServing(n, w)...)
	switch {
	case n.Joins() || n.IsFounder():
		return s
	case pki.KubeletChanges(n) || drain.Cordoned(n):
		return turnStep(n, s, w)
	case len(changedCommitments(n)) > 0:
		return releaseStep(n, s)
	}
	s.Operations = append(s.Operations, pki.HealthWait(n)...)
	s.Operations = append(s.Operations, pki.ReadyWait(n)...)
	s.Operations = append(s.Operations, stay(n)...)
	s.Impact = "restarts the kubelet here; pods keep running"
	if taintImpact(n, w.Of(drain.MarkPhase(n))) != "" {
		s.Impact += " until the taint is set"
	}
	if staticpod.Unregistered(n) {
		s.Impact = "restarts the kubelet here, which registers its Node again"
	}
	if pki.RenewsKubelet(w) {
		s.Impact = pki.RevivesImpact(n)
	}
	if drain.WasLeaving(n) && !drain.StaysCordoned(n) {
		s.Impact += letsIn
	}
	if n.IsControlPlane() {
		s.Limits = []string{n.Cluster.Limit("control-plane-disruption")}
	}
	return s
}

// stopped stops the kubelet of a host that joins. Packages enable it, and systemd restarts it until it
// finds its files. It must not find only some of them: without its flags it would register under the
// host's name. kubeadm stops it as well.
func stopped(n *topology.Node) []planner.Operation {
	if !n.Joins() {
		return nil
	}
	return []planner.Operation{planner.Unit{Unit: topology.KubeletUnit, Action: "stop"}}
}

// restart returns the operations that start the kubelet with what was written for it.
func restart(n *topology.Node, w topology.PhaseWork) []planner.Operation {
	units := []planner.Operation{
		planner.Unit{Unit: topology.KubeletUnit, Action: "enable"},
		planner.Unit{Unit: topology.KubeletUnit, Action: "restart", Reload: true},
	}
	if pki.KubeletChanges(n) {
		if changed := changedCommitments(n); len(changed) > 0 { // a step before has drained the node
			units = slices.Insert(units, 1, checkpointsRemoved(changed)...)
		}
		return turned(n, w, units)
	}
	return units
}

// bootstrapOperations let a kubelet request its certificate from the API.
func bootstrapOperations(n *topology.Node) []planner.Operation {
	c := n.Cluster
	dir := c.Certificates.Dir
	k := kubeadm.BootstrapKubeconfig(n.Input())
	if n.IsControlPlane() {
		// kubeadm lets a joining control plane's kubelet bootstrap at its own API server, which comes
		// up only after the kubelet: the kubelet's retries then cost up to half a minute. Through the
		// primary it gets its certificate at once; kubelet-finalize points it to its own API server.
		k.Server = kubeadm.KubeletServer(c.PrimaryNode().Input())
	}
	token := madeToken(n)
	return []planner.Operation{joinToken(n), planner.WriteKubeconfig{
		Path: topology.BootstrapConf, CA: pki.Signer(c, dir+"/ca"),
		Cluster: k.Cluster, Server: k.Server, User: k.User, Renew: true,
		Token: &token,
	}}
}

// WaitBootstrap waits until a joining node is registered with its own certificate. A worker's kubelet
// keeps the server that it bootstrapped at.
var WaitBootstrap = topology.Phase{
	Name: topology.WaitBootstrapPhase,
	NodeItems: func(n *topology.Node) []state.Item {
		if n.IsControlPlane() || n.Cluster.ExternalCA() {
			return nil
		}
		return []state.Item{KubeletConfItem(n, topology.WaitBootstrapPhase)}
	},
	NodeStep: func(n *topology.Node, w topology.PhaseWork) planner.Step {
		switch {
		case n.Joining():
			return planner.Step{Via: n.Cluster.Primary, Operations: registrationWaits(n)}
		case w.Empty() || pki.RenewsKubelet(w.Of(topology.KubeletStartPhase)): // which rewrites it
			return planner.Step{}
		}
		return UpgradeKubelet(n)
	},
	NodeNeeds: func(n *topology.Node) []state.Address {
		needs := []state.Address{topology.StepAddress(n.Target, topology.KubeletStartPhase)}
		if n.Joining() && !n.Bootstraps() && n.IsControlPlane() {
			// Its kubelet registers at its own API server.
			needs = append(needs, topology.StepAddress(n.Target, topology.ControlPlanePhase))
		}
		return needs
	},
}

func registrationWaits(n *topology.Node) []planner.Operation {
	t := n.Cluster.Timeouts
	ops := pki.HealthWait(n)
	if n.Bootstraps() {
		// Its kubelet discovers the cluster and requests its certificate in one go.
		ops = append(ops, planner.Wait{For: planner.WaitFile, Name: topology.KubeletClientCert, Timeout: t.Discovery + t.TLSBootstrap})
	}
	ops = append(ops, planner.Wait{For: planner.WaitNodeRegistered, Name: n.NodeName, Timeout: t.TLSBootstrap})
	if n.Bootstraps() {
		ops = append(ops, planner.RemovePath{Path: topology.BootstrapConf}, planner.DeleteToken{Token: madeToken(n)})
	}
	return ops
}

// KubeletConfItem returns the kubelet's own kubeconfig, as far as kubewright manages it.
func KubeletConfItem(n *topology.Node, phase string) state.Item {
	server := kubeadm.KubeletServer(n.Input())
	return state.Item{
		Address: topology.ItemAddress(n.Target, phase, "file", topology.KubeletConf), Kind: state.KindKubeconfig,
		Attributes: pki.WithCASerial(n.Cluster, topology.Attributes("server", server, "client_certificate", topology.KubeletClientCert, "mode", pki.KeyMode, "owner", topology.Root)),
		Origin:     map[string]state.Source{"server": pki.ServerOrigin(n, server), planner.CASerial: provenance.ClusterOrigin(n.Cluster, provenance.GivenCertificate)},
		// The stages of a rotation update a kubelet that gets a certificate of another CA.
		CreateOnly: n.Cluster.Rotates() && n.Cluster.ClusterCA() != nil && HasInlinedCertificate(n),
	}
}

// HasInlinedCertificate reports whether the kubelet's certificate is inside its kubeconfig, or was
// about to be written there.
func HasInlinedCertificate(n *topology.Node) bool {
	if n.Report == nil {
		return false
	}
	conf := n.Report.Files[topology.KubeletConf].Kubeconfig
	return conf == nil || conf.Client != nil
}

// UpgradeKubelet points a kubelet at its server and its rotated certificate, and makes it trust the CA
// that the configuration gives.
func UpgradeKubelet(n *topology.Node) planner.Step {
	turn := planner.SetKubeconfig{Path: topology.KubeletConf, Server: kubeadm.KubeletServer(n.Input()), ClientCertificate: topology.KubeletClientCert}
	if pki.GivenSerial(n.Cluster) != "" {
		turn.Trust = n.Cluster.CAFile()
	}
	var reached []planner.Operation
	if !n.IsControlPlane() {
		reached = staticpod.WaitForNewEndpoint(n)
	}
	ops := append(reached,
		planner.Wait{For: planner.WaitFile, Name: topology.KubeletClientCert, Timeout: n.Cluster.Timeouts.TLSBootstrap},
		turn,
		planner.Unit{Unit: topology.KubeletUnit, Action: "restart"},
	)
	return planner.Step{Via: n.Cluster.Primary, Impact: "restarts the kubelet here; pods keep running", Operations: append(ops, pki.HealthWait(n)...)}
}

// RegisteredAttr is the attribute of a kubelet's unit that says whether its Node object exists.
const RegisteredAttr = "registered"

// observeRegistered adds whether a kubelet's Node object exists, where that is desired or recorded.
func observeRegistered(n *topology.Node, a state.Address, seen state.Value) state.Value {
	was := pki.ImplicitAttribute(n.Cluster.Fleet, a, RegisteredAttr)
	switch {
	case staticpod.Unregistered(n):
		return topology.WithAttribute(seen, RegisteredAttr, false)
	case was.IsNull():
		return seen
	case n.Cluster.Report == nil:
		return topology.WithAttribute(seen, RegisteredAttr, was.AsBool())
	}
	return topology.WithAttribute(seen, RegisteredAttr, n.NodeCondition() != state.NodeMissing)
}

// joinTokenTTL is the lifetime of a joining node's token, unless the cluster's timeouts let the join
// take longer.
const joinTokenTTL = 15 * time.Minute

// joinToken creates a token for the join of one node, right before its kubelet starts. It is valid
// until the kubelet has its certificate or its join has failed by its timeouts.
func joinToken(n *topology.Node) planner.Operation {
	const spare = time.Minute // for the kubelet's files and its start
	t := n.Cluster.Timeouts
	return planner.CreateToken{
		Description: planner.JoinTokenDescription(n.NodeName), TTL: max(joinTokenTTL, t.KubeletHealthCheck+t.Discovery+t.TLSBootstrap+spare),
		Usages: []string{"signing", "authentication"}, Groups: []string{kubeadm.DefaultTokenGroup},
	}
}

// madeToken refers to the token of the node's join.
func madeToken(n *topology.Node) state.Pending {
	return state.Pending{Step: topology.StepAddress(n.Target, topology.KubeletStartPhase).String(), Output: "token"}
}
