package phases

import (
	"maps"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// manifestHash is podHash of the manifest on the host.
func (n *node) manifestHash(component string) string {
	return n.podHash(component, n.report.Files[manifest(component)].Content)
}

// podHash is the hash by which the kubelet knows a static pod. The API tells a
// kubelet's version as of the time when that could last speak with it: one that
// was replaced since may run already, and then has a hash of its own. While the API
// does not answer the version is the one that is remembered.
func (n *node) podHash(component string, content []byte) string {
	in := n.input()
	in.RunningKubelet = n.lastKubelet()
	hash := kubeadm.ComponentHash(in, component, content)
	if in.RunningKubelet = n.comingKubelet(); in.RunningKubelet == "" {
		return hash
	}
	if other := kubeadm.ComponentHash(in, component, content); other != hash && other != "" && hash != "" {
		return hash + " " + other
	}
	return hash
}

// kubeletUnit is the desired kubelet. Of one that runs the version is compared:
// that of the program with that of the process. While the API does not answer
// nobody tells that of the process: the one that is remembered stands for both.
func (n *node) kubeletUnit() state.Item {
	it := state.Item{
		Address: item(n.target, kubeletStartPhase, "unit", kubeletUnit), Kind: state.KindUnit, Partial: true,
		Attributes: attributes("active", "active", "enabled", "enabled"),
	}
	v := n.comingKubelet()
	if n.cluster.report == nil {
		v = n.lastKubelet()
	}
	if n.lastKubelet() != "" && v != "" && !n.joins() {
		it.Attributes = attributes("active", "active", "enabled", "enabled", "version", v)
		it.Origin = map[string]state.Source{"version": n.cluster.origin("kubernetes_version")}
	}
	if n.unregistered() {
		it.Attributes = with(it.Attributes, registeredAttr, true)
	}
	return it
}

// unregistered tells that a kubelet runs and its Node is gone, as when somebody has
// deleted that. A kubelet makes it when it starts, and not again.
func (n *node) unregistered() bool {
	if n.report == nil || n.cluster.report == nil || n.cluster.founding || n.joins() || n.report.Units[kubeletUnit].Active != "active" {
		return false
	}
	_, there := n.cluster.report.Nodes[n.name]
	return !there
}

// with is a map with one more value.
func with(m state.Value, name string, value any) state.Value {
	out := maps.Clone(m.AsMap())
	out[name] = state.FromGo(value)
	return state.Map(out)
}

// observeUnit is a unit as it was seen, and of a kubelet the version that runs.
func (v *View) observeUnit(it *state.Item, u state.UnitReport) state.Value {
	if it.Address.ID() != kubeletUnit {
		return attributes("active", u.Active, "enabled", u.Enabled)
	}
	n, active := v.find(it.Address.Target), u.Active
	if n == nil || n.runningKubelet() == "" {
		active = kubeletActive(v.Reports[it.Address.Target])
	}
	out := attributes("active", active, "enabled", u.Enabled)
	if n != nil && n.lastKubelet() != "" {
		out = with(out, "version", n.lastKubelet())
	}
	if n != nil {
		out = n.observeRegistered(it.Address, out)
	}
	return out
}

// kubeletActive is whether a host's kubelet runs, in systemd's words. One that finds
// no configuration starts every ten seconds and ends at once, as packages leave it:
// which moment of that somebody looked at is no difference.
func kubeletActive(r *state.Report) string {
	active := r.Units[kubeletUnit].Active
	if active == "active" && !r.Files[kubeletConfig].Exists {
		return "activating"
	}
	return active
}

// drainStep takes the pods off a node before its kubelet is replaced. One that
// an earlier apply has emptied is not drained again, and the only node of a
// cluster is not either: its pods have nowhere to go.
func (n *node) drainStep() planner.Step {
	if !n.turns() {
		return planner.Step{}
	}
	seen := n.cluster.report.Nodes[n.name]
	if n.cordoned() && seen.Unschedulable && n.emptied() || len(n.cluster.report.Nodes) < 2 {
		return planner.Step{}
	}
	impact := n.cluster.drainImpact(n.name)
	if seen.Unschedulable && !n.cordoned() && !n.wasLeaving() {
		impact += "; the node is cordoned already and stays so"
	}
	return planner.Step{
		Via: n.cluster.seat, Limits: []string{n.cluster.limit("drain")}, Gates: n.turnGates(),
		Impact: impact, Pods: n.cluster.drainedPods(n.name), Operations: n.cluster.drain(n.name, forUpgrade),
	}
}

// emptied tells that the node has no pod any more that a drain would evict. Where
// its pods were not looked at, one that has none at all is.
func (n *node) emptied() bool {
	all := n.cluster.report.Nodes[n.name].Pods
	return all == 0 || len(n.cluster.podsOf(n.name)) == all && len(n.cluster.evicted(n.name)) == 0
}

// turnStep completes kubelet-start for a kubelet that gets another version: it
// is proved to run, with the static pods that it starts anew, before pods are
// let in again.
func (n *node) turnStep(s planner.Step, w work) planner.Step {
	s.Operations = append(s.Operations,
		planner.Wait{For: planner.WaitHTTP, URL: n.kubeletHealth(), Timeout: n.cluster.Timeouts.KubeletHealthCheck},
		n.waitTurned())
	restarted := n.restarts(w)
	var names []string
	for _, it := range restarted {
		names = append(names, componentOf(it))
	}
	s.Operations = slices.Concat(s.Operations, n.letIn(), n.stay())
	s.Impact = n.turnImpact(names)
	if n.isControlPlane() {
		s.Limits = []string{n.cluster.limit("control-plane-disruption")}
	}
	if len(restarted) > 0 {
		s.Gates = n.restartGates(kubeletStartPhase)
	}
	return s
}

// turned does what restarts the node's static pods while they are stopped.
func (n *node) turned(w work, ops []planner.Operation) []planner.Operation {
	pods := n.restarts(w)
	if len(pods) == 0 {
		return ops
	}
	return n.whileStopped(pods, append(slices.Clone(ops),
		planner.Wait{For: planner.WaitHTTP, URL: n.kubeletHealth(), Timeout: n.cluster.Timeouts.KubeletHealthCheck})...)
}

// letsIn ends what a step does to a node that was cordoned for something.
const letsIn = "; then lets pods in again"

func (n *node) turnImpact(restarted []string) string {
	impact := "restarts the kubelet here"
	if len(restarted) > 0 {
		impact += ", and with it " + strings.Join(restarted, ", ")
		if slices.Contains(restarted, "etcd") {
			impact += n.etcdMeanwhile(kubeletStartPhase)
		}
		if !slices.Contains(restarted, "etcd") || !n.pair(kubeletStartPhase) {
			impact += n.apiMeanwhile(kubeletStartPhase)
		}
	}
	if n.marked() || n.wasLeaving() {
		return impact + letsIn
	}
	return impact
}

// marked tells that the node is cordoned for this when its kubelet is replaced.
func (n *node) marked() bool {
	seen := n.cluster.report.Nodes[n.name]
	drained := n.turns() && len(n.cluster.report.Nodes) > 1 && !slices.Contains(n.cluster.view.skipped, drainPhase)
	return n.cordoned() || drained && !seen.Unschedulable
}

// letIn uncordons a node that was cordoned for this.
func (n *node) letIn() []planner.Operation {
	if !n.marked() {
		return nil
	}
	undo := planner.Cordon{Node: n.name, Undo: true, For: forUpgrade}
	if n.pauseBehind() > 0 {
		undo.Remember = n.comingKubelet()
	}
	return []planner.Operation{undo}
}

// waitTurned waits until the API shows the kubelet in its version. What is
// Ready before may be the old one, seen for the last time.
func (n *node) waitTurned() planner.Wait {
	return planner.Wait{For: planner.WaitNodeReady, Name: n.name, Version: n.comingKubelet(), Timeout: n.cluster.Timeouts.KubeletHealthCheck}
}

// resumeStep lets pods in again where an earlier apply was cut short right
// before: the kubelet has its version.
func (n *node) resumeStep() planner.Step {
	return planner.Step{
		Via: n.cluster.seat, Impact: "lets pods in again, where an earlier apply was cut short",
		Operations: append(planner.Operations{n.waitTurned()}, n.letIn()...),
	}
}

// stayStep lets pods in again on a node that was to leave, and stays.
func (n *node) stayStep() planner.Step {
	return planner.Step{Via: n.cluster.seat, Impact: "lets pods in again, as an earlier apply was to take the node out", Operations: n.stay()}
}

// stay uncordons a node that was cordoned to leave, and nothing that somebody else
// has cordoned.
func (n *node) stay() planner.Operations {
	if !n.wasLeaving() {
		return nil
	}
	return planner.Operations{planner.Cordon{Node: n.name, Undo: true, For: forLeaving}}
}

// changesItem tells that the item is among the changes.
func (w work) changesItem(a state.Address) bool {
	for _, c := range w.changes {
		if c.Address == a {
			return true
		}
	}
	return false
}

// restarts are the static pods that the node's new kubelet starts anew: the hash
// by which it knows a pod is taken over its own version of the pod's type.
func (n *node) restarts(w work) []*state.Item {
	var out []*state.Item
	if !n.isControlPlane() {
		return nil
	}
	for _, component := range n.staticPods() {
		it := w.desired.Find(item(n.target, podPhase(component), "file", manifest(component)))
		if it == nil {
			continue
		}
		in := n.input()
		before := kubeadm.ComponentHash(in, component, it.Content)
		in.RunningKubelet = n.turnsTo()
		if after := kubeadm.ComponentHash(in, component, it.Content); before == "" || before != after {
			out = append(out, it)
		}
	}
	return out
}

// staticPods are the components that run on a control plane.
func (n *node) staticPods() []string {
	var out []string
	if n.cluster.Etcd.External == nil {
		out = append(out, "etcd")
	}
	return append(out, planeVersions...)
}
