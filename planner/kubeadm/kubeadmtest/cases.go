package kubeadmtest

import (
	"slices"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// Cases lists all configurations. Each differs from the defaults in one respect; "everything"
// differs in most of them at once.
func Cases() []Case {
	return slices.Concat(basics(), networks(), components(), etcds(), kubelets(), addons(), patches(), gates(), combinations())
}

// oneMinor is the version for cases where other configurations already cover the differences
// between versions.
const oneMinor = 36

// Refused are configurations that kubeadm accepts and the language refuses, with the reason: such a
// cluster is read, and the plan shows the differences.
var Refused = map[string]string{
	"authorization-mode":              "the API server does not start with the mode Webhook and no webhook",
	"args-order":                      "the scheduler does not start with feature gates that it does not know",
	"etcd-metrics-no-port":            "etcd does not start with a URL without a port",
	"environment":                     "a variable given twice is given once",
	"kubelet-config-against-defaults": "the runtime's socket is the node's attribute cri_socket",
	"kubelet-args":                    "the kubelet does not start with flags that it does not know",
	"kubelet-args-override":           "a node's name and socket are attributes",
	"proxy-config-against-defaults":   "one configuration of kube-proxy serves all nodes, so that it names none",
}

// RefusedFor are configurations that the language refuses for one argument alone, by the flag that the refusal
// names: kubeadm takes it, and the component would not start. Tests read them past this one refusal, so that
// all files are compared.
var RefusedFor = map[string]string{
	"everything-control-plane": "--name",
	"everything-worker":        "--name",
}

func basics() []Case {
	worker := joinedBy(newHost("w1", config.Worker, "10.77.0.21"))
	plane := joinedBy(newHost("cp2", config.ControlPlane, "10.77.0.12"))
	return []Case{
		newCase("default", worker),
		newCase("endpoint-name", worker, endpoint("api.example.test:6443")),
		newCase("endpoint-other-port", worker, endpoint("api.example.test:8443")),
		newCase("endpoint-no-port", worker, endpoint("api.example.test")),
		newCase("endpoint-address", worker, endpoint("10.77.0.11:6443")),
		newCase("second-control-plane", plane, endpoint("api.example.test:6443")),
		newCase("rsa-2048", func(c *Case) { c.Cluster.Certificates.Algorithm = "RSA-2048" }),
		newCase("rsa-3072", func(c *Case) { c.Cluster.Certificates.Algorithm = "RSA-3072" }),
		newCase("rsa-4096", func(c *Case) { c.Cluster.Certificates.Algorithm = "RSA-4096" }),
		newCase("ecdsa-p384", plane, endpoint("api.example.test:6443"), func(c *Case) { c.Cluster.Certificates.Algorithm = "ECDSA-P384" }),
		newCase("validity", func(c *Case) {
			c.Cluster.Certificates.Validity, c.Cluster.Certificates.CAValidity = 1000*time.Hour+30*time.Minute, 20000*time.Hour
		}),
		newCase("certificates-dir", worker, func(c *Case) { c.Cluster.Certificates.Dir = "/etc/pki/kubernetes" }),
		newCase("cluster-name", plane, endpoint("api.example.test:6443"), func(c *Case) { c.Cluster.Name = "prod-eu" }),
		newCase("bind-port", worker, func(c *Case) { c.Cluster.BindPort = 8443 }),
		newCase("bind-port-endpoint", plane, endpoint("api.example.test"), func(c *Case) { c.Cluster.BindPort = 8443 }),
		newCase("image-repository", func(c *Case) { c.Cluster.ImageRepository = "mirror.example.test:5000/k8s" }),
		newCase("external-ca", func(c *Case) { c.ExternalCA = true }),
		newCase("node-name", joinedBy(newHost("w1", config.Worker, "10.77.0.21"), func(h *Host) { h.Node.Name = "worker-1.example.test" }),
			func(c *Case) { c.Founder.Node.Name = "plane-1.example.test" }),
		newCase("host-name-upper", func(c *Case) { c.Founder.Facts.Hostname = "cp1.example.test" }),
		newCase("upload-certs", func(c *Case) {
			c.Cluster.UploadCerts = true
			c.Init = "certificateKey: " + certificateKey
		}),
		newCase("tokens", func(c *Case) {
			c.Cluster.BootstrapTokens = []config.BootstrapToken{{
				Token: state.NewSecret([]byte("zyxwvu.0123456789zyxwvu")), Description: "second", TTL: time.Hour,
				Usages: []string{"authentication"}, Groups: []string{"system:bootstrappers:kubeadm:others"},
			}}
		}),
	}
}

// certificateKey protects no real secret.
const certificateKey = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func endpoint(s string) edit { return func(c *Case) { c.Cluster.ControlPlaneEndpoint = s } }

func networks() []Case {
	v6 := func(c *Case) {
		c.Cluster.Network.ServiceSubnet = "fd00:10:96::/112"
		c.Founder = newHost("cp1", config.ControlPlane, "fd00:77::11")
	}
	return []Case{
		newCase("pod-subnet", func(c *Case) { c.Cluster.Network.PodSubnet = "10.244.0.0/16" }),
		newCase("service-subnet", func(c *Case) { c.Cluster.Network.ServiceSubnet = "172.20.16.0/20" }),
		newCase("dns-domain", joinedBy(newHost("w1", config.Worker, "10.77.0.21")), func(c *Case) { c.Cluster.Network.DNSDomain = "corp.example" }),
		newCase("ipv6", v6, joinedBy(newHost("cp2", config.ControlPlane, "fd00:77::12")), endpoint("api.example.test:6443"),
			func(c *Case) { c.Cluster.Network.PodSubnet = "fd00:10:244::/56" }),
		newCase("ipv6-endpoint", v6, endpoint("[fd00:77::11]:6443")),
		newCase("ipv6-uncanonical", v6, func(c *Case) { c.Founder = newHost("cp1", config.ControlPlane, "fd00:77:0:0::11") }),
		newCase("dual-stack", joinedBy(newHost("w1", config.Worker, "10.77.0.21", "fd00:77::21")), func(c *Case) {
			c.Cluster.Network.ServiceSubnet = "10.96.0.0/16,fd00:10:96::/112"
			c.Cluster.Network.PodSubnet = "10.244.0.0/16,fd00:10:244::/56"
			c.Founder = newHost("cp1", config.ControlPlane, "10.77.0.11", "fd00:77::11")
		}),
		newCase("dual-stack-ipv6-first", func(c *Case) {
			c.Cluster.Network.ServiceSubnet = "fd00:10:96::/112,10.96.0.0/16"
			c.Cluster.Network.PodSubnet = "fd00:10:244::/56,10.244.0.0/16"
			c.Founder = newHost("cp1", config.ControlPlane, "fd00:77::11", "10.77.0.11")
		}),
		newCase("proxy-environment", func(c *Case) {
			c.Cluster.ProxyEnv = map[string]string{
				"HTTP_PROXY": "http://proxy.example.test:3128", "HTTPS_PROXY": "http://proxy.example.test:3128",
				"NO_PROXY": "10.0.0.0/8,.example.test", "no_proxy": "10.0.0.0/8", "ALL_PROXY": "", "OTHER": "not a proxy",
			}
		}),
	}
}

func components() []Case {
	return []Case{
		newCase("cert-sans", joinedBy(newHost("cp2", config.ControlPlane, "10.77.0.12")), endpoint("api.example.test:6443"), func(c *Case) {
			c.Cluster.APIServer.CertSANs = []string{"API.Example.test", "*.lb.example.test", "203.0.113.7", "2001:db8::7", "10.77.0.11", "kubernetes"}
		}),
		newCase("args", func(c *Case) {
			c.Cluster.APIServer.Args = args("audit-log-maxage", "30", "allow-privileged", "false", "enable-admission-plugins", "NodeRestriction,AlwaysPullImages")
			c.Cluster.ControllerManager.Args = args("bind-address", "0.0.0.0", "node-cidr-mask-size", "25", "cluster-signing-duration", "2160h")
			c.Cluster.Scheduler.Args = args("v", "4", "bind-address", "10.77.0.11")
		}),
		newCase("args-order", func(c *Case) {
			c.Cluster.APIServer.Args = args("z-last", "1", "service-account-issuer", "https://new.example.test", "a-first", "2",
				"service-account-issuer", "https://old.example.test", "empty", "", "with-equals", "a=b,c=d")
			c.Cluster.ControllerManager.Args = args("controllers", "*", "controllers", "-ttl")
			c.Cluster.Scheduler.Args = args("feature-gates", "B=true", "feature-gates", "A=false", "bind-address", "::")
		}),
		newCase("authorization-mode", func(c *Case) { c.Cluster.APIServer.Args = args("authorization-mode", "Node,RBAC,Webhook") }),
		newCase("authorization-config", func(c *Case) {
			c.Cluster.APIServer.Args = args("authorization-config", "/etc/kubernetes/authz.yaml")
			c.Cluster.APIServer.Volumes = []config.Volume{{Name: "authz", HostPath: "/etc/kubernetes/authz.yaml", MountPath: "/etc/kubernetes/authz.yaml", ReadOnly: true, PathType: "File"}}
		}),
		newCase("volumes", func(c *Case) {
			c.Cluster.APIServer.Volumes = []config.Volume{
				{Name: "audit", HostPath: "/var/log/audit", MountPath: "/audit", PathType: "DirectoryOrCreate"},
				{Name: "k8s-certs", HostPath: "/srv/pki", MountPath: "/etc/kubernetes/pki", ReadOnly: true, PathType: "Directory"},
				{Name: "any", HostPath: "/srv/any", MountPath: "/any"},
			}
			c.Cluster.ControllerManager.Volumes = []config.Volume{{Name: "socket", HostPath: "/run/x.sock", MountPath: "/x.sock", PathType: "Socket"}}
			c.Cluster.Scheduler.Volumes = []config.Volume{{Name: "a-file", HostPath: "/etc/s.yaml", MountPath: "/etc/s.yaml", ReadOnly: true, PathType: "FileOrCreate"}}
		}),
		newCase("environment-and-volumes", func(c *Case) {
			c.From, c.To = oneMinor, oneMinor
			envs := []config.EnvVar{
				{Name: "GOMEMLIMIT", Value: "1GiB"},
				{Name: "POD_IP", ValueFrom: state.FromGo(map[string]any{"fieldRef": map[string]any{"fieldPath": "status.podIP"}})},
			}
			c.Cluster.Etcd.Envs = envs
			for _, m := range []*config.Component{&c.Cluster.APIServer.Component, &c.Cluster.ControllerManager, &c.Cluster.Scheduler} {
				m.Envs = envs
				m.Volumes = []config.Volume{{Name: "extra", HostPath: "/srv/extra", MountPath: "/extra", ReadOnly: true, PathType: "Directory"}}
			}
		}),
		newCase("flexvolume", func(c *Case) {
			c.Cluster.ControllerManager.Args = args("flex-volume-plugin-dir", "/opt/flex")
		}),
		newCase("environment", func(c *Case) {
			field := state.FromGo(map[string]any{"fieldRef": map[string]any{"fieldPath": "status.podIP"}})
			secret := state.FromGo(map[string]any{"configMapKeyRef": map[string]any{"name": "m", "key": "k", "optional": true}})
			c.Cluster.ProxyEnv = map[string]string{"HTTPS_PROXY": "http://proxy.example.test:3128", "NO_PROXY": "10.0.0.0/8"}
			c.Cluster.APIServer.Envs = []config.EnvVar{{Name: "Z", Value: "1"}, {Name: "A", ValueFrom: field}, {Name: "NO_PROXY", Value: "*"}}
			c.Cluster.ControllerManager.Envs = []config.EnvVar{{Name: "EMPTY"}, {Name: "K", ValueFrom: secret}}
			c.Cluster.Scheduler.Envs = []config.EnvVar{{Name: "TWICE", Value: "1"}, {Name: "TWICE", Value: "2"}}
			c.Cluster.Etcd.Envs = []config.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: "8589934592"}, {Name: "B", ValueFrom: field}}
		}),
		newCase("startup-time", func(c *Case) {
			c.Cluster.Timeouts.ControlPlaneComponentHealthCheck = 333 * time.Second
			c.Cluster.Timeouts.KubeletHealthCheck, c.Cluster.Timeouts.KubernetesAPICall = 3*time.Minute, 90*time.Second
			c.Cluster.Timeouts.EtcdAPICall, c.Cluster.Timeouts.TLSBootstrap = 3*time.Minute, 6*time.Minute
			c.Cluster.Timeouts.Discovery, c.Cluster.Timeouts.UpgradeManifests = 6*time.Minute, 7*time.Minute
		}),
		newCase("ca-folders", func(c *Case) {
			c.Founder.Facts.CADirs = []string{"/etc/ca-certificates", "/etc/pki/ca-trust", "/etc/pki/tls/certs", "/usr/local/share/ca-certificates", "/usr/share/ca-certificates"}
		}),
		newCase("ca-folders-debian", func(c *Case) {
			c.Founder.Facts.CADirs = []string{"/etc/ca-certificates", "/usr/local/share/ca-certificates", "/usr/share/ca-certificates"}
		}),
	}
}

func etcds() []Case {
	external := func(e config.ExternalEtcd) edit { return func(c *Case) { c.Cluster.Etcd.External = &e } }
	return []Case{
		newCase("etcd-data-dir", func(c *Case) { c.Cluster.Etcd.DataDir = "/srv/etcd" }),
		newCase("etcd-image", func(c *Case) {
			c.Cluster.Etcd.ImageRepository, c.Cluster.Etcd.ImageTag = "mirror.example.test/etcd", "3.6.1-custom"
		}),
		newCase("etcd-image-3.5", func(c *Case) { c.Cluster.Etcd.ImageTag = "3.5.21-0" }),
		newCase("etcd-image-odd", func(c *Case) { c.Cluster.Etcd.ImageTag = "mine" }),
		newCase("etcd-args", func(c *Case) {
			c.Cluster.Etcd.Args = args("quota-backend-bytes", "8589934592", "listen-metrics-urls", "https://10.77.0.11:3381,http://127.0.0.1:2381",
				"advertise-client-urls", "https://etcd.example.test:2379", "snapshot-count", "5000")
		}),
		newCase("etcd-metrics-anywhere", func(c *Case) { c.Cluster.Etcd.Args = args("listen-metrics-urls", "http://0.0.0.0:2381") }),
		newCase("etcd-metrics-no-port", func(c *Case) { c.Cluster.Etcd.Args = args("listen-metrics-urls", "http://127.0.0.1") }),
		newCase("etcd-metrics-no-host", func(c *Case) { c.Cluster.Etcd.Args = args("listen-metrics-urls", "http://:9999") }),
		newCase("etcd-sans", joinedBy(newHost("cp2", config.ControlPlane, "10.77.0.12")), endpoint("api.example.test:6443"), func(c *Case) {
			c.Cluster.Etcd.ServerCertSANs = []string{"etcd.example.test", "203.0.113.9", "localhost"}
			c.Cluster.Etcd.PeerCertSANs = []string{"*.peers.example.test", "2001:db8::9"}
		}),
		newCase("external-etcd", external(config.ExternalEtcd{
			Endpoints: []string{"https://10.77.9.1:2379", "https://10.77.9.2:2379"},
			CAFile:    "/etc/etcd/ca/ca.crt", CertFile: "/etc/etcd/client/client.crt", KeyFile: "/srv/keys/client.key",
		})),
		newCase("external-etcd-nested", external(config.ExternalEtcd{
			Endpoints: []string{"https://etcd.example.test:2379"},
			CAFile:    "/etc/etcd/tls/ca.crt", CertFile: "/etc/etcd/client.crt", KeyFile: "/etc/etcd/tls/private/client.key",
		})),
		newCase("external-etcd-covered", external(config.ExternalEtcd{
			Endpoints: []string{"https://etcd.example.test:2379"},
			CAFile:    "/etc/kubernetes/pki/etcd/ca.crt", CertFile: "/etc/ssl/certs/client.crt", KeyFile: "/etc/pki/ca-trust/client.key",
		})),
		newCase("external-etcd-plain", external(config.ExternalEtcd{Endpoints: []string{"http://10.77.9.1:2379"}})),
		newCase("external-etcd-ca-only", external(config.ExternalEtcd{Endpoints: []string{"https://10.77.9.1:2379"}, CAFile: "/etc/etcd/ca.crt"})),
		newCase("external-etcd-http", func(c *Case) { c.From = 35 }, external(config.ExternalEtcd{
			Endpoints: []string{"https://10.77.9.1:2379"}, HTTPEndpoints: []string{"https://10.77.9.1:2383"},
			CAFile: "/etc/etcd/ca.crt", CertFile: "/etc/etcd/client.crt", KeyFile: "/etc/etcd/client.key",
		})),
	}
}
