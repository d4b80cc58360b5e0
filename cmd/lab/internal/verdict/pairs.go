package verdict

func flagsOf(component string, flags ...string) Mutation {
	return Mutation{Component: component, Flags: flags}
}

func kubeletConfig(fields map[string]any) Mutation {
	return Mutation{Component: "kubelet", Config: fields}
}

func proxyConfig(fields map[string]any) Mutation {
	return Mutation{Component: "kube-proxy", Config: fields}
}

type object = map[string]any

const (
	certificate = "/etc/kubernetes/pki/apiserver.crt"
	privateKey  = "/etc/kubernetes/pki/apiserver.key"
	authority   = "/etc/kubernetes/pki/ca.crt"
)

// pairs are mutations of which one part depends on another.
var pairs = []Mutation{
	flagsOf("kubelet", "runonce=true"), flagsOf("kubelet", "register-node=false"), flagsOf("kubelet", "cloud-provider=aws"),
	flagsOf("kubelet", "node-status-max-images=-2"), flagsOf("kubelet", "node-status-max-images=-1"),
	flagsOf("kubelet", "eviction-hard=memory.avail<100Mi"), flagsOf("kubelet", "eviction-hard=memory.available<300%"),
	flagsOf("kubelet", "tls-cert-file="+certificate), flagsOf("kubelet", "tls-private-key-file="+privateKey),
	flagsOf("kubelet", "tls-cert-file="+certificate, "tls-private-key-file="+privateKey),
	flagsOf("kubelet", "cpu-manager-policy=static"), flagsOf("kubelet", "cpu-manager-policy=static", "reserved-cpus=0"),
	flagsOf("kubelet", "cpu-manager-policy=static", "kube-reserved=cpu=500m"), flagsOf("kubelet", "cpu-manager-policy=static", "system-reserved=memory=100Mi"),
	flagsOf("kubelet", "memory-manager-policy=Static"), flagsOf("kubelet", "eviction-soft=memory.available<200Mi"),
	flagsOf("kubelet", "eviction-soft=memory.available<200Mi", "eviction-soft-grace-period=memory.available=1m"),
	flagsOf("kubelet", "image-gc-high-threshold=70"), flagsOf("kubelet", "image-gc-high-threshold=70", "image-gc-low-threshold=60"),
	flagsOf("kubelet", "image-gc-low-threshold=300"), flagsOf("kubelet", "image-gc-high-threshold=300"),
	flagsOf("kubelet", "system-cgroups=/x"), flagsOf("kubelet", "cgroups-per-qos=false"), flagsOf("kubelet", "cgroups-per-qos=false", "enforce-node-allocatable=none"),
	flagsOf("kubelet", "cgroups-per-qos=false", "enforce-node-allocatable="), flagsOf("kubelet", "max-pods=10", "max-pods=20"), flagsOf("kubelet", "max_pods=10"),
	flagsOf("kubelet", "topology-manager-policy-options=prefer-closest-numa-nodes=true"), flagsOf("kubelet", "cpu-manager-policy-options=full-pcpus-only=true"),
	flagsOf("kubelet", "cpu-manager-policy=static", "reserved-cpus=0", "cpu-manager-policy-options=full-pcpus-only=true"),
	flagsOf("kubelet", "cpu-manager-policy=static", "reserved-cpus=0", "cpu-manager-policy-options=nothing=true"),
	kubeletConfig(object{"tlsCertFile": certificate}), kubeletConfig(object{"tlsCertFile": certificate, "tlsPrivateKeyFile": privateKey}),
	kubeletConfig(object{"cpuManagerPolicy": "static"}), kubeletConfig(object{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}),
	kubeletConfig(object{"cpuManagerPolicy": "static", "systemReserved": object{"cpu": "100m"}}), kubeletConfig(object{"memoryManagerPolicy": "Static"}),
	kubeletConfig(object{"evictionSoft": object{"memory.available": "100Mi"}, "evictionSoftGracePeriod": object{"memory.available": "1m"}}),
	kubeletConfig(object{"evictionSoft": object{"memory.available": "100Mi"}, "evictionSoftGracePeriod": object{"nodefs.available": "1m"}}),
	kubeletConfig(object{"imageGCHighThresholdPercent": 80}), kubeletConfig(object{"imageGCHighThresholdPercent": 90, "imageGCLowThresholdPercent": 90}),
	kubeletConfig(object{"imageMaximumGCAge": "1m"}), kubeletConfig(object{"imageMaximumGCAge": "2m", "imageMinimumGCAge": "3m"}),
	kubeletConfig(object{"shutdownGracePeriod": "10s", "shutdownGracePeriodCriticalPods": "20s"}), kubeletConfig(object{"shutdownGracePeriodCriticalPods": "20s"}),
	kubeletConfig(object{"shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s"}), kubeletConfig(object{"shutdownGracePeriod": "500ms"}),
	kubeletConfig(object{"shutdownGracePeriod": "10s", "shutdownGracePeriodByPodPriority": []any{object{"priority": 1, "shutdownGracePeriodSeconds": 10}}}),
	kubeletConfig(object{"maxParallelImagePulls": 2, "serializeImagePulls": true}), kubeletConfig(object{"maxParallelImagePulls": 2, "serializeImagePulls": false}),
	kubeletConfig(object{"maxParallelImagePulls": 2}), kubeletConfig(object{"systemCgroups": "/x"}), kubeletConfig(object{"systemCgroups": "/x", "cgroupRoot": "/"}),
	kubeletConfig(object{"enableSystemLogQuery": true}), kubeletConfig(object{"enableSystemLogQuery": true, "enableSystemLogHandler": false}),
	kubeletConfig(object{"reservedSystemCPUs": "0", "systemReservedCgroup": "/x"}), kubeletConfig(object{"cgroupsPerQOS": false}),
	kubeletConfig(object{"cgroupsPerQOS": false, "enforceNodeAllocatable": []any{}}), kubeletConfig(object{"cgroupsPerQOS": false, "enforceNodeAllocatable": []any{"none"}}),
	kubeletConfig(object{"enforceNodeAllocatable": []any{"pods", "kube-reserved"}}), kubeletConfig(object{"enforceNodeAllocatable": []any{"kube-reserved", "kube-reserved-compressible"}, "kubeReservedCgroup": "/x"}),
	kubeletConfig(object{"readOnlyPort": 10250}), kubeletConfig(object{"healthzPort": 10250}), kubeletConfig(object{"healthzPort": 0}), kubeletConfig(object{"port": 0}),
	kubeletConfig(object{"serverTLSBootstrap": true}), kubeletConfig(object{"serverTLSBootstrap": true, "featureGates": object{"RotateKubeletServerCertificate": false}}),
	kubeletConfig(object{"authentication": object{"anonymous": object{"enabled": true}}, "authorization": object{"mode": "AlwaysAllow"}}),
	kubeletConfig(object{"featureGates": object{"NodeSwap": false}}), kubeletConfig(object{"memorySwap": object{"swapBehavior": "LimitedSwap"}, "failSwapOn": true}),
	kubeletConfig(object{"topologyManagerPolicyOptions": object{"max-allowable-numa-nodes": "16"}}), kubeletConfig(object{"topologyManagerPolicyOptions": object{"max-allowable-numa-nodes": "2"}}),
	kubeletConfig(object{"cpuManagerPolicyOptions": object{"full-pcpus-only": "maybe"}, "cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}),
	kubeletConfig(object{"preloadedImagesVerificationAllowlist": []any{"a.example.com/x"}, "imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages"}),
	flagsOf("kube-apiserver", "oidc-issuer-url=https://example.com"), flagsOf("kube-apiserver", "oidc-client-id=x"),
	flagsOf("kube-apiserver", "oidc-issuer-url=https://example.com", "oidc-client-id=x"), flagsOf("kube-apiserver", "oidc-issuer-url=http://example.com", "oidc-client-id=x"),
	flagsOf("kube-apiserver", "oidc-issuer-url=https://example.com", "oidc-client-id=x", "oidc-signing-algs=RS1"),
	flagsOf("kube-apiserver", "oidc-issuer-url=https://example.com", "oidc-client-id=x", "oidc-required-claim=a"),
	flagsOf("kube-apiserver", "tls-cert-file="+certificate, "tls-private-key-file="), flagsOf("kube-apiserver", "tls-private-key-file="),
	flagsOf("kube-apiserver", "audit-log-maxage=-1"), flagsOf("kube-apiserver", "audit-log-path=/var/log/audit.log"), flagsOf("kube-apiserver", "audit-log-mode=batch"),
	flagsOf("kube-apiserver", "audit-log-mode=batch", "audit-log-batch-max-size=20000"), flagsOf("kube-apiserver", "audit-log-batch-max-size=20000"),
	flagsOf("kube-apiserver", "audit-log-path=/var/log/audit.log", "audit-log-mode=batch", "audit-log-batch-max-size=20000"),
	flagsOf("kube-apiserver", "audit-log-path=/var/log/audit.log", "audit-log-format=xml"),
	flagsOf("kube-apiserver", "enable-admission-plugins=AlwaysPullImages", "disable-admission-plugins=AlwaysPullImages"),
	flagsOf("kube-apiserver", "enable-admission-plugins=AlwaysPullImage"), flagsOf("kube-apiserver", "disable-admission-plugins=PodSecurity"),
	flagsOf("kube-apiserver", "authorization-mode=RBAC,RBAC"), flagsOf("kube-apiserver", "authorization-mode=AlwaysAllow,RBAC"), flagsOf("kube-apiserver", "authorization-mode=Webhook"),
	flagsOf("kube-apiserver", "authorization-mode=ABAC"), flagsOf("kube-apiserver", "authorization-mode=Node"), flagsOf("kube-apiserver", "authorization-mode="),
	flagsOf("kube-apiserver", "authorization-policy-file="+authority), flagsOf("kube-apiserver", "authorization-webhook-config-file="+authority),
	flagsOf("kube-apiserver", "anonymous-auth=false"), flagsOf("kube-apiserver", "token-auth-file="+authority),
	flagsOf("kube-apiserver", "etcd-certfile="), flagsOf("kube-apiserver", "etcd-keyfile="), flagsOf("kube-apiserver", "etcd-cafile="),
	flagsOf("kube-apiserver", "service-account-signing-key-file="), flagsOf("kube-apiserver", "service-account-max-token-expiration=30m"), flagsOf("kube-apiserver", "service-account-max-token-expiration=2h"),
	flagsOf("kube-apiserver", "service-account-extend-token-expiration=false"), flagsOf("kube-apiserver", "service-account-issuer=https://a.example.com", "service-account-issuer=https://b.example.com"),
	flagsOf("kube-apiserver", "service-account-signing-endpoint=/run/x.sock"), flagsOf("kube-apiserver", "egress-selector-config-file="+authority),
	flagsOf("kube-apiserver", "max-requests-inflight=0", "max-mutating-requests-inflight=0"), flagsOf("kube-apiserver", "enable-priority-and-fairness=false"),
	flagsOf("kube-apiserver", "proxy-client-cert-file="), flagsOf("kube-apiserver", "peer-ca-file="+authority), flagsOf("kube-apiserver", "peer-advertise-ip=10.0.0.2"),
	flagsOf("kube-apiserver", "tls-min-version=VersionTLS13", "tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), flagsOf("kube-apiserver", "secure-port=0"),
	flagsOf("kube-apiserver", "service-node-port-range=30000-70000"), flagsOf("kube-apiserver", "endpoint-reconciler-type=none"), flagsOf("kube-apiserver", "kubernetes-service-node-port=70000"),
	flagsOf("kube-apiserver", "kubernetes-service-node-port=300"), flagsOf("kube-apiserver", "shutdown-delay-duration=-1s"), flagsOf("kube-apiserver", "request-timeout=0s"),
	flagsOf("kube-apiserver", "emulated-version=1.35"), flagsOf("kube-apiserver", "emulated-version=1.30"), flagsOf("kube-apiserver", "feature-gates=AllAlpha=true"),
	flagsOf("kube-apiserver", "lease-reuse-duration-seconds=0"), flagsOf("kube-apiserver", "encryption-provider-config-automatic-reload=true"),
	flagsOf("kube-controller-manager", "leader-elect-lease-duration=5s"), flagsOf("kube-controller-manager", "leader-elect-renew-deadline=20s"),
	flagsOf("kube-controller-manager", "leader-elect-lease-duration=5s", "leader-elect=false"), flagsOf("kube-controller-manager", "leader-elect-retry-period=0s"),
	flagsOf("kube-controller-manager", "controllers=*,-nothing"), flagsOf("kube-controller-manager", "controllers=*,bootstrap-signer-controller"), flagsOf("kube-controller-manager", "controllers=-*"),
	flagsOf("kube-controller-manager", "allocate-node-cidrs=true"), flagsOf("kube-controller-manager", "allocate-node-cidrs=true", "cluster-cidr=10.244.0.0/16"),
	flagsOf("kube-controller-manager", "allocate-node-cidrs=true", "cluster-cidr=10.244.0.0/16", "node-cidr-mask-size=8"),
	flagsOf("kube-controller-manager", "node-cidr-mask-size=24", "node-cidr-mask-size-ipv4=24"), flagsOf("kube-controller-manager", "cluster-signing-duration=0s"),
	flagsOf("kube-controller-manager", "cluster-signing-kubelet-client-cert-file="+certificate, "cluster-signing-kubelet-client-key-file="+privateKey),
	flagsOf("kube-controller-manager", "cluster-signing-key-file="), flagsOf("kube-controller-manager", "concurrent-deployment-syncs=0"), flagsOf("kube-controller-manager", "tls-cert-file="+certificate),
	flagsOf("kube-controller-manager", "tls-cert-file="+certificate, "tls-private-key-file="+privateKey), flagsOf("kube-controller-manager", "leader-migration-config="+authority),
	flagsOf("kube-scheduler", "leader-elect-lease-duration=5s"), flagsOf("kube-scheduler", "leader-elect-retry-period=30s"), flagsOf("kube-scheduler", "leader-elect-lease-duration=5s", "leader-elect=false"),
	flagsOf("kube-scheduler", "tls-cert-file="+certificate), flagsOf("kube-scheduler", "tls-cert-file="+certificate, "tls-private-key-file="+privateKey),
	flagsOf("kube-scheduler", "config="+authority), flagsOf("kube-scheduler", "authentication-tolerate-lookup-failure=false"),
	proxyConfig(object{"mode": "ipvs", "ipvs": object{"syncPeriod": "0s"}}), proxyConfig(object{"mode": "ipvs", "ipvs": object{"minSyncPeriod": "40s"}}), proxyConfig(object{"iptables": object{"minSyncPeriod": "40s"}}),
	proxyConfig(object{"mode": "nftables", "nftables": object{"minSyncPeriod": "40s"}}), proxyConfig(object{"mode": "nftables", "nftables": object{"syncPeriod": "10s", "minSyncPeriod": "5s"}}),
	proxyConfig(object{"detectLocalMode": "BridgeInterface", "detectLocal": object{"bridgeInterface": "cni0"}}), proxyConfig(object{"detectLocalMode": "InterfaceNamePrefix", "detectLocal": object{"interfaceNamePrefix": "veth"}}),
	proxyConfig(object{"conntrack": object{"maxPerCore": 1, "min": -1}}), proxyConfig(object{"featureGates": object{"AllAlpha": true}}), proxyConfig(object{"clusterCIDR": "10.244.0.0/16", "detectLocalMode": "ClusterCIDR"}),
	flagsOf("etcd", "election-timeout=100"), flagsOf("etcd", "election-timeout=100", "heartbeat-interval=10"), flagsOf("etcd", "heartbeat-interval=0"), flagsOf("etcd", "election-timeout=60000"),
	flagsOf("etcd", "auto-compaction-mode=revision", "auto-compaction-retention=10h"), flagsOf("etcd", "auto-compaction-mode=revision", "auto-compaction-retention=1000"), flagsOf("etcd", "auto-compaction-mode=periodic", "auto-compaction-retention=1"),
	flagsOf("etcd", "tls-min-version=TLS1.3", "tls-max-version=TLS1.2"), flagsOf("etcd", "tls-min-version=TLS1.3", "cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), flagsOf("etcd", "tls-min-version=TLS1.3"),
	flagsOf("etcd", "cert-file="+certificate, "key-file="), flagsOf("etcd", "key-file="), flagsOf("etcd", "peer-key-file="), flagsOf("etcd", "peer-cert-allowed-cn=x", "peer-cert-allowed-hostname=y"),
	flagsOf("etcd", "client-cert-allowed-hostname=x"), flagsOf("etcd", "enable-v2=true"), flagsOf("etcd", "experimental-initial-corrupt-check=true"), flagsOf("etcd", "quota-backend-bytes=-1"),
	flagsOf("etcd", "snapshot-count=0"), flagsOf("etcd", "log-outputs=stdout,stderr"), flagsOf("etcd", "enable-log-rotation=true"), flagsOf("etcd", "discovery=https://discovery.example.com"),
	flagsOf("etcd", "discovery-srv=example.com"), flagsOf("etcd", "force-new-cluster=true"), flagsOf("etcd", "unsafe-no-fsync=true"), flagsOf("etcd", "metrics=basic"), flagsOf("etcd", "metrics=x"),
	flagsOf("etcd", "auto-tls=true"), flagsOf("etcd", "self-signed-cert-validity=0"), flagsOf("etcd", "max-learners=0"), flagsOf("etcd", "warning-apply-duration=1s", "warning-unary-request-duration=1s"),
	flagsOf("etcd", "distributed-tracing-sampling-rate=2000000"), flagsOf("etcd", "enable-distributed-tracing=true", "distributed-tracing-sampling-rate=2000000"), flagsOf("etcd", "listen-metrics-urls=127.0.0.1:2381"),
}
