package host

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// BeforeEntries is the key in Marks.Before of the names that a folder held, separated by slashes,
// which no file name contains. Markers of earlier releases do not have it.
const BeforeEntries = "entries:"

// engineConfigs are the networks that container engines configure for their own containers, not for
// pods. An engine that was installed after kubewright keeps its networks.
//   - podman: cni/README.md of github.com/containers/podman; earlier packages had 87-podman.conflist
//   - nerdctl: docs/dir.md of github.com/containerd/nerdctl, one for each network
//   - CRI-O: contrib/cni of github.com/cri-o/cri-o; distributions install the first
//     of them as 100-crio-bridge and the loopback as 200-loopback
var engineConfigs = []string{
	"87-podman*.conflist", "nerdctl-*.conflist",
	"10-crio-bridge.conf*", "11-crio-ipv4-bridge.conf*", "100-crio-bridge.conf*", "99-loopback.conf*", "200-loopback.conf*",
}

// IsEngineConfig reports whether a configuration is a container engine's own.
func IsEngineConfig(name string) bool {
	return slices.ContainsFunc(engineConfigs, func(pattern string) bool {
		is, err := path.Match(pattern, name)
		return err == nil && is
	})
}

// CNIEntries returns the names of the files in the folder of CNI configurations.
func CNIEntries(r *state.Report) []string {
	var out []string
	for p, f := range r.Files {
		if name, ok := strings.CutPrefix(p, topology.CNIConfigs+"/"); ok && f.Exists {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// SharesNetworks reports whether a container engine has networks in the same folder.
func SharesNetworks(l topology.Departure) bool {
	return l.Report != nil && slices.ContainsFunc(CNIEntries(l.Report), IsEngineConfig)
}

// HasNetwork reports whether a network plugin has configured the host: it has a CNI configuration
// that is not a container engine's own.
func HasNetwork(r *state.Report) bool {
	return r != nil && slices.ContainsFunc(CNIEntries(r), func(name string) bool { return !IsEngineConfig(name) })
}
