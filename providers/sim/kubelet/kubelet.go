package kubelet

import (
	"strconv"

	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/state"
)

const (
	kubeletConfig = "/var/lib/kubelet/config.yaml"
	kubeletFlags  = "/var/lib/kubelet/kubeadm-flags.env"
	KubeletConf   = "/etc/kubernetes/kubelet.conf"
	bootstrapConf = "/etc/kubernetes/bootstrap-kubelet.conf"
	kubeletPKI    = "/var/lib/kubelet/pki"
	kubeletClient = kubeletPKI + "/kubelet-client-current.pem"
)

// Kubelet is the kubelet of a machine.
type Kubelet struct {
	servers *apiserver.Servers
	m       *machine.Machine
}

// On returns the kubelet of a machine.
func On(s *apiserver.Servers, m *machine.Machine) Kubelet { return Kubelet{s, m} }

// Fault returns why an active kubelet does not run, or "". systemd restarts it, so it comes
// up once the cause is gone.
func (kl Kubelet) Fault() string {
	if kl.m.Kubelet != nil && kl.m.Kubelet.Up {
		return ""
	}
	config := kl.m.Resolve(kubeletConfig)
	if !kl.m.HasProgram("kubelet") {
		return "Failed at step EXEC: No such file or directory"
	}
	if config == nil {
		return "open " + kubeletConfig + ": no such file or directory"
	}
	read := kl.servers.Config(config.SHA256)
	switch {
	case read.Err != nil:
		return "failed to load kubelet config file: " + read.Err.Error()
	case read.Tree.Get("kind").AsString() != "KubeletConfiguration":
		return "failed to load kubelet config file: no kind KubeletConfiguration"
	case !kl.m.Systemd().Active("containerd"):
		return "validate CRI v1 runtime API: no such file or directory"
	case !kl.m.Processes().ServesCRI():
		return "validate CRI v1 runtime API: rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"
	case kl.m.Resolve(KubeletConf) == nil && kl.m.Resolve(bootstrapConf) == nil:
		return "unable to load bootstrap kubeconfig: " + bootstrapConf + ": no such file or directory"
	case kl.m.Resolve(KubeletConf) != nil && kl.m.Resolve(bootstrapConf) == nil && kl.clientExpired():
		return "part of the existing bootstrap client certificate in " + KubeletConf + " is expired"
	case kl.m.Kernel().Swap() && kl.failsOnSwap(read.Tree):
		return "running with swap on is not supported"
	}
	if why := kl.refusal(read.Tree); why != "" {
		return why
	}
	if fault := kl.checkpointFault(read.Tree); fault != "" {
		return fault
	}
	if ca := read.Tree.Get("authentication.x509.clientCAFile").AsString(); ca != "" && kl.m.Resolve(file.Clean(ca)) == nil {
		return "unable to load client CA file " + ca
	}
	if pair := read.Tree.Get("tlsCertFile").AsString(); pair != "" {
		if _, err := kl.m.Certificates().At(file.Clean(pair), file.Clean(read.Tree.Get("tlsPrivateKeyFile").AsString())); err != nil {
			return "failed to load the serving certificate: " + err.Error()
		}
	}
	return ""
}

// failsOnSwap reports whether a starting kubelet refuses swap. Its flag overrides its file.
func (kl Kubelet) failsOnSwap(tree state.Value) bool {
	if on, err := strconv.ParseBool(staticpod.FlagIn(kl.servers.Content(kl.m.Resolve(kubeletFlags)), "fail-swap-on")); err == nil {
		return on
	}
	return !tree.Get("failSwapOn").Equal(state.Bool(false))
}

// Step does the next step of everything on the machine. It reports whether anything
// changed, and whether nothing changes by itself from now on.
func (kl Kubelet) Step() (changed, done bool) {
	if kl.m.Off || kl.m.Kubelet == nil || !kl.m.Systemd().Active("kubelet") {
		return false, true
	}
	if !kl.m.Kubelet.Up {
		if kl.Fault() != "" {
			return false, true
		}
		kl.start()
		changed = true
	}
	changed = kl.syncPods() || changed
	etcdDone := true
	if etcd, runs := kl.servers.ProcessOn(kl.m); runs {
		var moved bool
		moved, etcdDone = etcd.Step()
		changed = changed || moved
	}
	moved, nodeDone := kl.stepNode()
	return changed || moved, etcdDone && nodeDone
}

func (kl Kubelet) start() {
	k := &machine.KubeletProcess{Up: true, Started: kl.servers.Now}
	k.Config = kl.m.Resolve(kubeletConfig).SHA256
	if f := kl.m.Resolve(kubeletFlags); f.IsRegular() {
		k.Flags = f.SHA256
	}
	kl.m.Kubelet = k
	kl.takeOver()
	if conf := kl.m.Resolve(KubeletConf); conf.IsRegular() && conf.Record != nil && conf.Record.Kubeconfig != nil {
		k.Trusts = conf.Record.Kubeconfig.CAs
	}
	// The kubelet sets these unless protectKernelDefaults forbids it (pkg/kubelet/cm).
	kl.m.Kernel().Tune(map[string]string{
		"kernel.panic": "10", "kernel.panic_on_oops": "1", "vm.overcommit_memory": "1", "vm.panic_on_oom": "0",
		"kernel.keys.root_maxkeys": "1000000", "kernel.keys.root_maxbytes": "25000000",
	})
	for _, dir := range []string{kubeletPKI, "/var/lib/kubelet/pods", "/var/lib/kubelet/plugins", "/var/lib/kubelet/plugins_registry", "/var/lib/kubelet/device-plugins"} {
		if kl.m.File(dir) == nil {
			kl.m.Put(dir, &file.File{Type: file.Directory, Mode: "0750"})
		}
	}
	for _, dir := range []string{"/var/log/pods", "/var/log/containers", "/usr/libexec/kubernetes/kubelet-plugins/volume/exec"} {
		if kl.m.File(dir) == nil {
			kl.m.Put(dir, &file.File{Type: file.Directory})
		}
	}
	kl.writeCheckpoints()
	// For a graceful shutdown the kubelet delays logind (pkg/kubelet/nodeshutdown/systemd).
	if grace := kl.m.Processes().KubeletConfig().Get("shutdownGracePeriod").AsString(); grace != "" && grace != "0s" {
		kl.m.Put("/etc/systemd/logind.conf.d/99-kubelet.conf", file.Opaque("99-kubelet.conf", "0644"))
	}
	if kl.m.File(kubeletPKI+"/kubelet.crt") == nil && kl.m.Processes().KubeletConfig().Get("tlsCertFile").AsString() == "" {
		kl.selfSign()
	}
	machine.Insert(&kl.m.Rules, "kubelet KUBE-FIREWALL")
	machine.Insert(&kl.m.Rules, "kubelet KUBE-KUBELET-CANARY")
}
