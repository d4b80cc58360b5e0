package componentflag_test

import (
	"slices"
	"testing"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/state"
)

// TestTogether names the flags of which one does not go with another.
func TestTogether(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		component string
		flags     [][2]string
		want      []string
	}{
		{"kube-apiserver", [][2]string{{"oidc-issuer-url", "https://a.example.com"}}, []string{"oidc-issuer-url"}},
		{"kube-apiserver", [][2]string{{"oidc-issuer-url", "https://a.example.com"}, {"oidc_client_id", "x"}}, nil},
		{"kube-apiserver", [][2]string{{"authorization-mode", "Node,RBAC,Webhook"}}, []string{"authorization-mode"}},
		{"kube-apiserver", [][2]string{{"etcd-certfile", ""}}, []string{"etcd-certfile"}},
		{"kube-scheduler", [][2]string{{"tls-cert-file", "/a"}}, []string{"tls-cert-file"}},
		{"kube-controller-manager", [][2]string{{"log-json-split-stream", "true"}}, []string{"log-json-split-stream"}},
		{"kube-controller-manager", [][2]string{{"log-json-split-stream", "true"}, {"feature-gates", "LoggingAlphaOptions=true"}}, nil},
		{"kube-scheduler", [][2]string{{"logging-format", "json"}, {"feature-gates", "LoggingBetaOptions=false"}}, []string{"logging-format"}},
		{"kube-scheduler", [][2]string{{"logging-format", "json"}}, nil},
		{"kubelet", [][2]string{{"rotate-server-certificates", "true"}, {"feature-gates", "AllBeta=false"}}, []string{"rotate-server-certificates"}},
		{"kubelet", [][2]string{{"rotate-server-certificates", "true"}}, nil},
		{"etcd", [][2]string{{"tls-min-version", "TLS1.3"}, {"cipher-suites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}}, []string{"cipher-suites"}},
		{"etcd", [][2]string{{"feature-gates", "LeaseCheckpointPersist=true"}}, []string{"feature-gates"}},
		{"etcd", [][2]string{{"feature-gates", "LeaseCheckpointPersist=true,LeaseCheckpoint=true"}}, nil},
		{"kube-apiserver", [][2]string{{"enable-admission-plugins", "EventRateLimit"}}, []string{"enable-admission-plugins"}},
		{"kube-apiserver", [][2]string{{"enable-admission-plugins", "EventRateLimit"}, {"admission-control-config-file", "/a"}}, nil},
		{"kube-scheduler", [][2]string{{"min-compatibility-version", "1.36"}, {"emulated-version", "1.35"}}, []string{"min-compatibility-version"}},
		{"kube-apiserver", [][2]string{{"peer-ca-file", "/a"}, {"feature-gates", "UnknownVersionInteroperabilityProxy=false"}}, []string{"peer-ca-file"}},
		{"kube-apiserver", [][2]string{{"peer-ca-file", "/a"}}, nil},
		{"kube-scheduler", [][2]string{{"feature-gates", "GangScheduling=true"}}, []string{"feature-gates"}},
		{"kube-scheduler", [][2]string{{"feature-gates", "GangScheduling=true"}, {"feature-gates", "GenericWorkload=true"}}, nil},
		{"kube-scheduler", [][2]string{{"feature-gates", "GangScheduling=true"}, {"emulated-version", "1.34"}}, nil},
	} {
		var got []string
		for _, x := range componentflag.Together(tt.component, tt.flags, 36) {
			got = append(got, x.Flag)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %v: %v, want %v", tt.component, tt.flags, got, tt.want)
		}
	}
}

// TestConflictsKeepSecrets requires that a value which must not be shown is not in the text.
func TestConflictsKeepSecrets(t *testing.T) {
	t.Parallel()
	found := componentflag.KubeletFields(state.FromGo(map[string]any{"reservedSystemCPUs": "S-cpus"}), 36)
	if len(found) != 1 || found[0].Text(`""`) == found[0].Text("the value") {
		t.Errorf("%v", found)
	}
}

// TestTakes requires rules for both sides of a bound.
func TestTakes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		component, flag, value string
		refused                bool
	}{
		{"kube-apiserver", "goaway-chance", "0.02", false},
		{"kube-apiserver", "goaway-chance", "0.03", true},
		{"kube-apiserver", "show-hidden-metrics-for-version", "1.35", false},
		{"kube-apiserver", "show-hidden-metrics-for-version", "1.34", true},
		{"kube-scheduler", "bind-address", "010.0.0.2", true},
		{"kubelet", "reserved-memory", "0:memory=1Gi,hugepages-2M=2Mi;1:memory=2Gi", false},
		{"kubelet", "reserved-memory", "0:cpu=1", true},
		{"etcd", "auth-token", "jwt,pub-key=/a", false},
		{"etcd", "auth-token", "x", true},
		{"etcd", "cors", "", true},
		{"etcd", "cors", "*", false},
		{"etcd", "logger", "", true},
		{"etcd", "logger", "zap", false},
		{"kube-apiserver", "service-cluster-ip-range", "10.96.0.0/30", true},
		{"kube-apiserver", "service-cluster-ip-range", "10.96.0.0/29", false},
		{"kube-apiserver", "service-cluster-ip-range", "10.96.0.0/29,fd00::/126", true},
	} {
		if got := componentflag.Takes(tt.component, tt.flag, tt.value, 36); (got != "") != tt.refused {
			t.Errorf("%s --%s=%s: %q", tt.component, tt.flag, tt.value, got)
		}
	}
}

// TestUnmetNeeds names gates that are on while one that they need is off, by their defaults and by what sets
// all alpha or beta gates.
func TestUnmetNeeds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		minor int
		gates string
		want  []string
	}{
		{36, "", nil},
		{36, "DRADeviceTaintRules=true", nil},
		{35, "DRADeviceTaintRules=true", []string{"DRADeviceTaintRules"}},
		{35, "kube:DRADeviceTaintRules=true, DRADeviceTaints=true", nil},
		{34, "DRADeviceTaintRules=true", nil}, // 1.34 starts with it
		{36, "GracefulNodeShutdown=false", []string{"GracefulNodeShutdownBasedOnPodPriority", "WindowsGracefulNodeShutdown"}},
		{36, "AllBeta=false", nil},
		{36, "AllBeta=false,GracefulNodeShutdownBasedOnPodPriority=true", []string{"GracefulNodeShutdownBasedOnPodPriority"}},
		{36, "AllAlpha=true", nil},
		{36, "AllAlpha=true,GenericWorkload=false", []string{"DRAWorkloadResourceClaims", "GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadWithJob"}},
		{37, "AllAlpha=true,GenericWorkload=true", nil},
	} {
		var got []string
		for _, x := range componentflag.UnmetNeeds("kubelet", componentflag.GatesOf(tt.gates), tt.minor) {
			got = append(got, x.Flag)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("1.%d %s: %v, want %v", tt.minor, tt.gates, got, tt.want)
		}
	}
}

// TestFieldsOfVersions names fields that a minor version refuses and another one takes.
func TestFieldsOfVersions(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	gates := func(name string, on bool) object { return object{name: on} }
	for _, tt := range []struct {
		minor  int
		fields object
		want   []string
	}{
		{36, object{"memoryReservationPolicy": "TieredReservation"}, []string{"memoryReservationPolicy"}},
		{37, object{"memoryReservationPolicy": "TieredReservation"}, nil},
		{37, object{"memoryReservationPolicy": "TieredReservation", "featureGates": gates("AllBeta", false)}, []string{"memoryReservationPolicy"}},
		{35, object{"imageMinimumGCAge": "-1m"}, nil},
		{36, object{"imageMinimumGCAge": "-1m"}, []string{"imageMinimumGCAge"}},
		{35, object{"cpuCFSQuotaPeriod": "10ms"}, []string{"cpuCFSQuotaPeriod"}},
		{35, object{"cpuCFSQuotaPeriod": "10ms", "featureGates": gates("CustomCPUCFSQuotaPeriod", true)}, nil},
		{36, object{"cpuCFSQuotaPeriod": "10ms"}, nil},
		{35, object{"enableSystemLogQuery": true}, []string{"enableSystemLogQuery"}},
		{36, object{"enableSystemLogQuery": true}, nil},
		{36, object{"memoryThrottlingFactor": 0.5}, nil},
		{37, object{"memoryThrottlingFactor": 0.5, "featureGates": gates("MemoryQoS", false)}, []string{"memoryThrottlingFactor"}},
		{37, object{"defaultPodSysctls": object{"net.core.somaxconn": "1"}}, []string{"defaultPodSysctls"}},
		{37, object{"defaultPodSysctls": object{"net.core.somaxconn": "1"}, "featureGates": gates("DefaultPodSysctls", true)}, nil},
		{37, object{"defaultPodSysctls": object{"net.core.somaxconn": "1", "net/core/somaxconn": "1", "vm.x": "1"}, "featureGates": gates("DefaultPodSysctls", true)}, []string{"defaultPodSysctls", "defaultPodSysctls"}},
		{36, object{"allowedUnsafeSysctls": []any{"kernel.domainname"}}, []string{"allowedUnsafeSysctls"}},
		{37, object{"allowedUnsafeSysctls": []any{"kernel.domainname"}}, nil},
		{34, object{"crashLoopBackOff": object{"maxContainerRestartPeriod": "1m"}}, []string{"crashLoopBackOff.maxContainerRestartPeriod"}},
		{34, object{"crashLoopBackOff": object{"maxContainerRestartPeriod": "1m"}, "featureGates": gates("KubeletCrashLoopBackOffMax", true)}, nil},
		{35, object{"crashLoopBackOff": object{"maxContainerRestartPeriod": "1m"}}, nil},
		{35, object{"crashLoopBackOff": object{"maxContainerRestartPeriod": "1m"}, "featureGates": gates("AllBeta", false)}, []string{"crashLoopBackOff.maxContainerRestartPeriod"}},
		{34, object{"imagePullCredentialsVerificationPolicy": "NeverVerify"}, []string{"imagePullCredentialsVerificationPolicy"}},
		{35, object{"imagePullCredentialsVerificationPolicy": "NeverVerify"}, nil},
		{34, object{"imageMaximumGCAge": "0s", "shutdownGracePeriod": "0s", "serverTLSBootstrap": false, "shutdownGracePeriodByPodPriority": []any{}, "featureGates": gates("AllBeta", false)}, nil},
		{34, object{"imageMaximumGCAge": "9h", "featureGates": gates("ImageMaximumGCAge", false)}, []string{"imageMaximumGCAge"}},
		{36, object{"logging": object{"options": object{"json": object{"infoBufferSize": "1Mi"}}}}, []string{"logging.options.json.infoBufferSize"}},
		{36, object{"logging": object{"format": "json"}}, nil},
		{36, object{"logging": object{"format": "json"}, "featureGates": gates("LoggingBetaOptions", false)}, []string{"logging.format"}},
		{34, object{"cpuManagerPolicy": "static", "cpuManagerPolicyOptions": object{"strict-cpu-reservation": "true"}, "featureGates": gates("CPUManagerPolicyBetaOptions", false)}, []string{"cpuManagerPolicyOptions.strict-cpu-reservation"}},
		{35, object{"cpuManagerPolicy": "static", "cpuManagerPolicyOptions": object{"strict-cpu-reservation": "true"}, "featureGates": gates("CPUManagerPolicyBetaOptions", false)}, nil},
		{36, object{"cpuManagerPolicy": "static", "cpuManagerPolicyOptions": object{"align-by-socket": "true"}}, []string{"cpuManagerPolicyOptions.align-by-socket"}},
	} {
		wantFlags(t, componentflag.KubeletFields(state.FromGo(tt.fields), tt.minor), tt.minor, tt.fields, tt.want)
	}
	for _, tt := range []struct {
		minor  int
		fields object
		want   []string
	}{
		{36, object{"nodePortAddresses": []any{"primary", "10.0.0.0/8"}}, []string{"nodePortAddresses"}},
		{37, object{"nodePortAddresses": []any{"primary", "10.0.0.0/8"}}, nil},
		{37, object{"nodePortAddresses": []any{"primary", "primary"}}, []string{"nodePortAddresses"}},
		{37, object{"mode": "ipvs", "featureGates": gates("KubeProxyIPVS", false)}, []string{"mode"}},
		{37, object{"mode": "ipvs"}, nil},
		{36, object{"logging": object{"format": "json"}, "featureGates": gates("AllBeta", false)}, []string{"logging.format"}},
	} {
		wantFlags(t, componentflag.ProxyFields(state.FromGo(tt.fields), tt.minor), tt.minor, tt.fields, tt.want)
	}
}

func wantFlags(t *testing.T, found []componentflag.Conflict, minor int, fields any, want []string) {
	t.Helper()
	var got []string
	for _, x := range found {
		got = append(got, x.Flag)
	}
	if !slices.Equal(got, want) {
		t.Errorf("1.%d %v: %v, want %v", minor, fields, found, want)
	}
}
