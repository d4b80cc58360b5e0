package pipeline

import (
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// protection is the reason why a target may not be destroyed or replaced: its block has prevent_destroy
// = true, or had it in an earlier apply and it was not lifted since. If a protection disappeared
// together with its block, it would not catch the very mistake that it is for: a lost block.
type protection struct {
	// written is the source line in a block; zero if only the state records the protection.
	written state.Source
	// declared reports whether the target's block is still there.
	declared bool
}

// protected refuses a plan that would destroy or replace a target with prevent_destroy.
func protected(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, r := range p.Resources {
		if r.Action != planner.Delete && r.Action != planner.Replace {
			continue
		}
		by, ok := fleetProtection(v, r.Target)
		if !ok {
			continue
		}
		what := "destroy"
		if r.Action == planner.Replace {
			what = "replace"
		}
		d := diag.Errorf("Destruction is prevented", "The plan would %s %s, and %s", what, r.Target, by.reason(r.Target)).For(r.Target)
		if by.written != (state.Source{}) {
			d = d.At(by.written)
		}
		diags.Append(d)
	}
	return diags
}

// reason says where the protection of a target comes from, and how to lift it.
func (p protection) reason(t state.Target) remedy.Text {
	rest := remedy.Textf("use %s or %s to plan the rest.", remedy.Only, remedy.Except)
	switch {
	case p.written != (state.Source{}):
		return "its block has prevent_destroy = true. Keep it in the configuration, or set prevent_destroy = false first; " + rest
	case p.declared:
		return "it was protected with prevent_destroy = true, which the state records. To remove it, write lifecycle { prevent_destroy = false } into its block; " + rest
	}
	return remedy.Textf("its block had prevent_destroy = true when it was last applied, which the state records. "+
		"Restore its block, or lift the protection with\n\n  removed {\n    from = %s\n    lifecycle { prevent_destroy = false }\n  }\n\nOr %s", t, rest)
}

// fleetProtection returns the protection of a target, and whether there is one.
func fleetProtection(v *topology.Fleet, t state.Target) (protection, bool) {
	l, declared := lifecycleOf(v, t)
	switch {
	case l.PreventDestroy:
		return protection{written: l.Source, declared: true}, true
	case l.AllowDestroy, !wasProtected(v, t):
		return protection{}, false
	}
	for _, r := range v.Config.Removals {
		if r.AllowDestroy && refersTo(v, r, t) {
			return protection{}, false
		}
	}
	return protection{declared: declared}, true
}

// refersTo reports whether a removed block refers to a target; one for a cluster also refers to its
// nodes.
func refersTo(v *topology.Fleet, r config.Removal, t state.Target) bool {
	return r.Covers(t) || r.From.Type == state.TypeCluster && v.RecordedNode(t) && v.Recorded.Nodes[t].Cluster == r.From.Name
}

// RemembersProtection reports whether the state has to record a target as protected.
func RemembersProtection(v *topology.Fleet, t state.Target) bool {
	l, _ := lifecycleOf(v, t)
	return l.Prevents(wasProtected(v, t))
}

// lifecycleOf returns a target's lifecycle settings and whether its block exists. For a key that was
// removed from a block, the block's other nodes stand in.
func lifecycleOf(v *topology.Fleet, t state.Target) (config.Lifecycle, bool) {
	if t.Type == state.TypeCluster {
		if c := v.Config.Cluster(t.Name); c != nil {
			return c.Lifecycle, true
		}
		return config.Lifecycle{}, false
	}
	var found *config.Node
	for _, n := range v.Config.Nodes {
		if n.Target == t {
			return n.Lifecycle, true
		}
		if t.Type == state.TypeNode && n.Target.Name == t.Name && (found == nil || n.Lifecycle.PreventDestroy) {
			found = n
		}
	}
	if found == nil {
		return config.Lifecycle{}, false
	}
	return found.Lifecycle, true
}

// wasProtected reports whether the state records a target as protected.
func wasProtected(v *topology.Fleet, t state.Target) bool {
	if v.Recorded == nil {
		return false
	}
	if t.Type == state.TypeCluster {
		c := v.Recorded.Clusters[t.Name]
		return c != nil && c.PreventDestroy
	}
	n := v.Recorded.Nodes[t]
	return n != nil && n.PreventDestroy
}
