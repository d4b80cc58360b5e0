package config

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// TestFlagTypesAreComplete checks that each flag has a checked type, and that each set of values exists in
// all versions of its flag. No type and no set is unused.
func TestFlagTypesAreComplete(t *testing.T) {
	t.Parallel()
	used := map[string]bool{"etcd-gates": true}
	own := []string{"text", "suites", "gates", "labels", "taints"}
	for _, component := range keys(componentflag.Flags) {
		for _, name := range keys(componentflag.Flags[component]) {
			flag := componentflag.Flags[component][name]
			kind, set, ofSet := strings.Cut(flag.Type, ":")
			used[kind], used[set] = true, true
			if _, ok := componentflag.Types[kind]; !ok && !ofSet && !slices.Contains(own, kind) {
				t.Errorf("%s --%s has no type: %q", component, name, flag.Type)
			}
			for _, m := range flag.Minors {
				minor, err := strconv.Atoi(m)
				if err != nil || minor < MinMinor || minor > MaxMinor || ofSet && len(componentflag.ValuesOf(set, minor)) == 0 {
					t.Errorf("%s --%s: 1.%s has no values %s", component, name, m, set)
				}
			}
		}
	}
	for _, name := range slices.Concat(keys(componentflag.Types), keys(componentflag.Values)) {
		if !used[name] {
			t.Errorf("no flag has %s", name)
		}
	}
}

// TestComponentValuesAreChecked checks that every form of a value that a component accepts is accepted,
// and that a value on which it exits is refused, with what to write instead.
func TestComponentValuesAreChecked(t *testing.T) {
	t.Parallel()
	const whole = `is not what --audit-log-maxage takes: a whole number. kube-apiserver would not start.`
	for _, tt := range []struct {
		minor                          int
		component, flag, value, refuse string
	}{
		{36, "kube-apiserver", "audit-log-maxage", "30", ""},
		{36, "kube-apiserver", "audit_log_maxage", "0x1f", ""},
		{36, "kube-apiserver", "audit-log-maxage", "1_000", ""},
		{36, "kube-apiserver", "audit-log-maxage", "thirty", whole},
		{36, "kube-apiserver", "audit_log_maxage", " 30", whole},
		{36, "kube-apiserver", "audit-log-maxage", "99999999999999999999", whole},
		{36, "kube-apiserver", "kubelet-port", "-1", "a whole number that is not negative"},
		{36, "kube-apiserver", "audit-policy-file", "any thing", ""},
		{36, "kube-apiserver", "no-such-flag", "any thing", ""},
		{36, "kube-apiserver", "authorization-mode", "Node,RBAC", ""},
		{36, "kube-apiserver", "authorization-mode", `"Node","RBAC"`, ""},
		{36, "kube-apiserver", "authorization-mode", "Node, RBAC", `" RBAC" is no value of --authorization-mode that kube-apiserver 1.36 knows. Did you mean "RBAC"?`},
		{36, "kube-apiserver", "enable-admission-plugins", "JobValidation", ""},
		{37, "kube-apiserver", "enable-admission-plugins", "JobValidation", `"JobValidation" is no value of --enable-admission-plugins that kube-apiserver 1.37 knows. It is known in 1.36: choose such a version, or remove it.`},
		{0, "kube-apiserver", "enable-admission-plugins", "Nope", ""},
		{36, "kube-apiserver", "service-node-port-range", "30000-32767", ""},
		{36, "kube-apiserver", "service-node-port-range", "30000+100", ""},
		{36, "kube-apiserver", "service-node-port-range", "", ""},
		{36, "kube-apiserver", "service-node-port-range", "32767-30000", "a range of ports"},
		{36, "kube-apiserver", "bind-address", "::", ""},
		{36, "kube-apiserver", "bind-address", "", ""},
		{36, "kube-apiserver", "tls-sni-cert-key", "a.crt,a.key:*.example.com,b", ""},
		{36, "kube-apiserver", "tls-sni-cert-key", "a.crt,a.key:", "CERTIFICATE,KEY"},
		{36, "kube-apiserver", "tls-min-version", "VersionTLS14", "It knows VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13."},
		{36, "kube-apiserver", "feature-gates", "kube: AllAlpha = 0", "has no feature gate"},
		{36, "kube-apiserver", "feature-gates", "AllAlpha = 0,,kube:AllBeta=F", ""},
		{36, "kube-apiserver", "feature-gates", "AllAlpha=no", "is not NAME=true or NAME=false"},
		{36, "kube-apiserver", "feature-gates", "APIServerTracing=0", "APIServerTracing is always true"},
		{36, "kube-apiserver", "runtime-config", "api/all", ""},
		{36, "kube-controller-manager", "leader-elect", "T", ""},
		{36, "kube-controller-manager", "leader-elect", "yes", "true or false"},
		{36, "kube-controller-manager", "controllers", "*,-ttl,bootstrapsigner", ""},
		{36, "kube-controller-manager", "controllers", "-ttll", `"-ttll" is no value of --controllers`},
		{36, "kube-controller-manager", "controllers", "-service", ""},
		{37, "kube-controller-manager", "controllers", "-service", "It is known in 1.34, 1.35, 1.36: choose"},
		{36, "kube-controller-manager", "allow-metric-labels", "m,l=a,b", ""},
		{36, "kube-controller-manager", "large-cluster-size-threshold", "50", ""},
		{36, "kubelet", "eviction-hard", "memory.available<5%,", ""},
		{36, "kubelet", "address", "010.0.0.1", ""},
		{36, "kubelet", "system-reserved", "cpu=1,,memory=1Gi", ""},
		{36, "etcd", "feature-gates", "InitialCorruptCheck=true", ""},
		{37, "etcd", "feature-gates", "FastLeaseKeepAlive=true", ""},
		{36, "etcd", "feature-gates", "FastLeaseKeepAlive=true", "It is known in 1.37: choose"},
		{36, "etcd", "listen-metrics-urls", "http://127.0.0.1:2381,unix://x", ""},
		{36, "etcd", "listen-metrics-urls", "", ""},
		{36, "etcd", "listen-metrics-urls", "http://127.0.0.1", "URLs with scheme, host and port"},
		{36, "etcd", "listen-metrics-urls", "http://127.0.0.1:2381/metrics", "URLs with scheme, host and port"},
		{36, "etcd", "listen-metrics-urls", "http://a b", "URLs with scheme, host and port"},
		{36, "etcd", "log-level", "warning", "It is known in 1.37: choose"},
		{36, "etcd", "max-concurrent-streams", "4294967295", ""},
	} {
		var out diag.Diagnostics
		checker{out: &out, minor: tt.minor, about: state.ClusterTarget("c")}.value("", tt.component, Arg{Name: tt.flag, Value: tt.value})
		said := ""
		for _, d := range out {
			said += d.Detail
		}
		if (tt.refuse == "") != (said == "") || !strings.Contains(said, tt.refuse) {
			t.Errorf("%s 1.%d --%s=%s: %q, want %q", tt.component, tt.minor, tt.flag, tt.value, said, tt.refuse)
		}
	}
}

// TestCustomEtcdImageGatesAreNotChecked checks that gates are not checked for an etcd image that the user chose,
// and that numbers still are.
func TestCustomEtcdImageGatesAreNotChecked(t *testing.T) {
	t.Parallel()
	var out diag.Diagnostics
	own := checker{out: &out, minor: 36, about: state.ClusterTarget("c"), origins: Origins{"etcd.image_tag": {}}}
	if own.value("", "etcd", Arg{Name: "feature-gates", Value: "Mine=true"}); len(out) > 0 {
		t.Errorf("%v", out)
	}
	if own.value("", "etcd", Arg{Name: "heartbeat-interval", Value: "ten"}); len(out) != 1 {
		t.Errorf("%v", out)
	}
}
