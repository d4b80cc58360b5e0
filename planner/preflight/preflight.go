package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// finding is one result of a preflight check.
type finding struct {
	// check is the name by which it is ignored; empty for the name of the table's row.
	check string
	// text says what is wrong and why it matters, remedy what to do. Neither ends with a full stop,
	// nor names a host, so that hosts with the same finding share a line of the report.
	text    string
	remedy  string
	warning bool
	// indispensable reports whether nothing works without what is missing: the finding does not
	// offer to ignore the check.
	indispensable bool
}

// Preflight checks every host, and reports all findings of all hosts at once.
// ignore_preflight_errors turns the findings of a check into warnings. The phase as a whole is
// skipped like others; that two nodes are not the same host is checked anyway.
func Preflight(v *topology.Fleet) diag.Diagnostics {
	if v.Destroy || v.RefreshOnly {
		return nil
	}
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		r := report{groups: map[findingKey]*group{}}
		for _, n := range c.Nodes {
			if n.Report == nil || skipsPreflight(n) {
				continue
			}
			for _, f := range findings(n, func(c preflightCheck) bool {
				return c.always || isNew(n) || c.ofControlPlanes() && BecomesControlPlane(n)
			}) {
				r.add(n, f)
			}
		}
		diags = append(diags, r.diagnostics()...)
	}
	return append(diags, Duplicates(v)...)
}

func skipsPreflight(n *topology.Node) bool {
	return slices.Contains(n.Cluster.Fleet.Skipped, topology.PreflightPhase) || host.SkipsPhase(n, topology.PreflightPhase)
}

// isNew reports whether the node's host is still unchanged: every check is due then.
func isNew(n *topology.Node) bool { return n.Report.Marks == nil && topology.Blank(n.Report) }

// BecomesControlPlane reports whether the node is recorded as a worker and becomes a control plane:
// its host has not been checked for that yet. Once it was removed, or joins as one, it is no longer
// recorded as a worker.
func BecomesControlPlane(n *topology.Node) bool {
	v := n.Cluster.Fleet
	return n.IsControlPlane() && v.RecordedNode(n.Target) && v.Recorded.Nodes[n.Target].Role != string(n.Role)
}

// Unwritable returns the findings about running nodes for what a host needs to be written to:
// errors if the plan writes to the host, so that the apply does not stop halfway. Otherwise, and
// without a plan, they are warnings for the next change, except ignored ones.
func Unwritable(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	if v.Destroy || v.RefreshOnly {
		return nil
	}
	var diags diag.Diagnostics
	v = topology.WithWrites(v, hostWrites(p))
	for _, c := range v.Clusters {
		r := report{groups: map[findingKey]*group{}}
		for _, n := range c.Nodes {
			if n.Report == nil || isNew(n) || skipsPreflight(n) {
				continue
			}
			_, written := v.Writes[n.Target]
			for _, f := range findings(n, func(c preflightCheck) bool { return c.written }) {
				f.warning = !written
				if written || !Ignores(n, f.check) {
					r.add(n, f)
				}
			}
		}
		diags = append(diags, r.diagnostics()...)
	}
	return diags
}

// hostWrites returns the operations of a plan that write to hosts, except those that reset a host:
// they free space.
func hostWrites(p *planner.Plan) map[state.Target]planner.Operations {
	out := map[state.Target]planner.Operations{}
	if p == nil {
		return out
	}
	for _, s := range p.Steps {
		host := s.Target
		if host.Type != state.TypeNode {
			host = s.Via
		}
		for _, op := range s.Operations {
			if s.Phase != topology.ResetPhase && planner.WritesHost(op) {
				out[host] = append(out[host], op)
			}
		}
	}
	return out
}

// findings runs the checks that are due on the node.
func findings(n *topology.Node, due func(preflightCheck) bool) []finding {
	var out []finding
	for _, c := range preflightChecks {
		if c.find == nil || !due(c) {
			continue
		}
		for _, f := range c.find(n) {
			if f.check == "" {
				f.check = c.name
			}
			out = append(out, f)
		}
	}
	return out
}

// report collects findings; hosts that share one are named together.
type report struct {
	order  []findingKey
	groups map[findingKey]*group
}

// findingKey is what findings have in common that are reported once.
type findingKey struct {
	finding
	ignored bool
}

type group struct{ nodes []*topology.Node }

func (r *report) add(n *topology.Node, f finding) {
	key := findingKey{f, !f.warning && Ignores(n, f.check)}
	if r.groups[key] == nil {
		r.groups[key] = &group{}
		r.order = append(r.order, key)
	}
	r.groups[key].nodes = append(r.groups[key].nodes, n)
}

func (r *report) diagnostics() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, key := range r.order {
		diags = append(diags, key.diagnose(r.groups[key].nodes))
	}
	return diags
}

// diagnose returns the finding as a diagnostic.
func (f findingKey) diagnose(nodes []*topology.Node) *diag.Diagnostic {
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, fmt.Sprintf("%s (%s)", n.Target, n.Address))
	}
	d := diag.Errorf("Host is not ready for Kubernetes", "%s: %s.", strings.Join(hosts, ", "), f.text).At(nodes[0].Source)
	if len(nodes) == 1 {
		d.Address = nodes[0].Target.String()
	}
	if f.warning || f.ignored {
		d.Severity, d.Summary = diag.Warning, "Preflight check "+f.check
		if f.ignored {
			d.Add(" The configuration ignores this check.")
		}
		d.Add(" To do: %s.", f.remedy)
		return d
	}
	d.Add("\n\nTo do: %s.", f.remedy)
	if !f.indispensable {
		d.Add(" To continue anyway: ignore_preflight_errors = [%q].", f.check)
	}
	return d
}

// Ignores reports whether the configuration turns the findings of a check on a node into warnings.
func Ignores(n *topology.Node, check string) bool {
	for _, list := range [][]string{n.IgnorePreflightErrors, n.Cluster.IgnorePreflightErrors} {
		if slices.ContainsFunc(list, func(name string) bool { return strings.EqualFold(name, check) || strings.EqualFold(name, "all") }) {
			return true
		}
	}
	return false
}

// Duplicates reports two blocks that reach the same host, in any clusters, and two hosts with the
// same name in a cluster.
func Duplicates(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	machines := map[string]*topology.Node{}
	for _, c := range v.Clusters {
		names := map[string]*topology.Node{}
		for _, n := range c.Nodes {
			if n.Report == nil {
				continue
			}
			id := n.Facts().MachineID
			if o := machines[id]; o != nil && id != "" {
				diags.Append(diag.Errorf(SameMachine, "%s (%s) and %s (%s) have the same machine id %s: either two addresses lead to one host, "+
					"or a host was cloned without a new /etc/machine-id. Correct the address, or give the clone an id of its own (rm /etc/machine-id && "+
					"systemd-machine-id-setup) and restart it.",
					o.Target, o.Address, n.Target, n.Address, id).At(n.Source).For(n.Target))
			}
			if o := names[n.NodeName]; o != nil {
				diags.Append(diag.Errorf("Two nodes have the same name", "%s (%s) and %s (%s) would both be node %q in Kubernetes. "+
					"Give one of the hosts another name, or set name in its node block.", o.Target, o.Address, n.Target, n.Address, n.NodeName).At(n.Source).For(n.Target))
			}
			machines[id], names[n.NodeName] = n, n
		}
	}
	return diags
}
