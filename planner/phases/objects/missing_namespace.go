package objects

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// ForeignNamespaces returns the objects of addons by their namespace, for namespaces that no addon
// creates and that are not built-in: they have to exist already.
func ForeignNamespaces(c *topology.Cluster) map[string][]state.Address {
	out, made := map[string][]state.Address{}, map[string]bool{}
	for _, a := range c.Addons {
		for _, o := range a.Objects {
			ref := RefOf(o.Value)
			if nameOf(ref).group == "" && ref.Kind == "Namespace" {
				made[ref.Name] = true
			}
			if ref.Namespace != "" && whyOwn(NamespaceRef(ref.Namespace), state.Null()) == "" {
				out[ref.Namespace] = append(out[ref.Namespace], topology.ItemAddress(state.AddonTarget(c.Label, a.Name), topology.AddonPhase, "object", ref.String()))
			}
		}
	}
	maps.DeleteFunc(out, func(name string, _ []state.Address) bool { return made[name] })
	return out
}

// WarnMissingNamespaces warns of objects that a plan applies to namespaces which do not exist and which
// no manifest has. It is no error: a program of another addon may create them.
func WarnMissingNamespaces(v *topology.Fleet, p *planner.Plan) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		if v.Destroy || c.Report == nil && !c.Founding {
			continue
		}
		foreign := ForeignNamespaces(c)
		for _, name := range slices.Sorted(maps.Keys(foreign)) {
			inside := slices.DeleteFunc(foreign[name], func(a state.Address) bool {
				return p.Step(a.Step()) == nil
			})
			if len(inside) == 0 || !there(c, NamespaceRef(name)).IsNull() {
				continue
			}
			diags = append(diags, diag.Warningf("Namespace does not exist",
				"Cluster %q has no namespace %q, and no manifest creates it. These objects need it:\n\n%s\n\nAn apply waits a minute for it, and then fails. "+
					"Add the Namespace to a manifest, unless something that another addon runs creates it.",
				c.Label, name, listed(c, inside)).At(addonPlace(c, addon(c, inside[0].Target))).For(c.Target))
		}
	}
	return diags
}
