package kubeadm

import (
	"encoding/json"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/kubewright/kubewright/state"
)

// Addons are CoreDNS and kube-proxy alone, of a configuration that was not checked yet.
func Addons(in Input) ([]Object, error) { return in.view().addonObjects() }

// addonObjects are CoreDNS and kube-proxy, as far as they are wanted.
func (v *view) addonObjects() ([]Object, error) {
	var out []Object
	if !v.DNS.Disabled {
		objects, err := v.dnsObjects()
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	if !v.KubeProxy.Disabled {
		objects, err := v.proxyObjects()
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// patched applies the patches of a target to an object. As in kubeadm, which
// reads the result into the object's Go type, what the type does not have falls
// away and what does not fit is an error.
func patched[T any](v *view, o Object, target string) (Object, error) {
	patches := v.patches(target)
	if len(patches) == 0 {
		return o, nil
	}
	content, err := json.Marshal(o.Object)
	if err != nil {
		return o, err
	}
	content, typed, err := readPatched(content, patches, o.Ref.Kind+" "+o.Ref.Name, func(b []byte, o *T) error { return utiljson.Unmarshal(b, o) })
	if err != nil {
		return o, err
	}
	if err := o.Object.UnmarshalJSON(content); err != nil {
		return o, err
	}
	o.Object = known(o.Object, tree(typed))
	return o, nil
}

// known drops the fields of a tree that the same object as a Go type does not have.
func known(v, typed state.Value) state.Value {
	switch {
	case v.Kind() == state.KindMap && typed.Kind() == state.KindMap:
		m := fieldMap{}
		for k, e := range v.AsMap() {
			if t, ok := typed.AsMap()[k]; ok {
				m[k] = known(e, t)
			}
		}
		return state.Map(m)
	case v.Kind() == state.KindList && len(v.AsList()) == len(typed.AsList()):
		list := make([]state.Value, len(v.AsList()))
		for i, e := range v.AsList() {
			list[i] = known(e, typed.AsList()[i])
		}
		return state.List(list...)
	}
	return v
}

func (v *view) dnsObjects() ([]Object, error) {
	deployment, err := patched[appsv1.Deployment](v, v.dnsDeployment(), dnsTarget)
	if err != nil {
		return nil, err
	}
	if deployment.Object.Get("spec.replicas").Equal(state.FromGo(dnsReplicas)) { // a patch that gives another number means it
		deployment.Initial = []string{"spec.replicas"}
	}
	account := subject("ServiceAccount", "coredns")
	read := []string{"list", "watch"}
	return []Object{
		v.dnsConfig(),
		newObject(addon, rbacVersion, "ClusterRole", "", "system:coredns", object{"rules": []object{
			rule("", []string{"endpoints", "services", "pods", "namespaces"}, read),
			rule("discovery.k8s.io", []string{"endpointslices"}, read),
		}}),
		clusterBinding(addon, "system:coredns", "system:coredns", account),
		serviceAccount(addon, "coredns"),
		deployment,
		v.dnsService(),
	}, nil
}

// dnsReplicas is how many pods of CoreDNS a new cluster has. Whoever scales it, scales it.
const dnsReplicas = 2

var dnsLabels = map[string]string{"k8s-app": "kube-dns"}

func (v *view) dnsService() Object {
	port := func(name, protocol string, number int) object {
		return object{"name": name, "port": number, "protocol": protocol, "targetPort": number}
	}
	return newObject(addon, "v1", "Service", systemNamespace, "kube-dns", object{
		"metadata": object{
			"annotations": map[string]string{"prometheus.io/port": "9153", "prometheus.io/scrape": "true"},
			"labels":      map[string]string{"k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"},
		},
		"spec": object{
			"clusterIP": v.dnsIP(),
			"ports":     []object{port("dns", "UDP", 53), port("dns-tcp", "TCP", 53), port("metrics", "TCP", 9153)},
			"selector":  dnsLabels,
		},
	})
}

func (v *view) dnsDeployment() Object {
	return newObject(addon, "apps/v1", "Deployment", systemNamespace, "coredns", object{
		"metadata": object{"labels": dnsLabels},
		"spec": object{
			"replicas": dnsReplicas,
			"strategy": object{"type": "RollingUpdate", "rollingUpdate": object{"maxUnavailable": 1}},
			"selector": object{"matchLabels": dnsLabels},
			"template": object{
				"metadata": object{"labels": dnsLabels},
				"spec": object{
					"priorityClassName":  "system-cluster-critical",
					"serviceAccountName": "coredns",
					"affinity":           object{"podAntiAffinity": spreadOverNodes()},
					"tolerations": []object{
						{"key": "CriticalAddonsOnly", "operator": "Exists"},
						{"key": ControlPlaneRole, "effect": "NoSchedule"},
					},
					"nodeSelector": map[string]string{"kubernetes.io/os": "linux"},
					"containers":   []object{v.dnsContainer()},
					"dnsPolicy":    "Default",
					"volumes": []object{{"name": "config-volume", "configMap": object{
						"name": "coredns", "items": []object{{"key": "Corefile", "path": "Corefile"}},
					}}},
				},
			},
		},
	})
}

// spreadOverNodes prefers nodes without another CoreDNS.
func spreadOverNodes() object {
	return object{"preferredDuringSchedulingIgnoredDuringExecution": []object{{
		"weight": 100,
		"podAffinityTerm": object{
			"topologyKey": "kubernetes.io/hostname",
			"labelSelector": object{"matchExpressions": []object{
				{"key": "k8s-app", "operator": "In", "values": []string{"kube-dns"}},
			}},
		},
	}}}
}

func (v *view) dnsContainer() object {
	port := func(name, protocol string, number int) object {
		return object{"name": name, "containerPort": number, "protocol": protocol}
	}
	get := func(path, port string) object {
		return object{"path": path, "port": port, "scheme": "HTTP"}
	}
	return object{
		"name": "coredns", "image": v.dnsImage(), "imagePullPolicy": "IfNotPresent",
		"args": []string{"-conf", "/etc/coredns/Corefile"},
		"resources": object{
			"limits":   map[string]string{"memory": "170Mi"},
			"requests": map[string]string{"cpu": "100m", "memory": "70Mi"},
		},
		"volumeMounts": []object{{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": true}},
		"ports": []object{
			port("dns", "UDP", 53), port("dns-tcp", "TCP", 53), port("metrics", "TCP", 9153),
			port("liveness-probe", "TCP", 8080), port("readiness-probe", "TCP", 8181),
		},
		"livenessProbe": object{
			"httpGet": get("/health", "liveness-probe"), "initialDelaySeconds": 60,
			"timeoutSeconds": 5, "successThreshold": 1, "failureThreshold": 5,
		},
		"readinessProbe": object{"httpGet": get("/ready", "readiness-probe")},
		"securityContext": object{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
			"capabilities": object{"add": []string{"NET_BIND_SERVICE"}, "drop": []string{"ALL"}},
		},
	}
}

func (v *view) proxyObjects() ([]Object, error) {
	config, err := v.proxyConfigMap()
	if err != nil {
		return nil, err
	}
	daemons := v.proxyDaemonSet()
	if v.release.proxyPatch {
		if daemons, err = patched[appsv1.DaemonSet](v, daemons, proxyTarget); err != nil {
			return nil, err
		}
	}
	if daemons, err = v.withProxyEnv(daemons); err != nil {
		return nil, err
	}
	out := []Object{
		config, daemons, serviceAccount(addon, "kube-proxy"),
		clusterBinding(addon, "kubeadm:node-proxier", "system:node-proxier", subject("ServiceAccount", "kube-proxy")),
	}
	return append(out, reader(addon, systemNamespace, "kube-proxy", "configmaps", "kube-proxy", group(DefaultTokenGroup))...), nil
}

// proxyConfigMap holds kube-proxy's configuration and its kubeconfig. Both end
// without a newline, as kubeadm has them, since the hash covers every byte.
func (v *view) proxyConfigMap() (Object, error) {
	c := &kubeproxyconfig.KubeProxyConfiguration{}
	if err := decodeStrict(v.KubeProxy.Config, c); err != nil {
		return Object{}, fmt.Errorf("cannot read the KubeProxyConfiguration: %w", err)
	}
	v.defaultProxy(c)
	content, err := marshalYAML(c)
	if err != nil {
		return Object{}, fmt.Errorf("internal error: cannot write kube-proxy's configuration: %w", err)
	}
	data := map[string]string{
		"config.conf":     strings.TrimSuffix(string(content), "\n"),
		"kubeconfig.conf": proxyKubeconfig(v.sharedURL()),
	}
	metadata := object{}
	if isEmpty(v.KubeProxy.Config) {
		metadata = hashAnnotation(data)
	}
	metadata["labels"] = map[string]string{"app": "kube-proxy"}
	return configMap(addon, systemNamespace, "kube-proxy", data, metadata), nil
}

// defaultProxy sets what kubeadm sets where the user says nothing.
func (v *view) defaultProxy(c *kubeproxyconfig.KubeProxyConfiguration) {
	c.APIVersion, c.Kind = kubeproxyconfig.SchemeGroupVersion.String(), "KubeProxyConfiguration"
	if c.FeatureGates == nil {
		c.FeatureGates = map[string]bool{}
	}
	bind := "0.0.0.0"
	if isIPv6(v.advertise) {
		bind = "::"
	}
	setDefault(&c.BindAddress, bind)
	setDefault(&c.ClusterCIDR, v.Network.PodSubnet)
	setDefault(&c.ClientConnection.Kubeconfig, "/var/lib/kube-proxy/kubeconfig.conf")
	setDefault(&c.Mode, kubeproxyconfig.ProxyMode(v.release.proxyMode))
}

// proxyKubeconfig authenticates by the pod's service account. The order of its
// keys is that of kubeadm's text.
func proxyKubeconfig(server string) string {
	const account = "/var/run/secrets/kubernetes.io/serviceaccount"
	lines := []string{
		"apiVersion: v1",
		"kind: Config",
		"clusters:",
		"- cluster:",
		"    certificate-authority: " + account + "/ca.crt",
		"    server: " + server,
		"  name: default",
		"contexts:",
		"- context:",
		"    cluster: default",
		"    namespace: default",
		"    user: default",
		"  name: default",
		"current-context: default",
		"users:",
		"- name: default",
		"  user:",
		"    tokenFile: " + account + "/token",
	}
	return strings.Join(lines, "\n")
}

func (v *view) proxyDaemonSet() Object {
	labels := map[string]string{"k8s-app": "kube-proxy"}
	return newObject(addon, "apps/v1", "DaemonSet", systemNamespace, "kube-proxy", object{
		"metadata": object{"labels": labels},
		"spec": object{
			"selector":       object{"matchLabels": labels},
			"updateStrategy": object{"type": "RollingUpdate"},
			"template": object{
				"metadata": object{"labels": labels},
				"spec": object{
					"priorityClassName": "system-node-critical", "hostNetwork": true, "serviceAccountName": "kube-proxy",
					"containers":   []object{v.proxyContainer()},
					"tolerations":  []object{{"operator": "Exists"}},
					"nodeSelector": map[string]string{"kubernetes.io/os": "linux"},
					"volumes": []object{
						{"name": "kube-proxy", "configMap": object{"name": "kube-proxy"}},
						{"name": "xtables-lock", "hostPath": object{"path": "/run/xtables.lock", "type": "FileOrCreate"}},
						{"name": "lib-modules", "hostPath": object{"path": "/lib/modules"}},
					},
				},
			},
		},
	})
}

func (v *view) proxyContainer() object {
	return object{
		"name": "kube-proxy", "image": v.coreImage("kube-proxy"), "imagePullPolicy": "IfNotPresent",
		"command": []string{
			"/usr/local/bin/kube-proxy", "--config=/var/lib/kube-proxy/config.conf", "--hostname-override=$(NODE_NAME)",
		},
		"securityContext": object{"privileged": true},
		"volumeMounts": []object{
			{"name": "kube-proxy", "mountPath": "/var/lib/kube-proxy"},
			{"name": "xtables-lock", "mountPath": "/run/xtables.lock"},
			{"name": "lib-modules", "mountPath": "/lib/modules", "readOnly": true},
		},
		"env": []object{{"name": "NODE_NAME", "valueFrom": object{"fieldRef": object{"fieldPath": "spec.nodeName"}}}},
	}
}

// withProxyEnv appends the proxies' environment to the first container, after
// any patch, as kubeadm does.
func (v *view) withProxyEnv(o Object) (Object, error) {
	vars := v.proxyEnv()
	if len(vars) == 0 {
		return o, nil
	}
	containers := o.Object.Get("spec.template.spec.containers").AsList()
	if len(containers) == 0 {
		return o, fmt.Errorf("cannot set the proxies' environment of kube-proxy: a patch removed its containers")
	}
	env := containers[0].Get("env").AsList()
	for _, e := range vars {
		env = append(env[:len(env):len(env)], tree(e))
	}
	first := fields(containers[0])
	first["env"] = state.List(env...)
	rest := append([]state.Value{state.Map(first)}, containers[1:]...)
	o.Object = with(o.Object, state.List(rest...), "spec", "template", "spec", "containers")
	return o, nil
}

// with returns the tree with the value at the keys replaced.
func with(v, value state.Value, keys ...string) state.Value {
	if len(keys) == 0 {
		return value
	}
	m := fields(v)
	m[keys[0]] = with(m[keys[0]], value, keys[1:]...)
	return state.Map(m)
}
