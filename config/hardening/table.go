package hardening

import (
	"strings"

	"github.com/kubewright/kubewright/state"
)

// suites are the cipher suites that are filled in, and strong those that may be written: with forward
// secrecy and authenticated encryption. TLS 1.3 has its own, which are always on.
var (
	suites = []string{
		"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
		"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	}
	strong = append([]string{
		"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256",
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
	}, suites...)
	suitesOnly = among("suites with forward secrecy and authenticated encryption", strong)
)

// kernel are the kernel parameters that the kubelet requires with protectKernelDefaults
// (pkg/kubelet/cm).
var kernel = []struct{ name, value string }{
	{"vm.overcommit_memory", "1"},
	{"vm.panic_on_oom", "0"},
	{"kernel.panic", "10"},
	{"kernel.panic_on_oops", "1"},
	{"kernel.keys.root_maxkeys", "1000000"},
	{"kernel.keys.root_maxbytes", "25000000"},
}

func text(s string) state.Value { return state.String(s) }

// arg is a setting for an argument: value is filled in, unless it is empty.
func arg(in Place, name, value string, must Rule) Setting {
	s := Setting{In: in, Name: name, Must: must}
	if value != "" {
		s.Value = text(value)
	}
	return s
}

func field(name, flag string, value state.Value, must Rule) Setting {
	return Setting{In: Kubelet, Name: name, Flag: flag, Value: value, Must: must}
}

func whole(block string) Setting { return Setting{In: Blocks, Name: block} }

func ofFile(name string) Setting { return Setting{In: Files, Name: name} }

func kernelSettings() []Setting {
	out := []Setting{field("protectKernelDefaults", "protect-kernel-defaults", state.Bool(true), isTrue)}
	for _, k := range kernel {
		out = append(out, Setting{In: Sysctls, Name: k.name, Value: text(k.value), Must: is(k.value)})
	}
	return out
}

const plugins, off = "enable-admission-plugins", "disable-admission-plugins"

// Controls are the controls in the order of their numbers: those of sections 1 to 4 of the CIS
// Kubernetes Benchmark that a setting of a cluster decides, Pod Security of section 5, and the kernel
// parameters of DISA's STIG. Those that hold by what kubeadm does are there for what contradicts them.
var Controls = []Control{
	{Number: "1.1.12", Title: "the data of etcd belongs to a user of its own", Settings: []Setting{ofFile(EtcdData)}},
	{Number: "1.2.1", Title: "requests without credentials are answered on health paths alone", Settings: []Setting{whole(AuthenticationBlock)}},
	{Number: "1.2.2", Title: "no file of static tokens", Settings: []Setting{arg(APIServer, "token-auth-file", "", unset)}},
	{Number: "1.2.3", Title: "users set no external IPs of services", Settings: []Setting{arg(APIServer, plugins, "DenyServiceExternalIPs", has("DenyServiceExternalIPs"))}},
	{Number: "1.2.5", Title: "API servers verify the certificates of kubelets", Settings: []Setting{whole(ServingSetting)}},
	{Number: "1.2.6", Title: "requests are authorized", Settings: []Setting{arg(APIServer, "authorization-mode", "", lacks("AlwaysAllow"))}},
	{Number: "1.2.7", Title: "nodes are authorized as nodes", Settings: []Setting{arg(APIServer, "authorization-mode", "", has("Node"))}},
	{Number: "1.2.8", Title: "roles authorize users", Settings: []Setting{arg(APIServer, "authorization-mode", "", has("RBAC"))}},
	{Number: "1.2.9", Title: "the rate of events is limited", Settings: []Setting{arg(APIServer, plugins, "EventRateLimit", has("EventRateLimit")), whole(EventRateBlock)}},
	{Number: "1.2.10", Title: "admission checks requests", Settings: []Setting{arg(APIServer, plugins, "", lacks("AlwaysAdmit"))}},
	{Number: "1.2.11", Title: "each pod proves that it may pull its images", Optional: true, Settings: []Setting{arg(APIServer, plugins, "AlwaysPullImages", has("AlwaysPullImages"))}},
	{Number: "1.2.12", Title: "pods get a service account", Settings: []Setting{arg(APIServer, off, "", lacks("ServiceAccount"))}},
	{Number: "1.2.13", Title: "nothing is made in a namespace that is going", Settings: []Setting{arg(APIServer, off, "", lacks("NamespaceLifecycle"))}},
	{Number: "1.2.14", Title: "kubelets change only what is theirs", Settings: []Setting{arg(APIServer, plugins, "", has("NodeRestriction")), arg(APIServer, off, "", lacks("NodeRestriction"))}},
	{Number: "1.2.15", Title: "API servers serve no profiles", Settings: []Setting{arg(APIServer, "profiling", "false", isFalse)}},
	{Number: "1.2.16", Title: "requests are logged", Settings: []Setting{arg(APIServer, "audit-log-path", "/var/log/kubernetes/audit/audit.log", Rule{})}},
	{Number: "1.2.17", Title: "the audit log covers 30 days", Settings: []Setting{arg(APIServer, "audit-log-maxage", "30", atLeast(30))}},
	{Number: "1.2.18", Title: "ten old files of the audit log are kept", Settings: []Setting{arg(APIServer, "audit-log-maxbackup", "10", atLeast(10))}},
	{Number: "1.2.19", Title: "files of the audit log hold 100 megabytes", Settings: []Setting{arg(APIServer, "audit-log-maxsize", "100", atLeast(100))}},
	{Number: "1.2.21", Title: "tokens of deleted service accounts are refused", Settings: []Setting{arg(APIServer, "service-account-lookup", "", isTrue)}},
	{Number: "1.2.27", Title: "secrets are encrypted in etcd", Settings: []Setting{whole(EncryptionBlock)}},
	{Number: "1.2.29", Title: "API servers offer strong ciphers alone", Settings: []Setting{arg(APIServer, "tls-cipher-suites", strings.Join(suites, ","), suitesOnly)}},
	{Number: "1.2.30", Title: "tokens of service accounts expire when they say", Settings: []Setting{arg(APIServer, "service-account-extend-token-expiration", "false", isFalse)}},
	{Number: "1.3.1", Title: "pods that have ended are removed in time", Settings: []Setting{arg(ControllerManager, "terminated-pod-gc-threshold", "1000", atLeast(1))}},
	{Number: "1.3.2", Title: "controller managers serve no profiles", Settings: []Setting{arg(ControllerManager, "profiling", "false", isFalse)}},
	{Number: "1.3.3", Title: "each controller has an account of its own", Settings: []Setting{arg(ControllerManager, "use-service-account-credentials", "", isTrue)}},
	{Number: "1.3.6", Title: "kubelets may renew their serving certificates", Settings: []Setting{arg(ControllerManager, "feature-gates", "", lacks("RotateKubeletServerCertificate=false"))}},
	{Number: "1.3.7", Title: "controller managers listen on the host alone", Settings: []Setting{arg(ControllerManager, "bind-address", "", is("127.0.0.1"))}},
	{Number: "1.4.1", Title: "schedulers serve no profiles", Settings: []Setting{arg(Scheduler, "profiling", "false", isFalse)}},
	{Number: "1.4.2", Title: "schedulers listen on the host alone", Settings: []Setting{arg(Scheduler, "bind-address", "", is("127.0.0.1"))}},
	{Number: "2.2", Title: "etcd asks clients for certificates", Settings: []Setting{arg(Etcd, "client-cert-auth", "", isTrue)}},
	{Number: "2.3", Title: "etcd signs no certificate for clients by itself", Settings: []Setting{arg(Etcd, "auto-tls", "", isFalse)}},
	{Number: "2.5", Title: "etcd asks members for certificates", Settings: []Setting{arg(Etcd, "peer-client-cert-auth", "", isTrue)}},
	{Number: "2.6", Title: "etcd signs no certificate for members by itself", Settings: []Setting{arg(Etcd, "peer-auto-tls", "", isFalse)}},
	{Number: "3.2.1", Title: "an audit policy is there", Settings: []Setting{whole(AuditBlock)}},
	{Number: "4.1.1", Title: "the kubelet's unit is for root alone", Settings: []Setting{ofFile(UnitFiles)}},
	{Number: "4.1.9", Title: "the kubelet's configuration is for root alone", Settings: []Setting{ofFile(KubeletConfigFile)}},
	{Number: "4.2.1", Title: "kubelets answer no request without credentials", Settings: []Setting{field("authentication.anonymous.enabled", "anonymous-auth", state.Null(), isFalse)}},
	{Number: "4.2.2", Title: "kubelets authorize requests", Settings: []Setting{field("authorization.mode", "authorization-mode", state.Null(), is("Webhook"))}},
	{Number: "4.2.4", Title: "kubelets have no port without credentials", Settings: []Setting{field("readOnlyPort", "read-only-port", state.Null(), is("0"))}},
	{Number: "4.2.5", Title: "idle connections to kubelets end", Settings: []Setting{field("streamingConnectionIdleTimeout", "streaming-connection-idle-timeout", text("4h0m0s"), notZero)}},
	{Number: "4.2.6", Title: "kubelets keep their chains of iptables", Settings: []Setting{field("makeIPTablesUtilChains", "make-iptables-util-chains", state.Null(), isTrue)}},
	{Number: "4.2.9", Title: "kubelets serve with certificates of the cluster's CA", Settings: []Setting{whole(ServingSetting)}},
	{Number: "4.2.10", Title: "kubelets renew their client certificates", Settings: []Setting{field("rotateCertificates", "rotate-certificates", state.Null(), isTrue)}},
	{Number: "4.2.12", Title: "kubelets offer strong ciphers alone", Settings: []Setting{field("tlsCipherSuites", "tls-cipher-suites", state.Strings(suites...), suitesOnly)}},
	{Number: "4.2.13", Title: "a pod has a limit of processes", Settings: []Setting{field("podPidsLimit", "pod-max-pids", state.Int(4096), atLeast(1))}},
	{Number: "4.2.14", Title: "pods run with the default seccomp profile", Settings: []Setting{field("seccompDefault", "seccomp-default", state.Bool(true), isTrue)}},
	{Number: "4.3.1", Title: "kube-proxy serves its metrics on the host alone", Settings: []Setting{{In: KubeProxy, Name: "metricsBindAddress", Must: Rule{Want: "be 127.0.0.1", ok: func(v string) bool { return v == "" || strings.HasPrefix(v, "127.0.0.1") }}}}},
	{Number: "5.2.1", Title: "Pod Security Standards are enforced", Settings: []Setting{whole(PodSecurityBlock)}},
	{Number: "V-242434", Title: "kubelets leave the kernel's parameters alone", Settings: kernelSettings()},
}
