package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// finding is one result of a preflight check.
type finding struct {
	// check is the name by which it is ignored; empty for that of the table's row.
	check string
	// text says what is wrong and why it matters, remedy what to do. Neither ends
	// with a full stop. They name no host, so that hosts with the same finding
	// share a line of the report.
	text    string
	remedy  string
	warning bool
}

// preflight checks every host, and gives all findings of all hosts at once. A
// check is left out by name with ignore_preflight_errors; its findings are then
// warnings. The phase as a whole is skipped as others are; that two nodes are
// not one host is checked all the same.
func (v *View) preflight() diag.Diagnostics {
	if v.Destroy || v.RefreshOnly {
		return nil
	}
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		r := report{groups: map[findingKey]*group{}}
		for _, n := range c.nodes {
			if n.report == nil || n.skipsPreflight() {
				continue
			}
			for _, f := range n.findings(func(c preflightCheck) bool { return c.always || n.isNew() || c.ofPlanes() && n.turnsPlane() }) {
				r.add(n, f)
			}
		}
		diags = append(diags, r.diagnostics()...)
	}
	return append(diags, v.duplicates()...)
}

func (n *node) skipsPreflight() bool {
	return slices.Contains(n.cluster.view.skipped, preflightPhase) || n.leavesOut(preflightPhase)
}

// isNew tells that nothing was done to the node's host yet: every check is due then.
func (n *node) isNew() bool { return n.report.Marks == nil && blank(n.report) }

// turnsPlane tells that the node is recorded as a worker and is to be a control plane:
// nobody has asked yet whether its host can be one. Once it has left, or joins as one, it
// is not recorded as a worker any more.
func (n *node) turnsPlane() bool {
	v := n.cluster.view
	return n.isControlPlane() && v.recordedNode(n.target) && v.Recorded.Nodes[n.target].Role != string(n.Role)
}

// unwritable are the findings of what a host needs that is written to, of nodes that
// run: errors where the plan writes to the host, so that it does not stop at it halfway.
// Elsewhere, and everywhere without a plan, they are warnings, for the next change;
// what is to be ignored is not spoken of then.
func (v *View) unwritable(p *planner.Plan) diag.Diagnostics {
	if v.Destroy || v.RefreshOnly {
		return nil
	}
	var diags diag.Diagnostics
	v.writes = hostWrites(p)
	for _, c := range v.clusters {
		r := report{groups: map[findingKey]*group{}}
		for _, n := range c.nodes {
			if n.report == nil || n.isNew() || n.skipsPreflight() {
				continue
			}
			_, written := v.writes[n.target]
			for _, f := range n.findings(func(c preflightCheck) bool { return c.written }) {
				f.warning = !written
				if written || !n.ignores(f.check) {
					r.add(n, f)
				}
			}
		}
		diags = append(diags, r.diagnostics()...)
	}
	return diags
}

// hostWrites are the operations of a plan that write to hosts, but for those that give
// a host back: they make room.
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
			if s.Phase != resetPhase && planner.WritesHost(op) {
				out[host] = append(out[host], op)
			}
		}
	}
	return out
}

// findings runs the checks that are due on the node.
func (n *node) findings(due func(preflightCheck) bool) []finding {
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

// findingKey is what two findings have in common that are told once.
type findingKey struct {
	finding
	ignored bool
}

type group struct{ nodes []*node }

func (r *report) add(n *node, f finding) {
	key := findingKey{f, !f.warning && n.ignores(f.check)}
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

// diagnose is the finding as it is shown.
func (f findingKey) diagnose(nodes []*node) *diag.Diagnostic {
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, fmt.Sprintf("%s (%s)", n.target, n.Address))
	}
	d := &diag.Diagnostic{
		Severity: diag.Error, Summary: "Host is not ready for Kubernetes", Subject: nodes[0].Source,
		Detail: strings.Join(hosts, ", ") + ": " + f.text + ".",
	}
	if len(nodes) == 1 {
		d.Address = nodes[0].target.String()
	}
	if f.warning || f.ignored {
		d.Severity, d.Summary = diag.Warning, "Preflight check "+f.check
		if f.ignored {
			d.Detail += " The configuration says to ignore this."
		}
		d.Detail += " To do: " + f.remedy + "."
		return d
	}
	d.Detail += fmt.Sprintf(" Nothing is changed on any host.\n\nTo do: %s. To go on all the same: ignore_preflight_errors = [%q].", f.remedy, f.check)
	return d
}

func (n *node) ignores(check string) bool {
	for _, list := range [][]string{n.IgnorePreflightErrors, n.cluster.IgnorePreflightErrors} {
		if slices.ContainsFunc(list, func(name string) bool { return strings.EqualFold(name, check) || strings.EqualFold(name, "all") }) {
			return true
		}
	}
	return false
}

// duplicates finds two blocks that reach the same host, of whichever clusters, and
// two hosts with one name in a cluster.
func (v *View) duplicates() diag.Diagnostics {
	var diags diag.Diagnostics
	machines := map[string]*node{}
	for _, c := range v.clusters {
		names := map[string]*node{}
		for _, n := range c.nodes {
			if n.report == nil {
				continue
			}
			id := n.facts().MachineID
			if o := machines[id]; o != nil && id != "" {
				diags.Append(diag.Errorf(sameMachine, "%s (%s) and %s (%s) have the same machine id %s: "+
					"either two addresses lead to one host, or a host was cloned without a new /etc/machine-id. Nothing is changed on any host. "+
					"Correct the address, or give the clone an id of its own (rm /etc/machine-id && systemd-machine-id-setup) and restart it.",
					o.target, o.Address, n.target, n.Address, id).At(n.Source).For(n.target))
			}
			if o := names[n.name]; o != nil {
				diags.Append(diag.Errorf("Two nodes have one name", "%s (%s) and %s (%s) would both be node %q in Kubernetes. Nothing is changed on any host. "+
					"Give one of the hosts another name, or set name in its node block.", o.target, o.Address, n.target, n.Address, n.name).At(n.Source).For(n.target))
			}
			machines[id], names[n.name] = n, n
		}
	}
	return diags
}
