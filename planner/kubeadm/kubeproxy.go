package kubeadm

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	kubeproxyconfig "k8s.io/kube-proxy/config/v1alpha1"

	"github.com/kubewright/kubewright/state"
)

// kubeProxy renders the kube-proxy addon: its configuration and its DaemonSet.
type kubeProxy struct{ *settings }

func (p kubeProxy) objects() ([]Object, error) {
	config, err := p.configMap()
	if err != nil {
		return nil, err
	}
	daemons := p.daemonSet()
	if p.release.proxyPatch {
		if daemons, err = patched[appsv1.DaemonSet](p.settings, daemons, proxyTarget); err != nil {
			return nil, err
		}
	}
	if daemons, err = p.withEnv(daemons); err != nil {
		return nil, err
	}
	out := []Object{
		config, daemons, serviceAccount(addon, "kube-proxy"),
		clusterBinding(addon, "kubeadm:node-proxier", "system:node-proxier", subject("ServiceAccount", "kube-proxy")),
	}
	return append(out, reader(addon, systemNamespace, "kube-proxy", "configmaps", "kube-proxy", group(DefaultTokenGroup))...), nil
}

// configMap returns the ConfigMap with kube-proxy's configuration and its kubeconfig. Both end
// without a newline, like in kubeadm, since the hash covers every byte.
func (p kubeProxy) configMap() (Object, error) {
	c := &kubeproxyconfig.KubeProxyConfiguration{}
	if err := decodeStrict(p.KubeProxy.Config, c); err != nil {
		return Object{}, fmt.Errorf("cannot read the KubeProxyConfiguration: %w", err)
	}
	p.setDefaults(c)
	content, err := marshalYAML(c)
	if err != nil {
		return Object{}, fmt.Errorf("internal error: cannot write kube-proxy's configuration: %w", err)
	}
	data := map[string]string{
		"config.conf":     strings.TrimSuffix(string(content), "\n"),
		"kubeconfig.conf": proxyKubeconfig(p.sharedURL()),
	}
	metadata := object{}
	if isEmpty(p.KubeProxy.Config) {
		metadata = hashAnnotation(data)
	}
	metadata["labels"] = map[string]string{"app": "kube-proxy"}
	return configMap(addon, systemNamespace, "kube-proxy", data, metadata), nil
}

// setDefaults sets kubeadm's defaults for unset fields.
func (p kubeProxy) setDefaults(c *kubeproxyconfig.KubeProxyConfiguration) {
	c.APIVersion, c.Kind = kubeproxyconfig.SchemeGroupVersion.String(), "KubeProxyConfiguration"
	if c.FeatureGates == nil {
		c.FeatureGates = map[string]bool{}
	}
	bind := "0.0.0.0"
	if isIPv6(p.advertise) {
		bind = "::"
	}
	setDefault(&c.BindAddress, bind)
	setDefault(&c.ClusterCIDR, p.Network.PodSubnet)
	setDefault(&c.ClientConnection.Kubeconfig, "/var/lib/kube-proxy/kubeconfig.conf")
	setDefault(&c.Mode, kubeproxyconfig.ProxyMode(p.release.proxyMode))
}

// proxyKubeconfig authenticates with the pod's service account. Its keys are in the order of
// kubeadm's text.
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

func (p kubeProxy) daemonSet() Object {
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
					"containers":   []object{p.container()},
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

func (p kubeProxy) container() object {
	return object{
		"name": "kube-proxy", "image": p.coreImage("kube-proxy"), "imagePullPolicy": "IfNotPresent",
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

// withEnv appends the proxy environment to the first container, after any patch, like kubeadm.
func (p kubeProxy) withEnv(o Object) (Object, error) {
	vars := p.proxyEnv()
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
