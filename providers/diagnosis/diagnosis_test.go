package diagnosis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers/diagnosis"
)

var began = time.Date(2026, 11, 29, 3, 0, 0, 0, time.UTC)

// container returns a container of a static pod.
func container(name string, attempt int, more ...func(*diagnosis.Container)) diagnosis.Container {
	c := diagnosis.Container{Pod: name + "-cp1", Name: name, Attempt: attempt, Running: true}
	for _, set := range more {
		set(&c)
	}
	return c
}

func exited(code int, lived time.Duration) func(*diagnosis.Container) {
	return func(c *diagnosis.Container) {
		c.Running, c.ExitCode, c.Started, c.Finished = false, code, began, began.Add(lived)
	}
}

func reason(text string) func(*diagnosis.Container) {
	return func(c *diagnosis.Container) { c.Reason = text }
}

func kubelet(active, sub, result string, restarts int, log ...string) diagnosis.Unit {
	return diagnosis.Unit{Name: "kubelet.service", Active: active, Sub: sub, Result: result, ExitCode: 1, Restarts: restarts, Log: log}
}

func TestCausesNameWhatDoesNotRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report diagnosis.Report
		want   string
	}{
		"all runs": {diagnosis.Report{
			Units:      []diagnosis.Unit{kubelet("active", "running", "success", 3)},
			Containers: []diagnosis.Container{container("etcd", 0)},
		}, ""},
		"kubelet fails": {
			diagnosis.Report{Units: []diagnosis.Unit{kubelet("activating", "auto-restart", "exit-code", 12)}},
			"unit kubelet.service is activating (auto-restart): exit-code, exit code 1, 12 restarts",
		},
		"runtime is stopped": {
			diagnosis.Report{Units: []diagnosis.Unit{{Name: "containerd.service", Active: "inactive", Sub: "dead", Result: "success"}}},
			"unit containerd.service is inactive (dead)",
		},
		"container exits": {
			diagnosis.Report{Containers: []diagnosis.Container{container("etcd", 0), container("kube-apiserver", 1, exited(1, 340*time.Millisecond), reason("Error"))}},
			"container kube-apiserver of pod kube-apiserver-cp1 exited with code 1 after 300ms, 1 restart",
		},
		"out of memory": {
			diagnosis.Report{Containers: []diagnosis.Container{container("etcd", 0, exited(137, time.Minute), reason("OOMKilled"))}},
			"container etcd of pod etcd-cp1 exited with code 137 (OOMKilled) after 1m0s",
		},
		"container of a Job": {diagnosis.Report{Containers: []diagnosis.Container{container("install", 0, exited(0, time.Minute), reason("Completed"))}}, ""},
		"replaced by one that runs": {
			diagnosis.Report{Containers: []diagnosis.Container{container("etcd", 0, exited(1, time.Second)), container("etcd", 1)}}, "",
		},
	} {
		var got []string
		for _, cause := range c.report.Causes() {
			got = append(got, cause.String())
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

func TestKeepsExiting(t *testing.T) {
	t.Parallel()
	one := func(c ...diagnosis.Container) diagnosis.Report { return diagnosis.Report{Containers: c} }
	crash := exited(1, 300*time.Millisecond)
	for name, c := range map[string]struct {
		before, now diagnosis.Report
		want        bool
	}{
		"exits again and again":          {one(container("kube-apiserver", 0, crash)), one(container("kube-apiserver", 2, crash)), true},
		"exited before the wait":         {one(container("kube-apiserver", 9, crash)), one(container("kube-apiserver", 9, crash)), false},
		"has only begun":                 {one(), one(container("kube-apiserver", 0, crash)), false},
		"is new and exits again":         {one(), one(container("kube-apiserver", 1, crash)), true},
		"runs now":                       {one(container("etcd", 0, crash)), one(container("etcd", 2)), false},
		"ran for a while":                {one(container("etcd", 0)), one(container("etcd", 3, exited(1, 20*time.Second))), false},
		"was ended by a probe":           {one(container("etcd", 0)), one(container("etcd", 3, exited(137, time.Second))), false},
		"ended well":                     {one(container("etcd", 0)), one(container("etcd", 3, exited(0, time.Second))), false},
		"lacks the API server":           {one(container("kube-apiserver", 0, crash)), one(container("kube-apiserver", 1, crash), container("kube-scheduler", 4, crash)), false},
		"exits although the API is here": {one(container("kube-apiserver", 0)), one(container("kube-apiserver", 0), container("kube-scheduler", 2, crash)), true},
		"an addon lacks its network":     {one(container("kube-flannel", 0)), one(container("kube-flannel", 5, crash)), false},
		"kubelet refuses its settings": {
			diagnosis.Report{Units: []diagnosis.Unit{kubelet("activating", "auto-restart", "exit-code", 1)}},
			diagnosis.Report{Units: []diagnosis.Unit{kubelet("activating", "auto-restart", "exit-code", 3, `"command failed" err="failed to validate kubelet configuration, error: x"`)}},
			true,
		},
		"kubelet lacks the API server": {
			diagnosis.Report{Units: []diagnosis.Unit{kubelet("activating", "auto-restart", "exit-code", 1)}},
			diagnosis.Report{Units: []diagnosis.Unit{kubelet("activating", "auto-restart", "exit-code", 9, "cannot create certificate signing request: connection refused")}},
			false,
		},
		"kubelet came up": {
			diagnosis.Report{Units: []diagnosis.Unit{kubelet("activating", "auto-restart", "exit-code", 1)}},
			diagnosis.Report{Units: []diagnosis.Unit{kubelet("active", "running", "success", 9)}},
			false,
		},
	} {
		if got := c.now.KeepsExiting(c.before); (got != nil) != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestErrorsKeepTheirKind(t *testing.T) {
	t.Parallel()
	kind := errors.New("timed out")
	err := diagnosis.Explain(kind, []diagnosis.Cause{{Subject: "unit a.service", Problem: "is failed"}, {Subject: "container b", Problem: "exited", Log: []string{"secret"}}})
	if !errors.Is(err, kind) || err.Error() != "timed out. On the host: unit a.service is failed; container b exited" {
		t.Errorf("%v", err)
	}
}

func TestRemediesFollowFromLastWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`Error: unknown flag: --no-such-flag`:                                                     "remove the argument",
		`open /etc/kubernetes/audit.yaml: no such file or directory`:                              "bring the file to the host",
		`write /var/lib/etcd/member/wal/0.tmp: no space left on device`:                           "free space",
		`listen tcp 0.0.0.0:6443: bind: address already in use`:                                   "port",
		`x509: certificate has expired or is not yet valid: current time 2027-01-01`:              "kubewright certificates",
		`failed to validate kubelet configuration, error: invalid configuration: x`:               "kubelet block",
		`could not restore state from checkpoint: configured policy "none" differs from "static"`: "checkpoint",
		`open /var/lib/kubelet/state: too many open files, please remove the checkpoint file`:     "LimitNOFILE",
		`listen tcp 192.0.2.1:2380: bind: cannot assign requested address`:                        "correct the address",
		`err="invalid Node Allocatable configuration. Resource \"memory\" has a reservation"`:     "systemReserved",
		`failed validate: KubeProxyConfiguration.Mode.ProxyMode: Invalid value: "none"`:           "kube_proxy block",
		`/etc/coredns/Corefile:2 - Error during parsing: Unknown directive 'errorz'`:              "Corefile",
		`nothing of this is known`: "",
	} {
		got := diagnosis.Cause{Subject: "container x", Log: []string{"I1129 starting", line, "I1129 exiting"}}.Remedy()
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestStoppedUnitIsStarted(t *testing.T) {
	t.Parallel()
	r := diagnosis.Report{Units: []diagnosis.Unit{kubelet("inactive", "dead", "success", 0)}}
	if got := r.Causes()[0].Remedy(); got != "start it with systemctl start kubelet.service" {
		t.Error(got)
	}
}
