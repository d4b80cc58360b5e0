package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/labels"
)

// cluster checks the content of a cluster block.
func (c checker) cluster(cl *Cluster) {
	c.version(cl.KubernetesVersion)
	c.endpoint(cl.ControlPlaneEndpoint)
	c.featureGates(cl.FeatureGates)
	c.bindPort(cl.BindPort)
	c.repository("image_repository", cl.ImageRepository)
	c.clusterName(cl.Name)
	c.pullPolicy(cl.ImagePullPolicy)
	c.oneOf("on_unreachable", "Invalid treatment of unreachable hosts", cl.OnUnreachable, Refuse, Withhold)
	c.sans("api_server.cert_sans", cl.APIServer.CertSANs)
	c.component("api_server", "kube-apiserver", cl.APIServer.Component, cl.Certificates.Dir)
	c.anonymous(cl.APIServer.Component)
	c.component("controller_manager", "kube-controller-manager", cl.ControllerManager, cl.Certificates.Dir)
	c.component("scheduler", "kube-scheduler", cl.Scheduler, cl.Certificates.Dir)
	c.etcd(cl)
	c.repository("dns.image_repository", cl.DNS.ImageRepository)
	c.tag("dns.image_tag", cl.DNS.ImageTag)
	c.kubelet(cl.Kubelet, Kubelet{})
	c.kubeProxy(cl)
	c.certificates(cl)
	kubeletServing(c, cl)
	c.upgrade(cl.Upgrade)
	c.install(cl.Install)
	c.timeouts(cl.Timeouts)
	c.tokens(cl.BootstrapTokens)
	c.reset(cl.Reset)
	c.patches(cl.Patches, false)
	c.clusterPatches(cl)
	c.preflight(cl.IgnorePreflightErrors)
	c.phases(cl.SkipPhases, nil)
	c.kernelModules(cl.KernelModules)
	checkSysctls(c, cl.Sysctls, cl)
	checkUnits(c, cl.Units)
	checkAtRest(c, cl.AtRest)
	c.proxy(cl.ProxyEnv)
	c.addons(cl.Addons)
}

// takenPorts are the ports of other components on a control plane.
var takenPorts = map[int]string{
	2379: "etcd", 2380: "etcd", 2381: "etcd", 10248: "the kubelet", 10250: "the kubelet",
	10249: "kube-proxy", 10256: "kube-proxy", 10257: "kube-controller-manager", 10259: "kube-scheduler",
}

func (c checker) bindPort(port int) {
	switch {
	case port == 0 && c.origins.Of("bind_port").IsZero():
	case port < 1 || port > 65535:
		c.errorf("bind_port", "Invalid port", "%d is not a port from 1 to 65535.", port)
	case takenPorts[port] != "":
		c.errorf("bind_port", "Port is taken", "Port %d is that of %s on the same host. The API server's is 6443 unless there is a reason.", port, takenPorts[port])
	}
}

func (c checker) clusterName(name string) {
	if strings.ContainsAny(name, "@\n\t ") {
		c.errorf("cluster_name", "Invalid cluster name", "%s cannot be a name in kubeconfigs, where contexts are called USER@CLUSTER: it holds a space or an @.", c.show("cluster_name", name))
	}
}

var (
	repositoryPattern = regexp.MustCompile(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?|\[[0-9a-fA-F:]+\])(?::\d{1,5})?(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagPattern        = regexp.MustCompile(`^\w[\w.-]*$`)
)

// repository checks a registry with an optional path.
func (c checker) repository(path, value string) {
	const summary = "Invalid image repository"
	switch {
	case value == "":
	case strings.Contains(value, "://"):
		c.errorf(path, summary, "%s is a URL. Write the registry and path alone, as in \"registry.example.com/kubernetes\".", c.show(path, value))
	case !repositoryPattern.MatchString(value):
		c.errorf(path, summary, "%s is no registry with an optional path in lower case and without tag, as in \"registry.example.com:5000/kubernetes\".", c.show(path, value))
	}
}

// tag checks the tag of an image.
func (c checker) tag(path, value string) {
	if value != "" && (len(value) > 128 || !tagPattern.MatchString(value)) {
		c.errorf(path, "Invalid image tag", "%s is no tag of an image: letters, digits, underscores, dots and hyphens, as in \"v1.14.2\".", c.show(path, value))
	}
}

func (c checker) pullPolicy(policy string) {
	c.oneOf("image_pull_policy", "Invalid image pull policy", policy, "Always", "IfNotPresent", "Never")
}

var percentage = regexp.MustCompile(`^([1-9]\d{0,8})(%?)$`)

// upgrade checks how nodes are upgraded.
func (c checker) upgrade(u Upgrade) {
	c.pace("upgrade", u.Pace)
	for _, p := range u.Pools {
		path := `upgrade.pool["` + p.Name + `"]`
		c.pace(path, p.own(u.Pace))
		if s, err := labels.Parse(p.Selector); err != nil {
			c.errorf(path+".selector", "Invalid label selector", "%s is no label selector, as in \"node.example.com/pool=batch\": %s.", c.show(path+".selector", p.Selector), err)
		} else if s.Empty() {
			c.errorf(path+".selector", "Invalid label selector", "An empty selector selects every worker. Workers that no pool selects have the settings of the upgrade block itself.")
		}
	}
	c.drain(u.Drain)
}

// own returns the pool's pace without the values that it inherits from the upgrade block, which
// are reported there.
func (p Pool) own(around Pace) Pace {
	own := p.Pace
	if own.MaxUnavailable == around.MaxUnavailable {
		own.MaxUnavailable = ""
	}
	if own.Canary == around.Canary {
		own.Canary = 0
	}
	if own.Pause == around.Pause {
		own.Pause = 0
	}
	return own
}

// pace checks how workers take turns.
func (c checker) pace(path string, p Pace) {
	m := percentage.FindStringSubmatch(p.MaxUnavailable)
	unavailable := path + ".max_unavailable"
	switch {
	case p.MaxUnavailable == "":
	case m == nil:
		c.errorf(unavailable, "Invalid max_unavailable", "%s is neither a number from 1 nor a percentage from \"1%%\" to \"100%%\". With 0 no worker could ever be taken down.", c.show(unavailable, p.MaxUnavailable))
	case m[2] == "%":
		if n, _ := strconv.Atoi(m[1]); n > 100 {
			c.errorf(unavailable, "Invalid max_unavailable", "%s is more than 100%%.", c.show(unavailable, p.MaxUnavailable))
		}
	}
	if p.Canary < 0 {
		c.errorf(path+".canary", "Invalid canary", "%d is no number of workers; 0 is none.", p.Canary)
	}
	if p.Pause < 0 {
		c.errorf(path+".pause", "Negative duration", "A pause cannot be negative; \"0s\" is none.")
	}
}

// drain checks how a node is drained.
func (c checker) drain(d DrainOptions) {
	if d.Timeout < 0 {
		c.errorf("upgrade.drain.timeout", "Negative duration", "A timeout cannot be negative; \"0s\" never gives up.")
	}
	if d.SkipWait < 0 {
		c.errorf("upgrade.drain.skip_wait_for_delete_timeout", "Negative duration", "A duration cannot be negative; \"0s\" waits for every pod.")
	}
	if d.GracePeriod < -1 {
		c.errorf("upgrade.drain.grace_period", "Invalid grace period", "%d is neither a number of seconds nor -1 for the pod's own.", d.GracePeriod)
	}
	if _, err := labels.Parse(d.PodSelector); err != nil {
		c.errorf("upgrade.drain.pod_selector", "Invalid label selector", "%s is no label selector, as in \"app=web,tier!=cache\": %s.", c.show("upgrade.drain.pod_selector", d.PodSelector), err)
	}
}

// timeouts requires all of them to be positive.
func (c checker) timeouts(t Timeouts) {
	for name, d := range map[string]fmt.Stringer{
		"control_plane_component_health_check": t.ControlPlaneComponentHealthCheck, "kubelet_health_check": t.KubeletHealthCheck,
		"kubernetes_api_call": t.KubernetesAPICall, "etcd_api_call": t.EtcdAPICall, "tls_bootstrap": t.TLSBootstrap,
		"discovery": t.Discovery, "upgrade_manifests": t.UpgradeManifests,
	} {
		path := "timeouts." + name
		if s := d.String(); (s == "0s" || strings.HasPrefix(s, "-")) && c.written(path) {
			c.errorf(path, "Timeout is not positive", "%s gives no time at all. Write a duration such as \"5m\".", s)
		}
	}
}

// written reports whether the user wrote the value itself.
func (c checker) written(path string) bool {
	_, ok := c.origins[path]
	return ok
}

func (c checker) reset(r Reset) {
	for _, f := range r.UnmountFlags {
		const path = "reset.unmount_flags"
		switch f {
		case "MNT_EXPIRE":
			c.errorf(path, "Unmount flag of no use", "With MNT_EXPIRE a first unmount only marks what is mounted, so that a reset would leave it. Leave it out, or write MNT_DETACH, which takes off what is still in use.")
		case "UMOUNT_NOFOLLOW":
			c.errorf(path, "Unmount flag of no use", "UMOUNT_NOFOLLOW matters for paths with symbolic links. A reset unmounts what the kernel lists, where paths have none. Leave it out.")
		default:
			c.oneOf(path, "Unknown unmount flag", f, "MNT_FORCE", "MNT_DETACH")
		}
	}
}

// proxy requires the names that kubeadm takes from its environment.
func (c checker) proxy(env map[string]string) {
	known := []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"}
	for _, name := range keys(env) {
		if !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			c.errorf("proxy_env", "Unknown proxy variable", "%q is no variable for a proxy: %s, also in lower case.%s Other variables are extra_env blocks of a component.", name, list(known), didYouMean(name, known))
		}
		if strings.ContainsFunc(env[name], unicode.IsControl) {
			c.errorf("proxy_env", "Invalid proxy", "The value of %s holds a line break or another control character, which no proxy's address has.", name)
		}
	}
}

// addons requires every object to be there only once.
func (c checker) addons(addons []*Addon) {
	owner := map[string]string{}
	for _, a := range addons {
		for _, object := range a.Objects {
			o := object.Value
			id := strings.Join([]string{o.Get("apiVersion").AsString(), o.Get("kind").AsString(), o.Get("metadata.namespace").AsString(), o.Get("metadata.name").AsString()}, "/")
			before, seen := owner[id]
			owner[id] = a.Name
			if !seen {
				continue
			}
			path := `addon["` + a.Name + `"].manifest`
			also := fmt.Sprintf("is also in addon %q. Each would overwrite the other: remove it from one of them", before)
			if before == a.Name {
				also = "stands twice in its manifest. Take one of the two out"
			}
			c.errorf(path, "Object given twice", "The object %s %q of addon %q %s.", o.Get("kind").AsString(), o.Get("metadata.name").AsString(), a.Name, also)
		}
	}
}
