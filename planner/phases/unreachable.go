package phases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// AllowUnreachableFlag is the flag with which a plan goes on without hosts that
// could not be looked at.
const AllowUnreachableFlag = "allow-unreachable"

// The findings that a host, or a control plane, did not answer.
const (
	hostNotLookedAt         = "Host could not be looked at"
	controlPlaneNotLookedAt = "Control plane could not be looked at"
)

// Unreachable tells a finding that says nothing but that a host did not answer.
func Unreachable(d *diag.Diagnostic) bool {
	return d.Summary == hostNotLookedAt || d.Summary == controlPlaneNotLookedAt
}

// unreachable refuses a plan that would have to leave a host out: a worker, a
// node that leaves, or in a destroy any node. What it holds is unknown, and
// unknown is not absent: somebody has to say that the rest may go on without
// it. A control plane that stays is situate's to refuse, and no flag helps.
func (v *View) unreachable() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, u := range v.leftOut() {
		if v.AllowUnreachable {
			continue
		}
		d := v.couldNotLook(diag.Error, u)
		if !v.hasToBeSeen(u.Target) {
			d.Detail += fmt.Sprintf("\n\nTo go on without it: -%s. Then nothing is done to the host, and its node counts as neither healthy nor gone.", AllowUnreachableFlag)
		}
		if v.find(u.Target) == nil && !v.Destroy && !u.Answered {
			d.Detail += fmt.Sprintf("\n\nIf the host is gone for good, its node is taken out of the cluster without it: %s, or a removed block with unreachable = true.", AsFlags(u.Target, ForgetUnreachableFlag))
		}
		diags = append(diags, d)
	}
	return diags
}

// hasToBeSeen tells of a node whose cluster rotates a CA: no flag helps there.
func (v *View) hasToBeSeen(t state.Target) bool {
	label := v.labelOf(t)
	return !v.Destroy && !v.RefreshOnly && slices.ContainsFunc(v.clusters, func(c *cluster) bool {
		return c.Label == label && (len(c.rotating) > 0 || c.keys.acts()) && !c.rotationWaits()
	})
}

// besides is what a report that has other errors says of hosts that a plan would speak
// of: those that are left out, and those that cannot be written to.
func (v *View) besides() diag.Diagnostics { return append(v.stillOut(), v.unwritable(nil)...) }

// stillOut are the hosts that the flag leaves out: the plan, which would list them, is
// not printed.
func (v *View) stillOut() diag.Diagnostics {
	var diags diag.Diagnostics
	if v.AllowUnreachable {
		for _, u := range v.leftOut() {
			diags = append(diags, v.couldNotLook(diag.Warning, u))
		}
	}
	return diags
}

// leftOut are the hosts, in order, without which a plan can go on.
func (v *View) leftOut() []state.Unobserved {
	var out []state.Unobserved
	for _, u := range v.Unobserved {
		if v.untrusted[u.Target] || v.forgets(u.Target) || v.abandons(u.Target) || v.refused[u.Target.String()] {
			continue
		}
		if n := v.find(u.Target); n == nil || !n.isControlPlane() || v.Destroy {
			out = append(out, u)
		}
	}
	slices.SortFunc(out, func(a, b state.Unobserved) int { return strings.Compare(a.Target.String(), b.Target.String()) })
	return out
}

// find is the configured node of a target, or nil.
func (v *View) find(t state.Target) *node {
	for _, c := range v.clusters {
		if n := c.node(t); n != nil {
			return n
		}
	}
	return nil
}

// couldNotLook says which host it is, why, and what to do.
func (v *View) couldNotLook(severity diag.Severity, u state.Unobserved) *diag.Diagnostic {
	d := &diag.Diagnostic{Severity: severity, Summary: hostNotLookedAt, Address: u.Target.String()}
	where := ", which is no longer in the configuration"
	if n := v.find(u.Target); n != nil {
		where, d.Subject = " ("+n.Address+")", n.Source
	} else if v.recordedNode(u.Target) {
		where = " (" + v.Recorded.Nodes[u.Target].Address + ")" + where
	}
	d.Detail = u.Target.String() + where + ": " + u.Reason + ". Nothing is changed on any host."
	if u.Remedy != "" {
		d.Detail += "\n\nTo do: " + u.Remedy + "."
	}
	return d
}
