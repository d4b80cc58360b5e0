package observe

import (
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/staticpod"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// lost reports whether issuer is a CA that is replaced at once, or one that was about to take its
// place in an interrupted rotation: neither is trusted afterwards.
func lost(c *topology.Cluster, issuer string) bool {
	for base := range c.AtOnce {
		if issuer != "" && slices.Contains(c.PrimaryNode().CADigestsIn(base+".crt"), issuer) {
			return true
		}
	}
	return false
}

// nodeWithLost marks a certificate as due if a CA that is replaced at once has signed it.
func nodeWithLost(n *topology.Node, attrs state.Value, f state.FileReport) state.Value {
	if !staticpod.ReplacesAtOnce(n.Cluster) || attrs.Get(planner.RenewalDue).IsNull() {
		return attrs
	}
	var cert *state.CertificateInfo
	switch {
	case f.Kubeconfig != nil:
		cert = f.Kubeconfig.Client
	case len(f.Certificates) > 0:
		cert = &f.Certificates[0]
	}
	if cert == nil || !lost(n.Cluster, cert.IssuerKeyDigest) {
		return attrs
	}
	m := map[string]state.Value{}
	for k, v := range attrs.AsMap() {
		m[k] = v
	}
	m[planner.RenewalDue] = state.Bool(true)
	return state.Map(m)
}

// fleetWithLost is nodeWithLost for the node of an item; without a node it returns attrs.
func fleetWithLost(v *topology.Fleet, it *state.Item, attrs state.Value, f state.FileReport) state.Value {
	if n := v.Find(it.Address.Target); n != nil {
		return nodeWithLost(n, attrs, f)
	}
	return attrs
}
