package diagnosis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/providers/diagnosis"
)

// complains returns a report of a kubelet that runs and complains.
func complains(lines ...string) diagnosis.Report {
	return diagnosis.Report{Units: []diagnosis.Unit{{Name: "kubelet.service", Load: "loaded", File: "enabled", Active: "active", Sub: "running", Errors: lines}}}
}

// The lines are those of kubelets of Kubernetes 1.36.
func TestErrorsOfRunningKubeletAreCauses(t *testing.T) {
	t.Parallel()
	lease := `E1130 12:35:05.471323    2125 controller.go:201] "Failed to ensure lease exists, will retry" err="Get \"https://api.example.com:6443/apis\": `
	for name, c := range map[string]struct{ line, want, remedy string }{
		"harmless":    {`E1130 12:33:42.596325    1580 server.go:1281] "Failed to set rlimit on max file handles" err="operation not permitted"`, "", ""},
		"foreign CA":  {`E1130 12:34:38.299538    1983 controller.go:201] "Failed to ensure lease exists, will retry" err="Unauthorized" interval="200ms"`, "unit kubelet.service is refused by the API server, which does not know its client certificate", "see whose CA"},
		"name":        {lease + `dial tcp: lookup api.example.com on 10.0.0.253:53: read udp: connection refused"`, "unit kubelet.service cannot resolve the name of the API endpoint", "name server"},
		"port":        {lease + `dial tcp 10.0.0.1:6444: connect: connection refused"`, "unit kubelet.service cannot reach the API server: nothing listens there", "whether the API server runs"},
		"firewall":    {`E1130 12:43:25.858725    3992 controller.go:251] "Failed to update lease" err="Put \"https://api:6443/\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)"`, "unit kubelet.service gets no answer of the API server", "firewall"},
		"manifest":    {`E1130 12:35:51.178684    1421 file.go:186] "Could not process manifest file" err="/etc/kubernetes/manifests/kube-scheduler.yaml: couldn't parse as pod(yaml: line 10: did not find expected node content), please check config file" path="/etc/kubernetes/manifests/kube-scheduler.yaml"`, "unit kubelet.service cannot read a manifest of static pods, and does not run it", "correct the file"},
		"path":        {`E1130 12:35:03.198356    1421 nestedpendingoperations.go:348] Operation failed. Error: MountVolume.SetUp failed for volume "kubeconfig" (UniqueName: "x") pod "kube-scheduler-cp1" (UID: "14d8") : hostPath type check failed: /etc/kubernetes/none.conf is not a file`, "pod kube-scheduler-cp1 does not start: the host lacks what it mounts", "bring the path"},
		"image":       {`E1130 12:34:33.061427    1421 pod_workers.go:1338] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"kube-scheduler\" with ImagePullBackOff: \"dial tcp 127.0.0.1:5: connect: connection refused\"" pod="kube-system/kube-scheduler-cp1"`, "pod kube-scheduler-cp1 does not start: its image cannot be pulled", "registry"},
		"image name":  {`E1130 12:34:26.032223    1421 pod_workers.go:1338] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"kube-scheduler\" with InvalidImageName: \"x\"" pod="kube-system/kube-scheduler-cp1"`, "pod kube-scheduler-cp1 does not start: the name of its image is no valid one", "correct the image"},
		"command":     {`E1130 13:16:28.985533   52837 pod_workers.go:1338] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"kube-scheduler\" with RunContainerError: \"OCI runtime create failed: runc create failed: unable to start container process: exec: \\\"kube-schedule\\\": executable file not found in $PATH\"" pod="kube-system/kube-scheduler-cp1"`, "pod kube-scheduler-cp1 does not start: its image lacks the command", "correct the command"},
		"runc":        {`E1130 13:16:28.985533   52837 pod_workers.go:1338] "Error syncing pod, skipping" err="failed to \"CreatePodSandbox\" with CreatePodSandboxError: \"exec: \\\"runc\\\": executable file not found in $PATH\"" pod="kube-system/kube-proxy-x"`, "unit kubelet.service cannot start containers: runc is missing", "install runc"},
		"crash loops": {`E1130 12:33:25.795732    1421 pod_workers.go:1338] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"kube-scheduler\" with CrashLoopBackOff: \"back-off\"" pod="kube-system/kube-scheduler-cp1"`, "", ""},
	} {
		got := complains(c.line).Causes()
		switch {
		case c.want == "" && len(got) > 0:
			t.Errorf("%s: %s, want nothing", name, got[0])
		case c.want == "":
		case len(got) != 1 || got[0].String() != c.want || !strings.Contains(got[0].Remedy(), c.remedy):
			t.Errorf("%s: %v, want %s; %s", name, got, c.want, c.remedy)
		case strings.HasPrefix(got[0].Log[0], "E1130") || strings.Contains(got[0].Log[0], `\`):
			t.Errorf("%s: the line is not shortened: %s", name, got[0].Log[0])
		}
	}
}

// TestConsequencesAreNoCauses checks that a kubelet's complaint about the API server does not
// appear beside the reason why that does not run, and the end of a container that the kubelet has
// stopped not beside the reason why the next one does not start.
func TestConsequencesAreNoCauses(t *testing.T) {
	t.Parallel()
	r := complains(`E1 controller.go:1] "Failed to update lease" err="connect: connection refused"`)
	r.Containers = []diagnosis.Container{container("kube-apiserver", 1, exited(1, time.Second))}
	if got := r.Causes(); len(got) != 1 || !strings.Contains(got[0].Subject, "kube-apiserver") {
		t.Errorf("%v", got)
	}
	r = complains(`E1 pod_workers.go:1] "Error syncing pod, skipping" err="with ErrImagePull" pod="kube-system/kube-scheduler-cp1"`)
	r.Containers = []diagnosis.Container{container("kube-scheduler", 0, exited(0, time.Minute))}
	if got := r.Causes(); len(got) != 1 || got[0].Subject != "pod kube-scheduler-cp1" {
		t.Errorf("%v", got)
	}
}

func TestUnitsThatDoNotStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		unit         diagnosis.Unit
		want, remedy string
	}{
		"masked":   {diagnosis.Unit{Name: "kubelet.service", Load: "masked", Active: "inactive", Sub: "dead"}, "unit kubelet.service is masked, so that nothing can start it", "systemctl unmask kubelet.service"},
		"bad":      {diagnosis.Unit{Name: "kubelet.service", Load: "bad-setting", Active: "active", Sub: "running"}, "unit kubelet.service cannot be loaded (bad-setting); it still runs", "systemctl daemon-reload"},
		"stopped":  {diagnosis.Unit{Name: "kubelet.service", Load: "loaded", File: "enabled", Active: "active", Sub: "running", Stopped: true}, "unit kubelet.service does nothing: a signal has stopped its process (SIGSTOP)", "systemctl kill --signal=CONT kubelet.service"},
		"disabled": {diagnosis.Unit{Name: "kubelet.service", Load: "loaded", File: "disabled", Active: "active", Sub: "running"}, "unit kubelet.service is disabled: it runs, and does not start at the next boot", "systemctl enable"},
	} {
		got := diagnosis.Report{Units: []diagnosis.Unit{c.unit}}.Causes()
		if len(got) != 1 || got[0].String() != c.want || !strings.Contains(got[0].Remedy(), c.remedy) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOneProblemIsReportedOnce checks that of two lines about a pod that does not start the one that does
// not name it is no cause of its own.
func TestOneProblemIsReportedOnce(t *testing.T) {
	t.Parallel()
	exec := `unable to start container process: exec: \"kube-none\": executable file not found in $PATH"`
	got := complains(`E1 remote_runtime.go:1] "StartContainer from runtime service failed" err="`+exec, `E1 pod_workers.go:1] "Error syncing pod, skipping" err="`+exec+` pod="kube-system/kube-scheduler-cp1"`).Causes()
	if len(got) != 1 || got[0].Subject != "pod kube-scheduler-cp1" {
		t.Errorf("%v", got)
	}
}

func TestConditionsOfNodesHaveRemedies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Ready is False: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady": "install the network plugin",
		"MemoryPressure is True: kubelet has insufficient memory available":                                    "free memory",
		"DiskPressure is True: kubelet has disk pressure":                                                      "free space",
		"PIDPressure is True: kubelet has insufficient PID available":                                          "end processes",
		"the node is cordoned: no pod is scheduled to it":                                                      "kubewright uncordon",
		"the node is not ready": "",
	} {
		if got := diagnosis.RemedyOfCondition(text); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestDisksThatTakeNothing(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]diagnosis.Disk{
		"": {Path: "/run", Free: 1 << 30, FreeInodes: 1 << 20},
		"file system of /run is mounted read-only":      {Path: "/run", Free: 1 << 30, FreeInodes: 1 << 20, ReadOnly: true},
		"file system of /run is full: 12 KiB are free":  {Path: "/run", Free: 12 << 10, FreeInodes: 1 << 20},
		"file system of /run is full: 3 more files fit": {Path: "/run", Free: 1 << 30, FreeInodes: 3},
	} {
		var got string
		for _, c := range (diagnosis.Report{Disks: []diagnosis.Disk{d}}).Causes() {
			got = c.String()
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestStaticPodWithoutContainer(t *testing.T) {
	t.Parallel()
	r := complains()
	r.Manifests = []string{"etcd", "kube-apiserver", "addon"}
	r.Containers = []diagnosis.Container{container("etcd", 0)}
	if got := r.Causes(); len(got) != 1 || got[0].String() != "static pod kube-apiserver has no container, although its manifest is on the host" {
		t.Errorf("%v", got)
	}
}

func TestRuntimeThatServesNoCRI(t *testing.T) {
	t.Parallel()
	r := complains()
	r.Manifests, r.Refused = []string{"etcd"}, []string{"unknown service runtime.v1.RuntimeService"}
	if got := r.Causes(); len(got) != 1 || got[0].Subject != "container runtime" || !strings.Contains(got[0].Remedy(), "config.toml") {
		t.Errorf("%v", got)
	}
}

// TestExcerptKeepsTheReason checks that stacks, lists of flags, systemd's bookkeeping and
// repetitions do not push the reason out of a report.
func TestExcerptKeepsTheReason(t *testing.T) {
	t.Parallel()
	lines := []string{
		"panic: unrecognized feature gate: NoSuchGate", "goroutine 1 [running]:", "github.com/spf13/cobra.(*Command).ExecuteC(0x2cbcd208ec08)", `\tgithub.com/spf13/cobra@v1.10.2/command.go:1148 +0x465`,
		"main.main()", "kubelet.service: Main process exited, code=exited, status=2/INVALIDARGUMENT", "kubelet.service: Failed with result 'exit-code'.",
		"Started kubelet.service - kubelet: The Kubernetes Node Agent.", "      --vmodule pattern=N   comma-separated list", "  -v, --v Level   number for the log level",
	}
	if got := diagnosis.Excerpt(lines, 4); len(got) != 1 || got[0] != lines[0] {
		t.Errorf("%q", got)
	}
	got := diagnosis.Excerpt([]string{"I1 a", "E1130 12:00:00.000001       1 b.go:2] first", "I1 c", "I1 d", "E1130 12:00:00.000009       1 b.go:2] first"}, 2)
	if len(got) != 2 || got[0] != "I1 d" || !strings.HasSuffix(got[1], "first") {
		t.Errorf("%q", got)
	}
	etcd := []string{`{"level":"info","msg":"starting with peer TLS"}`, `{"level":"fatal","error":"bind: cannot assign requested address","stacktrace":"main.main\n"}`}
	if got := diagnosis.Excerpt(etcd, 4); len(got) != 1 || !strings.HasSuffix(got[0], `address"`) {
		t.Errorf("%q", got)
	}
	if got := diagnosis.Excerpt([]string{"kubelet.service: Failed with result 'oom-kill'."}, 4); len(got) != 1 {
		t.Errorf("nothing but noise is %q", got)
	}
}

func TestOlderAttemptsDoNotCount(t *testing.T) {
	t.Parallel()
	lines := []string{"Started a.service - a.", "E1 old", "Started a.service - a.", "E1 one", "Starting a.service - a...", "E1 two"}
	if got := diagnosis.LastAttempts(lines); len(got) != 4 || got[1] != "E1 one" {
		t.Errorf("%q", got)
	}
	if got := diagnosis.LastAttempts(lines[1:4]); len(got) != 3 {
		t.Errorf("%q", got)
	}
}
