package pipeline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// ills are conditions of control planes by name, as changes to the observation of the control plane
// with the given number, from 1.
var ills = map[string]func(v *topology.Fleet, number int){
	"well": func(*topology.Fleet, int) {},
	// Its kubelet was stopped: no kubelet reports its pods, and they run.
	"silent": func(v *topology.Fleet, number int) {
		name := planeName(number)
		n := v.ClusterReports["prod"].Nodes[name]
		n.Ready, n.Silent = false, true
		v.ClusterReports["prod"].Nodes[name] = n
		for component, p := range v.ClusterReports["prod"].StaticPods {
			if strings.HasSuffix(component, "-"+name) {
				p.Ready = false
				v.ClusterReports["prod"].StaticPods[component] = p
			}
		}
	},
	"unhealthy member": func(v *topology.Fleet, number int) {
		members := v.ClusterReports["prod"].Members
		i := slices.IndexFunc(members, func(m state.EtcdMember) bool { return m.Name == planeName(number) })
		members[i].Healthy = false
	},
	// Its scheduler exits, as after an interrupted apply.
	"failing": func(v *topology.Fleet, number int) {
		pods, name := v.ClusterReports["prod"].StaticPods, "kube-scheduler-"+planeName(number)
		p := pods[name]
		p.Running, p.Ready = false, false
		pods[name] = p
		delete(v.Reports[state.NodeKeyTarget("cp", fmt.Sprintf("cp%d", number))].Started, "kube-scheduler")
	},
}

// planeName returns the name of a control plane's Node.
func planeName(number int) string { return fmt.Sprintf("host-10-0-0-1%d", number) }

// works are the changes to plan while control planes are unhealthy, and the version before.
var works = map[string]struct {
	from string
	ask  func(o *operator, v *topology.Fleet)
}{
	"a plain change": {"1.36.3", func(o *operator, _ *topology.Fleet) {
		o.config.Clusters[0].Scheduler.Args = []config.Arg{{Name: "v", Value: "3"}}
	}},
	"an upgrade":                 {"1.35.8", func(*operator, *topology.Fleet) {}},
	"an upgrade over two minors": {"1.34.9", func(*operator, *topology.Fleet) {}},
	"a rotation": {"1.36.3", func(_ *operator, v *topology.Fleet) {
		v.Rotate = []topology.Rotation{{Cluster: state.ClusterTarget("prod"), CA: "ca"}}
	}},
}

// TestPlansHaveNoCycles checks that a plan's steps have no cyclic dependencies, or that there is a reason
// why there is no plan, whatever conditions three control planes have. Without KUBEWRIGHT_LONG every
// third combination is tried.
func TestPlansHaveNoCycles(t *testing.T) {
	t.Parallel()
	names := []string{"failing", "silent", "unhealthy member", "well"}
	for name, work := range works {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := running(t, 3, 0, work.from)
			if first.config.Clusters[0].KubernetesVersion = "1.36.3"; work.from != "1.36.3" {
				first.kubelets("1.36.3")
			}
			tried := every(3)
			for i := range 64 {
				if !tried() {
					continue
				}
				has := []string{names[i%4], names[i/4%4], names[i/16]}
				o := first.copy(t)
				v := o.observe()
				v.Key = state.NewKey(o.recorded.FingerprintKey)
				for plane, ill := range has {
					ills[ill](v, plane+1)
				}
				work.ask(o, v)
				_, diags := pipeline.Plan(v, planner.Plan{}, planner.Options{})
				for _, d := range diags {
					if strings.Contains(d.Summary, "not sound") {
						t.Errorf("%s: %s", strings.Join(has, ", "), d.Detail)
					}
				}
			}
		})
	}
}
