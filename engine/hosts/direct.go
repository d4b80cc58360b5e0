package hosts

import (
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// direct reports whether this machine may itself connect to an address if a host does not
// forward connections: only addresses in the configuration and of recorded nodes. Any other
// address comes from a host, such as the client URLs of etcd members, and could be anything
// that this machine reaches and the host does not.
func direct(cfg *config.Config, recorded *state.State) func(address string) bool {
	known := map[string]bool{}
	add := func(names ...string) {
		for _, name := range names {
			if name != "" {
				known[hostName(name)] = true
			}
		}
	}
	for _, n := range cfg.Nodes {
		add(n.Address, n.Connection.Host)
		add(n.AdvertiseAddresses...)
	}
	for _, c := range cfg.Clusters {
		if host, _, err := net.SplitHostPort(c.ControlPlaneEndpoint); err == nil {
			add(host)
		}
		if c.Etcd.External == nil {
			continue
		}
		for _, endpoint := range slices.Concat(c.Etcd.External.Endpoints, c.Etcd.External.HTTPEndpoints) {
			if u, err := url.Parse(endpoint); err == nil {
				add(u.Hostname())
			}
		}
	}
	if recorded != nil {
		for _, n := range recorded.Nodes {
			add(n.Address, config.ConnectionFromValue(n.Connection).Host)
		}
	}
	return func(address string) bool {
		host, _, err := net.SplitHostPort(address)
		return err == nil && known[hostName(host)]
	}
}

// hostName normalizes a name or an address for comparison.
func hostName(name string) string {
	return state.CanonicalIP(strings.TrimSuffix(strings.ToLower(name), "."))
}
