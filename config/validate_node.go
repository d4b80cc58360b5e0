package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubewright/kubewright/state"
)

// node checks the content of a node block; its cluster is nil if it is unknown.
func (c checker) node(n *Node, cl *Cluster) {
	c.oneOf("role", "Invalid role", string(n.Role), string(ControlPlane), string(Worker))
	c.address(n)
	c.advertise(n)
	if n.Name != "" {
		if bad := validation.IsDNS1123Subdomain(n.Name); len(bad) > 0 {
			c.errorf("name", "Invalid node name", "%s cannot name a node: %s.", c.show("name", n.Name), reasons(bad))
		}
	}
	c.labels(n)
	c.annotations(n.Annotations)
	c.taints(n)
	var base Kubelet
	if cl != nil {
		base = cl.Kubelet
	}
	c.kubelet(n.Kubelet, base)
	c.socket(n.CRISocket)
	c.patches(n.Patches, true)
	c.preflight(n.IgnorePreflightErrors)
	c.phases(n.SkipPhases, n)
	c.pullPolicy(n.ImagePullPolicy)
	c.kernelModules(n.KernelModules)
	checkSysctls(c, n.Sysctls, cl)
	checkUnits(c, n.Units)
	kubeletServingOf(c, n, cl)
	c.connection("connection", n.Connection)
}

// address checks the address of a node.
func (c checker) address(n *Node) {
	const summary = "Invalid node address"
	if n.Address == "" {
		return
	}
	a, err := netip.ParseAddr(n.Address)
	switch {
	case err != nil && strings.Contains(n.Address, ":"):
		c.errorf("address", summary, "%s has a port, or is no IP address. The port of ssh is connection { port = … }.", c.show("address", n.Address))
	case err != nil && strings.Contains(n.Address, "/"):
		c.errorf("address", summary, "%s is no address of a host. Write it without mask.", c.show("address", n.Address))
	case err != nil && (allDigits(n.Address) || !validHost(n.Address)):
		c.errorf("address", summary, "%s is neither an IP address nor a DNS name in lower case.", c.show("address", n.Address))
	case err == nil && (a.IsUnspecified() || a.IsMulticast()):
		c.errorf("address", summary, "%s is no address that a host can be reached by.", a)
	}
}

// allDigits reports whether a text was probably intended as an IPv4 address, such as
// 10.0.0.256.
func allDigits(s string) bool { return strings.Trim(s, "0123456789.") == "" }

// advertise checks the addresses that components advertise.
func (c checker) advertise(n *Node) {
	const path, summary = "advertise_addresses", "Invalid advertise address"
	if len(n.AdvertiseAddresses) == 0 {
		if n.Role == ControlPlane && n.Address != "" && !c.written(path) && validHost(n.Address) && !allDigits(n.Address) {
			c.errorf("address", "Advertise address is missing", "A control plane advertises an IP address, and %s is a name. Add advertise_addresses = [\"…\"].", c.show("address", n.Address))
		}
		return
	}
	var families []bool
	for _, s := range n.AdvertiseAddresses {
		a, err := netip.ParseAddr(s)
		switch {
		case err != nil || a.Zone() != "":
			c.errorf(path, summary, "%s is no IP address.", c.show(path, s))
			return
		case !c.written(path) && (a.IsUnspecified() || a.IsMulticast()):
			return // it is the node's address, which is already reported
		case a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast():
			c.errorf(path, summary, "%s is no address under which other nodes reach this one.", a)
			return
		case a.Is4In6():
			c.errorf(path, summary, "%s is an IPv4 address written as IPv6. Write it as IPv4.", a)
			return
		}
		families = append(families, a.Is4())
	}
	if len(families) > 2 || len(families) == 2 && families[0] == families[1] {
		c.errorf(path, summary, "There can be one address per family, IPv4 and IPv6.")
	}
}

// ownedLabels are labels that other components set and would set back.
var ownedLabels = map[string]string{
	"kubernetes.io/hostname": "the kubelet", "kubernetes.io/os": "the kubelet", "kubernetes.io/arch": "the kubelet",
	"beta.kubernetes.io/os": "the kubelet", "beta.kubernetes.io/arch": "the kubelet",
}

const controlPlaneLabel = "node-role.kubernetes.io/control-plane"

// labels checks the labels of a node.
func (c checker) labels(n *Node) {
	for _, k := range keys(n.Labels) {
		path := state.JoinPath("labels", k)
		if bad := validation.IsQualifiedName(k); len(bad) > 0 {
			c.errorf(path, "Invalid label key", "%q cannot be the key of a label: %s.", k, reasons(bad))
		}
		if bad := validation.IsValidLabelValue(n.Labels[k]); len(bad) > 0 {
			c.errorf(path, "Invalid label value", "%s cannot be the value of a label: %s.", c.show(path, n.Labels[k]), reasons(bad))
		}
		if by := ownedLabels[k]; by != "" {
			c.errorf(path, "Label belongs to another", "%s is set by %s, to what it finds on the host, each time it starts. Take it out of labels.", k, by)
		}
		if k == controlPlaneLabel && n.Role == Worker {
			c.errorf(path, "Label contradicts the role", "%s makes a control plane of the node for kubeadm and others, and its role is worker. Take it out of labels, or change the role.", k)
		}
	}
}

func (c checker) annotations(m map[string]string) {
	size := 0
	for _, k := range keys(m) {
		size += len(k) + len(m[k])
		if bad := validation.IsQualifiedName(strings.ToLower(k)); len(bad) > 0 {
			c.errorf(state.JoinPath("annotations", k), "Invalid annotation key", "%q cannot be the key of an annotation: %s.", k, reasons(bad))
		}
	}
	if size > 256<<10 {
		c.errorf("annotations", "Annotations are too large", "They are %d KiB; all annotations of an object together can be 256 KiB. Shorten them.", size>>10)
	}
}

// taints checks the taints of a node.
func (c checker) taints(n *Node) {
	seen := map[[2]string]bool{}
	for _, t := range n.Taints {
		path := "taint[\"" + t.Key + "\"]"
		if !c.written(path) {
			path = "taints"
		}
		if bad := validation.IsQualifiedName(t.Key); len(bad) > 0 {
			c.errorf(path, "Invalid taint key", "%q cannot be the key of a taint: %s.", t.Key, reasons(bad))
		}
		if bad := validation.IsValidLabelValue(t.Value); len(bad) > 0 {
			c.errorf(path, "Invalid taint value", "%s cannot be the value of a taint: %s.", c.show(path, t.Value), reasons(bad))
		}
		if t.Effect != "" && !slices.Contains(taintEffects, t.Effect) {
			c.errorf(path, "Invalid taint effect", "%s is no effect of a taint: %s.%s", Quote(t.Effect), list(taintEffects), didYouMean(t.Effect, taintEffects))
		}
		id := [2]string{t.Key, t.Effect}
		if seen[id] {
			c.errorf(path, "Taint given twice", "There are two taints %s with the effect %s. A node has one of each.", t.Key, t.Effect)
		}
		seen[id] = true
	}
}

// socket checks the socket of the container runtime.
func (c checker) socket(s string) {
	const path, summary = "cri_socket", "Invalid CRI socket"
	if s == "" {
		return
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "unix" || u.Host != "" || state.CheckPath(strings.TrimPrefix(s, "unix://")) != nil:
		c.errorf(path, summary, "%s is no URL of a socket, as in \"unix:///run/containerd/containerd.sock\".", c.show(path, s))
	default:
		c.oneWord(path, path, s) // an unusual one is an argument of the kubelet
	}
}
