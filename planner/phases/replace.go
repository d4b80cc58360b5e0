package phases

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// The flags of replacing nodes.
const (
	ReplaceFlag = "replace"
	// AcceptNewHostFlag says that a node's host is another machine than before.
	AcceptNewHostFlag = "accept-new-host"
	// ForgetUnreachableFlag takes a node out whose host is gone for good.
	ForgetUnreachableFlag = "forget-unreachable"
)

// AsFlags are these flags with a node's address each, as words of a command that is
// printed to be copied.
func AsFlags(t state.Target, flags ...string) string {
	words := make([]string, len(flags))
	for i, f := range flags {
		words[i] = "-" + f + "=" + state.ShellWord(t.String())
	}
	return strings.Join(words, " ")
}

// replacement is a node that leaves its cluster and joins again in one plan.
type replacement struct {
	reason string
	// report is the host as it was seen; nil when it holds nothing to take away,
	// because it was reinstalled or is another machine.
	report *state.Report
}

// replaces tells that the node is replaced in this plan.
func (v *View) replaces(t state.Target) bool { return v.replacements[t] != nil }

// replace finds the nodes that are replaced, and puts in the place of what was
// seen what will be there once each has left: all phases then plan a join.
func (v *View) replace() diag.Diagnostics {
	if v.original != nil { // planned before: what was seen is to be looked at anew
		v.Clusters, v.Reports = v.original, v.originalReports
	}
	v.replacements, v.original, v.originalReports = map[state.Target]*replacement{}, v.Clusters, v.Reports
	if v.Recorded == nil || v.Destroy {
		return v.replaceUnknown()
	}
	diags := v.replaceUnknown()
	for _, n := range v.Config.Nodes {
		was, r := v.Recorded.Nodes[n.Target], v.Reports[n.Target]
		if was == nil || r == nil || was.Cluster != n.Cluster {
			continue
		}
		if d := cmp.Or(v.hostOfAnother(n, was, r), v.oldHostRuns(n, was, r), v.anotherMachine(n, was, r)); d != nil {
			diags.Append(d)
			continue
		}
		if reason := v.replaceReason(n, was); reason != "" {
			v.replacements[n.Target] = &replacement{reason: reason, report: r}
			if r.Marks == nil && blank(r) {
				v.replacements[n.Target].report = nil
			}
		}
	}
	diags = append(diags, v.replaceAll()...)
	v.project()
	return diags
}

// replaceUnknown refuses flags that name what they cannot be said of.
func (v *View) replaceUnknown() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, t := range v.Replace {
		switch {
		case !slices.ContainsFunc(v.Config.Nodes, func(n *config.Node) bool { return n.Target == t }):
			diags.Append(diag.Errorf("Nothing to replace", "-%s=%s: that is no node of the configuration.", ReplaceFlag, t))
		case !v.recordedNode(t):
			diags.Append(diag.Warningf("Nothing to take out", "-%s=%s: the node is not there yet, or an earlier apply has taken it out already. It joins.", ReplaceFlag, t).For(t))
		case v.Reports[t] == nil:
			diags.Append(v.refuseReplacing(t))
		}
	}
	for _, t := range v.AcceptNewHost {
		if !slices.Contains(v.Replace, t) {
			diags.Append(diag.Errorf("Incomplete acceptance", "-%s=%s goes with -%s=%s: a new machine is no member of the cluster, so the node joins anew.", AcceptNewHostFlag, t, ReplaceFlag, t).For(t))
		}
	}
	return diags
}

// unreplaced warns of nodes that are to be replaced and of which -target or -exclude
// leaves nothing in the plan.
func (v *View) unreplaced(p *planner.Plan, o planner.Options) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, t := range v.Replace {
		if p.Restricted() && v.replaces(t) && !slices.ContainsFunc(p.Steps, func(s planner.Step) bool { return s.Target == t }) {
			diags.Append(diag.Warningf("Node is not replaced", "-%s=%s: the plan leaves the node out, by %s.", ReplaceFlag, t, strings.Join(restrictions(o), " ")).For(t))
		}
	}
	return diags
}

// refuseReplacing refuses to replace a node whose host was not seen.
func (v *View) refuseReplacing(t state.Target) *diag.Diagnostic {
	i := slices.IndexFunc(v.Config.Nodes, func(n *config.Node) bool { return n.Target == t })
	return diag.Errorf(hostNotLookedAt, "-%s=%s: a node is replaced on a host that answers. Nothing is changed on any host.\n\n%s\n\n"+
		"If the host is gone for good, take its block out and remove it with %s.", ReplaceFlag, t, reason(v.Unobserved[t]), AsFlags(t, ForgetUnreachableFlag)).At(v.Config.Nodes[i].Source).For(t)
}

// anotherMachine refuses a host that is not the one which joined, until somebody
// has said that it is meant.
func (v *View) anotherMachine(n *config.Node, was *state.RecordedNode, r *state.Report) *diag.Diagnostic {
	id := r.Facts.MachineID
	if !otherMachine(was, r) || slices.Contains(v.AcceptNewHost, n.Target) {
		return nil
	}
	first := "Its old Node object goes first."
	if c := v.Config.Cluster(n.Cluster); was.Role == string(config.ControlPlane) && c != nil && c.Etcd.External == nil {
		first = "Its old etcd member and its old Node object go first, while the others hold quorum."
	}
	return diag.Errorf(otherMachineID, "%s (%s) has the machine id %s, and the host that joined had %s: it was reinstalled, or another host has its address. "+
		"Nothing is changed. If that is as it should be, have the node replaced, and say that the new machine is meant:\n\n"+
		"  %s\n\n%s If it is not, correct the address.",
		n.Target, n.Address, short(id), short(was.MachineID), AsFlags(n.Target, ReplaceFlag, AcceptNewHostFlag), first).At(n.Source).For(n.Target)
}

// hostOfAnother refuses the machine of another node, also where flags ask for it: that one
// would leave the very host that this one is to be on. Most often a key or an address was
// written for another, and neither is to leave.
func (v *View) hostOfAnother(n *config.Node, was *state.RecordedNode, r *state.Report) *diag.Diagnostic {
	if !otherMachine(was, r) {
		return nil
	}
	for _, t := range slices.SortedFunc(maps.Keys(v.Recorded.Nodes), compareTargets) {
		other := v.Recorded.Nodes[t]
		if other.MachineID != r.Facts.MachineID || v.saidGone(t) {
			continue
		}
		return diag.Errorf(otherNode, "%s has the address %s now, and the machine there is the host of %s. Nothing is changed on any host. The state has %s at %s, and %s at %s. "+
			"If a key or an address was written for another, as where two blocks have exchanged theirs, write both as they are in the state. If only the names have changed, say so with moved blocks.\n\n"+
			"If %s is to be on this host, let %s leave it first: apply without %s, and with %s at the address that it has in the state.",
			n.Target, n.AdvertiseAddress(), t, n.Target, was.Address, t, other.Address, n.Target, t, t, n.Target).At(n.Source).For(n.Target)
	}
	return nil
}

// oldHostRuns refuses another host for a node while the one that joined, at another
// address, goes on as that node: it would be neither drained nor reset, and no plan
// would speak of it any more.
func (v *View) oldHostRuns(n *config.Node, was *state.RecordedNode, r *state.Report) *diag.Diagnostic {
	c := v.Clusters[n.Cluster]
	other := otherMachine(was, r) || blank(r)
	if c == nil || !readdressed(n, was) || !other || !v.planeStays(n) {
		return nil
	}
	if seen, there := c.Nodes[was.Name]; !there || seen.Silent {
		return nil
	}
	return diag.Errorf("Old host is still the node", "%s has the address %s now, where another machine is, and the kubelet of node %q still speaks to the API: the host that joined, at %s, goes on as that node. "+
		"Nothing is changed: it would be neither drained nor reset, and it would keep its kubelet, its pods with their data, and the keys of the cluster. Let it leave first: "+
		"take the block of %s, or its key, out of the configuration and apply, which drains and resets the old host; then put it back with the new address.\n\n"+
		"If the old host is not to be reset, drain it (kubectl drain %s), switch it off, and once the API shows its node as NotReady, with the status unknown:\n\n"+
		"  kubewright apply %s\n\nIf the address is a mistake, correct it.",
		n.Target, n.AdvertiseAddress(), was.Name, was.Address, n.Target, was.Name, AsFlags(n.Target, ReplaceFlag, AcceptNewHostFlag)).At(n.Source).For(n.Target)
}

// readdressed tells that the node is at another address than when it was recorded.
func readdressed(n *config.Node, was *state.RecordedNode) bool {
	return was.Address != "" && !sameAddress(was.Address, n.AdvertiseAddress())
}

// sameAddress tells that two addresses are one, however each is written.
func sameAddress(a, b string) bool { return state.CanonicalIP(a) == state.CanonicalIP(b) }

// planeStays tells that a control plane stays at its address besides the node: a
// cluster without one goes as a whole, so its block is nothing to take out.
func (v *View) planeStays(n *config.Node) bool {
	return slices.ContainsFunc(v.Config.NodesOf(n.Cluster, config.ControlPlane), func(p *config.Node) bool {
		was := v.Recorded.Nodes[p.Target]
		return p.Target != n.Target && was != nil && was.Role == string(config.ControlPlane) && !readdressed(p, was)
	})
}

// replaceReason is why a node cannot stay as it is; "" when it can.
func (v *View) replaceReason(n *config.Node, was *state.RecordedNode) string {
	if slices.Contains(v.Replace, n.Target) {
		return planner.ReasonRequested
	}
	return anotherNodeReason(n, was)
}

// anotherNodeReason is why the configuration's node is another one than that
// which was recorded; "" when it is not.
func anotherNodeReason(n *config.Node, was *state.RecordedNode) string {
	switch {
	case was.Role != string(n.Role):
		return fmt.Sprintf("role %s -> %s", was.Role, n.Role)
	case n.Name != "" && was.Name != n.Name:
		return fmt.Sprintf("name %s -> %s", was.Name, n.Name)
	case n.Role == config.ControlPlane && readdressed(n, was):
		return fmt.Sprintf("address %s -> %s", was.Address, n.AdvertiseAddress())
	}
	return ""
}

// replaceAll refuses to replace all control planes of a cluster in one plan:
// one has to stay, through which the others join.
func (v *View) replaceAll() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Config.Clusters {
		present, stay := 0, 0
		for t, was := range v.Recorded.Nodes {
			if was.Cluster != c.Label || was.Role != string(config.ControlPlane) {
				continue
			}
			present++
			if !v.replaces(t) && slices.ContainsFunc(v.Config.Nodes, func(n *config.Node) bool { return n.Target == t }) {
				stay++
			}
		}
		if present > 0 && stay == 0 {
			diags.Append(diag.Errorf("No control plane would stay", "Of cluster %q every control plane would leave in this plan, and new ones join through one that stays. "+
				"Nothing is changed. Do it in two plans: add or replace some first, then the rest. To remove the cluster with its data, use kubewright destroy.", c.Label).At(c.Source).For(state.ClusterTarget(c.Label)))
		}
	}
	return diags
}

// project puts in the place of what was seen what is there without the nodes
// that are replaced.
func (v *View) project() {
	if len(v.replacements) == 0 {
		return
	}
	v.Reports, v.Clusters = maps.Clone(v.Reports), maps.Clone(v.Clusters)
	for _, t := range slices.SortedFunc(maps.Keys(v.replacements), compareTargets) {
		was := v.Recorded.Nodes[t]
		if r := v.replacements[t].report; r != nil {
			left := v.leaverOf(t).left()
			left.Marks.Lineage = cmp.Or(left.Marks.Lineage, v.Recorded.Lineage) // written with the mark
			v.Reports[t] = left
		}
		if c := v.Clusters[was.Cluster]; c != nil {
			v.Clusters[was.Cluster] = withoutNode(c, was)
		}
	}
}

// withoutNode is the cluster once the node has left.
func withoutNode(c *state.ClusterReport, n *state.RecordedNode) *state.ClusterReport {
	out := *c
	out.Nodes, out.StaticPods = maps.Clone(c.Nodes), maps.Clone(c.StaticPods)
	delete(out.Nodes, n.Name)
	maps.DeleteFunc(out.StaticPods, func(name string, _ state.StaticPodReport) bool { return strings.HasSuffix(name, "-"+n.Name) })
	peer := kubeadm.PeerURL(n.Address)
	if out.Members != nil {
		out.Members = slices.DeleteFunc(slices.Clone(c.Members), func(m state.EtcdMember) bool { return slices.Contains(m.PeerURLs, peer) })
	}
	return &out
}

// left is a host of which a replaced node has left: what reset takes away is
// gone, what it leaves is as it was.
func (l leaver) left() *state.Report {
	r := *l.report
	gone, before := l.paths(), map[string]string{}
	if r.Marks != nil {
		before = r.Marks.Before
	}
	r.Files = map[string]state.FileReport{}
	for p, f := range l.report.Files {
		if slices.ContainsFunc(gone, func(g string) bool {
			return strings.HasPrefix(p, g+"/") || p == g && before["folder:"+p] == ""
		}) {
			f = state.FileReport{} // looked for, and not there
		}
		r.Files[p] = f
	}
	r.Marks = l.keptMarks()
	r.Units = maps.Clone(r.Units)
	u := r.Units[kubeletUnit]
	u.Active = "inactive"
	r.Units[kubeletUnit] = u
	r.Secrets = nil
	return &r
}

// keptMarks are what a host remembers while its node is replaced: that it is
// ours, and what was there before.
func (l leaver) keptMarks() *state.Marks {
	if l.report == nil {
		return nil
	}
	if l.report.Marks == nil || l.report.Marks.Cluster == "" {
		return l.adoptedMarks()
	}
	m := *l.report.Marks
	m.Founder, m.ClusterCA, m.FormerCAs = false, "", nil
	return &m
}

// chainReplaced has replaced nodes join after they have left, and those that were
// workers leave one at a time, in an upgrade when the control planes have the version
// that they join with; control planes leave as walked through.
func (b *builder) chainReplaced(c *cluster) {
	before := c.beforeJoins()
	for _, n := range c.nodes {
		if !c.view.replaces(n.target) {
			continue
		}
		reset := step(n.target, resetPhase)
		for _, p := range table() {
			if p.nodeStep != nil {
				b.after(step(n.target, p.name), reset)
			}
		}
		if !n.replacesWorker() {
			continue
		}
		for _, id := range before {
			b.after(reset, id)
			b.after(step(n.target, drainPhase), id)
		}
		back := step(n.target, waitBootstrapPhase)
		if n.isControlPlane() {
			back = step(n.target, waitPlanePhase)
		}
		before = []state.Address{back}
	}
}

// replacesWorker tells that the node leaves as a worker and joins again in this plan.
func (n *node) replacesWorker() bool {
	return n.cluster.view.replaces(n.target) && n.cluster.view.Recorded.Nodes[n.target].Role == string(config.Worker)
}

// comesBack tells of a worker that it is away until it has joined: this plan takes it out
// before, or an earlier apply did, as its host is ours already.
func (n *node) comesBack() bool {
	if n.isControlPlane() || !n.joins() {
		return false
	}
	return n.replacesWorker() || !n.cluster.view.replaces(n.target) && n.report.Marks != nil
}

// endpointLeaves refuses to take away a control plane whose own address is the
// endpoint of a cluster that has others.
func (v *View) endpointLeaves() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, l := range v.leavers() {
		if l.cluster == nil || l.whole || l.Role != string(config.ControlPlane) {
			continue
		}
		if host, _, err := net.SplitHostPort(l.cluster.ControlPlaneEndpoint); err != nil || !l.isHost(host) {
			continue
		}
		diags.Append(diag.Errorf("Endpoint would leave", "%s is the host of control_plane_endpoint = %q: without it nobody reaches the other control planes. Nothing is changed. "+
			"Move the endpoint first, to a balancer or a name that you can move, and apply that.", l.target, l.cluster.ControlPlaneEndpoint).At(l.cluster.place("control_plane_endpoint")).For(l.target))
	}
	return diags
}
