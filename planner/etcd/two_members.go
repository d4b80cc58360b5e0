package etcd

import (
	"strings"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
)

// toBeThree says how etcd gets quorum while one member restarts. A member that is gone for good is
// forgotten only in a plan in which another one joins. During a CA rotation none can join, so that the
// only way is to accept the downtime.
func toBeThree(c *topology.Cluster) string {
	if staticpod.RotationBegun(c) {
		return "Until the rotation is complete no other control plane can join. Accept"
	}
	for _, l := range c.Fleet.Departures() {
		if l.Cluster == c && c.Fleet.Abandons(l.Target) {
			return "Add another control plane in the same plan that forgets " + l.Target.String() + ". Or accept"
		}
	}
	return "Add a third control plane, by a plan of its own. Or accept"
}

// stopsPair refuses steps that restart one of two members of etcd.
func stopsPair(c *topology.Cluster, steps []string) *diag.Diagnostic {
	return diag.Errorf(pairStops,
		"Of the two control planes of cluster %q, etcd needs both: while one restarts nothing is stored, and the API does not answer. "+
			"These steps restart one:\n\n  %s\n\n%s that the API does not answer for some seconds each time, while pods keep running:\n\n"+
			"  upgrade { allow_downtime = true }", c.Label, strings.Join(steps, "\n  "), toBeThree(c)).At(pki.Place(c, "upgrade")).For(c.Target)
}
