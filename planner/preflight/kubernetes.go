package preflight

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/phases/host"
	"github.com/kubewright/kubewright/planner/topology"
	"golang.org/x/net/http/httpproxy"
)

func kubeletVersion(n *topology.Node) []finding {
	have, want := n.Facts().KubeletVersion, n.Cluster.KubernetesVersion
	switch {
	case bringsKubelet(n) || !nodeArtifactsFit(n) || n.Upgrades() && n.Cluster.Up.Raises:
		return nil // an upgrade checks it against all intermediate versions
	case isBare(n) && !Ignores(n, checkCRI):
		return nil // the check of the runtime reports both
	case have == "":
		return []finding{{
			text:   "there is no kubelet" + norArtifacts(n, "kubelet"),
			remedy: "install the kubelet " + want + " with its systemd unit, as pkgs.k8s.io packages it" + orPut(n, "kubelet"),
		}}
	case minorNumber(have) > minorNumber(want) || minorNumber(have) < minorNumber(want)-3:
		return []finding{{
			text:   fmt.Sprintf("the kubelet is %s, which does not fit a control plane of %s: it must not be newer, and at most three minor versions older", have, want),
			remedy: "install the kubelet " + want,
		}}
	}
	return nil
}

func bringsKubelet(n *topology.Node) bool {
	return n.Cluster.Install.Packages != nil || host.Software(n).Has(host.Programs+"/kubelet")
}

func minorNumber(version string) int {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) < 2 {
		return 0
	}
	m, _ := strconv.Atoi(parts[1])
	return m
}

func kubeletServiceUnit(n *topology.Node) []finding {
	u, asked := n.Report.Units[topology.KubeletUnit]
	if !asked || u.Exists || !n.Facts().Systemd || n.Facts().KubeletVersion == "" || bringsKubelet(n) {
		return nil
	}
	return []finding{{
		text:   "there is a kubelet but no " + topology.KubeletUnit + ", so that nothing starts it",
		remedy: "install the unit, as pkgs.k8s.io packages it with the kubelet",
	}}
}

func runtimeSocket(n *topology.Node) []finding {
	found := n.Facts().CRISockets
	switch {
	case host.PackagesBringRuntime(n):
		return packagedRuntime(n)
	case host.HasArtifact(n, config.ArtifactContainerd):
		return broughtRuntime(n)
	case !nodeArtifactsFit(n):
		return nil
	case n.CRISocket != "":
		if listens(n, n.CRISocket) {
			return withoutCRI(n)
		}
		return []finding{{
			text:   fmt.Sprintf("no container runtime listens on cri_socket %s", n.CRISocket),
			remedy: "start the runtime, or correct cri_socket in the node block" + foundSockets(found),
		}}
	case len(found) > 1:
		return []finding{{
			text:   "there is more than one container runtime: " + strings.Join(found, ", "),
			remedy: "choose one with cri_socket in the node block",
		}}
	case isBare(n):
		return []finding{bareHost(n)}
	case n.Facts().CRISocket == "":
		return []finding{{
			text: "no container runtime answers" + norArtifacts(n, "containerd"),
			remedy: "install and start containerd or CRI-O (systemctl status containerd shows why it does not run)" +
				orPut(n, "containerd-VERSION-linux-"+n.Facts().Arch+".tar.gz"),
		}}
	}
	return withoutCRI(n)
}

// isBare reports whether the host has neither a kubelet nor a container runtime, and the
// configuration does not say where to install them from.
func isBare(n *topology.Node) bool {
	install := n.Cluster.Install
	return n.Facts().KubeletVersion == "" && len(n.Facts().CRISockets) == 0 && n.CRISocket == "" && install.Packages == nil && install.Artifacts == ""
}

// bareHost returns the finding about a bare host. It does not offer to ignore the check: nothing
// can run there.
func bareHost(n *topology.Node) finding {
	return finding{
		text: "there is neither a container runtime nor a kubelet",
		remedy: "let kubewright install both, here from the packages of pkgs.k8s.io. Write in the cluster block:\n\n" +
			"  install {\n    packages { key = file(\"kubernetes.asc\") }\n  }\n\n" +
			"docs/how-to/install-from-packages.md says where the key comes from, and docs/how-to/install-from-artifacts.md how to install from a folder where hosts reach no repository. " +
			"Otherwise install containerd or CRI-O and the kubelet " + n.Cluster.KubernetesVersion + " yourself",
		indispensable: true,
	}
}

// withoutCRI reports a containerd that listens but does not serve the CRI, as configured by
// Docker's package. It is checked on hosts that join.
func withoutCRI(n *topology.Node) []finding {
	const why = "containerd is running but does not serve the CRI, without which the kubelet does not start: "
	answer := n.Report.Preflight[answerCRI]
	switch {
	case answer == "" || answer == "ok" || path.Base(SocketPath(n.RuntimeSocket())) != "containerd.sock":
		return nil
	case answer == "disabled":
		return []finding{{
			text:   why + "its CRI plugin is disabled, as in Docker's package",
			remedy: `remove "cri" from disabled_plugins in ` + host.RuntimeConfig + ", and restart containerd (systemctl restart containerd)",
		}}
	}
	return []finding{{
		text:   fmt.Sprintf("%sits CRI plugin did not start (%s)", why, answer),
		remedy: "find the cause (journalctl -u containerd), correct it in " + host.RuntimeConfig + ", and restart containerd (systemctl restart containerd)",
	}}
}

func foundSockets(found []string) string {
	if len(found) == 0 {
		return ""
	}
	return ": the host has " + strings.Join(found, ", ")
}

// listens reports whether a runtime can be expected behind the socket. Sockets of kubeadm's list
// are observed to listen; for others only their existence is known.
func listens(n *topology.Node, socket string) bool {
	file := SocketPath(socket)
	if known := slices.ContainsFunc(runtimeNames, func(name string) bool { return path.Base(file) == name }); known {
		return slices.ContainsFunc(n.Facts().CRISockets, func(s string) bool { return sameRun(SocketPath(s)) == sameRun(file) })
	}
	f, asked := n.Report.Files[file]
	return !asked || f.Exists
}

// runtimeNames are the sockets that an observation checks.
var runtimeNames = []string{"containerd.sock", "crio.sock", "cri-dockerd.sock"}

func SocketPath(socket string) string { return strings.TrimPrefix(socket, "unix://") }

// sameRun returns a path below /var/run, which is a link to /run, as a path below /run.
func sameRun(file string) string { return strings.TrimPrefix(file, "/var") }

// runtimeVersion warns of runtimes without the CRI method RuntimeConfig, which
// containerd has since 2.0 and CRI-O since 1.28.
func runtimeVersion(n *topology.Node) []finding {
	have := n.Facts().RuntimeVersion
	if have == "" || minorNumber(n.Cluster.KubernetesVersion) < 35 {
		return nil
	}
	name, least := "containerd", "2.0"
	old := strings.HasPrefix(have, "1.")
	if path.Base(SocketPath(n.RuntimeSocket())) == "crio.sock" {
		name, least = "CRI-O", "1.28"
		old = strings.HasPrefix(have, "1.") && minorNumber(have) < 28
	}
	if !old {
		return nil
	}
	return []finding{{
		warning: true, text: fmt.Sprintf("%s is %s, which does not report its cgroup driver to the kubelet; Kubernetes 1.38 will require that", name, have),
		remedy: fmt.Sprintf("update %s to %s or later", name, least),
	}}
}

// The kubelet's ports.
const (
	kubeletHealthPort = 10248
	kubeletPort       = 10250
)

// The ports that must be free on a joining control plane, besides the API server's.
var (
	controlPlanePorts = []int{10257, 10259}
	etcdPorts         = []int{2379, etcdPeerPort}
)

// Ports returns the ports on which the node's components listen.
func Ports(n *topology.Node) []int {
	ports := append(nodeControlPlanePorts(n), kubeletHealthPort, kubeletPort)
	sort.Ints(ports)
	return ports
}

// nodeControlPlanePorts returns the ports of control plane components; none on workers.
func nodeControlPlanePorts(n *topology.Node) []int {
	if !n.IsControlPlane() {
		return nil
	}
	ports := append(slices.Clone(controlPlanePorts), n.Cluster.BindPort)
	if n.Cluster.Etcd.External == nil {
		ports = append(ports, etcdPorts...)
	}
	sort.Ints(ports)
	return ports
}

func joinPorts(ports []int) string {
	words := make([]string, len(ports))
	for i, p := range ports {
		words[i] = strconv.Itoa(p)
	}
	return strings.Join(words, ", ")
}

// busyPorts reports ports that another process uses.
func busyPorts(ports ...int) func(*topology.Node) []finding {
	return func(n *topology.Node) []finding {
		var out []finding
		for _, p := range ports {
			if n.Report.Ports[p] {
				out = append(out, finding{
					check: fmt.Sprintf("Port-%d", p), text: fmt.Sprintf("port %d is in use, but a component of Kubernetes has to listen there", p),
					remedy: fmt.Sprintf("find out with ss -ltnp 'sport = :%d' which process listens there, and stop it", p),
				})
			}
		}
		return out
	}
}

func busyControlPlanePorts(n *topology.Node) []finding {
	return busyPorts(nodeControlPlanePorts(n)...)(n)
}

func etcdFolder(n *topology.Node) []finding {
	dir := n.Cluster.Etcd.DataDir
	if !n.IsControlPlane() || n.Cluster.Etcd.External != nil || n.Report.Files[dir].Entries == 0 {
		return nil
	}
	return []finding{{
		check: "DirAvailable-" + strings.ReplaceAll(dir, "/", "-"), text: dir + " is not empty, but etcd has to start there with data of its own",
		remedy: "check what is in it; move it away if it is not needed, or set etcd { data_dir } to another folder",
	}}
}

// linkedFolders reports links in place of folders that a reset empties. kubewright follows links
// when it writes, and never when it removes.
func linkedFolders(n *topology.Node) []finding {
	emptied := slices.DeleteFunc(slices.Clone(host.FoldersBefore(n)), func(p string) bool { return !ContentsGo[p] && p != n.EtcdFolder() })
	if len(host.Software(n)) > 0 {
		emptied = append(emptied, host.InstallFolders...)
	}
	var out []finding
	for _, p := range emptied {
		if f := n.Report.Files[p]; f.Type == "link" {
			out = append(out, finding{
				text:   fmt.Sprintf("%s is a link to %s, but a reset empties this folder, and does not follow a link", p, f.Link),
				remedy: "mount the other folder there instead of the link (mount --bind, and a line in /etc/fstab)",
			})
		}
	}
	return out
}

// advertiseAddress checks that the address on which a stacked etcd listens is one of the host's.
func advertiseAddress(n *topology.Node) []finding {
	own := n.Facts().Addresses
	a, err := netip.ParseAddr(n.AdvertiseAddress())
	if !n.IsControlPlane() || n.Cluster.Etcd.External != nil || len(own) == 0 || err != nil || etcdListensElsewhere(n) {
		return nil
	}
	if slices.ContainsFunc(own, func(s string) bool { b, err := netip.ParseAddr(s); return err == nil && a == b }) {
		return nil
	}
	return []finding{{
		text:   fmt.Sprintf("%s is not an address of the host, so that etcd cannot listen there; it has %s", a, strings.Join(own, ", ")),
		remedy: "set advertise_addresses in the node block to the address by which the other nodes reach it",
	}}
}

func etcdListensElsewhere(n *topology.Node) bool {
	return slices.ContainsFunc(n.Cluster.Etcd.Args, func(a config.Arg) bool {
		return a.Name == "listen-peer-urls" || a.Name == "listen-client-urls"
	})
}

// EtcdClientPaths returns the files with which the API server authenticates an external etcd and
// itself, unless the configuration provides them.
func EtcdClientPaths(n *topology.Node) []string {
	e := n.Cluster.Etcd.External
	if e == nil || !n.IsControlPlane() {
		return nil
	}
	var out []string
	for _, f := range []struct {
		path  string
		given bool
	}{{e.CAFile, e.CAContent != ""}, {e.CertFile, e.CertContent != ""}, {e.KeyFile, !e.KeyContent.IsZero()}} {
		if f.path != "" && !f.given {
			out = append(out, f.path)
		}
	}
	return out
}

func etcdClientFiles(n *topology.Node) []finding {
	var missing []string
	for _, p := range EtcdClientPaths(n) {
		if f, asked := n.Report.Files[p]; asked && !f.Exists {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []finding{{
		text:   "there is no " + strings.Join(missing, ", ") + ", without which the API server cannot connect to the external etcd",
		remedy: "put the CA's certificate and the client's certificate and key for etcd there, or provide them with ca, cert and key in etcd { external }",
	}}
}

// proxied returns the proxy that a component would use for an address, or "".
func proxied(c *topology.Cluster, address netip.Addr) string {
	env := map[string]string{}
	for name, value := range c.ProxyEnv {
		env[strings.ToUpper(name)] = value
	}
	p := httpproxy.Config{HTTPProxy: env["HTTP_PROXY"], HTTPSProxy: env["HTTPS_PROXY"], NoProxy: env["NO_PROXY"]}
	u, err := p.ProxyFunc()(addressURL(address))
	if err != nil || u == nil {
		return ""
	}
	return u.Host
}

func proxiedHost(n *topology.Node) []finding {
	a, err := netip.ParseAddr(n.AdvertiseAddress())
	if !n.IsControlPlane() || err != nil {
		return nil
	}
	proxy := proxied(n.Cluster, a)
	if proxy == "" {
		return nil
	}
	return []finding{{
		warning: true, text: fmt.Sprintf("with this proxy_env, components reach the API server at %s through the proxy %s", a, proxy),
		remedy: "add " + a.String() + " or its subnet to NO_PROXY in proxy_env",
	}}
}

func proxiedSubnets(n *topology.Node) []finding {
	if !n.IsControlPlane() {
		return nil
	}
	var out []finding
	for _, list := range []string{n.Cluster.Network.ServiceSubnet, n.Cluster.Network.PodSubnet} {
		for subnet := range strings.SplitSeq(list, ",") {
			p, err := netip.ParsePrefix(strings.TrimSpace(subnet))
			if err != nil {
				continue
			}
			if proxy := proxied(n.Cluster, p.Masked().Addr().Next()); proxy != "" {
				out = append(out, finding{
					warning: true, text: fmt.Sprintf("with this proxy_env, the API server reaches services and pods in %s through the proxy %s", p, proxy),
					remedy: "add " + p.String() + " to NO_PROXY in proxy_env",
				})
			}
		}
	}
	return out
}

// addressURL returns the URL of a request to the address; the port does not matter to proxies.
func addressURL(a netip.Addr) *url.URL {
	return &url.URL{Scheme: "https", Host: netip.AddrPortFrom(a, 443).String()}
}
