package adopt

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/kubeadm"
	"github.com/kubewright/kubewright/state"
)

// shared reads settings common to the control planes that kubeadm does not store: those of
// InitConfiguration, and the environment that kubeadm ran in.
func (r *reader) shared() {
	first := r.planes()[0]
	api, ok := first.host.pod("kube-apiserver")
	if !ok {
		return
	}
	r.cluster.Timeouts.ControlPlaneComponentHealthCheck = startupTime(api, r.cluster.Timeouts.ControlPlaneComponentHealthCheck)
	r.cluster.ProxyEnv = r.proxyEnv()
}

// dataDir reads the data folder of etcd. The mounts of its pods count, not kubeadm-config, which
// administrators who move the data do not update.
func (r *reader) dataDir() error {
	if r.cluster.Etcd.External != nil {
		return nil
	}
	folder, each := r.inCommon(func(h *Host) string {
		pod, _ := h.pod("etcd")
		return kubeadm.ShortestPath(pod.Get("volumes").AsMap()["etcd-data"].Get("hostPath.path").AsString())
	})
	if len(each) > 0 {
		return fmt.Errorf("etcd does not keep its data in the same folder on all hosts: %s. A cluster has one, in which members are found, restored and reset. "+
			"Choose one of them. On each host that has another one, one at a time: move %s out of its folder, move the data, "+
			"set its path in the volume etcd-data, and put the manifest back. Then run the same command again",
			strings.Join(each, ", "), manifest("etcd"))
	}
	if folder != "" {
		r.cluster.Etcd.DataDir = folder
	}
	return nil
}

// bindPort reads the port on which API servers listen: the arguments of their pods count. If the
// configuration's own arguments set that port, the port that kubeadm recorded counts instead.
func (r *reader) bindPort() error {
	listens, each := r.inCommon(func(h *Host) string {
		api, _ := h.pod("kube-apiserver")
		return api.Get("args.secure-port").AsString()
	})
	if len(each) > 0 {
		return fmt.Errorf("API servers do not listen on the same port on all hosts: %s. A cluster has one, on which the components of a control plane reach their "+
			"own API server. Choose one of them. Each control plane that has another one, one at a time: drain it, run kubeadm reset on it, delete its node, "+
			"and have it join again with kubeadm join --control-plane --apiserver-bind-port=PORT; a load balancer has to know the new port. Then run the same command again", strings.Join(each, ", "))
	}
	if slices.ContainsFunc(r.cluster.APIServer.Args, func(a config.Arg) bool { return a.Name == "secure-port" }) {
		_, listens, _ = net.SplitHostPort(Endpoint(r.planes()[0].host.Files))
	}
	if port, err := strconv.Atoi(listens); err == nil {
		r.cluster.BindPort = port
	}
	return nil
}

// inCommon returns the value that all control planes with a value share. When values differ, it
// returns each control plane with its own.
func (r *reader) inCommon(own func(*Host) string) (value string, each []string) {
	differ := false
	for _, p := range r.planes() {
		has := own(p.host)
		if has == "" {
			continue
		}
		differ = differ || value != "" && has != value
		value, each = has, append(each, p.host.Name+" ("+has+")")
	}
	if !differ {
		return value, nil
	}
	return "", each
}

// advertiseAnnotation is kubeadm's own record of an API server's address.
const advertiseAnnotation = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"

// Endpoint returns the address of the API server on a control plane, HOST:PORT, as kubeadm recorded
// it in the manifest; empty when there is none.
func Endpoint(files map[string]state.FileReport) string {
	h := Host{Files: files}
	api, _ := h.pod("kube-apiserver")
	return api.Get("annotations").AsMap()[advertiseAnnotation].AsString()
}

// pod returns the manifest of a component, parsed.
func (h *Host) pod(component string) (state.Value, bool) {
	f := h.Files[manifest(component)]
	if !f.Exists {
		return state.Null(), false
	}
	v, err := kubeadm.StaticPodAttributes(f.Content)
	return v, err == nil
}

// startupTime returns the time for which kubeadm would have waited for a component: a startup probe
// with a period of ten seconds covers that time.
func startupTime(pod state.Value, byDefault time.Duration) time.Duration {
	probe := pod.Get("probes.startup")
	tries, err := strconv.Atoi(probe.Get("failureThreshold").AsString())
	const period = 10 * time.Second
	asked := time.Duration(tries) * period
	// The default, rounded up to a multiple of the period, is still the default.
	if err != nil || probe.Get("periodSeconds").AsString() != "10" || asked-byDefault >= 0 && asked-byDefault < period {
		return byDefault
	}
	return asked
}

// proxyEnv returns the proxy variables that the API server, the controller manager and the
// scheduler all have and that the configuration does not set: kubeadm took them from its own
// environment, and also passes them to kube-proxy. An extra_env sets a variable for its component.
// A variable that only some components have was written into their manifests by hand.
func (r *reader) proxyEnv() map[string]string {
	given := [][]config.EnvVar{r.cluster.APIServer.Envs, r.cluster.ControllerManager.Envs, r.cluster.Scheduler.Envs}
	envs := make([]map[string]state.Value, len(given))
	for i := range given {
		pod, _ := r.planes()[0].host.pod(components[i])
		envs[i] = pod.Get("env").AsMap()
	}
	covered := func(i int, name string) bool {
		return slices.ContainsFunc(given[i], func(e config.EnvVar) bool { return e.Name == name })
	}
	everywhere := func(name string, value state.Value) bool {
		for i := range envs {
			if !covered(i, name) && !envs[i][name].Equal(value) {
				return false
			}
		}
		return true
	}
	out := map[string]string{}
	for i, env := range envs {
		for name, value := range env {
			if value.Kind() == state.KindString && strings.HasSuffix(strings.ToLower(name), "_proxy") && !covered(i, name) && everywhere(name, value) {
				out[name] = value.AsString()
			}
		}
	}
	return out
}

// componentConfigs reads the configurations of kubelets and kube-proxy stored in the cluster,
// without the values that kubeadm fills in.
func (r *reader) componentConfigs() error {
	err := r.componentConfig(keptConfig{
		kept: sharedKubelet, key: "kubelet", version: r.stored, render: kubeadm.SharedKubeletConfig,
		given: map[string]any{"cgroupDriver": "systemd"}, host: "containerRuntimeEndpoint",
	}, &r.cluster.Kubelet.Config)
	if err != nil || r.cluster.KubeProxy.Disabled {
		return err
	}
	return r.componentConfig(keptConfig{
		kept: proxyConfig, key: "config.conf", version: r.addonsVersion(), render: kubeadm.SharedProxyConfig,
		given: map[string]any{"clientConnection": map[string]any{"kubeconfig": "/var/lib/kube-proxy/kubeconfig.conf"}}, host: "hostnameOverride",
	}, &r.cluster.KubeProxy.Config)
}

// keptConfig is a component configuration that the cluster stores for all nodes.
type keptConfig struct {
	kept state.ObjectRef
	// key is the key in the ConfigMap, version the version of the kubeadm that wrote it.
	key, version string
	render       func(kubeadm.Input) (state.Value, error)
	// given is a default. Writing it out marks the configuration as given by the user.
	given map[string]any
	// host is a field that belongs to a single host, and has another place in the language.
	host string
}

// hashAnnotation marks a component configuration that kubeadm generated.
const hashAnnotation = "kubeadm.kubernetes.io/component-config.hash"

// componentConfig sets into to what the stored component configuration has beyond kubeadm's.
func (r *reader) componentConfig(c keptConfig, into *state.Value) error {
	object, first := r.seen.Objects[c.kept], r.planes()[0]
	if object.IsNull() {
		return nil // the plan makes it
	}
	seen := kubeadm.ReadDocument(object, c.key)
	if seen.IsNull() {
		return fmt.Errorf("the ConfigMap %s in kube-system has no readable %s. Correct it there, and run the same command again", c.kept.Name, c.key)
	}
	base, err := c.render(written(r.input(first.node, first.host), c.version))
	if err != nil {
		return err
	}
	add, _ := over(base, seen)
	if add.IsNull() && object.Get("metadata.annotations").AsMap()[hashAnnotation].AsString() == "" {
		add = state.FromGo(c.given)
	}
	*into = without(add, c.host)
	if _, err := c.render(written(r.input(first.node, first.host), c.version)); err != nil {
		return fmt.Errorf("the ConfigMap %s in kube-system: %w. Correct it there (kubectl -n kube-system edit configmap %s), and run the same command again", c.kept.Name, err, c.kept.Name)
	}
	return nil
}

// hoist moves settings that all nodes share to the cluster, where they also apply to nodes that
// join later.
func (r *reader) hoist() {
	args := func(n *config.Node) string { return fmt.Sprint(n.Kubelet.Args) }
	own := func(n *config.Node) bool {
		return slices.ContainsFunc(n.Kubelet.Args, func(a config.Arg) bool { return a.Value == n.Address })
	}
	if same(r.nodes, args) && !slices.ContainsFunc(r.nodes, own) {
		r.cluster.Kubelet.Args = r.nodes[0].Kubelet.Args
		for _, n := range r.nodes {
			n.Kubelet.Args = nil
		}
	}
	planes := r.planes()
	for _, p := range slices.Clone(planes[0].node.Patches) {
		everywhere := !slices.ContainsFunc(planes, func(other plane) bool {
			return !slices.Contains(other.node.Patches, p) || other.owns(p.Content)
		})
		if !everywhere || !slices.Contains(components, p.Target) {
			continue
		}
		r.cluster.Patches = append(r.cluster.Patches, p)
		for _, other := range planes {
			other.node.Patches = slices.DeleteFunc(other.node.Patches, func(q config.Patch) bool { return p == q })
		}
	}
}

// owns reports whether a text refers to one control plane by its name or one of its addresses: it
// then does not apply to other control planes, including later ones.
func (p plane) owns(text string) bool {
	return slices.ContainsFunc(slices.Concat([]string{p.host.Name}, p.host.Addresses, p.host.Node.InternalIPs), func(word string) bool {
		return regexp.MustCompile(`(^|[^[:alnum:]-])` + regexp.QuoteMeta(word) + `($|[^[:alnum:]-])`).MatchString(text)
	})
}

// planeTaints returns the taints of a control plane; nil for the default taint of kubeadm.
func planeTaints(seen []state.Taint) []state.Taint {
	out := []state.Taint{}
	for _, t := range seen {
		if !ofControllers(t.Key) {
			out = append(out, t)
		}
	}
	if len(out) == 1 && out[0] == (state.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}) {
		return nil
	}
	return out
}

// ofControllers reports whether Kubernetes itself sets and removes a taint.
func ofControllers(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return prefix == "node.kubernetes.io" || prefix == "node.cloudprovider.kubernetes.io"
}

// placed are labels with a Kubernetes prefix that administrators set by hand.
var placed = []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}

// ownLabels returns the labels of a node that an administrator set, not kubeadm, the kubelet or its
// flags.
func ownLabels(h *Host) map[string]string {
	flags := map[string]string{}
	for pair := range strings.SplitSeq(h.flag("node-labels"), ",") {
		key, value, _ := strings.Cut(pair, "=")
		flags[key] = value
	}
	out := map[string]string{}
	for key, value := range h.Node.Labels {
		prefix, _, _ := strings.Cut(key, "/")
		kubernetes := prefix == "kubernetes.io" || strings.HasSuffix(prefix, ".kubernetes.io") || strings.HasSuffix(prefix, "k8s.io")
		if v, flagged := flags[key]; flagged && v == value {
			continue
		}
		if !kubernetes || slices.Contains(placed, key) || prefix == "node-role.kubernetes.io" && key != "node-role.kubernetes.io/control-plane" {
			out[key] = value
		}
	}
	if len(out) == 0 {
		return nil
	}
	return maps.Clone(out)
}
