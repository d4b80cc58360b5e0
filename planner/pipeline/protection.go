package pipeline

import (
	"fmt"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// protection is why a target may not be destroyed or replaced: its block says
// prevent_destroy = true, or said so in an earlier apply and nobody has taken it
// back since. A protection that went with its block would be lost with the mistake
// that it is there to catch: a block that is gone.
type protection struct {
	// written is where a block says so now; zero when only the state remembers it.
	written state.Source
	// declared reports whether the target's block is still there.
	declared bool
}

// protected refuses a plan that would destroy or replace what prevent_destroy keeps.
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

// reason says who protects a target, and how that is lifted.
func (p protection) reason(t state.Target) string {
	const rest = "use -target or -exclude to plan the rest."
	switch {
	case p.written != (state.Source{}):
		return "its block has prevent_destroy = true. Keep it in the configuration, or set prevent_destroy = false first; " + rest
	case p.declared:
		return "it was protected with prevent_destroy = true, which the state records. To remove it, write lifecycle { prevent_destroy = false } into its block; " + rest
	}
	return fmt.Sprintf("its block had prevent_destroy = true when it was last applied, which the state records. "+
		"Restore its block, or lift the protection with\n\n  removed {\n    from = %s\n    lifecycle { prevent_destroy = false }\n  }\n\nOr %s", t, rest)
}

// fleetProtection returns what keeps a target from being destroyed.
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

// refersTo reports whether a removed block refers to a target; of a cluster it speaks
// with its nodes.
func refersTo(v *topology.Fleet, r config.Removal, t state.Target) bool {
	return r.Covers(t) || r.From.Type == state.TypeCluster && v.RecordedNode(t) && v.Recorded.Nodes[t].Cluster == r.From.Name
}

// RemembersProtection reports whether the state is to remember a target as protected.
func RemembersProtection(v *topology.Fleet, t state.Target) bool {
	l, _ := lifecycleOf(v, t)
	return l.Prevents(wasProtected(v, t))
}

// lifecycleOf returns what the configuration says of a target's life. A key that left
// a block is referred to by the block's other nodes.
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

// wasProtected reports whether the state remembers a target as protected.
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
