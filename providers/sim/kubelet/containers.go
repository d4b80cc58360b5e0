package kubelet

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
	"github.com/kubewright/kubewright/providers/sim/staticpod"
	"github.com/kubewright/kubewright/state"
)

// startPod starts the container of a static pod, and records what is read only at the
// start: the kubeconfig of a controller manager or scheduler (client-go loads inlined
// credentials once).
func (kl Kubelet) startPod(p *machine.StaticPod) {
	p.Started, p.Conf, p.Published = kl.servers.Now, nil, false
	kl.m.Wake()
	kl.readTrust(p)
	switch {
	case p.Exited == "":
		p.Failing = time.Time{}
	case p.Failing.IsZero():
		p.Failing = p.Started
	}
	if conf := kl.m.Resolve(file.Clean(kl.servers.Manifest(p.Manifest).Flag("kubeconfig", ""))); conf.IsRegular() {
		p.Conf = conf.Record
	}
}

// startAgain restarts a container that has exited, or that lacked its kubeconfig.
func (kl Kubelet) startAgain(p *machine.StaticPod) bool {
	conf := kl.servers.Manifest(p.Manifest).Flag("kubeconfig", "")
	if p.Exited != "" {
		why := p.Exited
		kl.startPod(p)
		return p.Exited != why
	}
	if p.Conf != nil || conf == "" || !kl.m.Resolve(file.Clean(conf)).IsRegular() {
		return false
	}
	kl.startPod(p)
	return true
}

// Started returns the start times of running processes.
func (kl Kubelet) Started(list []state.Process) map[string]time.Time {
	out := map[string]time.Time{}
	for _, p := range list {
		if running := kl.m.Processes().Process(p); running != nil && running.Exited == "" {
			out[p.Name] = running.Started
		}
		if at, known := kl.m.RuntimeStarted[p.Name]; known && kl.m.Systemd().Active(p.Name) {
			out[p.Name] = at
		}
		if p.Name == "kubelet" && kl.m.Processes().KubeletRuns() {
			out[p.Name] = kl.m.Kubelet.Started
		}
	}
	return out
}

// Restart stops a process that is older than one of the files. A running kubelet starts it
// again.
func (kl Kubelet) Restart(op planner.RestartProcess) bool {
	running := kl.m.Processes().Process(op.Process)
	if running == nil || !slices.ContainsFunc(op.Files, func(path string) bool {
		f := kl.m.Resolve(file.Clean(path))
		return f != nil && running.Started.Before(f.Modified)
	}) {
		return false
	}
	if kl.m.Processes().KubeletRuns() {
		kl.m.CountChange("start " + op.Process.Name)
		kl.startPod(running)
		return true
	}
	for name, p := range kl.m.Pods {
		if p == running {
			delete(kl.m.Pods, name)
		}
	}
	return true
}

// syncPods runs exactly the static pods of the manifests folder.
func (kl Kubelet) syncPods() bool {
	folder := kl.m.Processes().KubeletConfig().Get("staticPodPath").AsString()
	if folder == "" && len(kl.m.Pods) == 0 || !kl.m.Systemd().Active("containerd") {
		return false
	}
	wanted, paths := map[string]string{}, map[string]string{}
	for _, p := range kl.m.Children(file.Clean(folder)) {
		f := kl.m.Resolve(p)
		if folder == "" || !f.IsRegular() || strings.HasPrefix(path.Base(p), ".") {
			continue
		}
		if pod := kl.servers.Manifest(f.SHA256); pod.Err == nil {
			wanted[pod.Name], paths[pod.Name] = f.SHA256, p
		}
	}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(kl.m.Pods)) {
		if _, ok := wanted[name]; !ok {
			delete(kl.m.Pods, name)
			changed = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		changed = kl.syncPod(name, wanted[name], paths[name]) || changed
	}
	kl.m.PodsChanged()
	return changed
}

func (kl Kubelet) syncPod(name, digest, path string) bool {
	running := kl.m.Pods[name]
	if running != nil && kl.servers.Manifest(running.Manifest).Hash == kl.servers.Manifest(digest).Hash {
		return kl.startAgain(running)
	}
	image := kl.servers.Manifest(digest).Image
	if !kl.m.ImageStore().Has(image) {
		if kl.m.Conditions.NoRegistry {
			delete(kl.m.Pods, name)
			return running != nil
		}
		kl.m.ImageStore().Set(image, true) // the kubelet pulls it
	}
	if kl.m.Pods == nil {
		kl.m.Pods = map[string]*machine.StaticPod{}
	}
	kl.m.CountChange("start " + name)
	kl.m.Pods[name] = &machine.StaticPod{Manifest: digest}
	kl.startPod(kl.m.Pods[name])
	if path != staticpod.ManifestPath(name) {
		kl.m.Pods[name].Path = path
	}
	return true
}

// startTrust are the flags with CAs that components read only at their start.
var startTrust = []string{"trusted-ca-file", "peer-trusted-ca-file", "etcd-cafile", "root-ca-file", "kubelet-certificate-authority"}

// readTrust reads the CAs that a component trusts from its start on. The component exits if
// a file of its flags is missing; the later removal of a file does not stop it. A
// controller manager exits if its signing CA is a bundle
// (pkg/controller/certificates/signer).
func (kl Kubelet) readTrust(p *machine.StaticPod) {
	p.Trusts, p.Exited = nil, ""
	manifest := kl.servers.Manifest(p.Manifest)
	read := func(flags []string, in func(*machine.Machine, string) []string) {
		for _, flag := range flags {
			if path, ok := manifest.Arg(flag); ok {
				if p.Trusts == nil {
					p.Trusts = map[string][]string{}
				}
				p.Trusts[flag] = in(kl.m, path)
			}
		}
	}
	for _, need := range manifest.FilesNeeded() {
		if kl.m.Resolve(file.Clean(need)) == nil {
			p.Exited = "open " + need + ": no such file or directory"
		}
	}
	if at := manifest.NotMounted(); at != "" {
		p.Exited = "open " + at + ": no such file or directory"
	}
	if p.Exited == "" {
		p.Exited = podRefusal(manifest)
	}
	if manifest.Component() == staticpod.APIServer {
		if err := kl.servers.ReadEncryption(kl.m, p); err != nil && p.Exited == "" {
			p.Exited = err.Error()
		}
	}
	read(startTrust, func(m *machine.Machine, path string) []string { return m.Certificates().KeyDigests(path) })
	read([]string{apiserver.FlagVerify, apiserver.FlagSign, apiserver.FlagSignLegacy}, func(m *machine.Machine, path string) []string { return m.Certificates().PublicKeys(path) })
	if path := manifest.Flag("cluster-signing-cert-file", ""); path != "" {
		if n := len(kl.m.Certificates().KeyDigests(path)); n > 1 {
			p.Exited = fmt.Sprintf("error reading CA cert file %q: expected 1 certificate, found %d", path, n)
		}
	}
}
