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
		{"etcd", [][2]string{{"tls-min-version", "TLS1.3"}, {"cipher-suites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"}}, []string{"cipher-suites"}},
	} {
		var got []string
		for _, x := range componentflag.Together(tt.component, tt.flags) {
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
	} {
		if got := componentflag.Takes(tt.component, tt.flag, tt.value, 36); (got != "") != tt.refused {
			t.Errorf("%s --%s=%s: %q", tt.component, tt.flag, tt.value, got)
		}
	}
}
