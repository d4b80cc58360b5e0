//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/cmd/lab/internal/lab"
)

// TestCauses breaks components of a small cluster in several ways, and checks that the failed
// apply, or doctor, says why on the first screen.
func TestCauses(t *testing.T) {
	begin(t)
	s := newSiteOf(t, lab.Options{Name: "e2ecau", ControlPlanes: 1, Workers: 1})
	s.must("apply", "-auto-approve", "-no-color")
	s.wantCluster()
	r := s.must("doctor", "-no-color")
	wantContains(t, r.out, `node.cp["cp1"]: nothing is wrong`, `node.worker["w1"]: nothing is wrong`)

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

	t.Run("doctor", func(t *testing.T) {
		s.within(t, func() {
			w := s.workers[0].Name
			s.sh(w, "cp /var/lib/kubelet/config.yaml /root/kept.yaml && echo 'evictionHard: {memory.available: x}' >>/var/lib/kubelet/config.yaml && systemctl restart kubelet")
			s.eventually("doctor names what the kubelet of "+w+" says", func() (string, bool) {
				r := s.run("doctor", "-no-color", w)
				out := strings.Join(strings.Fields(r.out), " ")
				return r.out, r.code == 1 && strings.Contains(out, "unit kubelet.service is activating (auto-restart): exit-code, exit code 1") && strings.Contains(out, "To do: correct the setting in the kubelet block")
			})
			s.sh(w, "cp /root/kept.yaml /var/lib/kubelet/config.yaml && systemctl restart kubelet")
		})
	})
}
