package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner"
)

// TestEtcdStopRefusedIfAnotherMemberGoesDown checks that etcd is not stopped if another member goes down while the API
// server beside it stops, after the step's gates were evaluated. The API server starts again, and when
// the member is back the same command continues.
func TestEtcdStopRefusedIfAnotherMemberGoesDown(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) *operator{
		"upgrade":  func(t *testing.T) *operator { t.Helper(); return raised(t, 3, "1.36.3", "1.37.1") },
		"argument": func(t *testing.T) *operator { t.Helper(); return tuned(t, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := begin(t)
			first, other := o.config.Nodes[0].Address, o.config.Nodes[1].Address
			looks := 0
			o.meanwhile = func(s *planner.Step) {
				if looks++; looks == 1 {
					o.edit(other, "power off")
				}
			}
			_, err := o.plan()
			o.must(err)
			o.world.Watch = true
			err = o.carryOut()
			want := "refused: etcd has 3 voters of which 2 are healthy (not host-10-0-0-12); this step would leave 1, quorum is 2."
			if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "Etcd keeps running here; kube-apiserver was stopped for this step and starts again as it was. The same command continues from there") {
				t.Fatalf("got %v", err)
			}
			o.wantHeld()
			o.world.Advance(time.Minute)
			r := o.observe().Reports[o.config.Nodes[0].Target]
			for _, file := range []string{"etcd", "kube-apiserver"} {
				if !r.Files["/etc/kubernetes/manifests/"+file+".yaml"].Exists {
					t.Errorf("%s is stopped on %s", file, first)
				}
			}
			o.edit(other, "power on")
			o.world.Advance(time.Minute)
			o.meanwhile, o.world.Watch = nil, false
			o.wantDone()
		})
	}
}
