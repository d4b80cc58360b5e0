package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestRefusalNamesWorkingRemedy checks that a refusal names a remedy that works in the very case.
func TestRefusalNamesWorkingRemedy(t *testing.T) {
	t.Parallel()
	const etcd = "/etc/kubernetes/manifests/etcd.yaml"
	for name, c := range map[string]struct {
		planes, workers int
		spoil           func(*operator)
		summary, says   string
	}{
		"a control plane is off": {
			3, 0,
			func(o *operator) { o.edit("10.0.0.12", "power off") },
			"Control plane could not be observed", `⟨apply +gone-host=node.cp["cp2"]⟩`,
		},
		"the mark is lost": {
			1, 1,
			func(o *operator) { o.edit("10.0.0.21", "foreign") },
			"Host belongs to another cluster", `⟨apply +replace=node.worker["w1"]⟩`,
		},
		"a pair beside one that is gone": {3, 0, func(o *operator) {
			o.edit("10.0.0.12", "file "+etcd+" set-arg snapshot-count=5000")
			o.world.Advance(time.Minute)
			o.edit("10.0.0.13", "power off")
			o.leave("cp3")
			o.forget = []state.Target{state.NodeKeyTarget("cp", "cp3")}
		}, "Etcd would lose quorum", `Add another control plane in the same plan that forgets node.cp["cp3"].`},
		"no API, and who leaves is gone": {1, 2, func(o *operator) {
			o.edit("10.0.0.22", "power off")
			o.edit("10.0.0.11", "file /etc/kubernetes/manifests/kube-apiserver.yaml delete")
			o.leave("w2")
			o.forget = []state.Target{state.NodeKeyTarget("worker", "w2")}
		}, "Node cannot be removed now", "⟨+without-silent⟩, and without declaring its host gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, c.planes, c.workers)
			c.spoil(o)
			o.fleet = o.observe()
			_, diags := o.planOf(o.fleet, planner.Options{})
			for _, d := range diags {
				if d.Summary == c.summary && strings.Contains(d.Detail, c.says) {
					show(t, d)
					return
				}
			}
			t.Errorf("%s with %q is not among\n%s", c.summary, c.says, printedFindings(diags))
		})
	}
}

// TestHostClaimedByClusterIsNotItsCASource checks that a host whose other node is being removed from another
// cluster says nothing about the CA of the cluster that claims the host.
func TestHostClaimedByClusterIsNotItsCASource(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	o.leave("w1")
	second := config.NewCluster("test", "1.36.3")
	second.ControlPlaneEndpoint, second.Network.PodSubnet, second.Network.ServiceSubnet = "test.example.com:6443", "10.245.0.0/16", "10.97.0.0/16"
	claims := config.NewNode(state.NodeKeyTarget("tcp", "t1"), "test", config.ControlPlane, "10.0.0.21")
	o.config.Clusters, o.config.Nodes = append(o.config.Clusters, second), append(o.config.Nodes, claims)
	diags := o.diagnose()
	found := false
	for _, d := range diags {
		found = found || d.Summary == "Host is another node"
		if d.Summary == "CA key is missing" {
			t.Errorf("got %s", d.Detail)
		}
	}
	if !found {
		t.Errorf("the host is not refused:\n%s", printedFindings(diags))
	}
}

// TestForgetIsRecommendedOnlyForSilentHosts checks that -forget-unreachable is recommended for a host that may be
// gone, but not for one that refuses a login.
func TestForgetIsRecommendedOnlyForSilentHosts(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]string{"a control plane that stays": "", "a worker that leaves": "w1", "one that leaves": "cp2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 3, 1)
			target := state.NodeKeyTarget("cp", "cp2")
			if leave == "w1" {
				target = state.NodeKeyTarget("worker", "w1")
			}
			if leave != "" {
				o.leave(leave)
			}
			for _, answers := range []bool{false, true} {
				v := o.observe()
				delete(v.Reports, target)
				v.Unobserved[target] = state.Unobserved{Target: target, Reason: "it refuses the login", Answered: answers}
				_, diags := o.planOf(v, planner.Options{})
				said := printedFindings(diags)
				if offered := strings.Contains(said, "+gone-host="); offered == answers || !strings.Contains(said, "not be observed") && !strings.Contains(said, "cannot observe") {
					t.Errorf("answers %v:\n%s", answers, said)
				}
			}
		})
	}
}
