package staticpod

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/planner/phases/encryption"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/provenance"
	"github.com/kubewright/kubewright/planner/sensitive"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// ControlPlane runs the API server, the controller manager and the scheduler.
var ControlPlane = topology.Phase{
	Name: topology.ControlPlanePhase,
	NodeItems: func(n *topology.Node) []state.Item {
		if !n.IsControlPlane() {
			return nil
		}
		var items []state.Item
		for _, component := range ControlPlaneComponents {
			it := host.FileItem(n, topology.ControlPlanePhase, state.KindStaticPod, topology.Manifest(component), "0600", func(n *topology.Node) []byte { return topology.Must(StaticPod(n, component)) })
			provenance.PodOrigins(n, &it, component, func(in kubeadm.Input) ([]byte, error) { return kubeadm.StaticPod(in, component) })
			items = append(items, it)
		}
		return items
	},
	NodeStep: func(n *topology.Node, w topology.PhaseWork) planner.Step {
		if w.Create() || !w.Empty() && enters(n) {
			return planner.Step{Operations: append([]planner.Operation{topology.EnsureFolder("/etc/kubernetes/manifests", "0700")}, host.FileOperations(w)...)}
		}
		return podStep(n, w, topology.ControlPlanePhase)
	},
	NodeNeeds: func(n *topology.Node) []state.Address {
		needs := []state.Address{topology.StepAddress(n.Target, topology.KubeconfigPhase), topology.StepAddress(n.Target, topology.EtcdPhase), topology.StepAddress(n.Target, topology.ImagesPhase), topology.StepAddress(n.Target, topology.HostFilesPhase)}
		return slices.Concat(needs, n.AfterAll(), beforeDisruption(n), afterKubelets(n), encryption.BeforeControlPlane(n))
	},
}

// ControlPlaneComponents are the static pods of the control-plane phase.
var ControlPlaneComponents = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// podStep changes running static pods, and restarts those that have to reload files: one control plane
// of the cluster at a time, and each has to run what was written and answer before the next one.
func podStep(n *topology.Node, w topology.PhaseWork, phase string) planner.Step {
	if pods := podsOf(n, w, phase); len(pods) > 1 && slices.ContainsFunc(pods, isAPIServer) {
		return stoppedStep(n, w, phase, pods)
	}
	s := planner.Step{Via: n.Target, Action: planner.Update, Operations: host.FileOperations(w)}
	rewritten := AwaitPods(n, &s, w)
	reread := takeUp(n, &s, w, phase, rewritten)
	return Disrupts(n, s, phase, rewritten, reread)
}

// Disrupts completes a step that restarts components of static pods that are rewritten or have to
// reload files.
func Disrupts(n *topology.Node, s planner.Step, phase string, rewritten, reread []string) planner.Step {
	c := n.Cluster
	restarted := slices.Concat(rewritten, reread)
	if len(restarted) == 0 {
		if len(s.Operations) > 0 {
			s.Impact = "loads the new certificates without a restart"
		}
		return s
	}
	if blind(n, phase, restarted) {
		s.Impact = "restarts etcd here, which cannot be reached"
		return s
	}
	s.Operations = append(s.Operations, HealthWaits(n, restarted...)...)
	s.Limits = []string{c.Limit("control-plane-disruption")}
	serving := slices.Contains(restarted, "etcd") || slices.Contains(restarted, "kube-apiserver")
	if serving || len(rewritten) > 0 {
		s.Gates = RestartGates()
	}
	s.Impact = "restarts " + strings.Join(restarted, ", ") + " here"
	if !serving && c.Report != nil {
		s.Impact += "; the API stays up"
	}
	return s
}

// AwaitPods waits for the static pods that the changes rewrite, and returns their components.
func AwaitPods(n *topology.Node, s *planner.Step, w topology.PhaseWork) []string {
	var rewritten []string
	for _, ch := range w.Changes {
		it := w.Find(ch)
		if it == nil || it.Kind != state.KindStaticPod || ch.OnlyRereads() {
			continue
		}
		name := ComponentOf(it)
		rewritten = append(rewritten, name)
		wait := planner.Wait{For: planner.WaitStaticPod, Name: name + "-" + n.NodeName, Timeout: n.Cluster.Timeouts.UpgradeManifests}
		if it.Sealed.IsZero() {
			wait.Hash = PodHash(n, name, it.Content)
		} else {
			// The hash would reveal something about a short secret.
			wait.HashRef = sensitive.Reference(it.Address, sensitive.HashField)
		}
		s.Operations = append(s.Operations, wait)
	}
	return rewritten
}

// ComponentOf returns the component of a manifest's item.
func ComponentOf(it *state.Item) string {
	path := it.Address.ID()
	return strings.TrimSuffix(path[strings.LastIndex(path, "/")+1:], ".yaml")
}

// AdminUnbound reports whether the administrator has no rights yet, since an earlier apply was
// interrupted before it granted them. Requests to an API server with its host's admin.conf have to wait
// for them; the founder has super-admin.conf as well.
func AdminUnbound(c *topology.Cluster) bool {
	if c.Report == nil || c.Up != nil {
		return false
	}
	_, bound := c.Report.Objects[kubeadm.AdminBinding]
	return !bound
}

// PodComponents are the components that run as static pods.
var PodComponents = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}
