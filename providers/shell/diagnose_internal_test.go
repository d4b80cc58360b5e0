package shell

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/providers/diagnosis"
)

// The clients of a host on which the API server refuses its arguments, as crictl 1.36 and systemd
// 252 print it.
var failingHost = map[string]string{
	"bin/systemctl": `case "$*" in
*containerd*) printf 'LoadState=loaded\nActiveState=active\nSubState=running\nResult=success\nExecMainStatus=0\nNRestarts=0\n' ;;
*kubelet*) printf 'Result=exit-code\nNRestarts=7\nExecMainStatus=1\nLoadState=loaded\nActiveState=activating\nSubState=auto-restart\n' ;;
*) printf 'LoadState=not-found\nActiveState=inactive\n' ;;
esac
`,
	"bin/journalctl": `printf 'one\nfailed to load kubelet config \033[31m\n'
`,
	"bin/crictl": `case "$*" in
*"ps --all --output json"*) echo '{"containers":[{"metadata":{"name":"etcd","attempt":0},"state":"CONTAINER_RUNNING","labels":{"io.kubernetes.pod.name":"etcd-cp1"}},
  {"metadata":{"name":"kube-apiserver","attempt":4},"state":"CONTAINER_EXITED","labels":{}}]}' ;;
*"ps --all --quiet --state exited"*) echo aa; echo removed ;;
*"inspect"*removed*) exit 1 ;;
*"inspect"*) echo '{"status":{"id":"aa","metadata":{"attempt":4,"name":"kube-apiserver"},"state":"CONTAINER_EXITED","startedAt":"2026-11-29T03:00:00.1Z",
  "finishedAt":"2026-11-29T03:00:00.5Z","exitCode":1,"reason":"Error","labels":{"io.kubernetes.pod.name":"kube-apiserver-cp1"}},"info":{}}' ;;
*logs*--tail*1000*aa*) echo 'Error: unknown flag: --no-such-flag' >&2; seq -f '  --flag-%g' 300 ;;
*) exit 1 ;;
esac
`,
}

func TestDiagnosisReadsUnitsAndContainers(t *testing.T) {
	t.Parallel()
	root := runtimeRoot(t, failingHost)
	body := ""
	for _, u := range diagnosis.Units() {
		body += call("kw_unit_log", u, "12")
	}
	r := diagnosed(t, root, body+call("kw_containers", diagnosis.Namespace, "12"))
	var got []string
	for _, c := range r.Causes() {
		got = append(got, c.String()+": "+strings.Join(c.Log, "|"))
	}
	want := []string{
		"unit kubelet.service is activating (auto-restart): exit-code, exit code 1, 7 restarts: one|failed to load kubelet config \\x1b[31m",
		"container kube-apiserver of pod kube-apiserver-cp1 exited with code 1 after 400ms, 4 restarts: Error: unknown flag: --no-such-flag",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDiagnosisRefusesNonsense(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		section
		want string
	}{
		{section{[]string{"containers"}, []byte("no JSON")}, "cannot read the list of containers"},
		{section{[]string{"exited", "aa"}, []byte("{")}, "cannot read the status of a container"},
	} {
		if err := diagnose(&diagnosis.Report{}, c.section); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.words[0], err, c.want)
		}
	}
}

// runtimeRoot returns a root like that of swapRoot, in which a container runtime listens.
func runtimeRoot(t *testing.T, files map[string]string) string {
	t.Helper()
	root := swapRoot(t, files)
	if err := os.MkdirAll(filepath.Join(root, "run/containerd"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(root, "run/containerd/containerd.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return root
}

// diagnosed returns what calls of the diagnosis report on a root.
func diagnosed(t *testing.T, root, calls string) *diagnosis.Report {
	t.Helper()
	sh := exec.Command("sh", "-c", "kw_n="+testNonce+"\nkw_r="+Quote(root)+"\n"+preludeScript+runtimeScript+diagnoseScript+calls+"kw_say end\n")
	sh.Env = []string{"PATH=" + root + "/bin:/usr/bin:/bin"}
	out, err := sh.Output()
	if err != nil {
		t.Fatal(err)
	}
	r := &diagnosis.Report{}
	for _, s := range parseAnswer(out, testNonce).sections {
		if err := diagnose(r, s); err != nil {
			t.Fatal(err)
		}
	}
	return r
}
