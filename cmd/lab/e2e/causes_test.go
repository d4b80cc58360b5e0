//go:build e2e

package e2e

import (
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

// explained are all failures that doctor has to explain, by area: those of the worker's host, and those
// of the control plane's.
var explained = []struct {
	area  string
	plane bool
	rows  []failure
}{
	{"kubelet", false, kubeletFailures()},
	{"runtime", false, runtimeFailures()},
	{"node", false, nodeFailures()},
	{"pods", true, podFailures()},
	{"API", true, apiFailures()},
}

// TestCauses breaks a small cluster in many ways, one after another, and checks that the first screen
// of doctor, or of the failed apply, has the cause and what to do.
func TestCauses(t *testing.T) {
	begin(t)
	s := newSiteOf(t, lab.Options{Name: "e2ecau", ControlPlanes: 1, Workers: 1})
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	r := s.must("doctor", "-no-color")
	wantContains(t, r.out, `node.cp["cp1"]: nothing is wrong`, `node.worker["w1"]: nothing is wrong`)

	for _, area := range explained {
		t.Run(area.area, func(t *testing.T) {
			host := s.workers[0].Name
			if area.plane {
				host = s.planes[0].Name
			}
			for _, f := range area.rows {
				t.Run(f.name, func(t *testing.T) { s.within(t, func() { s.explains(host, f) }) })
			}
		})
	}
	t.Run("apply", func(t *testing.T) { s.within(t, func() { s.explainsApplies(t) }) })
	if !t.Failed() {
		s.wantCluster()
		s.wantNoChanges()
	}
}

// explains makes a failure, checks what doctor says of it, and undoes it.
func (s *site) explains(host string, f failure) {
	s.t.Helper()
	s.sh(host, "{ "+f.breaks+"; } >/dev/null 2>&1; true")
	defer func() {
		s.sh(host, "{ "+f.undo+"; } >/dev/null 2>&1; true")
		s.eventually("nothing is wrong on "+host+" again", func() (string, bool) {
			r := s.run("doctor", "-no-color", host)
			return r.out, r.code == 0
		})
	}()
	began := time.Now()
	s.eventually("doctor names the cause", func() (string, bool) {
		r := s.run("doctor", "-no-color", host)
		screen := firstScreen(r.out)
		for _, want := range f.want {
			if !strings.Contains(screen, unspaced(want)) {
				return "without " + want + ":\n" + r.out, false
			}
		}
		return r.out, r.code == 1
	})
	s.t.Logf("the cause was shown after %s", time.Since(began).Round(time.Second))
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
	} {
		t.Run(c.name, func(t *testing.T) {
			s.within(t, func() {
				s.extra = c.extra
				s.configure()
				r := s.run("apply", "-auto-approve", "-no-color")
				if r.code != 1 {
					t.Errorf("exit code %d, want 1", r.code)
				}
				wantContains(t, strings.Join(strings.Fields(r.out), " "), c.want...)
				t.Logf("the cause was shown after %s", r.took.Round(time.Second))
				s.extra = ""
				s.configure()
				s.must("apply", "-auto-approve", "-no-color")
				s.wantNoChanges()
			})
		})
	}
}
