package diagnosis

import "strings"

// remedies maps the words of components to what to do, the most specific first.
var remedies = []struct {
	words  []string // all of them occur in one line
	remedy string
}{
	{[]string{"no space left on device"}, "free space on the file system that the line names"},
	{[]string{"address already in use"}, "end the process that has the port (ss -lptn), or choose another port"},
	{[]string{"certificate has expired"}, "see which certificate it is with kubewright certificates; an apply renews those that are due"},
	{[]string{"certificate signed by unknown authority"}, "compare the CA files of this host with those of the other control planes; kubewright plan shows which differ"},
	{[]string{"too many open files"}, "raise LimitNOFILE of the unit (systemctl cat), or the sysctls fs.inotify.max_user_instances and fs.file-max"},
	{[]string{"cannot assign requested address"}, "correct the address in the argument: this host does not have it (ip address)"},
	{[]string{"KubeProxyConfiguration"}, "correct the kube_proxy block of the configuration" + whenByHand},
	{[]string{"Corefile:"}, "correct the Corefile in ConfigMap coredns of kube-system; kubewright plan shows what differs"},
	{[]string{"invalid Node Allocatable"}, "lower systemReserved and kubeReserved in the kubelet block of the configuration" + whenByHand},
	{[]string{"could not restore state from checkpoint"}, "drain the node, stop the kubelet, remove the checkpoint that the line names from /var/lib/kubelet, and start it"},
	{[]string{"flag provided but not defined"}, "remove the argument, which this version does not have"},
	{[]string{"unknown flag"}, "remove the argument, which this version does not have"},
	{[]string{"invalid argument", "flag"}, "correct the argument's value"},
	{[]string{"failed to validate kubelet configuration"}, "correct the setting in the kubelet block of the configuration" + whenByHand},
	{[]string{"failed to read kubelet config file"}, "bring the file back; an apply of kubewright writes it again"},
	{[]string{"failed to load kubelet config file"}, "correct the setting in the kubelet block of the configuration" + whenByHand},
	{[]string{"failed to run Kubelet", "quantities must match"}, "correct the setting in the kubelet block of the configuration; kubewright plan shows what was changed by hand"},
	{[]string{"running with swap on is not supported"}, "turn swap off, or set failSwapOn = false for the kubelet"},
	{[]string{"failed to unmarshal TOML"}, "correct /etc/containerd/config.toml at the row that the line names, and systemctl restart containerd"},
	{[]string{"Control process exited"}, "run the ExecStartPre commands of the unit by hand (systemctl cat): one of them fails"},
	{[]string{"private key does not match public key"}, "certificate and key belong to different pairs: correct the arguments; kubewright plan shows what was changed by hand"},
	{[]string{"error loading config file"}, "the file that the line names is no kubeconfig: bring it back; an apply of kubewright writes its own again"},
	{[]string{"failed to load admission config"}, "correct the admission configuration that the line names"},
	{[]string{"error while parsing file"}, "correct the file that the line names, or the argument that names it"},
	{[]string{"wal: "}, "etcd cannot read its data: restore a snapshot (kubewright etcd restore), or join this control plane again with kubewright apply -replace=NODE if other members hold the data"},
	{[]string{"unknown service runtime"}, "let containerd serve the CRI: remove cri from disabled_plugins in /etc/containerd/config.toml"},
	{[]string{"validate CRI v1 runtime API"}, "start the container runtime (systemctl status containerd)"},
	{[]string{"member count is unequal"}, "see which members etcd has with kubewright etcd status"},
	{[]string{"invalid configuration", "kubelet-client-current.pem", "no such file"}, "the kubelet has lost its client certificate: bring the file back, or join the node again with kubewright apply -replace=NODE"},
	{[]string{"client certificate is expired"}, "the kubelet's client certificate has expired: join the node again with kubewright apply -replace=NODE"},
	{[]string{"unable to read existing bootstrap client config"}, "the kubelet cannot read its kubeconfig: correct the file that the line names" + whenByHand},
	{[]string{"unable to load bootstrap kubeconfig"}, "the kubelet has no kubeconfig and no valid client certificate: see /etc/kubernetes/kubelet.conf; an apply of kubewright writes it again, apply -replace=NODE joins the node again"},
	{[]string{"unrecognized feature gate"}, "remove the feature gate, which this version does not have" + whenByHand},
	{[]string{"Failed at step EXEC"}, "install the program that the line names, or correct ExecStart and the drop-ins of the unit (systemctl cat)"},
	{[]string{"Refusing."}, "correct the drop-in of the unit (systemctl cat), then systemctl daemon-reload"},
	{[]string{"oom-kill"}, "raise MemoryMax of the unit (systemctl cat), or free memory on the host"},
	{[]string{"no such file or directory"}, "bring the file to the host, or remove what names it; a component sees only paths that are mounted into its pod"},
	{[]string{"permission denied"}, "correct the mode or owner of the file that the line names"},
}

// conditions maps what the API says against a node to what to do, where no complaint of the kubelet does.
var conditions = []struct{ words, remedy string }{
	{"MemoryPressure", "free memory on the host, or lower memory.available in evictionHard and evictionSoft of the kubelet"},
	{"DiskPressure", "free space where nodefs and imagefs are (df /var/lib/kubelet /var/lib/containerd; crictl rmi --prune), or lower evictionHard of the kubelet"},
	{"PIDPressure", "end processes (ps -eLf | wc -l against sysctl kernel.pid_max), or lower pid.available in evictionHard of the kubelet"},
	{"is cordoned", "kubewright uncordon the node when it may have pods again"},
}

// RemedyOfCondition returns what to do about what the API says against a node; empty if that is not
// known.
func RemedyOfCondition(text string) string {
	for _, c := range conditions {
		if strings.Contains(text, c.words) {
			return c.remedy
		}
	}
	c, _ := complaintOf(text)
	return c.remedy
}

// Remedy returns what to do about a cause, if its last words are known; empty otherwise.
func (c Cause) Remedy() string {
	if c.ToDo != "" {
		return c.ToDo
	}
	for _, r := range remedies {
		for _, line := range c.Log {
			if all(line, r.words) {
				return r.remedy
			}
		}
	}
	return ""
}

func all(line string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(line, w) {
			return false
		}
	}
	return true
}
