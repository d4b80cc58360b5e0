package pipeline

import (
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/remedy"
	"github.com/kubewright/kubewright/planner/absence"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/preflight"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// Unreachable reports whether a finding only says that a host did not answer.
func Unreachable(d *diag.Diagnostic) bool {
	return d.Summary == ownership.HostNotObserved || d.Summary == ownership.ControlPlaneNotObserved
}

// ForReading reports whether a plan is refused only because of hosts that could not be observed, and
// without which the operator has not permitted to apply it.
func ForReading(r topology.Result, diags diag.Diagnostics) bool {
	errors := diags.Errors()
	return r.Plan != nil && len(errors) > 0 && !slices.ContainsFunc(errors, func(d *diag.Diagnostic) bool { return !Unreachable(d) })
}

// unreachable refuses to apply a plan without a host that could not be observed: of a worker, of a
// departing node, of a control plane whose absence its cluster shows, or in a destroy of any node. The
// content of such a host is unknown, and unknown is not absent: a flag, or the cluster's block, has to
// say that the rest may continue without it. The plan is made all the same, to be read. Situate refuses
// a control plane for which its cluster does not account, and nothing overrides that.
func unreachable(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, u := range leftOut(v) {
		if permitted(v, u.Target) {
			continue
		}
		d := couldNotLook(v, diag.Error, u)
		if !hasToBeSeen(v, u.Target) {
			d.Add("\n\n%s", goOn(v, u.Target))
		}
		if v.Find(u.Target) != nil && absenceOf(v, u.Target) != nil && !v.Destroy && !u.Answered {
			d.Add("\n\nIf the host is gone for good, remove its block, or its key, from the configuration; its node is then removed from the cluster without it:\n\n"+
				"  %s\n\nA removed block with unreachable = true does the same.", remedy.Apply.With(remedy.GoneHost.Of(u.Target)))
		}
		if v.Find(u.Target) == nil && !v.Destroy && !u.Answered {
			d.Add("\n\nIf the host is gone for good, remove its node from the cluster without it: %s, or a removed block with unreachable = true.", remedy.GoneHost.Of(u.Target))
		}
		diags = append(diags, d)
	}
	return diags
}

// goOn says how to apply a plan without a host.
func goOn(v *topology.Fleet, t state.Target) remedy.Text {
	if a := absenceOf(v, t); a != nil {
		return remedy.Textf("The cluster goes on without it: %s. To apply the rest: %s, or on_unreachable = \"withhold\" in the block of the cluster. "+
			"What would touch the host, change the members of etcd or restart another control plane is then withheld, and named.", a.Quorum(), remedy.WithoutSilent)
	}
	return remedy.Textf("To continue without it: %s. The host is then not changed, and its node counts as neither healthy nor gone.", remedy.WithoutSilent)
}

// permitted reports whether the operator permits to apply a plan without a host: by the flag, or in the
// block of its cluster.
func permitted(v *topology.Fleet, t state.Target) bool {
	return v.AllowUnreachable || withholds(v, labelOf(v, t))
}

// absenceOf returns the absence of control planes of which the target is one; nil if there is none, or
// its cluster does not account for it.
func absenceOf(v *topology.Fleet, t state.Target) *absence.Absence {
	for _, c := range v.Clusters {
		if a := absence.Of(c); a != nil && a.Doubt == "" && slices.Contains(a.Planes, t) {
			return a
		}
	}
	return nil
}

// hasToBeSeen reports whether a node's cluster rotates a CA or key, so that no flag lets the plan
// continue without the node.
func hasToBeSeen(v *topology.Fleet, t state.Target) bool {
	label := labelOf(v, t)
	return !v.Destroy && !v.RefreshOnly && slices.ContainsFunc(v.Clusters, func(c *topology.Cluster) bool {
		return c.Label == label && (len(c.Rotating) > 0 || c.Keys.Acts()) && !rotation.RotationWaits(c)
	})
}

// besides returns the findings about hosts that accompany other errors: hosts that are skipped, and
// hosts that cannot be written to.
func besides(v *topology.Fleet) diag.Diagnostics {
	return append(stillOut(v), preflight.Unwritable(v, nil)...)
}

// stillOut returns warnings for the hosts that a plan is permitted to skip: the plan, which would list them, is not
// printed.
func stillOut(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, u := range leftOut(v) {
		if permitted(v, u.Target) {
			diags = append(diags, couldNotLook(v, diag.Warning, u))
		}
	}
	return diags
}

// leftOut returns the hosts, in order, without which a plan can continue.
func leftOut(v *topology.Fleet) []state.Unobserved {
	var out []state.Unobserved
	for _, u := range v.Unobserved {
		if v.Untrusted[u.Target] || v.Forgets(u.Target) || v.Abandons(u.Target) || v.Refused[u.Target.String()] {
			continue
		}
		if n := v.Find(u.Target); n == nil || !n.IsControlPlane() || v.Destroy || absenceOf(v, u.Target) != nil {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b state.Unobserved) int { return strings.Compare(a.Target.String(), b.Target.String()) })
	return out
}

// couldNotLook returns the diagnostic for a host that could not be observed, with the reason and the
// remedy.
func couldNotLook(v *topology.Fleet, severity diag.Severity, u state.Unobserved) *diag.Diagnostic {
	d := &diag.Diagnostic{Severity: severity, Summary: ownership.HostNotObserved, Address: u.Target.String()}
	where := ", which is no longer in the configuration"
	if n := v.Find(u.Target); n != nil {
		if n.IsControlPlane() && !v.Destroy {
			d.Summary = ownership.ControlPlaneNotObserved
		}
		where, d.Subject = " ("+n.Address+")", n.Source
	} else if v.RecordedNode(u.Target) {
		where = " (" + v.Recorded.Nodes[u.Target].Address + ")" + where
	}
	d.Add("%s%s: %s.", u.Target, where, u.Reason)
	if u.Remedy != "" {
		d.Add("\n\nTo do: %s.", u.Remedy)
	}
	return d
}
