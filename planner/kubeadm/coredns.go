package kubeadm

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubewright/kubewright/state"
)

// coreDNS renders the objects of the CoreDNS addon.
type coreDNS struct{ *settings }

func (d coreDNS) objects() ([]Object, error) {
	deployment, err := patched[appsv1.Deployment](d.settings, d.deployment(), dnsTarget)
	if err != nil {
		return nil, err
	}
	if deployment.Object.Get("spec.replicas").Equal(state.FromGo(dnsReplicas)) { // another number comes from a patch
		deployment.Initial = []string{"spec.replicas"}
	}
	account := subject("ServiceAccount", "coredns")
	read := []string{"list", "watch"}
	return []Object{
		d.configMap(),
		newObject(addon, rbacVersion, "ClusterRole", "", "system:coredns", object{"rules": []object{
			rule("", []string{"endpoints", "services", "pods", "namespaces"}, read),
			rule("discovery.k8s.io", []string{"endpointslices"}, read),
		}}),
		clusterBinding(addon, "system:coredns", "system:coredns", account),
		serviceAccount(addon, "coredns"),
		deployment,
		d.service(),
	}, nil
}

// dnsReplicas is the number of CoreDNS pods in a new cluster. Administrators may scale it.
const dnsReplicas = 2

var dnsLabels = map[string]string{"k8s-app": "kube-dns"}

func (d coreDNS) service() Object {
	port := func(name, protocol string, number int) object {
		return object{"name": name, "port": number, "protocol": protocol, "targetPort": number}
	}
	return newObject(addon, "v1", "Service", systemNamespace, "kube-dns", object{
		"metadata": object{
			"annotations": map[string]string{"prometheus.io/port": "9153", "prometheus.io/scrape": "true"},
			"labels":      map[string]string{"k8s-app": "kube-dns", "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"},
		},
		"spec": object{
			"clusterIP": d.dnsIP(),
			"ports":     []object{port("dns", "UDP", 53), port("dns-tcp", "TCP", 53), port("metrics", "TCP", 9153)},
			"selector":  dnsLabels,
		},
	})
}

func (d coreDNS) deployment() Object {
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
					"containers":   []object{d.container()},
					"dnsPolicy":    "Default",
					"volumes": []object{{"name": "config-volume", "configMap": object{
						"name": "coredns", "items": []object{{"key": "Corefile", "path": "Corefile"}},
					}}},
				},
			},
		},
	})
}

// spreadOverNodes prefers nodes without another CoreDNS pod.
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

func (d coreDNS) container() object {
	port := func(name, protocol string, number int) object {
		return object{"name": name, "containerPort": number, "protocol": protocol}
	}
	get := func(path, port string) object {
		return object{"path": path, "port": port, "scheme": "HTTP"}
	}
	return object{
		"name": "coredns", "image": d.image(), "imagePullPolicy": "IfNotPresent",
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

// image returns the image of CoreDNS. Kubernetes' own registry has it one folder deeper.
func (d coreDNS) image() string {
	repo := firstOf(d.DNS.ImageRepository, d.ImageRepository)
	if repo == "registry.k8s.io" {
		repo += "/coredns"
	}
	return repo + "/coredns:" + firstOf(d.DNS.ImageTag, d.release.coreDNS)
}

// configMap returns the ConfigMap with CoreDNS's configuration. Administrators add stub domains and
// hosts to it, and kubeadm keeps a Corefile that it has not written itself.
func (d coreDNS) configMap() Object {
	domain := d.Network.DNSDomain
	o := configMap(addon, systemNamespace, "coredns", map[string]string{"Corefile": corefile(domain)}, nil)
	o.Initial = []string{"data.Corefile"}
	o.Outdated = func(_, text string) bool { return sameCorefile(text, formerCorefile(domain)) }
	return o
}

// corefile returns CoreDNS's configuration. Since 1.32 answers for the cluster's own names are not
// cached.
func corefile(domain string) string {
	return corefileOf(domain,
		"    cache 30 {",
		"       disable success "+domain,
		"       disable denial "+domain,
		"    }",
	)
}

// formerCorefile returns the Corefile of kubeadm before 1.32.
func formerCorefile(domain string) string { return corefileOf(domain, "    cache 30") }

func corefileOf(domain string, cache ...string) string {
	lines := slices.Concat([]string{
		".:53 {",
		"    errors",
		"    health {",
		"       lameduck 5s",
		"    }",
		"    ready",
		"    kubernetes " + domain + " in-addr.arpa ip6.arpa {",
		"       pods insecure",
		"       fallthrough in-addr.arpa ip6.arpa",
		"       ttl 30",
		"    }",
		"    prometheus :9153",
		"    forward . /etc/resolv.conf {",
		"       max_concurrent 1000",
		"    }",
	}, cache, []string{
		"    loop",
		"    reload",
		"    loadbalance",
		"}",
	})
	return strings.Join(lines, "\n") + "\n"
}

// sameCorefile compares word by word: indentation does not matter.
func sameCorefile(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }
