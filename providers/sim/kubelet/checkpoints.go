package kubelet

import (
	"fmt"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/state"
)

// A manager of the kubelet keeps in a checkpoint what it has given to containers. It does not start
// with another policy, or under a static policy with another reservation, than that of the checkpoint
// (pkg/kubelet/cm/cpumanager and memorymanager).
type manager struct{ checkpoint, policy, none, reservation string }

var managers = []manager{
	{"cpu_manager_state", "cpuManagerPolicy", "none", "reservedSystemCPUs"},
	{"memory_manager_state", "memoryManagerPolicy", "None", "reservedMemory"},
}

func (g manager) path() string { return "/var/lib/kubelet/" + g.checkpoint }

// settings returns what a configuration says, empty for the default.
func (g manager) settings(tree state.Value) string {
	policy := tree.Get(g.policy).AsString()
	if policy == "" || policy == g.none {
		return ""
	}
	return policy + " " + fmt.Sprint(tree.Get(g.reservation).Go())
}

func (kl Kubelet) checkpointFault(tree state.Value) string {
	for _, g := range managers {
		if was, now := kl.m.Checkpoints[g.path()], g.settings(tree); kl.m.File(g.path()) != nil && was != now {
			return fmt.Sprintf("failed to start ContainerManager: could not restore state from checkpoint: configured policy %q differs from state checkpoint policy %q, please drain this node and delete the checkpoint file %q before restarting Kubelet", now, was, g.path())
		}
	}
	return ""
}

func (kl Kubelet) writeCheckpoints() {
	for _, g := range managers {
		if kl.m.File(g.path()) == nil {
			kl.m.Put(g.path(), file.Opaque(g.checkpoint, "0600"))
		}
		delete(kl.m.Checkpoints, g.path())
		if settings := g.settings(kl.m.Processes().KubeletConfig()); settings != "" {
			if kl.m.Checkpoints == nil {
				kl.m.Checkpoints = map[string]string{}
			}
			kl.m.Checkpoints[g.path()] = settings
		}
	}
}
