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
	{[]string{"could not restore state from checkpoint"}, "drain the node, stop the kubelet, remove the checkpoint that the line names from /var/lib/kubelet, and start it"},
	{[]string{"unknown flag"}, "remove the argument, which this version does not have"},
	{[]string{"invalid argument", "flag"}, "correct the argument's value"},
	{[]string{"failed to validate kubelet configuration"}, "correct the setting in the kubelet block of the configuration"},
	{[]string{"failed to load kubelet config file"}, "correct the setting in the kubelet block of the configuration"},
	{[]string{"failed to run Kubelet", "quantities must match"}, "correct the setting in the kubelet block of the configuration; kubewright plan shows what was changed by hand"},
	{[]string{"running with swap on is not supported"}, "turn swap off, or set failSwapOn = false for the kubelet"},
	{[]string{"unknown service runtime"}, "let containerd serve the CRI: remove cri from disabled_plugins in /etc/containerd/config.toml"},
	{[]string{"validate CRI v1 runtime API"}, "start the container runtime (systemctl status containerd)"},
	{[]string{"member count is unequal"}, "see which members etcd has with kubewright etcd status"},
	{[]string{"no such file or directory"}, "bring the file to the host, or remove what names it; a component sees only paths that are mounted into its pod"},
	{[]string{"permission denied"}, "correct the mode or owner of the file that the line names"},
}

// Remedy returns what to do about a cause, if its last words are known; empty otherwise.
func (c Cause) Remedy() string {
	for _, r := range remedies {
		for _, line := range c.Log {
			if all(line, r.words) {
				return r.remedy
			}
		}
	}
	if unit, ok := strings.CutPrefix(c.Subject, "unit "); ok && strings.HasPrefix(c.Problem, "is inactive") {
		return "start it with systemctl start " + unit
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
