package lab

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/kubewright/kubewright/cmd/lab/internal/cgroup"
	"github.com/kubewright/kubewright/cmd/lab/internal/disk"
	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// defaultName is the lab used if none is named; it has the first subnet.
const defaultName = "lab"

// Numbers of addresses in a lab's subnet: the machine (bridge and balancer) is 1, the refusing
// name server 253, control planes start after 10, workers after 20.
const (
	machineOctet      = 1
	nameServerOctet   = 253
	controlPlaneOctet = 10
	workerOctet       = 20
)

// names derives the names of a lab's objects on the machine from the lab's name alone, so that
// leftovers can be found without a record.
type names struct{ lab string }

func (n names) bridge() string                  { return "kw-" + n.lab }
func (n names) prefix() string                  { return "kwlab-" + n.lab + "-" }
func (n names) namespace(host string) string    { return n.prefix() + host }
func (n names) cgroup(host string) cgroup.Group { return cgroup.Group(n.prefix() + host) }
func (n names) domain() string                  { return n.lab + ".test" }

// link returns the name of a host's link in the bridge. Link names have at most 15 bytes.
func (n names) link(host string) string {
	h := fnv.New32a()
	h.Write([]byte(n.lab + "/" + host))
	return fmt.Sprintf("kw%08x", h.Sum32())
}

// chooseSubnet returns a /24 of 10.77.0.0/16 that no link of the machine uses. It starts with one
// derived from the name, so that a lab usually has the same addresses each time.
func chooseSubnet(lab string, used []netip.Prefix) (netip.Prefix, error) {
	start := 0
	if lab != defaultName {
		h := fnv.New32a()
		h.Write([]byte(lab))
		start = 1 + int(h.Sum32()%200)
	}
	for i := range 256 {
		candidate := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 77, byte(start + i), 0}), 24)
		free := true
		for _, u := range used {
			free = free && !u.Overlaps(candidate)
		}
		if free {
			return candidate, nil
		}
	}
	return netip.Prefix{}, errors.New("cannot find a free subnet below 10.77.0.0/16")
}

// usedSubnets returns the subnets of all links.
func usedSubnets() ([]netip.Prefix, error) {
	links, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var used []netip.Prefix
	for _, link := range links {
		addrs, err := link.Addrs()
		if err != nil {
			continue // the link was removed
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				used = append(used, p.Masked())
			}
		}
	}
	return used, nil
}

// mac returns the same hardware address for host number N of a subnet after every boot, like a
// real network interface: neighbors cache it.
func mac(subnet netip.Prefix, n int) string {
	b := octet(subnet, n).As4()
	return fmt.Sprintf("02:4b:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
}

// ipBatch runs ip commands of one family, one per line, in one process.
func ipBatch(ctx context.Context, namespace, family string, lines ...string) error {
	args := []string{family, "-batch", "-"}
	if namespace != "" {
		args = append([]string{"-netns", namespace}, args...)
	}
	cmd := exec.CommandContext(ctx, "ip", args...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	_, err := process.Output(cmd)
	return err
}

// bridgeUp chooses the subnet of the lab and its hosts' addresses, under a lock so that no other
// lab takes the same subnet. Traffic cannot leave the lab; it is rejected at once, which requires
// the bridge to count as forwarding: otherwise a connection to a Service without rules would hang
// for half a minute.
func (l *Lab) bridgeUp(ctx context.Context, o Options) error {
	unlock, err := l.cache.Lock(ctx, "subnets")
	if err != nil {
		return err
	}
	defer unlock()
	used, err := usedSubnets()
	if err != nil {
		return err
	}
	if l.record.Subnet, err = chooseSubnet(l.record.Name, used); err != nil {
		return err
	}
	l.record.Hosts = chooseHosts(l.record.Families, l.record.Subnet, o.ControlPlanes, o.Workers)
	name := l.names().bridge()
	if err := ipBatch(ctx, "", family4,
		fmt.Sprintf("link add %s address %s type bridge", name, mac(l.record.Subnet, machineOctet)),
		fmt.Sprintf("link set %s up", name),
	); err != nil {
		return err
	}
	for _, a := range l.addresses(machineOctet) {
		if err := ipBatch(ctx, "", familyOf(a), addressAdd(a, name), fmt.Sprintf("rule add iif %s unreachable", name)); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join("/proc/sys/net/ipv4/conf", name, "forwarding"), []byte("1"), 0)
}

// networkUp creates a host's network namespace: one interface, and routes to the pods of the
// other hosts. Unroutable traffic of hosts and pods is rejected at once:
//
//   - DNS queries go to an address of the host itself on which nothing listens. A name
//     server that does not answer would delay every query by seconds; UDP ignores
//     "host unreachable"; CoreDNS takes an address in 127.0.0.0/8 for a loop.
//   - Traffic of pods that only the default route matches is unreachable: the machine
//     has no route to the pods, so its rejections would not reach them.
func (g guest) networkUp(ctx context.Context) error {
	n := g.lab.names()
	ns, link := n.namespace(g.Name), n.link(g.Name)
	if err := ipBatch(ctx, "", family4,
		"netns add "+ns,
		fmt.Sprintf("link add %s type veth peer name eth0 address %s netns %s", link, mac(g.lab.record.Subnet, g.number()), ns),
		fmt.Sprintf("link set %s master %s up", link, n.bridge()),
	); err != nil {
		return err
	}
	// ICMP rate limits and duplicate address detection would cause delays.
	quick := "echo 0 >/proc/sys/net/ipv4/icmp_ratelimit; echo 0 >/proc/sys/net/ipv6/icmp/ratelimit || :; echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad || :"
	if err := process.Run(ctx, "nsenter", "--net="+namespaceFile(ns), "sh", "-ec", quick); err != nil {
		return err
	}
	if err := ipBatch(ctx, ns, family4, "link set lo up", "link set eth0 up"); err != nil {
		return err
	}
	for i, a := range g.Addresses {
		if err := ipBatch(ctx, ns, familyOf(a), g.addressing(i)...); err != nil {
			return err
		}
	}
	return nil
}

// addressing returns the ip commands for a host's network in one family, the i-th.
func (g guest) addressing(i int) []string {
	machine, nameServer := g.lab.addresses(machineOctet)[i], g.lab.addresses(nameServerOctet)[i]
	lines := []string{
		addressAdd(g.Addresses[i], "eth0"),
		fmt.Sprintf("route add default via %s", machine),
		fmt.Sprintf("address add %s/%d dev lo scope host", nameServer, nameServer.BitLen()),
		"rule add priority 100 iif cni0 lookup main suppress_prefixlength 0",
		"rule add priority 101 iif cni0 unreachable",
	}
	for _, other := range g.lab.record.Hosts {
		if other.Name != g.Name {
			lines = append(lines, fmt.Sprintf("route add %s via %s", other.Pods[i], other.Addresses[i]))
		}
	}
	return lines
}

// The families as options of ip.
const (
	family4 = "-4"
	family6 = "-6"
)

func familyOf(a netip.Addr) string {
	if a.Is6() {
		return family6
	}
	return family4
}

// addressAdd returns the ip command that adds an address to a link, without duplicate address
// detection: no other host has it.
func addressAdd(a netip.Addr, link string) string {
	if a.Is6() {
		return fmt.Sprintf("address add %s/64 dev %s nodad", a, link)
	}
	return fmt.Sprintf("address add %s/24 dev %s", a, link)
}

func namespaceFile(ns string) string { return filepath.Join("/run/netns", ns) }

// networkDown removes a host's namespace with everything in it.
func (n names) networkDown(ctx context.Context, host string) error {
	if disk.Exists(filepath.Join("/sys/class/net", n.link(host))) {
		if err := process.Run(ctx, "ip", "link", "delete", n.link(host)); err != nil {
			return err
		}
	}
	if disk.Exists(namespaceFile(n.namespace(host))) {
		return process.Run(ctx, "ip", "netns", "delete", n.namespace(host))
	}
	return nil
}

// clearNetwork removes the namespaces and links of a lab, also those of an earlier process.
func (n names) clearNetwork(ctx context.Context) error {
	entries, err := os.ReadDir("/run/netns")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if host, ok := strings.CutPrefix(e.Name(), n.prefix()); ok {
			if err := n.networkDown(ctx, host); err != nil {
				return err
			}
		}
	}
	ports, err := filepath.Glob(filepath.Join("/sys/class/net", n.bridge(), "brif", "*"))
	if err != nil {
		return err
	}
	for _, port := range append(ports, n.bridge()) {
		if name := filepath.Base(port); disk.Exists(filepath.Join("/sys/class/net", name)) {
			if err := process.Run(ctx, "ip", "link", "delete", name); err != nil {
				return err
			}
		}
	}
	if err := n.dropRules(ctx); err != nil {
		return err
	}
	return dropNamespaceFolder()
}

// dropRules removes the bridge's routing rules; ip removes one at a time.
func (n names) dropRules(ctx context.Context) error {
	for _, family := range []string{family4, family6} {
		for {
			out, err := process.Output(exec.CommandContext(ctx, "ip", family, "rule", "show", "iif", n.bridge()))
			if err != nil {
				return err
			}
			if len(out) == 0 {
				break
			}
			if err := process.Run(ctx, "ip", family, "rule", "delete", "iif", n.bridge()); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropNamespaceFolder removes the folder (a mount of itself) that ip creates for the first
// namespace, if no namespace is left in it.
func dropNamespaceFolder() error {
	entries, err := os.ReadDir("/run/netns")
	if err != nil || len(entries) > 0 {
		return nil
	}
	if err := unix.Unmount("/run/netns", unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return os.Remove("/run/netns")
}
