//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// A failure is something that breaks on a host, and what doctor has to say of it.
type failure struct {
	name string
	// breaks is how it is made, undo how it is undone, as shell on the host.
	breaks, undo string
	// want are words of the real cause and of what to do.
	want []string
}

// explained are all failures that doctor has to explain, by area, with the host on which they are made, and
// those that doctor is asked about: none is all.
var explained = []struct {
	area, host string
	asked      []string
	rows       []failure
}{
	{"addons", "cp1", nil, addonFailures()},
	{"etcd", "cp1", []string{"cp1"}, etcdFailures()},
	{"API", "cp1", []string{"cp1"}, apiFailures()},
	{"pods", "cp1", []string{"cp1"}, podFailures()},
	{"kubelet", "w1", []string{"w1"}, kubeletFailures()},
	{"runtime", "w1", []string{"w1"}, runtimeFailures()},
	{"node", "w1", []string{"w1"}, nodeFailures()},
	{"network", "w1", []string{"w1"}, frozenFailures()},
}

// quickly has the API say within seconds that a kubelet does not report, which otherwise takes 50 s.
const (
	quickKubelet = "\n      nodeStatusUpdateFrequency = \"4s\"\n      nodeLeaseDurationSeconds  = 16"
	quickCluster = "  controller_manager {\n    arg \"node-monitor-grace-period\" { value = \"14s\" }\n    arg \"node-monitor-period\" { value = \"2s\" }\n  }\n"
)

// TestCauses breaks a small cluster in many ways, one after another, and checks that the first screen
// of doctor, or of the failed apply, has the cause and what to do.
func TestCauses(t *testing.T) {
	begin(t)
	s := newSiteOf(t, lab.Options{Name: "e2ecau", ControlPlanes: 1, Workers: 1})
	s.extra, s.kubelet = quickCluster, quickKubelet
	s.configure()
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	r := s.must("doctor", "-no-color")
	wantContains(t, r.out, `node.cp["cp1"]: nothing is wrong`, `node.worker["w1"]: nothing is wrong`)

	t.Run("drain", func(t *testing.T) { s.within(t, func() { s.explainsDrains(t) }) })
	t.Run("apply", func(t *testing.T) { s.within(t, func() { s.explainsApplies(t) }) })
	for _, area := range explained {
		t.Run(area.area, func(t *testing.T) {
			for _, f := range area.rows {
				t.Run(f.name, func(t *testing.T) { s.within(t, func() { s.explains(area.host, area.asked, f) }) })
			}
		})
	}
	if !t.Failed() {
		s.wantCluster()
		s.wantNoChanges()
	}
}

// explains makes a failure, checks what doctor says of it, and undoes it.
func (s *site) explains(host string, asked []string, f failure) {
	s.t.Helper()
	doctor := append([]string{"doctor", "-no-color"}, asked...)
	s.sh(host, "{ "+f.breaks+"; } >/dev/null 2>&1; true")
	defer func() {
		s.sh(host, "{ "+f.undo+"; } >/dev/null 2>&1; true")
		s.soon("nothing is wrong on "+host+" again", func() (string, bool) {
			r := s.run(doctor...)
			return r.out, r.code == 0
		})
	}()
	began := time.Now()
	named := s.soon("doctor names the cause", func() (string, bool) {
		r := s.run(doctor...)
		screen := firstScreen(r.out)
		for _, want := range f.want {
			if !strings.Contains(screen, unspaced(want)) {
				return "without " + want + ":\n" + r.out, false
			}
		}
		return r.out, r.code == 1
	})
	if named {
		s.t.Logf("the cause was shown after %s", time.Since(began).Round(time.Second))
	}
}

// causeTimeout is how long a cause may take to be there: the kubelet first has to give up.
const causeTimeout = 3 * time.Minute

// soon is eventually for a cause. What fails does not keep the other rows from being tried.
func (s *site) soon(what string, check func() (string, bool)) bool {
	s.t.Helper()
	for began := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		seen, ok := check()
		if ok {
			return true
		}
		if time.Since(began) > causeTimeout {
			s.t.Errorf("%s: not within %s; last seen:\n%s", what, causeTimeout, seen)
			return false
		}
	}
}

// A screen, as of a terminal that is not small.
const (
	screenLines   = 40
	screenColumns = 120
)

// firstScreen returns what a screen shows of an output before anyone scrolls, without white space: a
// line is longer than the screen is wide, or wrapped by the program.
func firstScreen(out string) string {
	var rows []string
	for line := range strings.Lines(out) {
		text := []rune(strings.TrimRight(line, "\n"))
		for len(text) > screenColumns {
			rows, text = append(rows, string(text[:screenColumns])), text[screenColumns:]
		}
		rows = append(rows, string(text))
	}
	return unspaced(strings.Join(rows[:min(len(rows), screenLines)], ""))
}

func unspaced(text string) string { return strings.Join(strings.Fields(text), "") }

// explainsApplies checks that an apply that fails shows the cause.
func (s *site) explainsApplies(t *testing.T) {
	for _, c := range []struct {
		name, extra string
		want        []string
	}{
		{
			"API server lacks a file", "  api_server {\n    arg \"audit-policy-file\" { value = \"/etc/kubernetes/pki/absent.yaml\" }\n  }\n",
			[]string{"container kube-apiserver of pod kube-apiserver-cp1 keeps exiting: it exited with code 1", "absent.yaml: no such file or directory"},
		},
		{
			"scheduler has no configuration", "  scheduler {\n    arg \"config\" { value = \"/etc/kubernetes/scheduler.conf\" }\n  }\n",
			[]string{"container kube-scheduler of pod kube-scheduler-cp1", "exited with code 1", "Last lines of container kube-scheduler"},
		},
		{
			"unit does not start", "  unit \"own.service\" {\n    content = \"[Service]\\nType=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/sh -c 'echo lacks its licence; exit 3'\\n\"\n    running = true\n    roles   = [\"worker\"]\n  }\n",
			[]string{"own.service", "lacks its licence"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.within(t, func() {
				s.extra = quickCluster + c.extra
				s.configure()
				r := s.run("apply", "-auto-approve", "-no-color")
				if r.code != 1 {
					t.Errorf("exit code %d, want 1", r.code)
				}
				wantContains(t, strings.Join(strings.Fields(r.out), " "), c.want...)
				t.Logf("the cause was shown after %s", r.took.Round(time.Second))
				s.extra = quickCluster
				s.configure()
				s.must("apply", "-auto-approve", "-no-color")
				s.wantNoChanges()
			})
		})
	}
}

// tenant is a pod of a Deployment that has what keeps a drain from its end.
const tenant = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: tenant, namespace: default}
spec:
  selector: {matchLabels: {app: tenant}}
  template:
    metadata: {labels: {app: tenant}%[2]s}
    spec: {containers: [{name: serve, image: %[1]q, imagePullPolicy: Never, args: [serve]%[3]s}]%[4]s}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: tenant, namespace: default}
spec: {minAvailable: %[5]d, selector: {matchLabels: {app: tenant}}}
`

// explainsDrains checks that a drain that does not come to its end shows the cause.
func (s *site) explainsDrains(t *testing.T) {
	worker := s.workers[0].Name
	for _, c := range []struct {
		name, metadata, container, pod string
		available                      int
		want                           []string
	}{
		{
			name: "budget allows no eviction", available: 1,
			want: []string{"Node cannot be drained", "PodDisruptionBudget default/tenant requires 1 of 1 pods to stay", "-disable-eviction"},
		},
		{
			name: "pod does not end", container: ", lifecycle: {preStop: {sleep: {seconds: 300}}}", pod: ", terminationGracePeriodSeconds: 300",
			want: []string{"default/tenant-", "it terminates still, and was to be gone by"},
		},
		{
			name: "finalizer keeps a pod", metadata: ", finalizers: [example.test/hold]",
			want: []string{"default/tenant-", "kept by finalizers", "example.test/hold"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.within(t, func() {
				objects := fmt.Sprintf(tenant, lab.WorkloadImage, c.metadata, c.container, c.pod, c.available)
				if _, err := s.KubectlInput(context.Background(), s.planes[0].Name, objects, "apply", "-f", "-"); err != nil {
					s.t.Fatal(err)
				}
				s.kubectl("rollout", "status", "deployment/tenant", "--timeout=3m")
				defer func() {
					s.kubectl("delete", "deployment,pdb", "tenant", "--wait=false")
					pods := s.kubectl("get", "pods", "-l", "app=tenant", "-o", "name")
					for _, pod := range strings.Fields(pods) {
						s.kubectl("patch", pod, "--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
					}
					s.kubectl("delete", "pods", "-l", "app=tenant", "--force", "--grace-period=0")
					s.run("uncordon", "-auto-approve", "-no-color", worker)
				}()
				var r result
				s.soon("the drain names the cause", func() (string, bool) {
					r = s.run("drain", "-auto-approve", "-no-color", "-timeout=15s", worker)
					return r.out, r.code == 1
				})
				wantContains(s.t, strings.Join(strings.Fields(r.out), " "), c.want...)
				t.Logf("the cause was shown after %s", r.took.Round(time.Second))
			})
		})
	}
}
