package kubeadmtest

import (
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

func kubelets() []Case {
	worker := newHost("w1", config.Worker, "10.77.0.21")
	// The joining worker differs in all respects at once, whatever the case is about.
	worker.Node.Kubelet.Args = args("v", "4", "node-ip", "10.77.0.21")
	worker.Node.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 50, "evictionHard": map[string]any{"nodefs.available": "5%"}})
	worker.Node.CRISocket, worker.Node.ImagePullPolicy = "unix:///run/cri-dockerd.sock", "Always"
	worker.Node.Taints = []state.Taint{{Key: "dedicated", Value: "batch", Effect: "NoSchedule"}, {Key: "example.test/gone", Effect: "NoExecute"}}
	return []Case{
		newCase("kubelet-config", joinedBy(worker), func(c *Case) {
			c.Cluster.Kubelet.Config = state.FromGo(map[string]any{
				"maxPods": 200, "cgroupDriver": "cgroupfs", "serverTLSBootstrap": true, "rotateCertificates": false,
				"evictionHard": map[string]any{"memory.available": "200Mi"}, "nodeStatusUpdateFrequency": "20s",
				"featureGates": map[string]any{"AllAlpha": false}, "clusterDNS": []any{"10.96.0.53"},
				"registerWithTaints": []any{map[string]any{"key": "a", "effect": "NoSchedule"}},
			})
		}),
		newCase("kubelet-config-against-defaults", func(c *Case) {
			c.Cluster.Kubelet.Config = state.FromGo(map[string]any{
				"staticPodPath": "/etc/kubernetes/pods", "healthzPort": 0, "healthzBindAddress": "0.0.0.0", "clusterDomain": "other.example",
				"authentication": map[string]any{"anonymous": map[string]any{"enabled": true}, "webhook": map[string]any{"enabled": false, "cacheTTL": "1m"}, "x509": map[string]any{"clientCAFile": "/srv/ca.crt"}},
				"authorization":  map[string]any{"mode": "AlwaysAllow"}, "resolvConf": "/etc/resolv.other", "containerRuntimeEndpoint": "unix:///run/other.sock",
				"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "readOnlyPort": 10255,
			})
			c.Founder.Facts.SystemdResolved = true
		}),
		newCase("kubelet-args", joinedBy(worker), func(c *Case) {
			c.Cluster.Kubelet.Args = args("z", "1", "root-dir", "/srv/kubelet", "a", "spaces are kept", "quoted", `a"b`)
		}),
		newCase("kubelet-args-override", func(c *Case) {
			c.Cluster.Kubelet.Args = args("pod-infra-container-image", "example.test/pause:1", "hostname-override", "other.example.test", "container-runtime-endpoint", "unix:///run/x.sock")
		}),
		newCase("kubelet-per-node", joinedBy(worker), func(c *Case) {
			c.Cluster.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 200, "evictionHard": map[string]any{"memory.available": "200Mi"}})
			c.Founder.Node.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 30, "resolvConf": "/etc/resolv.own"})
		}),
		newCase("systemd-resolved", joinedBy(worker, func(h *Host) { h.Facts.SystemdResolved = true }), func(c *Case) { c.Founder.Facts.SystemdResolved = true }),
		newCase("systemd-resolved-worker", joinedBy(worker, func(h *Host) { h.Facts.SystemdResolved = true })),
		newCase("cri-socket", joinedBy(worker), func(c *Case) { c.Founder.Node.CRISocket = "unix:///var/run/crio/crio.sock" }),
		newCase("taints", joinedBy(worker), func(c *Case) {
			c.Founder.Node.Taints = []state.Taint{{Key: "dedicated", Value: "plane", Effect: "PreferNoSchedule"}}
		}),
		newCase("no-taints", joinedBy(newHost("cp2", config.ControlPlane, "10.77.0.12"), func(h *Host) {
			h.Node.Taints = []state.Taint{{Key: "x", Effect: "NoSchedule"}}
		}), endpoint("api.example.test:6443"), func(c *Case) { c.Founder.Node.Taints = []state.Taint{} }),
		newCase("pulling", joinedBy(worker), func(c *Case) {
			c.Cluster.ImagePullSerial = false
			c.Founder.Node.ImagePullPolicy = "Never"
			c.Founder.Node.IgnorePreflightErrors = []string{"Swap", "NumCPU"}
		}),
	}
}

func addons() []Case {
	return []Case{
		newCase("dns-image", func(c *Case) {
			c.Cluster.DNS.ImageRepository, c.Cluster.DNS.ImageTag = "mirror.example.test/dns", "v1.99.0"
		}),
		newCase("dns-image-official", func(c *Case) {
			c.Cluster.ImageRepository, c.Cluster.DNS.ImageRepository = "mirror.example.test", "registry.k8s.io"
		}),
		newCase("dns-disabled", func(c *Case) { c.Cluster.DNS.Disabled = true }),
		newCase("proxy-disabled", func(c *Case) { c.Cluster.KubeProxy.Disabled = true }),
		newCase("addons-skipped", func(c *Case) { c.Cluster.SkipPhases = []string{"addon"} }),
		newCase("addon-skipped", func(c *Case) { c.Cluster.SkipPhases = []string{"addon/kube-proxy"} }),
		newCase("proxy-config", func(c *Case) {
			c.Cluster.KubeProxy.Config = state.FromGo(map[string]any{
				"mode": "nftables", "metricsBindAddress": "0.0.0.0:10249", "conntrack": map[string]any{"maxPerCore": 0},
				"featureGates": map[string]any{"AllAlpha": false}, "nodePortAddresses": []any{"primary"},
			})
		}),
		newCase("proxy-config-against-defaults", func(c *Case) {
			c.Cluster.Network.PodSubnet = "10.244.0.0/16"
			c.Cluster.KubeProxy.Config = state.FromGo(map[string]any{
				"bindAddress": "10.77.0.11", "clusterCIDR": "10.0.0.0/8", "mode": "ipvs",
				"clientConnection": map[string]any{"kubeconfig": "/srv/proxy.conf", "qps": 5}, "hostnameOverride": "x",
			})
		}),
		newCase("proxy-cluster-cidr", func(c *Case) {
			c.From, c.To = oneMinor, oneMinor
			c.Cluster.KubeProxy.Config = state.FromGo(map[string]any{"clusterCIDR": "10.0.0.0/8"})
		}),
	}
}

func patches() []Case {
	patch := func(target, kind, content string) config.Patch {
		return config.Patch{Target: target, Type: kind, Content: content}
	}
	return []Case{
		newCase("patches-strategic", func(c *Case) {
			c.Cluster.Patches = []config.Patch{
				patch("kube-apiserver", "strategic", "spec:\n  containers:\n  - name: kube-apiserver\n    resources:\n      limits:\n        memory: 2Gi\n    env:\n    - name: A\n      value: b\n"),
				patch("kube-controller-manager", "", "metadata:\n  annotations:\n    example.test/x: \"1\"\n  labels:\n    tier: null\n"),
				patch("kube-scheduler", "strategic", "spec:\n  $setElementOrder/containers:\n  - name: kube-scheduler\n  volumes:\n  - name: kubeconfig\n    $patch: delete\n  hostNetwork: false\n"),
				patch("etcd", "strategic", "spec:\n  priority: 1\n  unknownField: gone\n"),
			}
		}),
		newCase("patches-json", func(c *Case) {
			c.Cluster.Patches = []config.Patch{
				patch("kube-apiserver", "json", `[{"op":"replace","path":"/spec/containers/0/resources/requests/cpu","value":"500m"},{"op":"add","path":"/spec/containers/0/command/-","value":"--v=2"}]`),
				patch("etcd", "json", "- op: remove\n  path: /spec/containers/0/readinessProbe\n- op: test\n  path: /kind\n  value: Pod\n"),
				patch("kubeletconfiguration", "json", `[{"op":"add","path":"/maxPods","value":77}]`),
			}
		}),
		newCase("patches-merge", func(c *Case) {
			c.Cluster.Patches = []config.Patch{
				patch("kube-scheduler", "merge", "spec:\n  priority: null\n  dnsPolicy: Default\n"),
				patch("kube-apiserver", "merge", "metadata:\n  annotations:\n    a: b\n"),
				patch("kubeletconfiguration", "merge", "clusterDNS: [10.96.0.53]\nsyncFrequency: null\n"),
			}
		}),
		newCase("patches-several", joinedBy(newHost("cp2", config.ControlPlane, "10.77.0.12"), func(h *Host) {
			h.Node.Patches = []config.Patch{patch("kubeletconfiguration", "strategic", "maxPods: 12\n"), patch("kube-apiserver", "merge", "metadata: {labels: {x: node}}")}
		}), endpoint("api.example.test:6443"), func(c *Case) {
			c.Cluster.Patches = []config.Patch{
				patch("kube-apiserver", "merge", "metadata:\n  labels:\n    x: \"1\"\n---\nmetadata:\n  labels:\n    x: \"2\"\n    y: \"1\"\n---\n"),
				patch("kube-apiserver", "json", `[{"op":"replace","path":"/metadata/labels/x","value":"3"}]`),
				patch("kubeletconfiguration", "", "containerRuntimeEndpoint: unix:///loses.sock\nmaxPods: 11\n"),
			}
		}),
		newCase("patches-dns", func(c *Case) {
			c.Cluster.Patches = []config.Patch{
				patch("corednsdeployment", "strategic", "spec:\n  replicas: 3\n  unknownField: gone\n  template:\n    spec:\n      containers:\n      - name: coredns\n        resources:\n          limits:\n            memory: 300Mi\n"),
				patch("corednsdeployment", "json", `[{"op":"remove","path":"/spec/template/spec/affinity"}]`),
			}
		}),
		newCase("patches-proxy", func(c *Case) {
			c.From = 37
			c.Cluster.ProxyEnv = map[string]string{"HTTPS_PROXY": "http://proxy.example.test:3128", "NO_PROXY": "10.0.0.0/8"}
			c.Cluster.Patches = []config.Patch{
				patch("kubeproxydaemonset", "strategic", "spec:\n  template:\n    spec:\n      containers:\n      - name: kube-proxy\n        env:\n        - name: X\n          value: z\n      nodeSelector:\n        example.test/proxy: \"yes\"\n"),
			}
		}),
	}
}

func gates() []Case {
	gate := func(name string, on bool) edit {
		return func(c *Case) { c.Cluster.FeatureGates = map[string]bool{name: on} }
	}
	plane := joinedBy(newHost("cp2", config.ControlPlane, "10.77.0.12"))
	return []Case{
		newCase("gate-local-mode-off", gate("ControlPlaneKubeletLocalMode", false), endpoint("api.example.test:6443"), func(c *Case) { c.To = 34 }),
		newCase("gate-local-socket-off", gate("NodeLocalCRISocket", false), plane, endpoint("api.example.test:6443"), func(c *Case) { c.To = 35 }),
		newCase("gate-local-socket-on", gate("NodeLocalCRISocket", true), func(c *Case) { c.To = 36 }),
		newCase("gate-ecdsa", gate("PublicKeysECDSA", true), plane, endpoint("api.example.test:6443"), func(c *Case) {
			c.To = 36
			c.Cluster.Certificates.Algorithm = "RSA-2048"
		}),
		newCase("gate-rootless-off", gate("RootlessControlPlane", false)),
	}
}

// combinations differ from the defaults in many respects at once.
func combinations() []Case {
	everything := func(c *Case) {
		m := c.Cluster
		m.Name, m.ImageRepository, m.BindPort = "all", "mirror.example.test", 7443
		m.Network = config.Network{PodSubnet: "10.200.0.0/16,fd00:200::/56", ServiceSubnet: "10.201.0.0/20,fd00:201::/112", DNSDomain: "all.example"}
		m.Certificates.Dir, m.Certificates.Validity = "/etc/kubernetes/certs", 2000*time.Hour
		m.APIServer.CertSANs = []string{"lb.example.test", "198.51.100.4"}
		m.APIServer.Args = args("v", "3", "tls-min-version", "VersionTLS13", "service-cluster-ip-range", "10.201.0.0/20")
		m.APIServer.Volumes = []config.Volume{{Name: "x", HostPath: "/x", MountPath: "/x", ReadOnly: true, PathType: "Directory"}}
		m.ControllerManager.Args = args("allocate-node-cidrs", "false", "v", "3")
		m.Scheduler.Args = args("config", "/etc/s.yaml")
		m.Etcd = config.Etcd{DataDir: "/srv/etcd", ImageTag: "3.6.9-1", Args: args("heartbeat-interval", "200", "name", "other"), ServerCertSANs: []string{"e.example.test"}}
		m.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 99})
		m.KubeProxy.Config = state.FromGo(map[string]any{"mode": "nftables"})
		m.ProxyEnv = map[string]string{"NO_PROXY": "*"}
		m.Patches = []config.Patch{{Target: "etcd", Type: "merge", Content: "metadata: {annotations: {x: z}}"}}
		c.Founder.Facts.SystemdResolved, c.Founder.Facts.CADirs = true, []string{"/etc/ca-certificates"}
		c.Joiner.Facts.SystemdResolved, c.Joiner.Facts.CADirs = true, []string{"/usr/share/ca-certificates"}
		c.Joiner.Node.Name = "joined.example.test"
	}
	return []Case{
		newCase("everything-control-plane", joinedBy(newHost("cp2", config.ControlPlane, "10.77.0.12")), endpoint("api.example.test"), everything),
		newCase("everything-worker", joinedBy(newHost("w1", config.Worker, "10.77.0.21"), func(h *Host) {
			h.Node.Taints = []state.Taint{{Key: "a", Value: "b", Effect: "NoExecute"}}
			h.Node.Kubelet.Args = args("node-labels", "a=b,c=d")
		}), endpoint("api.example.test"), everything),
	}
}
