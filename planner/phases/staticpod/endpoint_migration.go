package staticpod

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/pki"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// When control_plane_endpoint changes, every API server first gets a certificate for both names. Then
// the clients of the endpoint turn to the new name one after another, each once it has reached an API
// server there. Finally the old name is removed. A departing host with the old name or address is
// removed after all clients have turned. After an interrupted apply, observation shows how far it came.

// EndpointMoved is the waypoint at which the old name is removed.
const EndpointMoved = "endpoint-moved"

// sharedAddress returns the shared address as HOST:PORT: control_plane_endpoint, or the address of the
// only control plane.
func sharedAddress(c *topology.Cluster) string {
	return strings.TrimPrefix(pki.SharedURL(c), "https://")
}

// calledDepartures returns the nodes that depart in this plan, even if they rejoin, and by whose name
// or address clients still call API servers. A host that is gone, or whose etcd member is dead, serves
// no client.
func calledDepartures(c *topology.Cluster) []topology.Departure {
	departures := c.Departing()
	if c.Seen == nil || len(departures) == 0 {
		return nil
	}
	former := pki.FormerHosts(c)
	return slices.DeleteFunc(departures, func(l topology.Departure) bool {
		called := slices.ContainsFunc(former, l.IsHost)
		return !called || l.HostGone || l.Dead()
	})
}

// RefuseMove refuses to move the endpoint in a plan that raises the version: an upgrade writes the
// endpoint to the API before the first control plane is touched, and a move after the last one is done.
func RefuseMove(c *topology.Cluster) *diag.Diagnostic {
	names := strings.Join(pki.FormerHosts(c), ", ")
	first := fmt.Sprintf("the move first, with kubernetes_version = %q; or the upgrade first, with the previous control_plane_endpoint", c.Up.Newest)
	if c.Up.Begun {
		first = "the upgrade first, which has begun, with the previous control_plane_endpoint"
	}
	return diag.Errorf("Endpoint migration cannot be combined with an upgrade", "Cluster %q: the endpoint of the API servers moves from %s to %s, and the version changes in the same plan (%s). "+
		"Do one after the other: %s.", c.Label, names, sharedAddress(c), VersionNote(c), first).At(pki.Place(c, "control_plane_endpoint")).For(c.Target)
}

// AbsentNames warns of names that stay in certificates for nodes that could not be observed.
func AbsentNames(v *topology.Fleet) diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.Clusters {
		absent := pki.AbsentCallers(c)
		for _, host := range slices.Sorted(maps.Keys(absent)) {
			slices.Sort(absent[host])
			diags.Append(diag.Warningf("Old endpoint is still in use", "%s could not be observed, and according to the state still calls API servers by the name %s. "+
				"Their certificates keep that name, and it has to lead to them, until the first plan that reaches the node moves it to %s.", strings.Join(absent[host], ", "), host, sharedAddress(c)).At(pki.Place(c, "control_plane_endpoint")).For(c.Target))
		}
	}
	return diags
}

// WaitForNewEndpoint waits until this host reaches an API server by the new endpoint, and the server
// shows a certificate for it.
func WaitForNewEndpoint(n *topology.Node) []planner.Operation {
	if len(pki.FormerHosts(n.Cluster)) == 0 {
		return nil
	}
	return []planner.Operation{planner.Wait{
		For: planner.WaitHTTP, URL: pki.SharedURL(n.Cluster) + "/readyz", CA: n.Cluster.CAFile(),
		Timeout: n.Cluster.Timeouts.ControlPlaneComponentHealthCheck,
	}}
}

// MoveEndpoint adds the final steps and the order of a move to a plan that moves the endpoint.
func MoveEndpoint(b *topology.Builder, c *topology.Cluster) {
	if c.Fleet.Destroy || len(pki.FormerHosts(c)) == 0 {
		return
	}
	var turned, issued []state.Address
	for _, n := range c.ControlPlanes() {
		// After this step the API server has been observed to show its certificate. A joining one has
		// the certificate from the start, and itself waits for a token.
		if !n.Joins() {
			issued = append(issued, topology.StepAddress(n.Target, topology.ControlPlanePhase))
		}
	}
	for _, n := range c.Nodes {
		if n.IsControlPlane() || n.Report == nil || n.Joins() {
			continue
		}
		turn := topology.StepAddress(n.Target, topology.WaitBootstrapPhase)
		turned = append(turned, turn)
		for _, id := range issued {
			b.After(turn, id)
		}
	}
	restart := restartProxies(b, c)
	before := append(slices.Clone(turned), issued...)
	for _, phase := range []string{topology.AddonPhase, topology.TokenPhase, topology.UploadConfigPhase} {
		for _, id := range before {
			b.After(topology.StepAddress(c.Target, phase), id)
		}
		issued = append(issued, topology.StepAddress(c.Target, phase))
	}
	// cluster-info shows that the move is unfinished until kube-proxy has restarted.
	b.After(topology.StepAddress(c.Target, topology.TokenPhase), restart)
	issued = append(issued, restart)
	for _, n := range c.ControlPlanes() {
		if n.Report == nil {
			continue
		}
		dropName(b, n, append(slices.Clone(turned), issued...))
	}
	for _, l := range calledDepartures(c) {
		// Once cluster-info is written all clients have turned. No client uses the address in the
		// uploaded configuration, which is written after all joins.
		b.After(topology.StepAddress(l.Target, topology.DrainPhase), topology.StepAddress(c.Target, topology.TokenPhase))
	}
}

// restartProxies restarts kube-proxy for its kubeconfig, which it reads only at its start.
func restartProxies(b *topology.Builder, c *topology.Cluster) state.Address {
	id := topology.StepAddress(c.Target, topology.AddonPhase)
	id.Waypoint = EndpointMoved
	if c.KubeProxy.Disabled || c.Skips(topology.KubeProxyPart) {
		b.Draft.Edges[id] = []state.Address{topology.StepAddress(c.Target, topology.AddonPhase)}
		return id
	}
	b.Draft.Steps = append(b.Draft.Steps, planner.Step{
		ID: id, Phase: topology.AddonPhase, Target: c.Target, Action: planner.Update, Via: c.Primary,
		Impact: RestartsProxies,
		Operations: append(WaitForNewEndpoint(c.PrimaryNode()), planner.RestartPods{
			Kind: "DaemonSet", Namespace: "kube-system", Name: "kube-proxy", Mark: pki.SharedURL(c), Timeout: ProxyRestart,
		}),
	})
	b.Draft.Edges[id] = []state.Address{topology.StepAddress(c.Target, topology.AddonPhase)}
	return id
}

// RestartsProxies is the impact of a restart of kube-proxy.
const RestartsProxies = "restarts kube-proxy, one node after another; established connections are kept"

// ProxyRestart bounds the restart of kube-proxy on all nodes.
const ProxyRestart = 10 * time.Minute

// dropName issues the API server's certificate without the names that no client uses any more.
func dropName(b *topology.Builder, n *topology.Node, needs []state.Address) {
	for _, leaf := range pki.Leaves(n) {
		both := pki.BothNames(n, leaf)
		if _, supplied := pki.SuppliedLeaf(n, leaf); supplied || slices.Equal(both.DNSNames, leaf.DNSNames) && slices.Equal(both.IPAddresses, leaf.IPAddresses) {
			continue
		}
		id := topology.StepAddress(n.Target, topology.CertsPhase)
		id.Waypoint = EndpointMoved
		op := pki.Issue(n, leaf)
		op.Renew = true
		b.Draft.Steps = append(b.Draft.Steps, planner.Step{
			ID: id, Phase: topology.CertsPhase, Target: n.Target, Action: planner.Update,
			Impact:     "removes the old endpoint from the API server's certificate, when no client calls it any more",
			Operations: append(pki.TurnSuperAdmin(n), op),
		})
		b.Draft.Edges[id] = needs
	}
}
