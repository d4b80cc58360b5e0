package kubelet

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A kubelet keeps what it has given to containers in checkpoints, and does not start with other
// settings than those of the checkpoint (pkg/kubelet/cm/cpumanager/state: "configured policy differs
// from state checkpoint policy"; memorymanager alike). Containers that run have their shares by the
// former settings, and their cgroups from the former driver: so the node is drained first.

// A setting is a field of KubeletConfiguration, and the flag that overrides it with what is before its
// value.
type setting struct{ field, flag, otherwise string }

// A commitment is what a kubelet has committed itself to with its containers.
type commitment struct {
	file    string // its checkpoint; empty for none
	setting setting
	// static is the value of the setting with which details count as well.
	static  string
	details []setting
}

var commitments = []commitment{
	{
		file: "/var/lib/kubelet/cpu_manager_state", setting: setting{"cpuManagerPolicy", "--cpu-manager-policy=", "none"}, static: "static",
		details: []setting{{"reservedSystemCPUs", "--reserved-cpus=", ""}, {"kubeReserved.cpu", "--kube-reserved=", ""}, {"systemReserved.cpu", "--system-reserved=", ""}, {"cpuManagerPolicyOptions", "--cpu-manager-policy-options=", ""}},
	},
	{
		file: "/var/lib/kubelet/memory_manager_state", setting: setting{"memoryManagerPolicy", "--memory-manager-policy=", "None"}, static: "Static",
		details: []setting{{"reservedMemory", "--reserved-memory=", ""}},
	},
	{setting: setting{"cgroupDriver", "--cgroup-driver=", "systemd"}},
}

// kubeletSettings are the configuration and the flags of a kubelet.
type kubeletSettings struct {
	config state.Value
	flags  string
}

func (k kubeletSettings) of(s setting) state.Value {
	if _, rest, given := strings.Cut(k.flags, s.flag); given {
		if end := strings.IndexAny(rest, " \"\n"); end >= 0 {
			rest = rest[:end]
		}
		return state.String(rest)
	}
	if v := k.config.Get(s.field); !v.IsNull() || s.otherwise == "" {
		return v
	}
	return state.String(s.otherwise)
}

// differs reports whether two kubelets commit themselves differently.
func (c commitment) differs(a, b kubeletSettings) bool {
	if !a.of(c.setting).Equal(b.of(c.setting)) {
		return true
	}
	return a.of(c.setting).AsString() == c.static && slices.ContainsFunc(c.details, func(s setting) bool { return !a.of(s).Equal(b.of(s)) })
}

// changedCommitments returns what the kubelet that runs on a node has committed itself to, and may not
// keep with the desired settings.
func changedCommitments(n *topology.Node) []commitment {
	if n.Report == nil || n.Joins() || !n.Report.Files[topology.KubeletConfig].Exists {
		return nil
	}
	config, flags := pki.KubeletConfig(n), kubeadm.KubeletFlags(n.Input())
	if seen := n.Report.Files; bytes.Equal(seen[topology.KubeletConfig].Content, config) && bytes.Equal(seen[topology.KubeletFlags].Content, flags) {
		return nil
	}
	desired, err := n.Cluster.Fleet.Cache.Tree(state.KindYAMLFile, config)
	topology.Must(nil, err)
	want := kubeletSettings{desired, string(flags)}
	have := kubeletSettings{n.Seen(state.KindYAMLFile, topology.KubeletConfig), string(n.Report.Files[topology.KubeletFlags].Content)}
	return slices.DeleteFunc(slices.Clone(commitments), func(c commitment) bool { return !c.differs(have, want) })
}

// NodesWithCommitments returns the names of nodes whose kubelets may not keep what they have committed
// themselves to, as far as the state shows it: their pods are observed, because a plan may drain them.
func NodesWithCommitments(cfg *config.Config, recorded *state.State, label string) []string {
	c := cfg.Cluster(label)
	if c == nil || recorded == nil {
		return nil
	}
	have := map[state.Target]kubeletSettings{}
	for i := range recorded.Items {
		if a := recorded.Items[i].Address; a == topology.ItemAddress(a.Target, topology.KubeletStartPhase, "file", topology.KubeletConfig) {
			have[a.Target] = kubeletSettings{config: recorded.Items[i].Attributes}
		}
	}
	var out []string
	for _, n := range cfg.NodesOf(label, "") {
		was, there := have[n.Target]
		want := kubeletSettings{config: config.MergeTrees(c.Kubelet.Config, n.Kubelet.Config)}
		if there && recorded.Nodes[n.Target] != nil && slices.ContainsFunc(commitments, func(c commitment) bool { return c.differs(was, want) }) {
			out = append(out, cmp.Or(n.Name, recorded.Nodes[n.Target].Name))
		}
	}
	return out
}

// drainsForCommitments reports whether a node is drained because its kubelet may not keep what it has
// committed itself to. Otherwise a step of its own drains it, or nothing can.
func drainsForCommitments(n *topology.Node) bool {
	return n.Cluster.Report != nil && len(n.Cluster.Report.Nodes) > 1 && !pki.KubeletChanges(n) && !slices.Contains(n.Cluster.Fleet.Skipped, topology.DrainPhase) && len(changedCommitments(n)) > 0
}

// release returns the operations before the kubelet's files are written: its pods leave the node, and
// it gives up its checkpoints. It stays stopped if they are interrupted, and the next apply goes on.
func release(n *topology.Node) []planner.Operation {
	changed := changedCommitments(n)
	if len(changed) == 0 || pki.KubeletChanges(n) { // which restarts static pods, too
		return nil
	}
	var ops []planner.Operation
	if seen := n.Cluster.Report; drainsForCommitments(n) && !(drain.Cordoned(n) && seen.Nodes[n.NodeName].Unschedulable && emptied(n)) {
		ops = drain.Drain(n.Cluster, n.NodeName, drain.ForUpgrade)
	}
	return append(ops, checkpointsRemoved(changed)...)
}

func checkpointsRemoved(changed []commitment) []planner.Operation {
	ops := []planner.Operation{planner.Unit{Unit: topology.KubeletUnit, Action: "stop"}}
	for _, c := range changed {
		if c.file != "" {
			ops = append(ops, planner.RemovePath{Path: c.file})
		}
	}
	return ops
}

// releaseStep completes kubelet-start for a kubelet that gives up what it has committed itself to.
func releaseStep(n *topology.Node, s planner.Step) planner.Step {
	s.Operations = append(s.Operations, pki.HealthWait(n)...)
	s.Operations = slices.Concat(s.Operations, pki.ReadyWait(n), letIn(n), stay(n))
	restarts := "restarts the kubelet here " + without(changedCommitments(n))
	if !drainsForCommitments(n) {
		s.Impact = restarts + "; pods keep running"
		return s
	}
	c := n.Cluster
	s.Limits, s.Pods = []string{c.Limit("drain")}, drain.DrainedPods(c, n.NodeName)
	s.Impact = drain.DrainImpact(c, n.NodeName) + "; then " + restarts + lettingIn(n)
	if n.IsControlPlane() {
		s.Limits = append(s.Limits, c.Limit("control-plane-disruption"))
	}
	return s
}

// without says how the kubelet starts.
func without(changed []commitment) string {
	var parts []string
	for _, c := range changed {
		if c.file == "" {
			parts = append(parts, "with another "+c.setting.field)
		} else {
			parts = append(parts, "without the checkpoint "+path.Base(c.file))
		}
	}
	return strings.Join(parts, " and ")
}
