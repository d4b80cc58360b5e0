package lab

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubewright/kubewright/cmd/lab/internal/build"
)

// record is the lab's record in its folder.
type record struct {
	Name       string       `json:"name"`
	Kubernetes string       `json:"kubernetes"`
	Bare       bool         `json:"bare"`
	Families   Families     `json:"families"`
	Subnet     netip.Prefix `json:"subnet"` // IPv4; the IPv6 subnet follows from it
	Hosts      []Host       `json:"hosts"`
	Layers     []string     `json:"layers"` // of every host, uppermost first
	Store      string       `json:"store,omitempty"`
	Artifacts  string       `json:"artifacts"`
}

// layout describes the parts of a lab and their places: its record, its folder, and names derived
// from its name. It starts and stops nothing.
type layout struct {
	record record
	dir    string
}

func newLayout(cache *build.Cache, r record) *layout {
	return &layout{record: r, dir: cache.Path("labs", r.Name)}
}

func (l *layout) names() names { return names{l.record.Name} }

// path returns a path in the lab's folder.
func (l *layout) path(elem ...string) string {
	return filepath.Join(append([]string{l.dir}, elem...)...)
}

// Name returns the lab's name.
func (l *layout) Name() string { return l.record.Name }

// Dir returns the lab's folder; it is removed with the lab.
func (l *layout) Dir() string { return l.path() }

// Hosts returns all hosts, control planes first.
func (l *layout) Hosts() []Host { return slices.Clone(l.record.Hosts) }

// Host returns a host by name.
func (l *layout) Host(name string) (Host, error) {
	var known []string
	for _, h := range l.record.Hosts {
		if h.Name == name {
			return h, nil
		}
		known = append(known, h.Name)
	}
	return Host{}, fmt.Errorf("cannot find host %q: there are %s", name, strings.Join(known, " "))
}

// Release returns the release that the lab is built for.
func (l *layout) Release() build.Release {
	r, err := build.FindRelease(l.record.Kubernetes)
	if err != nil {
		return build.Release{Kubernetes: l.record.Kubernetes}
	}
	return r
}

// Artifacts returns the artifacts that an operator would bring to a bare host.
func (l *layout) Artifacts() build.Artifacts {
	return build.Artifacts{Dir: l.record.Artifacts, Release: l.Release()}
}

// PrivateKey returns the path of the SSH key that all users of all hosts accept.
func (l *layout) PrivateKey() string { return l.path("id_ed25519") }

// KnownHosts returns the path of the file with the hosts' SSH keys.
func (l *layout) KnownHosts() string { return l.path("known_hosts") }

// SSHConfig returns the path of an OpenSSH configuration with the hosts by name: ssh -F FILE cp1.
func (l *layout) SSHConfig() string { return l.path("ssh_config") }

// Endpoint returns the name of the API endpoint, which resolves on the hosts, and the address of
// the balancer.
func (l *layout) Endpoint() (name string, address netip.AddrPort) {
	return "api." + l.names().domain(), netip.AddrPortFrom(l.addresses(machineOctet)[0], apiPort)
}

// Families returns the address families of the lab.
func (l *layout) Families() Families { return l.record.Families }

// PodSubnets returns the ranges of the pods of all hosts, one per family, for the configuration
// of a cluster.
func (l *layout) PodSubnets() []netip.Prefix { return l.record.Families.podSubnets() }

// addresses returns the addresses with number N in the lab.
func (l *layout) addresses(n int) []netip.Addr {
	return l.record.Families.addresses(l.record.Subnet, n)
}

// guest returns the guest of a host by name.
func (l *layout) guest(name string) (guest, error) {
	h, err := l.Host(name)
	return guest{h, l}, err
}

// guests returns the guests of all hosts.
func (l *layout) guests() []guest {
	var all []guest
	for _, h := range l.record.Hosts {
		all = append(all, guest{h, l})
	}
	return all
}

func (l *layout) hostsOf(role Role) []string {
	var found []string
	for _, h := range l.record.Hosts {
		if h.Role == role {
			found = append(found, h.Name)
		}
	}
	return found
}

// backends returns the addresses at which the lab's API servers will listen.
func (l *layout) backends() []string {
	var all []string
	for _, h := range l.record.Hosts {
		if h.Role == ControlPlane {
			all = append(all, netip.AddrPortFrom(h.Address(), apiPort).String())
		}
	}
	return all
}
