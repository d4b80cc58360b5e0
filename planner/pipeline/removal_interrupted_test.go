package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestControlPlaneRejoinsAfterInterruptedRemoval checks that a control plane whose removal was interrupted, and that is desired again,
// rejoins, or that the plan says how. Its former manifest never starts its etcd, which would bootstrap
// another etcd or wait for members that are gone. With KUBEWRIGHT_LONG set it is interrupted before and
// after every effect, otherwise at some.
func TestControlPlaneRejoinsAfterInterruptedRemoval(t *testing.T) {
	t.Parallel()
	for gone := range 3 {
		begin := founded(t, 3, 1)
		all := begin.config.Nodes
		begin.config.Nodes = slices.Delete(slices.Clone(all), gone, gone+1)
		_, err := begin.plan()
		begin.must(err)
		first, last, ended := begin.copy(t).effects()
		for n, done := range crashes(t, first, last, 13) {
			if done && !ended[n] {
				continue
			}
			t.Run(fmt.Sprintf("cp%d/%d/%v", gone+1, n, done), func(t *testing.T) {
				t.Parallel()
				o := begin.copy(t)
				etcd := o.observe().ClusterReports["prod"].EtcdClusterID
				crashOnce(o, n, done)
				o.config.Nodes = all
				p, err := o.plan()
				if err != nil && strings.Contains(err.Error(), "Etcd does not list this member") {
					o.replace = []state.Target{all[gone].Target}
					p, err = o.plan()
				}
				o.must(err)
				files := o.fleet.Reports[all[gone].Target].Files
				if files[etcdManifest].Exists && !files["/var/lib/etcd/member"].Exists && len(o.replace) == 0 {
					// Whether the kubelet or the next step is faster is undefined.
					start := stepOf(p, all[gone].Target.Key+"/kubelet-start")
					if !slices.ContainsFunc(start.Operations, func(op planner.Operation) bool { return op == planner.RemovePath{Path: etcdManifest} }) {
						t.Errorf("its kubelet is started with the previous manifest: %+v", start.Operations)
					}
				}
				o.must(o.carryOut())
				o.wantNothing()
				o.wantVoters(3)
				if now := o.observe().ClusterReports["prod"].EtcdClusterID; now != etcd {
					t.Errorf("etcd was %s and is %s", etcd, now)
				}
			})
		}
	}
}

const etcdManifest = "/etc/kubernetes/manifests/etcd.yaml"

// TestNodesRemovedDuringBootstrapAreReset checks that nodes that are removed from the configuration during an
// unfinished bootstrap are reset as soon as an API exists that can remove them.
func TestNodesRemovedDuringBootstrapAreReset(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"cp2", "cp3", "w1"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, cluster(3, 2))
			_, err := o.plan()
			o.must(err)
			o.around = func(s *planner.Step) error {
				if s.Phase != "prepare" {
					return errCrash
				}
				return nil
			}
			if o.carryOut() == nil {
				t.Fatal("the apply was not interrupted")
			}
			o.around = nil
			o.leave(key)
			p, err := o.plan()
			o.must(err)
			reset, serves := stepOf(p, key+"/reset"), stepOf(p, "cp1/wait-control-plane")
			if reset == nil || serves == nil || !waitsFor(p, reset, serves.ID) {
				t.Errorf("%s does not wait for an API:\n%s", key, describe(p))
			}
			o.must(o.carryOut())
			o.wantNothing()
		})
	}
}
