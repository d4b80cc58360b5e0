package phases

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// A control_plane_endpoint that moves: first every API server is known by both
// names, then one after another those who call the endpoint turn to the new one,
// each once it has reached an API server there, and at last the old name goes.
// A host that leaves, and whose name or address the old one is, leaves when all have
// turned. Where an apply was cut short, what is seen shows how far it came.

// endpointMoved is the waypoint at which the old name goes.
const endpointMoved = "endpoint-moved"

// sharedURL is where the configuration says that API servers are called.
func (c *cluster) sharedURL() string {
	planes := c.controlPlanes()
	if len(planes) == 0 {
		return ""
	}
	in := planes[0].input()
	in.Node = &config.Node{Role: config.Worker}
	return kubeadm.KubeletServer(in)
}

// sharedAddress is that as HOST:PORT: control_plane_endpoint, or the address of the only
// control plane.
func (c *cluster) sharedAddress() string { return strings.TrimPrefix(c.sharedURL(), "https://") }

// formerHosts are the names by which somebody of the cluster still calls API
// servers, and which are not the configuration's any more. Whom kubeconfigs of
// the operator's call is the operator's to say.
func (c *cluster) formerHosts() []string {
	if c.founding || c.view.pathsOnly {
		return nil
	}
	wanted := c.sharedURL()
	var out []string
	note := func(server string) {
		if u, err := url.Parse(server); err == nil && server != wanted && u.Hostname() != "" {
			out = append(out, u.Hostname())
		}
	}
	for _, n := range c.nodes {
		if n.report == nil || c.Certificates.Supplied != "" {
			continue
		}
		path := adminConf
		if !n.isControlPlane() {
			path = kubeletConf
		}
		if k := n.report.Files[path].Kubeconfig; k != nil {
			note(k.Server)
		}
	}
	if c.report != nil {
		note(documentOf(c.report.Objects[systemConfig("kube-proxy")], "kubeconfig.conf").Get("clusters.0.cluster.server").AsString())
		note(documentOf(c.report.Objects[state.ClusterInfo], state.ClusterInfoKey).Get("clusters.0.cluster.server").AsString())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// calledLeavers are those that leave in this plan, also to come back, and by whose name
// or address somebody still calls API servers. Of one that is gone, or whose member of
// etcd is dead, nobody is served who calls it.
func (c *cluster) calledLeavers() []leaver {
	if c.seen == nil {
		return nil
	}
	leavers := c.parting()
	if len(leavers) == 0 {
		return nil
	}
	former := c.formerHosts()
	return slices.DeleteFunc(leavers, func(l leaver) bool {
		called := slices.ContainsFunc(former, l.isHost)
		return !called || l.gone || planner.Dead(c.seen.Members, l.peerURL())
	})
}

// refuseMove refuses a move of the endpoint in a plan that raises the version: an
// upgrade changes what the API has of it before the first control plane is touched,
// and a move when the last one is done.
func (c *cluster) refuseMove() *diag.Diagnostic {
	names := strings.Join(c.formerHosts(), ", ")
	first := fmt.Sprintf("the move first, with kubernetes_version = %q; or the upgrade first, with control_plane_endpoint as it was", c.up.newest)
	if c.up.begun {
		first = "the upgrade first, which has begun, with control_plane_endpoint as it was"
	}
	return diag.Errorf("Endpoint moves alone", "Cluster %q: API servers are called by %s still, and are to be by %s, while the version changes in the same plan (%s). Nothing is changed on any host. "+
		"Do one after the other: %s.", c.Label, names, c.sharedAddress(), c.versionNote(), first).At(c.place("control_plane_endpoint")).For(c.target)
}

// absentCallers are the names by which workers call API servers that could not be
// looked at, as the state remembers them, and that are not the configuration's any
// more: with those workers. They turn to the new name when they are seen again.
func (c *cluster) absentCallers() map[string][]string {
	v := c.view
	if c.founding || v.pathsOnly || v.Recorded == nil {
		return nil
	}
	out := map[string][]string{}
	for t, n := range v.Recorded.Nodes {
		if n.Cluster != c.Label || n.Role != string(config.Worker) || v.Reports[t] != nil || v.forgets(t) || v.abandons(t) {
			continue
		}
		for _, it := range recordedItems(v.Recorded, t) {
			server := it.Attributes.Get("server").AsString()
			if u, err := url.Parse(server); it.Address.ID() == kubeletConf && err == nil && u.Hostname() != "" && server != c.sharedURL() {
				out[u.Hostname()] = append(out[u.Hostname()], t.String())
			}
		}
	}
	return out
}

// absentNames warns of names that stay in certificates for nodes that were not seen.
func (v *View) absentNames() diag.Diagnostics {
	var diags diag.Diagnostics
	for _, c := range v.clusters {
		absent := c.absentCallers()
		for _, host := range slices.Sorted(maps.Keys(absent)) {
			slices.Sort(absent[host])
			diags.Append(diag.Warningf("Old endpoint stays known", "%s could not be looked at, and by the state still calls API servers by the name %s. Their certificates keep that name, and it has to lead to them, "+
				"until the first plan that reaches the node turns it to %s.", strings.Join(absent[host], ", "), host, c.sharedAddress()).At(c.place("control_plane_endpoint")).For(c.target))
		}
	}
	return diags
}

// leaves are the certificates of a control plane: that of the API server with the
// names by which nodes call it that nobody could look at.
func (n *node) leaves() []kubeadm.Certificate {
	out, absent := kubeadm.Leaves(n.input()), slices.Sorted(maps.Keys(n.cluster.absentCallers()))
	for i := range out {
		out[i] = alsoNamed(out[i], absent)
	}
	return out
}

// bothNames adds to an API server's certificate the names by which it is still called.
func (n *node) bothNames(leaf kubeadm.Certificate) kubeadm.Certificate {
	return alsoNamed(leaf, n.cluster.formerHosts())
}

// alsoNamed adds names to an API server's certificate.
func alsoNamed(leaf kubeadm.Certificate, hosts []string) kubeadm.Certificate {
	if leaf.Name != "apiserver" {
		return leaf
	}
	for _, host := range hosts {
		if _, err := netip.ParseAddr(host); err != nil {
			leaf.DNSNames = appendNew(leaf.DNSNames, host)
		} else {
			leaf.IPAddresses = appendNew(leaf.IPAddresses, host)
		}
	}
	return leaf
}

func appendNew(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return sorted(append(slices.Clone(list), s))
}

// reached waits until this host reaches an API server by the new endpoint, and
// that one shows a certificate for it.
func (n *node) reached() []planner.Operation {
	if len(n.cluster.formerHosts()) == 0 {
		return nil
	}
	return []planner.Operation{planner.Wait{
		For: planner.WaitHTTP, URL: n.cluster.sharedURL() + "/readyz", CA: n.cluster.caFile(),
		Timeout: n.cluster.Timeouts.ControlPlaneComponentHealthCheck,
	}}
}

// moveEndpoint adds the last step and the order to a plan that moves the endpoint.
func (b *builder) moveEndpoint(c *cluster) {
	if c.view.Destroy || len(c.formerHosts()) == 0 {
		return
	}
	var turned, issued []state.Address
	for _, n := range c.controlPlanes() {
		// Behind it the API server has been seen to show its certificate. One that
		// joins has it from the start, and waits for a token itself.
		if !n.joins() {
			issued = append(issued, step(n.target, controlPlanePhase))
		}
	}
	for _, n := range c.nodes {
		if n.isControlPlane() || n.report == nil || n.joins() {
			continue
		}
		turn := step(n.target, waitBootstrapPhase)
		turned = append(turned, turn)
		for _, id := range issued {
			b.after(turn, id)
		}
	}
	restart := b.restartProxies(c)
	before := append(slices.Clone(turned), issued...)
	for _, phase := range []string{addonPhase, tokenPhase, uploadConfigPhase} {
		for _, id := range before {
			b.after(step(c.target, phase), id)
		}
		issued = append(issued, step(c.target, phase))
	}
	// What is in cluster-info shows that the move goes on, until this is done.
	b.after(step(c.target, tokenPhase), restart)
	issued = append(issued, restart)
	for _, n := range c.controlPlanes() {
		if n.report == nil {
			continue
		}
		b.dropName(n, append(slices.Clone(turned), issued...))
	}
	for _, l := range c.calledLeavers() {
		// Behind cluster-info everybody has turned. The configuration in the cluster
		// is nobody's to call by, and is written when all have joined who come.
		b.after(step(l.target, drainPhase), step(c.target, tokenPhase))
	}
}

// restartProxies has kube-proxy take up its kubeconfig, which it reads when it starts.
func (b *builder) restartProxies(c *cluster) state.Address {
	id := step(c.target, addonPhase)
	id.Waypoint = endpointMoved
	if c.KubeProxy.Disabled || c.Skips(kubeProxyPart) {
		b.draft.Edges[id] = []state.Address{step(c.target, addonPhase)}
		return id
	}
	b.draft.Steps = append(b.draft.Steps, planner.Step{
		ID: id, Phase: addonPhase, Target: c.target, Action: planner.Update, Via: c.seat,
		Impact: restartsProxies,
		Operations: append(c.seatNode().reached(), planner.RestartPods{
			Kind: "DaemonSet", Namespace: "kube-system", Name: "kube-proxy", Mark: c.sharedURL(), Timeout: proxyRestart,
		}),
	})
	b.draft.Edges[id] = []state.Address{step(c.target, addonPhase)}
	return id
}

// restartsProxies is what a restart of kube-proxy means to users of the cluster.
const restartsProxies = "restarts kube-proxy, one node after another; connections that are set up stay"

// proxyRestart bounds the restart of kube-proxy on all nodes.
const proxyRestart = 10 * time.Minute

// dropName issues the API server's certificate without the names that nobody
// calls any more.
func (b *builder) dropName(n *node, needs []state.Address) {
	for _, leaf := range n.leaves() {
		both := n.bothNames(leaf)
		if _, supplied := n.suppliedLeaf(leaf); supplied || slices.Equal(both.DNSNames, leaf.DNSNames) && slices.Equal(both.IPAddresses, leaf.IPAddresses) {
			continue
		}
		id := step(n.target, certsPhase)
		id.Waypoint = endpointMoved
		op := n.issue(leaf)
		op.Renew = true
		b.draft.Steps = append(b.draft.Steps, planner.Step{
			ID: id, Phase: certsPhase, Target: n.target, Action: planner.Update,
			Impact:     "takes the old endpoint out of the API server's certificate, when nobody calls it any more",
			Operations: append(n.turnSuperAdmin(), op),
		})
		b.draft.Edges[id] = needs
	}
}

// turnSuperAdmin gives the founder's kubeconfig for emergencies the new endpoint.
// Otherwise it is never looked at again.
func (n *node) turnSuperAdmin() planner.Operations {
	if !n.report.Files[superAdminConf].Exists {
		return nil
	}
	return planner.Operations{planner.SetKubeconfig{Path: superAdminConf, Server: n.cluster.sharedURL()}}
}

// issue is the operation that makes a leaf.
func (n *node) issue(leaf kubeadm.Certificate) planner.IssueCertificate {
	return planner.IssueCertificate{
		CA:         n.cluster.signer(leaf.CA),
		CommonName: leaf.CommonName, Organizations: leaf.Organizations, DNSNames: leaf.DNSNames, IPAddresses: leaf.IPAddresses,
		Usages: leaf.ExtendedUsages(), Algorithm: leaf.Algorithm, Validity: leaf.Validity, To: leaf.Base,
	}
}
