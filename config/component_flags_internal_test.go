package config

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config/componentflag"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// TestComponentFlagsPerVersion checks that each component has its flags in each version; that an unknown
// flag is refused, and no known one.
func TestComponentFlagsPerVersion(t *testing.T) {
	t.Parallel()
	for _, component := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"} {
		if n := len(componentflag.Flags[component]); n < 60 {
			t.Errorf("%s has %d flags", component, n)
		}
	}
	for _, tt := range []struct {
		minor               int
		component, flag, is string
	}{
		{36, "kube-apiserver", "audit-log-maxage", ""},
		{36, "kube-apiserver", "audit_log_maxage", ""},
		{36, "kube-apiserver", "apiserver-count", ""}, // hidden in --help
		{36, "kube-apiserver", "audit-log-maxagee", `kube-apiserver 1.36 has no flag --audit-log-maxagee, and would not start. Did you mean "audit-log-maxage"?`},
		{37, "kubelet", "boot-id-file", "kubelet 1.37 has no flag --boot-id-file, and would not start. It is known in 1.34, 1.35, 1.36: choose such a version, or remove it."},
		{36, "kubelet", "boot-id-file", ""},
		{0, "kubelet", "boot-id-fil", ""},
		{37, "etcd", "experimental-initial-corrupt-check", "etcd of Kubernetes 1.37 has no flag --experimental-initial-corrupt-check, and would not start."},
		{36, "etcd", "snapshot_count", "etcd of Kubernetes 1.36 has no flag --snapshot_count, and would not start."},
	} {
		var out diag.Diagnostics
		checker{out: &out, minor: tt.minor, about: state.ClusterTarget("c")}.flag(tt.component, Arg{Name: tt.flag})
		said := ""
		for _, d := range out {
			said += d.Detail
		}
		if (tt.is == "") != (said == "") || !strings.Contains(said, tt.is) {
			t.Errorf("%s 1.%d --%s: %q, want %q", tt.component, tt.minor, tt.flag, said, tt.is)
		}
	}
	var out diag.Diagnostics
	own := checker{out: &out, minor: 36, origins: Origins{"etcd.image_tag": {}}}
	if own.flag("etcd", Arg{Name: "enable-v2"}); len(out) > 0 {
		t.Errorf("with an image that the user chose: %v", out)
	}
}
