package phases

import (
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/phases/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// A control_plane_endpoint that moves: first every API server is known by both
// names, then one after another those who call the endpoint turn to the new one,
// each once it has reached an API server there, and at last the old name goes.
// Where an apply was cut short, what is seen shows how far it came.

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

// formerHosts are the names by which somebody of the cluster still calls API
// servers, and which are not the configuration's any more. Whom kubeconfigs of
// the operator's call is the operator's to say.
func (c *cluster) formerHosts() []string {
	if c.founding || c.view.pathsOnly || c.ControlPlaneEndpoint == "" {
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
		note(documentOf(c.report.Objects[clusterInfo], "kubeconfig").Get("clusters.0.cluster.server").AsString())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// bothNames adds to an API server's certificate the names by which it is still called.
func (n *node) bothNames(leaf kubeadm.Certificate) kubeadm.Certificate {
	if leaf.Name != "apiserver" {
		return leaf
	}
	for _, host := range n.cluster.formerHosts() {
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
		Impact: "restarts kube-proxy, one node after another; connections that are set up stay",
		Operations: append(c.seatNode().reached(), planner.RestartPods{
			Kind: "DaemonSet", Namespace: "kube-system", Name: "kube-proxy", Mark: c.sharedURL(), Timeout: proxyRestart,
		}),
	})
	b.draft.Edges[id] = []state.Address{step(c.target, addonPhase)}
	return id
}

// proxyRestart bounds the restart of kube-proxy on all nodes.
const proxyRestart = 10 * time.Minute

// dropName issues the API server's certificate without the names that nobody
// calls any more.
func (b *builder) dropName(n *node, needs []state.Address) {
	for _, leaf := range kubeadm.Leaves(n.input()) {
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
