package verdict

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kubewright/kubewright/config/componentflag"
)

// versioned returns mutations that not all minor versions treat alike: of flags, feature gates and values that
// only some know, and of versions as values.
func versioned() []Mutation {
	minors := slices.Sorted(maps.Keys(componentflag.Gates))
	var out []Mutation
	add := func(component, flag, value string) {
		out = append(out, Mutation{Component: component, Flags: []string{flag + "=" + value}})
	}
	for _, component := range Components {
		flags := componentflag.Flags[component]
		for _, name := range slices.Sorted(maps.Keys(flags)) {
			kind, set, _ := strings.Cut(flags[name].Type, ":")
			if len(flags[name].Minors) < len(minors) {
				add(component, name, valuesOf[kind][1])
			}
			for _, v := range slices.Sorted(maps.Keys(componentflag.Values[set])) {
				if len(componentflag.Values[set][v]) < len(minors) {
					add(component, name, v)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(componentflag.Values["etcd-gates"])) {
		add("etcd", "feature-gates", name+"=true")
	}
	for _, name := range gatesThatDiffer(minors) {
		add("kube-scheduler", "feature-gates", name+"=true")
		add("kube-scheduler", "feature-gates", name+"=false")
		out = append(out, kubeletConfig(object{"featureGates": object{name: true}}), proxyConfig(object{"featureGates": object{name: false}}))
	}
	for minor := minors[0] - 2; minor <= minors[len(minors)-1]+1; minor++ {
		version := "1." + strconv.Itoa(minor)
		for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
			for _, flag := range []string{"emulated-version", "min-compatibility-version", "show-hidden-metrics-for-version"} {
				add(component, flag, version)
			}
		}
		out = append(out, kubeletConfig(object{"showHiddenMetricsForVersion": version}), proxyConfig(object{"showHiddenMetricsForVersion": version}))
	}
	for _, x := range gated {
		for _, gates := range x.gates {
			for _, on := range []bool{false, true} {
				fields := maps.Clone(x.fields)
				set := object{}
				for gate := range strings.FieldsSeq(gates) {
					set[gate] = on
				}
				fields["featureGates"] = set
				out = append(out, kubeletConfig(fields))
			}
		}
	}
	for _, component := range []string{"kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		out = append(out, flagsOf(component, "logging-format=json", "feature-gates=LoggingBetaOptions=false"), flagsOf(component, "logging-format=json", "feature-gates=AllBeta=false"))
	}
	out = append(out, flagsOf("kubelet", "rotate-server-certificates=true", "feature-gates=AllBeta=false"), proxyConfig(object{"logging": object{"format": "json"}, "featureGates": object{"LoggingBetaOptions": false}}))
	return append(out, changed...)
}

// gated are fields of kubelets that a feature gate, or several at once, may take away.
var gated = []struct {
	fields object
	gates  []string
}{
	{object{"crashLoopBackOff": object{"maxContainerRestartPeriod": "1m"}}, []string{"KubeletCrashLoopBackOffMax", "AllAlpha", "AllBeta"}},
	{object{"imagePullCredentialsVerificationPolicy": "NeverVerify"}, []string{"KubeletEnsureSecretPulledImages", "AllAlpha", "AllBeta"}},
	{object{"imageMaximumGCAge": "100h"}, []string{"ImageMaximumGCAge"}},
	{object{"shutdownGracePeriod": "30s"}, []string{"GracefulNodeShutdown", "GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority WindowsGracefulNodeShutdown", "AllBeta"}},
	{object{"shutdownGracePeriod": "30s", "shutdownGracePeriodCriticalPods": "10s"}, []string{"GracefulNodeShutdownBasedOnPodPriority"}},
	{object{"shutdownGracePeriodByPodPriority": []any{object{"priority": 1, "shutdownGracePeriodSeconds": 10}}}, []string{"GracefulNodeShutdownBasedOnPodPriority", "GracefulNodeShutdown GracefulNodeShutdownBasedOnPodPriority WindowsGracefulNodeShutdown"}},
	{object{"memorySwap": object{"swapBehavior": "LimitedSwap"}}, []string{"NodeSwap"}},
	{object{"enableSystemLogQuery": true}, []string{"NodeLogQuery", "AllBeta"}},
	{object{"tracing": object{"samplingRatePerMillion": 1}}, []string{"KubeletTracing"}},
	{object{"logging": object{"format": "json"}}, []string{"LoggingBetaOptions", "LoggingAlphaOptions", "AllBeta"}},
	{object{"logging": object{"options": object{"json": object{"splitStream": true}}}}, []string{"LoggingBetaOptions", "LoggingAlphaOptions"}},
	{object{"logging": object{"options": object{"text": object{"splitStream": true}}}}, []string{"LoggingBetaOptions", "LoggingAlphaOptions"}},
	{object{"logging": object{"options": object{"json": object{"infoBufferSize": "1Mi"}}}}, []string{"LoggingBetaOptions", "LoggingAlphaOptions"}},
	{object{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "cpuManagerPolicyOptions": object{"full-pcpus-only": "true"}}, []string{"CPUManagerPolicyBetaOptions", "CPUManagerPolicyAlphaOptions", "CPUManagerPolicyOptions"}},
	{object{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "cpuManagerPolicyOptions": object{"distribute-cpus-across-numa": "true"}}, []string{"CPUManagerPolicyBetaOptions", "CPUManagerPolicyAlphaOptions", "CPUManagerPolicyOptions"}},
	{object{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "cpuManagerPolicyOptions": object{"align-by-socket": "true"}}, []string{"CPUManagerPolicyBetaOptions", "CPUManagerPolicyAlphaOptions"}},
	{object{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "cpuManagerPolicyOptions": object{"distribute-cpus-across-cores": "true"}}, []string{"CPUManagerPolicyBetaOptions", "CPUManagerPolicyAlphaOptions"}},
	{object{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "cpuManagerPolicyOptions": object{"strict-cpu-reservation": "true"}}, []string{"CPUManagerPolicyBetaOptions", "CPUManagerPolicyAlphaOptions"}},
	{object{"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "cpuManagerPolicyOptions": object{"prefer-align-cpus-by-uncorecache": "true"}}, []string{"CPUManagerPolicyBetaOptions", "CPUManagerPolicyAlphaOptions"}},
	{object{"topologyManagerPolicyOptions": object{"prefer-closest-numa-nodes": "true"}}, []string{"TopologyManagerPolicyBetaOptions", "TopologyManagerPolicyAlphaOptions"}},
	{object{"topologyManagerPolicyOptions": object{"max-allowable-numa-nodes": "9"}}, []string{"TopologyManagerPolicyBetaOptions", "TopologyManagerPolicyAlphaOptions"}},
	{object{"topologyManagerPolicyOptions": object{"nosuch": "true"}}, []string{"TopologyManagerPolicyBetaOptions"}},
	{object{"serverTLSBootstrap": true}, []string{"RotateKubeletServerCertificate", "AllBeta"}},
	{object{"userNamespaces": object{"idsPerPod": 65536}}, []string{"UserNamespacesSupport"}},
	{object{"localStorageCapacityIsolation": true}, []string{"LocalStorageCapacityIsolationFSQuotaMonitoring"}},
	{object{"memoryThrottlingFactor": 0.8}, []string{"MemoryQoS", "AllAlpha", "AllBeta"}},
	{object{"cpuCFSQuotaPeriod": "10ms"}, []string{"AllAlpha", "AllBeta"}},
	{object{"podLogsDir": "/var/log/other"}, []string{"AllBeta"}},
	{object{"containerLogMaxWorkers": 2}, []string{"AllBeta"}},
	{object{"singleProcessOOMKill": false}, []string{"AllBeta"}},
	{object{"mergeDefaultEvictionSettings": true}, []string{"AllBeta"}},
}

// changed are mutations that a minor version began or ceased to refuse, by its source, and what is close to
// them.
var changed = []Mutation{
	kubeletConfig(object{"imageMinimumGCAge": "-1m"}), kubeletConfig(object{"allowedUnsafeSysctls": []any{"kernel.domainname"}}),
	kubeletConfig(object{"memoryReservationPolicy": "TieredReservation", "featureGates": object{"MemoryQoS": false}}),
	kubeletConfig(object{"memoryReservationPolicy": "TieredReservation", "featureGates": object{"MemoryQoS": true}}),
	kubeletConfig(object{"memoryReservationPolicy": "TieredReservation", "featureGates": object{"AllBeta": false}}),
	kubeletConfig(object{"memoryThrottlingFactor": 0.5, "featureGates": object{"MemoryQoS": false}}), kubeletConfig(object{"memoryThrottlingFactor": 0.9, "featureGates": object{"MemoryQoS": false}}),
	kubeletConfig(object{"memoryThrottlingFactor": 0.5}), kubeletConfig(object{"memoryThrottlingFactor": 0.5, "featureGates": object{"MemoryQoS": true}}),
	kubeletConfig(object{"defaultPodSysctls": object{"net.core.somaxconn": "1024"}}), kubeletConfig(object{"defaultPodSysctls": object{}}),
	kubeletConfig(object{"defaultPodSysctls": object{"net.core.somaxconn": "1024"}, "featureGates": object{"DefaultPodSysctls": true}}),
	kubeletConfig(object{"defaultPodSysctls": object{"net.core.somaxconn": "1", "net/core/somaxconn": "2"}, "featureGates": object{"DefaultPodSysctls": true}}),
	kubeletConfig(object{"defaultPodSysctls": object{"vm.swappiness": "1"}, "featureGates": object{"DefaultPodSysctls": true}}),
	kubeletConfig(object{"defaultPodSysctls": object{"net.*": "1"}, "featureGates": object{"DefaultPodSysctls": true}}),
	kubeletConfig(object{"cpuCFSQuotaPeriod": "10ms", "featureGates": object{"CustomCPUCFSQuotaPeriod": true}}), kubeletConfig(object{"cpuCFSQuotaPeriod": "10ms", "featureGates": object{"CustomCPUCFSQuotaPeriod": false}}),
	kubeletConfig(object{"cpuCFSQuotaPeriod": "10ms"}), kubeletConfig(object{"cpuCFSQuotaPeriod": "100ms"}),
	flagsOf("kube-apiserver", "peer-advertise-ip=10.0.0.2"), flagsOf("kube-apiserver", "peer-advertise-ip=10.0.0.2", "feature-gates=UnknownVersionInteroperabilityProxy=false"),
	flagsOf("kube-apiserver", "disable-admission-plugins=PodSecurity,,"), flagsOf("kube-apiserver", "disabled-metrics=1x"), flagsOf("kubelet", "minimum-image-ttl-duration=-1s"),
	kubeletConfig(object{"enableSystemLogQuery": true, "featureGates": object{"NodeLogQuery": true}}), kubeletConfig(object{"enableSystemLogQuery": false}),
	kubeletConfig(object{"featureGates": object{"GracefulNodeShutdown": false}}), kubeletConfig(object{"featureGates": object{"AllBeta": false}}), kubeletConfig(object{"featureGates": object{"AllAlpha": true}}),
	kubeletConfig(object{"featureGates": object{"GangScheduling": true, "GenericWorkload": true}}), kubeletConfig(object{"featureGates": object{"StorageVersionAPI": true, "APIServerIdentity": false}}),
	flagsOf("kubelet", "feature-gates=GracefulNodeShutdown=false"), flagsOf("kubelet", "feature-gates=GracefulNodeShutdown=false,GracefulNodeShutdownBasedOnPodPriority=false,WindowsGracefulNodeShutdown=false"),
	proxyConfig(object{"nodePortAddresses": []any{"localhost"}}), proxyConfig(object{"nodePortAddresses": []any{"all"}}), proxyConfig(object{"nodePortAddresses": []any{"primary", "localhost"}}),
	proxyConfig(object{"nodePortAddresses": []any{"primary", "primary"}}), proxyConfig(object{"nodePortAddresses": []any{"all", "10.0.0.0/8"}}), proxyConfig(object{"nodePortAddresses": []any{"10.0.0.0/8", "10.0.0.0/8"}}),
	proxyConfig(object{"mode": "ipvs"}), proxyConfig(object{"mode": "ipvs", "featureGates": object{"KubeProxyIPVS": false}}), proxyConfig(object{"mode": "nftables", "featureGates": object{"KubeProxyIPVS": false}}),
	proxyConfig(object{"featureGates": object{"AllBeta": false}}), proxyConfig(object{"featureGates": object{"GracefulNodeShutdown": false}}),
	flagsOf("kube-scheduler", "feature-gates=AllAlpha=true"), flagsOf("kube-scheduler", "feature-gates=AllBeta=true"), flagsOf("kube-scheduler", "feature-gates=AllBeta=false"),
	flagsOf("kube-scheduler", "feature-gates=AllAlpha=true,AllBeta=true"), flagsOf("kube-scheduler", "feature-gates=AllAlpha=true,GenericWorkload=true"),
	flagsOf("kube-scheduler", "feature-gates=GangScheduling=true", "feature-gates=GenericWorkload=true"), flagsOf("kube-scheduler", "feature-gates=AtomicFIFO=false"),
	flagsOf("kube-scheduler", "feature-gates=DRADeviceTaintRules=true"), flagsOf("kube-scheduler", "feature-gates=DRADeviceTaintRules=true,DRADeviceTaints=true"),
	flagsOf("etcd", "feature-gates=LeaseCheckpointPersist=true,AllAlpha=true"), flagsOf("etcd", "feature-gates=LeaseCheckpointPersist=true,LeaseCheckpoint=true"),
	flagsOf("kube-controller-manager", "feature-gates=AllBeta=false"), flagsOf("kube-controller-manager", "feature-gates=WorkloadWithJob=true"), flagsOf("kube-controller-manager", "feature-gates=ControllerManagerReleaseLeaderElectionLockOnExit=true"),
	flagsOf("kube-apiserver", "feature-gates=ControllerManagerReleaseLeaderElectionLockOnExit=true"), flagsOf("kube-apiserver", "feature-gates=StorageVersionAPI=true,APIServerIdentity=false"), flagsOf("kube-apiserver", "feature-gates=StorageVersionAPI=true"),
	flagsOf("kube-apiserver", "enable-admission-plugins=EventRateLimit"), flagsOf("kube-apiserver", "enable-admission-plugins=ImagePolicyWebhook"),
	flagsOf("kube-apiserver", "enable-admission-plugins=PodNodeSelector"), flagsOf("kube-apiserver", "enable-admission-plugins=PodTolerationRestriction"),
	flagsOf("kube-apiserver", "feature-gates=APIServerIdentity=false"), flagsOf("kube-scheduler", "emulated-version=1.34", "min-compatibility-version=1.36"), flagsOf("kube-scheduler", "emulated-version=1.35", "min-compatibility-version=1.34"),
}

// gatesThatDiffer returns the feature gates that not all minor versions know, or lock to the same value.
func gatesThatDiffer(minors []int) []string {
	in := map[string]map[string]int{} // versions by gate and lock
	for _, minor := range minors {
		for name, gate := range componentflag.Gates[minor] {
			if in[name] == nil {
				in[name] = map[string]int{}
			}
			in[name][gate.Locked]++
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(in)), func(name string) bool {
		return len(in[name]) == 1 && slices.Contains(slices.Collect(maps.Values(in[name])), len(minors))
	})
}
