package staticpod

import (
	"testing"
	"time"

	"github.com/kubewright/kubewright/planner/topology"
	tt "github.com/kubewright/kubewright/planner/topology/topologytest"
	"github.com/kubewright/kubewright/state"
)

// TestPodCondition checks each condition of a static pod against what API and host show of it.
func TestPodCondition(t *testing.T) {
	t.Parallel()
	const scheduler = "kube-scheduler"
	manifest := tt.File(tt.CP(1), topology.Manifest(scheduler), func(f *state.FileReport) {
		f.Content = []byte("apiVersion: v1\nkind: Pod\nmetadata:\n  name: kube-scheduler\n  namespace: kube-system\nspec:\n  containers:\n" +
			"  - name: kube-scheduler\n    image: registry.k8s.io/kube-scheduler:v1.36.3\n    command:\n    - kube-scheduler\n    - --kubeconfig=/etc/kubernetes/scheduler.conf\n")
	})
	hash := manifestHash(tt.Running(1, 0, manifest).Clusters[0].Node(tt.CP(1)), scheduler)
	if hash == "" {
		t.Fatal("the manifest has no hash")
	}
	pod := func(hash string, ready bool) tt.Change {
		return func(v *topology.Fleet) {
			v.ClusterReports[tt.Label].StaticPods[scheduler+"-"+tt.NodeName(tt.CP(1))] = state.StaticPodReport{Hash: hash, Running: true, Ready: ready}
		}
	}
	started := func(at time.Time) tt.Change {
		return tt.Host(tt.CP(1), func(r *state.Report) { r.Started = map[string]time.Time{scheduler: at} })
	}
	gone := tt.Host(tt.CP(1), func(r *state.Report) { r.Started = map[string]time.Time{} })
	silent := tt.Node(tt.CP(1), func(n *state.NodeReport) { n.Ready, n.Silent = false, true })
	unregistered := func(v *topology.Fleet) { delete(v.ClusterReports[tt.Label].Nodes, tt.NodeName(tt.CP(1))) }
	written := tt.File(tt.CP(1), topology.Manifest(scheduler), func(f *state.FileReport) { f.Modified = tt.Now })
	before, after := started(tt.Now.Add(-time.Hour)), started(tt.Now.Add(time.Hour))
	for name, c := range map[string]struct {
		changes []tt.Change
		want    condition
	}{
		"ready, with the hash of the manifest":       {[]tt.Change{pod(hash, true), gone}, podProved},
		"ready, without a hash":                      {[]tt.Change{pod("", true), after}, podUnhashed},
		"not ready":                                  {[]tt.Change{pod(hash, false), after}, podStarting},
		"not ready, and no process":                  {[]tt.Change{pod(hash, false), gone}, podGone},
		"not ready, of a silent kubelet":             {[]tt.Change{pod(hash, false), after, silent}, podUnknown},
		"no process, of a silent kubelet":            {[]tt.Change{pod(hash, false), gone, silent}, podGone},
		"not ready, without a Node":                  {[]tt.Change{pod(hash, false), after, unregistered}, podUnknown},
		"the API is silent":                          {[]tt.Change{after, tt.SilentAPI()}, podUnknown},
		"the API is silent, and no process":          {[]tt.Change{gone, tt.SilentAPI()}, podGone},
		"the API is silent, and the host not asked":  {[]tt.Change{tt.SilentAPI()}, podUnknown},
		"another hash, a process since the manifest": {[]tt.Change{pod("0", true), after}, podDoubted},
		"another hash, an older process":             {[]tt.Change{pod("0", true), before}, podOutdated},
		"another hash, and no process":               {[]tt.Change{pod("0", true), gone}, podOutdated},
		"another hash, of a silent kubelet":          {[]tt.Change{pod("0", false), after, silent}, podDoubted},
	} {
		n := tt.Running(1, 0, append([]tt.Change{manifest, written}, c.changes...)...).Clusters[0].Node(tt.CP(1))
		if got := podCondition(n, scheduler); got != c.want {
			t.Errorf("%s: condition %d, want %d", name, got, c.want)
		}
	}
}
