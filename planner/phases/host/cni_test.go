package host_test

import (
	"testing"

	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/state"
)

func TestHasNetworkIgnoresEnginesOwn(t *testing.T) {
	t.Parallel()
	report := func(names ...string) *state.Report {
		r := &state.Report{Files: map[string]state.FileReport{"/etc/cni/net.d/gone.conf": {}}}
		for _, name := range names {
			r.Files["/etc/cni/net.d/"+name] = state.FileReport{Exists: true}
		}
		return r
	}
	for want, reports := range map[bool][]*state.Report{
		true:  {report("10-flannel.conflist"), report("100-crio-bridge.conflist", "05-cilium.conflist")},
		false: {nil, report(), report("100-crio-bridge.conflist", "87-podman-bridge.conflist")},
	} {
		for _, r := range reports {
			if host.HasNetwork(r) != want {
				t.Errorf("%v: HasNetwork is %t", r, !want)
			}
		}
	}
}
