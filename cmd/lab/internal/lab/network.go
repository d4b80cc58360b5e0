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

// defaultName is the lab used where none is named; it has the first subnet.
const defaultName = "lab"

// Numbers of addresses within a lab's subnet: the machine (bridge and balancer)
// is 1, the name server that refuses is 253, control planes start after 10,
// workers after 20.
const (
	machineOctet      = 1
	nameServerOctet   = 253
	controlPlaneOctet = 10
	workerOctet       = 20
)

// names derives everything of a lab that lives in a name space of the machine
// from the lab's name alone, so that leftovers are found without any record.
type names struct{ lab string }

func (n names) bridge() string                  { return "kw-" + n.lab }
func (n names) prefix() string                  { return "kwlab-" + n.lab + "-" }
func (n names) namespace(host string) string    { return n.prefix() + host }
func (n names) cgroup(host string) cgroup.Group { return cgroup.Group(n.prefix() + host) }
func (n names) domain() string                  { return n.lab + ".test" }

// link returns the name of a host's link in the bridge: link names have 15 bytes.
func (n names) link(host string) string {
	h := fnv.New32a()
	h.Write([]byte(n.lab + "/" + host))
	return fmt.Sprintf("kw%08x", h.Sum32())
}

// chooseSubnet returns a /24 of 10.77.0.0/16 that no link of the machine uses,
// starting from one that follows from the name, so that a lab usually has the
// same addresses each time.
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

// usedSubnets returns the networks of all links.
func usedSubnets() ([]netip.Prefix, error) {
	links, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var used []netip.Prefix
	for _, link := range links {
		addrs, err := link.Addrs()
		if err != nil {
			continue // the link went away
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				used = append(used, p.Masked())
			}
		}
	}
	return used, nil
}

// mac gives the host N of a subnet the same hardware address after every boot,
// as a network card has: neighbours remember it.
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

// bridgeUp gives the lab a subnet and its hosts their addresses, and takes the
// subnet before anyone else can. Nothing leaves the lab; whatever tries is told
// so at once, for which the bridge must count as forwarding: a connection to a
// service that has no rules yet would otherwise hang for half a minute.
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

// networkUp makes a host's network namespace: one card, and routes to the other
// hosts' pods. What leads nowhere is refused at once, to hosts and pods alike:
//
//   - Look-ups go to an address of the host itself where nothing listens. A name
//     server that does not answer costs every look-up seconds; UDP overlooks
//     "host unreachable"; one in 127.0.0.0/8 is a loop to CoreDNS.
//   - What pods send and only the default route would take is unreachable: the
//     machine, which has no way to the pods, could not tell them.
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
	// A rationed ICMP answer and a wait for duplicate addresses would be delays.
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

// addressing returns what a host's network has of one family, the i-th.
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

// The families as ip is told them.
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

// addressAdd gives a link an address, at once: nobody else can have it.
func addressAdd(a netip.Addr, link string) string {
	if a.Is6() {
		return fmt.Sprintf("address add %s/64 dev %s nodad", a, link)
	}
	return fmt.Sprintf("address add %s/24 dev %s", a, link)
}

func namespaceFile(ns string) string { return filepath.Join("/run/netns", ns) }

// networkDown removes a host's namespace, and with it everything in there.
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

// clearNetwork removes the namespaces and links of a lab, whoever made them.
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

// dropNamespaceFolder removes the folder (a mount of itself) that ip makes for
// the first namespace, if no one has a namespace there.
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
