package kubelet

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/state"
)

// TestCommitmentsDifferBySettings shows with which settings a kubelet may not keep its checkpoints: by
// the configuration and the flags that it runs with, and those that are desired.
func TestCommitmentsDifferBySettings(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for _, c := range []struct {
		name           string
		have, want     m
		flags, desired string
		differ         []string
	}{
		{name: "the same", have: m{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}, want: m{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}},
		{name: "the default is written", want: m{"cpuManagerPolicy": "none", "memoryManagerPolicy": "None", "cgroupDriver": "systemd"}},
		{name: "another policy", want: m{"cpuManagerPolicy": "static"}, differ: []string{"cpuManagerPolicy"}},
		{name: "back", have: m{"memoryManagerPolicy": "Static"}, differ: []string{"memoryManagerPolicy"}},
		{name: "another reservation", have: m{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}, want: m{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0-1"}, differ: []string{"cpuManagerPolicy"}},
		{name: "another share of Kubernetes", have: m{"cpuManagerPolicy": "static", "kubeReserved": m{"cpu": "1"}}, want: m{"cpuManagerPolicy": "static", "kubeReserved": m{"cpu": "2"}}, differ: []string{"cpuManagerPolicy"}},
		{name: "another share of memory", have: m{"cpuManagerPolicy": "static", "kubeReserved": m{"memory": "1Gi"}}, want: m{"cpuManagerPolicy": "static", "kubeReserved": m{"memory": "2Gi"}}},
		{name: "a reservation without a static policy", want: m{"reservedSystemCPUs": "0"}},
		{name: "another driver", want: m{"cgroupDriver": "cgroupfs"}, differ: []string{"cgroupDriver"}},
		{name: "by a flag", flags: `KUBELET_KUBEADM_ARGS="--node-ip=10.0.0.1"`, desired: `KUBELET_KUBEADM_ARGS="--cpu-manager-policy=static --reserved-cpus=0"` + "\n", differ: []string{"cpuManagerPolicy"}},
		{name: "a flag in the place of a field", have: m{"cpuManagerPolicy": "static"}, desired: `KUBELET_KUBEADM_ARGS="--cpu-manager-policy=static"`},
		{name: "a flag that begins alike", desired: `KUBELET_KUBEADM_ARGS="--cpu-manager-policy-options=full-pcpus-only=true"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			have, want := kubeletSettings{state.FromGo(c.have), c.flags}, kubeletSettings{state.FromGo(c.want), c.desired}
			var differ []string
			for _, commitment := range commitments {
				if commitment.differs(have, want) {
					differ = append(differ, commitment.setting.field)
				}
			}
			if !slices.Equal(differ, c.differ) {
				t.Errorf("these differ: %v, want %v", differ, c.differ)
			}
		})
	}
}
