package phases

import (
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// cniConfigs is where the container runtime looks for the network of pods. A network
// addon puts its own configuration there, and nobody takes it away with the addon: a
// host that was given back would go on with a network that is not there.
const cniConfigs = "/etc/cni/net.d"

// flannelState is what flannel leaves in memory, until the next boot.
const flannelState = "/run/flannel"

// beforeEntries in Marks.Before has the names of what a folder held, with slashes
// between them, as none has one in it. A mark of before says nothing of it.
const beforeEntries = "entries:"

// engineConfigs are the networks that container engines have for containers of their
// own, and no pod: whatever brought an engine after us is not ours to break.
//   - podman: cni/README.md of github.com/containers/podman; earlier packages had 87-podman.conflist
//   - nerdctl: docs/dir.md of github.com/containerd/nerdctl, one for each network
//   - CRI-O: contrib/cni of github.com/cri-o/cri-o; distributions install the first
//     of them as 100-crio-bridge and the loopback as 200-loopback
var engineConfigs = []string{
	"87-podman*.conflist", "nerdctl-*.conflist",
	"10-crio-bridge.conf*", "11-crio-ipv4-bridge.conf*", "100-crio-bridge.conf*", "99-loopback.conf*", "200-loopback.conf*",
}

// ofEngine tells that a configuration is a container engine's own.
func ofEngine(name string) bool {
	return slices.ContainsFunc(engineConfigs, func(pattern string) bool {
		is, err := path.Match(pattern, name)
		return err == nil && is
	})
}

// cniEntries are the names of what is among the configurations of networks.
func cniEntries(r *state.Report) []string {
	var out []string
	for p, f := range r.Files {
		if name, ok := strings.CutPrefix(p, cniConfigs+"/"); ok && f.Exists {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// networkOperations take away the configurations of networks that were not there
// before us and are no container engine's; what install brought goes with its software.
func (l leaver) networkOperations(before map[string]string) []planner.Operation {
	list, known := before[beforeEntries+cniConfigs]
	if !known {
		return nil
	}
	var ops []planner.Operation
	there := strings.Split(list, "/")
	for _, name := range cniEntries(l.report) {
		if p := cniConfigs + "/" + name; !slices.Contains(there, name) && !ofEngine(name) && !l.brought(p) {
			ops = append(ops, planner.RemovePath{Path: p})
		}
	}
	if before["folder:"+cniConfigs] == "" && !l.replaced && !l.sharesNetworks() && !slices.ContainsFunc(l.report.Marks.Owned, belowCNI) {
		ops = append(ops, planner.RemovePath{Path: cniConfigs})
	}
	return ops
}

// sharesNetworks tells that a container engine has networks in the same folder.
func (l leaver) sharesNetworks() bool {
	return l.report != nil && slices.ContainsFunc(cniEntries(l.report), ofEngine)
}

// brought tells that install has put a file on the host.
func (l leaver) brought(p string) bool {
	return slices.Contains(l.report.Marks.Owned, p)
}

func belowCNI(p string) bool { return strings.HasPrefix(p, cniConfigs+"/") }
