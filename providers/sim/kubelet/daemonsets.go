package kubelet

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/providers/sim/apiserver"
	"github.com/kubewright/kubewright/providers/sim/etcd"
	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/machine"
)

// runDaemonSets starts the pods of the API's DaemonSets, with their changes to the host.
func (kl Kubelet) runDaemonSets(c *etcd.Cluster) bool {
	changed := false
	for _, key := range c.Keys("apps/v1/DaemonSet/") {
		name := c.Objects[key].Name()
		if slices.Contains(kl.m.Daemons, name) {
			continue
		}
		machine.Insert(&kl.m.Daemons, name)
		changed = true
		volumes := "/var/lib/kubelet/pods/" + kl.servers.Derive(32, "pod", kl.m.Address, name)
		kl.m.Put(volumes, &file.File{Type: file.Directory, Mode: "0750"})
		machine.Insert(&kl.m.Mounts, volumes+"/volumes/kubernetes.io~projected/kube-api-access")
		if strings.Contains(name, "kube-proxy") {
			kl.servers.API(c).StartProxy(kl.m)
			kl.m.Kernel().Tune(map[string]string{"net.netfilter.nf_conntrack_max": "131072", "net.netfilter.nf_conntrack_udp_timeout": "250"})
		}
		kl.runNetwork(name, c.Objects[key].HostPaths())
	}
	return changed
}

// runNetwork makes the changes of a network addon on a host. A DaemonSet is one if it
// mounts the folder of CNI configurations.
func (kl Kubelet) runNetwork(name string, hostPaths []string) {
	network := slices.Contains(hostPaths, apiserver.CNIFolder)
	for _, p := range hostPaths {
		if f := kl.m.File(file.Clean(p)); f == nil && network {
			kl.m.Put(file.Clean(p), &file.File{Type: file.Directory})
		}
	}
	if !network {
		return
	}
	kl.m.Put(path.Join(apiserver.CNIFolder, "10-"+name+".conflist"), kl.servers.NewFile([]byte(`{"cniVersion":"1.0.0","name":"`+name+`"}`+"\n"), "", ""))
	if kl.m.File("/var/lib/cni/networks/"+name) == nil {
		kl.m.Put("/var/lib/cni/networks/"+name, &file.File{Type: file.Directory})
	}
	machine.Insert(&kl.m.Links, "cni0")
	machine.Insert(&kl.m.Links, "veth"+kl.servers.Derive(8, "veth", kl.m.Address))
	if strings.Contains(name, "flannel") {
		machine.Insert(&kl.m.Links, "flannel.1")
	}
	machine.Insert(&kl.m.Rules, "cni "+name)
}
