package ownership

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/resolve"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// A host itself reports its owner: by its marker, its CA, its machine ID. If that does not match
// the state, a plan that would change the host is refused. A worker must not be able to block every
// plan in this way. If -exclude or -target leave its node out of the plan, or -allow-unreachable
// permits hosts that cannot be observed, it counts as unobserved: the host is not changed, and
// nothing that it reports is trusted. Control planes have no such way out: their data decides what
// is safe on the others.

// The findings for hosts that are not the recorded ones.
const (
	strayHost          = "Host belongs to another cluster"
	foreignHost        = "Host belongs to another state"
	otherNode          = "Host is another node"
	otherMachineID     = "Host is another machine"
	newerVersion       = "Host was marked by a newer version"
	unreadableMark     = "Host mark cannot be read"
	SameMachine        = "Two nodes share one host"
	hostIsControlPlane = "Host is a control plane"
)

// untrustworthy are the findings for which a worker can be left out of a plan.
var untrustworthy = []string{strayHost, foreignHost, otherNode, otherMachineID, newerVersion, unreadableMark, preflight.SameMachine, hostIsControlPlane}

// LeaveOutOf returns the fleet without the workers of findings for which why returns a reason. It
// repeats that until find finds no more.
func LeaveOutOf(v *topology.Fleet, find func(*topology.Fleet) diag.Diagnostics, why func(*topology.Fleet, state.Target) remedy.Text) (*topology.Fleet, diag.Diagnostics) {
	var diags diag.Diagnostics
	for {
		found := leftOutBy(resolve.NewFleet(v), find(v), why)
		if len(found) == 0 {
			return v, diags
		}
		for _, f := range found {
			diags.Append(f.warning())
			v = topology.WithUntrusted(v, f.node, strings.ToLower(f.problem[:1])+f.problem[1:])
		}
	}
}

// untrustedNode is a worker that is left out, with the problem and the flag.
type untrustedNode struct {
	node    state.Target
	address string
	problem string
	source  state.Source
	why     remedy.Text
}

func (u untrustedNode) warning() *diag.Diagnostic {
	return diag.Warningf(u.problem, "%s (%s) is excluded from this plan%s. Its host is not changed, and its node counts as neither healthy nor gone. "+
		"%s without flags says what is wrong and what to do.", u.node, u.address, u.why, remedy.Plan).At(u.source).For(u.node)
}

// leftOutBy returns the workers with findings that there is a reason to leave out.
func leftOutBy(v *topology.Fleet, findings diag.Diagnostics, reason func(*topology.Fleet, state.Target) remedy.Text) []untrustedNode {
	var out []untrustedNode
	add := func(t state.Target, problem string, source state.Source) {
		why := reason(v, t)
		if why == "" || v.Reports[t] == nil || slices.ContainsFunc(out, func(u untrustedNode) bool { return u.node == t }) {
			return
		}
		out = append(out, untrustedNode{t, addressOf(v, t), problem, source, why})
	}
	for _, d := range findings.Errors() {
		if t, err := state.ParseTarget(d.Address); err == nil && slices.Contains(untrustworthy, d.Summary) && !takenByDeparture(v, t) {
			add(t, d.Summary, d.Subject)
		}
	}
	for _, n := range foreignWorkers(v) {
		add(n.Target, foreignHost, n.Source)
	}
	return out
}

// foreignWorkers returns the workers that belong to another state while there is none here: their
// control planes are blank, so a cluster may be bootstrapped beside them.
func foreignWorkers(v *topology.Fleet) []*topology.Node {
	if v.Recorded != nil {
		return nil
	}
	var out []*topology.Node
	for _, c := range v.Clusters {
		if slices.ContainsFunc(c.ControlPlanes(), func(n *topology.Node) bool { return n.Report == nil || !topology.Blank(n.Report) }) {
			continue
		}
		for _, n := range c.Nodes {
			if m := topology.MarksOf(n.Report); m != nil && !n.IsControlPlane() {
				out = append(out, n)
			}
		}
	}
	return out
}

// takenByDeparture reports whether the node has the host of a departing node: the configuration
// says so, not the host.
func takenByDeparture(v *topology.Fleet, t state.Target) bool {
	n := v.Find(t)
	return n != nil && !leavingAt(v)[n.Address].IsZero()
}

// LeavesOutWorker returns the kind of option that leaves a worker out of the plan, or "".
func LeavesOutWorker(v *topology.Fleet, t state.Target, o planner.Options) remedy.Kind {
	if !IsWorker(v, t) || slices.Contains(v.Replace, t) || slices.Contains(v.ForgetUnreachable, t) {
		return ""
	}
	whole := func(s planner.Selector) bool {
		return s.Phase == "" && s.Waypoint == "" && s.Matches(state.Address{Target: t})
	}
	touches := func(s planner.Selector) bool {
		return s.Matches(state.Address{Target: t, Phase: s.Phase, Waypoint: s.Waypoint})
	}
	switch {
	case slices.ContainsFunc(o.Excludes, whole):
		return remedy.Except
	case len(o.Targets) > 0 && !slices.ContainsFunc(o.Targets, touches):
		return remedy.Only
	case v.AllowUnreachable:
		return remedy.WithoutSilent
	}
	return ""
}

// IsWorker reports whether a node is a worker in the configuration and in the state, as far as they
// have it.
func IsWorker(v *topology.Fleet, t state.Target) bool {
	if v.RecordedNode(t) && v.Recorded.Nodes[t].Role != string(config.Worker) {
		return false
	}
	if n := v.Find(t); n != nil {
		return n.Role == config.Worker
	}
	return v.RecordedNode(t)
}

// addressOf returns the address of a node in the configuration, or else in the state.
func addressOf(v *topology.Fleet, t state.Target) string {
	if n := v.Find(t); n != nil {
		return n.Address
	}
	return v.Recorded.Nodes[t].Address
}

// WaysAround adds to findings about workers how to plan the rest without them.
func WaysAround(v *topology.Fleet, diags diag.Diagnostics) diag.Diagnostics {
	for i, d := range diags {
		t, err := state.ParseTarget(d.Address)
		if err != nil || d.Severity != diag.Error || !slices.Contains(untrustworthy, d.Summary) || !IsWorker(v, t) || takenByDeparture(v, t) {
			continue
		}
		said := *d
		said.Detail = strings.TrimRight(d.Detail, "\n")
		said.Add("\n\nTo continue without this host: %s, or %s. "+
			"It is then not changed, and its node counts as neither healthy nor gone.",
			remedy.Except.Of(t), remedy.WithoutSilent)
		diags[i] = &said
	}
	return diags
}
