package objects

import (
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// RefuseDeletingParents refuses to delete a Namespace or a CustomResourceDefinition that still contains
// desired objects: the API deletes these with it, and every later plan would try to recreate them in
// what no longer exists.
func RefuseDeletingParents(v *topology.Fleet, p *planner.Plan, desired *state.Snapshot) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, ch := range p.Changes {
		was, c := v.RecordedItems.Find(ch.Address), v.ClusterOf(ch.Address.Target)
		if ch.Action != planner.Delete || ch.Kind != state.KindObject || was == nil || c == nil {
			continue
		}
		if inside := objectsIn(c, was, desired); len(inside) > 0 {
			diags = append(diags, refuseInside(c, ParseRef(ch.Address.ID()), inside))
		}
	}
	return diags
}

// objectsIn returns the desired objects of addons that the deletion of an object deletes as well.
func objectsIn(c *topology.Cluster, outer *state.Item, desired *state.Snapshot) []state.Address {
	var out []state.Address
	for i := range desired.Items {
		it := &desired.Items[i]
		if t := it.Address.Target; it.Kind == state.KindObject && t.Type == state.TypeAddon && t.Name == c.Label && isIn(ParseRef(it.Address.ID()), outer) {
			out = append(out, it.Address)
		}
	}
	return out
}

// isIn reports whether an object is in a Namespace, or of the kind that a CustomResourceDefinition
// defines.
func isIn(ref state.ObjectRef, outer *state.Item) bool {
	switch at := nameOf(ParseRef(outer.Address.ID())); {
	case at.group == "" && at.kind == "Namespace":
		return ref.Namespace == at.name
	case at.group == "apiextensions.k8s.io" && at.kind == "CustomResourceDefinition":
		spec := outer.Attributes.Get("spec")
		return nameOf(ref).group == spec.Get("group").AsString() && ref.Kind == spec.Get("names.kind").AsString()
	}
	return false
}

func refuseInside(c *topology.Cluster, outer state.ObjectRef, inside []state.Address) *diag.Diagnostic {
	return diag.Errorf("Desired objects would be deleted",
		"The %s %q is no longer in a manifest of cluster %q. Deleting it would also delete what the configuration still has:\n\n%s\n\n"+
			"Restore the %s in a manifest, or remove these objects as well.",
		outer.Kind, outer.Name, c.Label, listed(c, inside), outer.Kind).At(addonPlace(c, addon(c, inside[0].Target))).For(c.Target)
}

// listed lists objects of addons and where they are written, one per line.
func listed(c *topology.Cluster, objects []state.Address) string {
	var out []string
	for _, a := range objects {
		out = append(out, fmt.Sprintf("  %s of addon %q%s", ParseRef(a.ID()), a.Target.Key, inFile(addonPlace(c, addon(c, a.Target)))))
	}
	return strings.Join(out, "\n")
}

// inFile returns a source in parentheses, to follow what is written there; "" when it is unknown.
func inFile(s state.Source) string {
	if s.File == "" {
		return ""
	}
	return " (" + s.String() + ")"
}

// addon returns the addon block of a target.
func addon(c *topology.Cluster, t state.Target) *config.Addon {
	for _, a := range c.Addons {
		if state.AddonTarget(c.Label, a.Name) == t {
			return a
		}
	}
	return &config.Addon{Name: t.Key, Source: c.Source}
}
