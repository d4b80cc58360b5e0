package adoption

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/planview"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner/adopt"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// discovery reads a cluster through one known host.
type discovery struct {
	*session.Session
	options Options
	first   config.Connection
	world   hosts.World
	// unsaid are the parts of the cluster that the configuration cannot express.
	unsaid planview.ImportGaps
}

// cluster returns the cluster's configuration, as far as the language can express it.
func (d *discovery) cluster(ctx context.Context) (*config.Config, error) {
	var err error
	probe := &config.Config{Nodes: []*config.Node{{Connection: d.first}}}
	if d.world, err = hosts.OpenWorld(probe, nil, session.HostOptions(d.Session.Workspace, session.Passphrase(ctx, d.Session.Workspace, d.Opts))); err != nil {
		return nil, err
	}
	report, cluster, err := d.entry(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := d.hosts(ctx, report, cluster)
	if err != nil {
		return nil, err
	}
	found, err := adopt.Read(adopt.Seen{Label: d.label(cluster), Objects: cluster.Objects, Hosts: seen})
	if err != nil {
		return nil, fmt.Errorf("cannot read the cluster: %w", err)
	}
	d.unsaid = planview.ImportGaps{Keyless: found.Keyless, Supplied: adopt.Supplied, Taints: found.Taints}
	for _, n := range found.Config.Nodes {
		given := n.Connection
		n.Connection = d.first
		if n.Connection.Host = given.Host; isHost(report, cluster.Nodes[n.Target.Key], n.Target.Key) && d.first.Host != n.Address {
			n.Connection.Host = d.first.Host
		}
	}
	return found.Config, nil
}

// isHost reports whether a report is from the host of a node.
func isHost(r *state.Report, n state.NodeReport, name string) bool {
	if len(r.Facts.Addresses) == 0 {
		return r.Facts.Hostname == name
	}
	return slices.ContainsFunc(n.InternalIPs, func(ip string) bool { return slices.Contains(r.Facts.Addresses, ip) })
}

// label returns the label of the cluster block.
func (d *discovery) label(r *state.ClusterReport) string {
	if d.options.Label != "" {
		return d.options.Label
	}
	return adopt.Label(r.Objects)
}

// entry observes the host of the command line, and through it the API.
func (d *discovery) entry(ctx context.Context) (*state.Report, *state.ClusterReport, error) {
	h, err := d.world.Open(ctx, d.first, d.first.Host)
	if err != nil {
		return nil, nil, d.unreachable([]state.Unobserved{{Target: state.NodeTarget(d.first.Host), Reason: err.Error(), Remedy: hosts.Remedy(err)}})
	}
	defer func() { _ = h.Close() }()
	query := adopt.Query()
	report, err := h.Observe(ctx, query)
	if err != nil {
		return nil, nil, d.unreachable([]state.Unobserved{{Target: state.NodeTarget(d.first.Host), Reason: err.Error(), Remedy: hosts.Remedy(err)}})
	}
	if found := adopt.Entry(d.first.Host, report); found != nil {
		return nil, nil, console.Failure(diag.Diagnostics{found})
	}
	api, err := d.world.Access().API(ctx, d.world.Remember(h, query.Secrets, report), adopt.Endpoint(report.Files))
	if err != nil {
		return nil, nil, err
	}
	defer api.Close()
	cluster, err := api.Observe(ctx, state.ClusterQuery{Objects: adopt.Objects()})
	if stopped := ctx.Err(); stopped != nil {
		return nil, nil, stopped
	}
	if err != nil {
		return nil, nil, d.silent(err)
	}
	return report, cluster, nil
}

// silent is the finding about an API server that could not be queried.
func (d *discovery) silent(err error) error {
	remedy := "Start it (systemctl status kubelet and crictl ps there show what is missing), or give another control plane, and run the same command again."
	// As crypto/x509 and API servers word it.
	if text := err.Error(); strings.Contains(text, "expired") || strings.Contains(text, "Unauthorized") {
		remedy = "Renew the certificates on all control planes (kubeadm certs renew all), and have kube-apiserver, kube-controller-manager, kube-scheduler and etcd there read them: " +
			"move their manifests out of /etc/kubernetes/manifests, and back a minute later. Then run the same command again."
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("API server does not answer", "The API server on %s did not answer, and a cluster is imported while it runs: %s. Nothing was written. %s",
		d.first.Host, err, remedy)})
}

// unreachable returns one finding for all hosts that could not be observed.
func (d *discovery) unreachable(unobserved []state.Unobserved, more ...string) error {
	var lines []string
	for _, u := range unobserved {
		lines = append(lines, "  "+u.Target.Name+": "+u.Reason)
		if u.Remedy != "" {
			lines = append(lines, "    To do: "+u.Remedy+".")
		}
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("Host could not be observed", "A cluster is imported as a whole, and not all of its hosts could be observed. Nothing was written.\n\n%s",
		strings.Join(append([]string{strings.Join(lines, "\n")}, more...), "\n\n"))})
}

// withoutHost is what to do about a node whose host does not return, or not soon.
const withoutHost = "A host that is gone for good holds up the others only while its node is there: delete that (kubectl delete node NAME), and run the same command again. " +
	"While it is away for some time, write the configuration of the others by hand, with an import block: that adopts the nodes which it describes, and leaves others as they are."

// hosts observes the hosts of all nodes concurrently.
func (d *discovery) hosts(ctx context.Context, entry *state.Report, cluster *state.ClusterReport) ([]adopt.Host, error) {
	names := slices.Sorted(maps.Keys(cluster.Nodes))
	seen, errs := make([]adopt.Host, len(names)), make([]error, len(names))
	var group sync.WaitGroup
	for i, name := range names {
		group.Go(func() { seen[i], errs[i] = d.host(ctx, name, entry, cluster) })
	}
	group.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var dark []state.Unobserved
	var more []string
	for i, err := range errs {
		if errors.Is(err, providers.ErrUnreachable) || errors.Is(err, providers.ErrTimeout) {
			more = []string{withoutHost}
		}
		if err != nil {
			dark = append(dark, state.Unobserved{Target: state.NodeTarget(names[i]), Reason: err.Error(), Remedy: hosts.Remedy(err)})
		}
	}
	if len(dark) > 0 {
		return nil, d.unreachable(dark, more...)
	}
	return seen, nil
}

// host observes the host of one node.
func (d *discovery) host(ctx context.Context, name string, entry *state.Report, cluster *state.ClusterReport) (adopt.Host, error) {
	node := cluster.Nodes[name]
	out := adopt.Host{Name: name, Addresses: node.InternalIPs, Node: node}
	c := d.first
	if !isHost(entry, node, name) {
		if len(node.InternalIPs) == 0 {
			return out, errors.New("the node has no address of the type InternalIP, by which its host could be reached")
		}
		c.Host = node.InternalIPs[0]
	}
	h, err := d.world.Open(ctx, c, c.Host)
	if err != nil {
		return out, err
	}
	defer func() { _ = h.Close() }()
	r, err := h.Observe(ctx, adopt.HostQuery(cluster.Objects))
	if err != nil {
		return out, err
	}
	out.Facts, out.Files = r.Facts, r.Files
	block := "worker"
	if out.Role() == config.ControlPlane {
		block = "cp"
	}
	out.Target = state.NodeKeyTarget(block, name)
	if host, _, err := net.SplitHostPort(adopt.Endpoint(r.Files)); err == nil && host != "" {
		out.Addresses = []string{host}
	}
	if len(out.Addresses) == 0 {
		return out, errors.New("the node has no address of the type InternalIP")
	}
	return out, nil
}
