package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
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

// unreachable refuses a plan that would have to skip a host: of a worker, of a departing node, or in a
// destroy of any node. The content of such a host is unknown, and unknown is not absent: a flag has to
// say that the rest may continue without it. Situate refuses a remaining control plane that does not
// answer, and no flag overrides that.
func unreachable(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, u := range leftOut(v) {
		if v.AllowUnreachable {
			continue
		}
		d := couldNotLook(v, diag.Error, u)
		if !hasToBeSeen(v, u.Target) {
			d.Detail += fmt.Sprintf("\n\nTo continue without it: -%s. The host is then not changed, and its node counts as neither healthy nor gone.", topology.AllowUnreachableFlag)
		}
		if v.Find(u.Target) == nil && !v.Destroy && !u.Answered {
			d.Detail += fmt.Sprintf("\n\nIf the host is gone for good, remove its node from the cluster without it: %s, or a removed block with unreachable = true.", topology.AsFlags(u.Target, topology.ForgetUnreachableFlag))
		}
		diags = append(diags, d)
	}
	return diags
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

// stillOut returns warnings for the hosts that the flag skips: the plan, which would list them, is not
// printed.
func stillOut(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	if v.AllowUnreachable {
		for _, u := range leftOut(v) {
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
		if n := v.Find(u.Target); n == nil || !n.IsControlPlane() || v.Destroy {
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
		where, d.Subject = " ("+n.Address+")", n.Source
	} else if v.RecordedNode(u.Target) {
		where = " (" + v.Recorded.Nodes[u.Target].Address + ")" + where
	}
	d.Detail = u.Target.String() + where + ": " + u.Reason + "."
	if u.Remedy != "" {
		d.Detail += "\n\nTo do: " + u.Remedy + "."
	}
	return d
}
