package kube

import (
	"context"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubewright/kubewright/state"
)

// podsSeen is what is kept of all pods.
type podsSeen struct {
	// static are the mirror pods of kube-system, by name.
	static map[string]state.StaticPodReport
	// counts are the pods that a drain would have to evict, per node; evicted are those
	// pods of the nodes that are to be drained.
	counts  map[string]int
	evicted []corev1.Pod
	proxies []proxyPod
	// lost counts the pods that end with the cluster; nil when that was not asked for.
	lost *state.Losses
	room kept
}

// allPods reads the pods of the cluster. drained waits for the nodes that are to be drained; losses
// also counts what ends with the cluster.
func allPods(ctx context.Context, s *session, drained func() ([]string, error), losses bool) (*podsSeen, error) {
	var out *podsSeen
	err := pages[*corev1.PodList]{
		what: "pods", most: mostPods, list: s.typed.CoreV1().Pods("").List,
		begin: func() {
			out = &podsSeen{static: map[string]state.StaticPodReport{}, counts: map[string]int{}, room: kept{what: "pods"}}
			if losses {
				out.lost = &state.Losses{}
			}
		},
		take: func(page *corev1.PodList) error {
			nodes, err := drained()
			if err != nil {
				return err
			}
			for i := range page.Items {
				if err := out.see(&page.Items[i], nodes); err != nil {
					return err
				}
			}
			return nil
		},
	}.each(ctx)
	return out, err
}

// see keeps the needed parts of a pod.
func (s *podsSeen) see(p *corev1.Pod, drained []string) error {
	p.ManagedFields = nil
	if _, mirror := p.Annotations[mirrorAnnotation]; mirror && p.Namespace == metav1.NamespaceSystem {
		if err := s.room.add(p.Size()); err != nil {
			return err
		}
		s.static[p.Name] = staticPodReport(p)
	}
	if s.lost != nil {
		if err := s.lose(p); err != nil {
			return err
		}
	}
	if proxy, ok := proxyPodOf(p); ok {
		s.proxies = append(s.proxies, proxy)
		if err := s.room.add(len(proxy.node)); err != nil {
			return err
		}
	}
	if stays(p) {
		return nil
	}
	if s.counts[p.Spec.NodeName] == 0 {
		if err := s.room.add(len(p.Spec.NodeName)); err != nil {
			return err
		}
	}
	s.counts[p.Spec.NodeName]++
	if !slices.Contains(drained, p.Spec.NodeName) {
		return nil
	}
	if len(s.evicted) == mostDrained {
		return &tooManyError{"pods on the nodes to be drained", mostDrained}
	}
	p.Annotations = nil
	p.Spec.Containers, p.Spec.InitContainers, p.Spec.EphemeralContainers = nil, nil, nil
	p.Status.ContainerStatuses, p.Status.InitContainerStatuses, p.Status.EphemeralContainerStatuses = nil, nil, nil
	s.evicted = append(s.evicted, *p)
	return s.room.add(p.Size())
}

// allBudgets returns the PodDisruptionBudgets of the cluster.
func allBudgets(ctx context.Context, s *session) (*policyv1.PodDisruptionBudgetList, error) {
	var out *policyv1.PodDisruptionBudgetList
	var room kept
	const what = "PodDisruptionBudgets"
	err := pages[*policyv1.PodDisruptionBudgetList]{
		what: what, most: mostOthers, list: s.typed.PolicyV1().PodDisruptionBudgets("").List,
		begin: func() { out, room = &policyv1.PodDisruptionBudgetList{}, kept{what: what} },
		take: func(page *policyv1.PodDisruptionBudgetList) error {
			for i := range page.Items {
				b := page.Items[i]
				b.ManagedFields, b.Annotations, b.Status.DisruptedPods = nil, nil, nil
				if err := room.add(b.Size()); err != nil {
					return err
				}
				out.Items = append(out.Items, b)
			}
			return nil
		},
	}.each(ctx)
	return out, err
}

// allLocalVolumes returns the volumes of the cluster that are bound to one host, by their
// claim.
func allLocalVolumes(ctx context.Context, s *session, nodes map[string]state.NodeReport) (map[string]localVolume, error) {
	var out map[string]localVolume
	var room kept
	const what = "PersistentVolumes"
	err := pages[*corev1.PersistentVolumeList]{
		what: what, most: mostVolumes, list: s.typed.CoreV1().PersistentVolumes().List,
		begin: func() { out, room = map[string]localVolume{}, kept{what: what} },
		take: func(page *corev1.PersistentVolumeList) error {
			for claim, v := range localVolumes(page, nodes) {
				if err := room.add(2*len(claim) + len(v.Volume)); err != nil {
					return err
				}
				out[claim] = v
			}
			return nil
		},
	}.each(ctx)
	return out, err
}

// observePods fills in the pods that a drain of the nodes would evict, and the objects that
// refer to them.
func observePods(ctx context.Context, s *session, report *state.ClusterReport, pods []corev1.Pod, nodes []string) error {
	if len(nodes) == 0 {
		return nil
	}
	budgets, err := allBudgets(ctx, s)
	if err != nil {
		return err
	}
	local, err := allLocalVolumes(ctx, s, report.Nodes)
	if err != nil {
		return err
	}
	report.Budgets = map[string]state.BudgetReport{}
	for i := range pods {
		p := &pods[i]
		r := podReport(p, local)
		for _, b := range asked(budgets, p) {
			name := b.Namespace + "/" + b.Name
			r.Budgets = append(r.Budgets, name)
			report.Budgets[name] = budgetReport(b)
		}
		slices.Sort(r.Budgets)
		report.Pods = append(report.Pods, r)
	}
	slices.SortFunc(report.Pods, func(a, b state.PodReport) int { return strings.Compare(a.String(), b.String()) })
	report.Claims = unusedClaims(local, report.Pods, nodes)
	return nil
}

// stays reports whether a drain leaves a pod alone: a mirror pod, or a DaemonSet's pod that
// has not finished.
func stays(p *corev1.Pod) bool {
	if _, mirror := p.Annotations[mirrorAnnotation]; mirror {
		return true
	}
	// Pods of third-party kinds with the same name are evicted like any other.
	owner := metav1.GetControllerOf(p)
	return owner != nil && owner.Kind == "DaemonSet" && owner.APIVersion == appsv1.SchemeGroupVersion.String() && !finished(p)
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// asked returns the budgets that apply to the eviction of a pod. None applies to a pod that
// no longer counts as a disruption: one that has finished, has not started or is
// terminating, and an unhealthy one whose budget allows that.
func asked(budgets *policyv1.PodDisruptionBudgetList, p *corev1.Pod) []*policyv1.PodDisruptionBudget {
	if finished(p) || p.Status.Phase == corev1.PodPending || !p.DeletionTimestamp.IsZero() {
		return nil
	}
	var out []*policyv1.PodDisruptionBudget
	for i := range budgets.Items {
		if b := &budgets.Items[i]; selected(b, p) {
			out = append(out, b)
		}
	}
	if len(out) == 1 && !ready(p) && letsUnhealthyGo(out[0]) {
		return nil
	}
	return out
}

// letsUnhealthyGo reports whether a budget protects ready pods alone, by its policy or
// because enough of them are healthy.
func letsUnhealthyGo(b *policyv1.PodDisruptionBudget) bool {
	if policy := b.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.DesiredHealthy > 0 && b.Status.CurrentHealthy >= b.Status.DesiredHealthy
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func labelsOf(p *corev1.Pod) labels.Set { return p.Labels }

// podReport returns a pod without its budgets.
func podReport(p *corev1.Pod, local map[string]localVolume) state.PodReport {
	r := state.PodReport{Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName, Labels: p.Labels, Finished: finished(p)}
	if at := p.DeletionTimestamp; at != nil {
		r.GoneBy = at.UTC()
	}
	if owner := metav1.GetControllerOf(p); owner != nil {
		r.Controller = owner.Kind
	}
	for _, v := range p.Spec.Volumes {
		if v.EmptyDir != nil {
			r.EmptyDir = true
		}
		if c := v.PersistentVolumeClaim; c != nil {
			if _, is := local[p.Namespace+"/"+c.ClaimName]; is {
				r.LocalClaims = append(r.LocalClaims, c.ClaimName)
			}
		}
	}
	slices.Sort(r.LocalClaims)
	r.Tolerations, r.NodeSelectors = tolerations(p), nodeSelectors(p)
	return r
}

// localVolume is a volume that is bound to one host.
type localVolume struct {
	state.ClaimReport
	// bound reports whether its claim exists. The volume of a deleted claim may remain, but
	// its data is no longer needed.
	bound bool
}

// localVolumes returns the volumes that are bound to one host, by their claim as
// NAMESPACE/NAME: volumes on the host's disk by their type, and those of any type whose
// node affinity allows one node only. For a hostPath volume the API may not know the node.
func localVolumes(volumes *corev1.PersistentVolumeList, nodes map[string]state.NodeReport) map[string]localVolume {
	out := map[string]localVolume{}
	names := nodesByName(nodes)
	for i := range volumes.Items {
		v := &volumes.Items[i]
		c, node := v.Spec.ClaimRef, holder(v, names)
		if c != nil && (v.Spec.Local != nil || v.Spec.HostPath != nil || node != "") {
			out[c.Namespace+"/"+c.Name] = localVolume{
				state.ClaimReport{Namespace: c.Namespace, Name: c.Name, Volume: v.Name, Node: node}, v.Status.Phase == corev1.VolumeBound,
			}
		}
	}
	return out
}

// nodesByName maps the names that volumes use for a node, its name or its hostname, to its
// name.
func nodesByName(nodes map[string]state.NodeReport) map[string]string {
	out := map[string]string{}
	for name, n := range nodes {
		if host := n.Labels[corev1.LabelHostname]; host != "" {
			out[host] = name
		}
	}
	for name := range nodes {
		out[name] = name
	}
	return out
}

// holder returns the only node on which a volume can be used, by its node affinity; empty
// if there may be several.
func holder(v *corev1.PersistentVolume, names map[string]string) string {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return ""
	}
	held := ""
	for _, term := range v.Spec.NodeAffinity.Required.NodeSelectorTerms { // terms are alternatives
		node := pinned(term, names)
		if node == "" || held != "" && node != held {
			return ""
		}
		held = node
	}
	return held
}

// pinned returns the node that a term selects alone: it requires a label to have that
// node's name as its value, whichever label the driver has chosen, such as
// kubernetes.io/hostname or topology.topolvm.io/node.
func pinned(term corev1.NodeSelectorTerm, names map[string]string) string {
	for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
		if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 && names[r.Values[0]] != "" {
			return names[r.Values[0]]
		}
	}
	return ""
}

// unusedClaims returns claims whose volume is bound to one of the nodes and that no pod
// uses now: those of a StatefulSet without replicas, or of a job between two runs.
func unusedClaims(local map[string]localVolume, pods []state.PodReport, nodes []string) []state.ClaimReport {
	used := map[string]bool{}
	for _, p := range pods {
		for _, name := range p.LocalClaims {
			used[p.Namespace+"/"+name] = true
		}
	}
	var out []state.ClaimReport
	for _, key := range slices.Sorted(maps.Keys(local)) {
		if v := local[key]; v.bound && !used[key] && slices.Contains(nodes, v.Node) {
			out = append(out, v.ClaimReport)
		}
	}
	return out
}
