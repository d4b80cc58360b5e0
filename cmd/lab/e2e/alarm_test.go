//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// quota is how large a database of etcd may become in this test, and filling how
// much each object holds that fills it: an object may have a mebibyte.
const quota, filling = 16 << 20, 900 << 10

// TestAlarm fills the database of a real etcd up to its quota. The plan says that
// etcd has an alarm and nothing is changed, until what filled it is deleted and
// etcd defragmented as the guide has it.
func TestAlarm(t *testing.T) {
	long(t)
	beside(t, 4*time.Minute)
	s := newSite(t, "e2eal", 3, 0)
	args := fmt.Sprintf("  etcd {\n    arg \"quota-backend-bytes\" { value = \"%d\" }\n  }\n", quota)
	s.extra = args
	s.configure()
	s.logIn()
	s.founded()

	s.fill()
	s.wantBlocked(args)
	s.wantPutRight()
	s.wantCluster() // controllers lose their leases while nothing is written
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantCluster()
}

// fill makes objects until etcd takes no more of them and has raised its alarm.
func (s *site) fill() {
	s.t.Helper()
	ctx := context.Background()
	maps, err := s.writer(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	for n := range 2 * quota / filling {
		_, err = maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("filling-%d", n), Labels: map[string]string{"filling": "etcd"}},
			Data:       map[string]string{"with": strings.Repeat("x", filling)},
		}, metav1.CreateOptions{})
		if err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "mvcc: database space exceeded") {
		s.t.Fatalf("etcd is not full: %v", err)
	}
	s.eventually("etcd has an alarm", func() (string, bool) {
		r := s.must("etcd", "status", "-no-color")
		return r.out, strings.Contains(r.out, "NOSPACE")
	})
}

// wantBlocked wants a plan to tell of the alarm, and one that changes something to
// change nothing.
func (s *site) wantBlocked(args string) {
	s.t.Helper()
	r := s.run("plan", "-no-color")
	wantContains(s.t, words(r.out), "Etcd has an alarm", "NOSPACE", "kubewright etcd defragment")

	s.extra = args + "  # maxPods\n  api_server {\n    arg \"audit-log-maxage\" { value = \"30\" }\n  }\n"
	s.configure()
	r = s.run("apply", "-auto-approve", "-no-color")
	if r.code != 1 {
		s.t.Errorf("apply while etcd has an alarm: exit code %d, want 1", r.code)
	}
	wantContains(s.t, words(r.out), "Error: Etcd has an alarm", "NOSPACE", "This plan is blocked until then")
	for _, h := range s.planes {
		if out := s.sh(h.Name, "grep -l -e maxPods -e audit-log-maxage "+kubeletFile+" /etc/kubernetes/manifests/*.yaml || true"); out != "" {
			s.t.Errorf("%s was changed: %s", h.Name, out)
		}
	}
}

// wantPutRight deletes what fills etcd, and wants a defragmentation to give the
// space back, and the API to take writes from then on.
func (s *site) wantPutRight() {
	s.t.Helper()
	s.kubectl("delete", "configmaps", "-l", "filling=etcd")
	r := s.must("etcd", "defragment", "-auto-approve", "-no-color")
	wantContains(s.t, words(r.out), "disarms the alarm for lack of space, so that etcd accepts writes again", "Apply complete!")
	s.kubectl("create", "configmap", "after")
	r = s.must("etcd", "status", "-no-color")
	if strings.Contains(r.out, "NOSPACE") {
		s.t.Error("the alarm is back")
	}
	for _, m := range s.members() {
		if m.DBSize > quota/4 { // what is deleted is there still as long as nobody compacts
			s.t.Errorf("the database of %s has %d bytes still, of %d that it may have", m.Name, m.DBSize, quota)
		}
	}
}
