//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// quota is the limit of etcd's database in this test, and filling the size of each object that
// fills it: an object may have one MiB.
const quota, filling = 16 << 20, 900 << 10

// TestAlarm fills the database of a real etcd up to its quota. The plan reports the alarm and
// nothing is changed, until the objects that filled it are deleted and etcd is defragmented as in
// the guide.
func TestAlarm(t *testing.T) {
	begin(t)
	s := newSite(t, "e2eal", 3, 0)
	args := fmt.Sprintf("  etcd {\n    arg \"quota-backend-bytes\" { value = \"%d\" }\n  }\n", quota)
	s.extra = args
	s.configure()
	s.logIn()
	s.founded()

	s.fill()
	s.wantBlocked(args)
	s.wantRepaired()
	s.wantCluster() // controllers lose their leases while etcd refuses writes
	s.must("apply", "-auto-approve", "-no-color")
	s.wantNoChanges()
	s.wantCluster()
}

// fill creates objects until etcd refuses more of them and has raised its alarm.
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

// wantBlocked checks that a plan reports the alarm, and that an apply with changes changes
// nothing.
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

// wantRepaired deletes the objects that fill etcd, and checks that a defragmentation frees the
// space, and that the API accepts writes afterwards.
func (s *site) wantRepaired() {
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
		if m.DBSize > quota/4 { // deleted objects take space until etcd is compacted
			s.t.Errorf("the database of %s still has %d bytes, of a quota of %d", m.Name, m.DBSize, quota)
		}
	}
}
