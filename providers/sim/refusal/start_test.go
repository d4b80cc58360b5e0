package refusal_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/sim/file"
	"github.com/kubewright/kubewright/providers/sim/refusal"
	"github.com/kubewright/kubewright/state"
)

// TestExits starts components with flags that real ones were asked about, alone and beside others, and
// with flags that none was asked about.
func TestExits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		component string
		minor     int
		flags     string
		why       string // part of the reason; empty if it runs
	}{
		// Verdicts.
		{"kubelet", 36, "--node-labels=a=b --address=1.2.3", `is not a valid IP address`},
		{"kubelet", 36, "--node-labels=a=b --address=0.0.0.0", ""},
		{"kube-apiserver", 37, "--profiling=false --endpoint-reconciler-type=x", "Reconciler not implemented: x"},
		{"etcd", 36, "--watch-progress-notify-interval=1d", `invalid value "1d"`},
		// A verdict on both decides, not the one on one of them.
		{"kube-scheduler", 36, "--feature-gates=GangScheduling=true", "depends on features that are disabled"},
		{"kube-scheduler", 36, "--feature-gates=GangScheduling=true --feature-gates=GenericWorkload=true", ""},
		// A reason that names another flag does not decide where that one is given as well.
		{"kube-apiserver", 36, "--encryption-provider-config-automatic-reload=true", "must be set with --encryption-provider-config"},
		{"kube-apiserver", 36, "--encryption-provider-config-automatic-reload=true --encryption-provider-config=/a", ""},
		// Versions differ.
		{"kubelet", 37, `--minimum-image-ttl-duration=-1s`, "imageMinimumGCAge"},
		{"kubelet", 35, `--minimum-image-ttl-duration=-1s`, ""},
		// Rules, where none was asked.
		{"kube-scheduler", 36, "--no-such-flag-at-all=1", "unknown flag: --no-such-flag-at-all"},
		{"etcd", 36, "--no-such-flag-at-all=1", "flag provided but not defined: -no-such-flag-at-all"},
		{"kube-scheduler", 34, "--kube-api-qps=many", `invalid argument "many" for "--kube-api-qps" flag`},
		{"kube-apiserver", 34, "--goaway-chance=0.77", "it takes a number from 0 to 0.02"},
		{"kube-apiserver", 34, "--feature-gates=NoSuchGateAtAll=true", "unrecognized feature gate: NoSuchGateAtAll"},
		{"kube-apiserver", 34, "--profiling", ""},
		// A version or a component of which nothing is known.
		{"kube-scheduler", 0, "--no-such-flag-at-all=1", ""},
		{"etcd", refusal.EtcdMinor("own"), "--no-such-flag-at-all=1", ""},
		{"etcd", refusal.EtcdMinor("3.6.8-0"), "--no-such-flag-at-all=1", "flag provided but not defined"},
	} {
		got := refusal.Start{Component: c.component, Minor: c.minor, Flags: strings.Fields(c.flags)}.Exits()
		if (got == "") != (c.why == "") || !strings.Contains(got, c.why) {
			t.Errorf("%s 1.%d with %s: %q, want %q", c.component, c.minor, c.flags, got, c.why)
		}
	}
}

// TestExitsWithConfig starts a kubelet with fields of its configuration, among others.
func TestExitsWithConfig(t *testing.T) {
	t.Parallel()
	for content, why := range map[string]string{
		"kind: KubeletConfiguration\nnodeStatusMaxImages: -2\n":                                                 "-2 must be -1 or greater",
		"kind: KubeletConfiguration\nnodeStatusMaxImages: -1\n":                                                 "",
		"kind: KubeletConfiguration\nlogging: {options: x}\n":                                                   "/var/lib/kubelet/config.yaml",
		"kind: KubeletConfiguration\ncpuCFSQuotaPeriod: 10ms\nfeatureGates: {CustomCPUCFSQuotaPeriod: false}\n": "cpuCFSQuotaPeriod",
		"kind: KubeletConfiguration\nevictionHard: {memory.available: 100Mi}\nclusterDomain: cluster.local\n":   "",
	} {
		tree, err := file.ParseYAML([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		got := refusal.Start{Component: "kubelet", Minor: 36, Config: state.FromGo(tree), Path: "/var/lib/kubelet/config.yaml"}.Exits()
		if (got == "") != (why == "") || !strings.Contains(got, why) {
			t.Errorf("%s: %q, want %q", content, got, why)
		}
	}
}
