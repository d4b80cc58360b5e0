package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// withSettings gives a cluster what the changes change: files, units and drop-ins, written with a word.
func withSettings(c *config.Cluster, files, units, dropIns, kubeletFile, runtimeFile string) {
	file := func(path, word string, restarts ...string) config.File {
		return config.File{Path: path, Content: word, Mode: "0644", Owner: "root:root", Restarts: restarts}
	}
	c.Files = []config.File{
		file("/etc/example/kubelet.conf", kubeletFile, "kubelet"), file("/etc/example/runtime.conf", runtimeFile, "containerd"),
		file("/etc/example/scheduler.conf", files, "kube-scheduler"), file("/etc/example/notice", files),
	}
	c.Files[2].Roles = []string{string(config.ControlPlane)}
	running, dropIn := true, func(word string) []config.DropIn {
		return []config.DropIn{{Name: "own", Content: "[Service]\nEnvironment=A=" + word + "\n"}}
	}
	c.Units = []config.Unit{
		{Name: "containerd.service", DropIns: dropIn(dropIns)},
		{Name: "kubelet.service", DropIns: dropIn(dropIns)},
		{Name: "noted.service", Content: "[Service]\nExecStart=/bin/true " + units + "\n", Running: &running},
	}
}

// combined are changes that are planned together, two at a time.
var combined = map[string]func(o *operator, c *config.Cluster){
	"files":            func(_ *operator, c *config.Cluster) { change(c, 0) },
	"units":            func(_ *operator, c *config.Cluster) { change(c, 1) },
	"drop-ins":         func(_ *operator, c *config.Cluster) { change(c, 2) },
	"kubelet's file":   func(_ *operator, c *config.Cluster) { change(c, 3) },
	"runtime's file":   func(_ *operator, c *config.Cluster) { change(c, 4) },
	"sysctls":          func(_ *operator, c *config.Cluster) { c.Sysctls = map[string]string{"vm.max_map_count": "262144"} },
	"kubelet's fields": func(_ *operator, c *config.Cluster) { c.Kubelet.Config = state.FromGo(map[string]any{"maxPods": 99}) },
	"API servers": func(_ *operator, c *config.Cluster) {
		c.APIServer.Args = []config.Arg{{Name: "event-ttl", Value: "2h"}}
	},
	"etcd": func(_ *operator, c *config.Cluster) {
		c.Etcd.Args = []config.Arg{{Name: "snapshot-count", Value: "5000"}}
	},
	"an upgrade": func(_ *operator, c *config.Cluster) { c.KubernetesVersion = "1.37.1" },
	"labels":     func(o *operator, _ *config.Cluster) { o.config.Nodes[0].Labels = map[string]string{"pool": "batch"} },
	"a rotation": func(o *operator, _ *config.Cluster) {
		o.rotate = []topology.Rotation{{Cluster: state.ClusterTarget("prod"), CA: "ca"}}
	},
	"a lost worker": func(o *operator, _ *config.Cluster) { remove(o, state.NodeKeyTarget("worker", "w2")) },
	"a lost member": func(o *operator, _ *config.Cluster) { remove(o, state.NodeKeyTarget("cp", "cp3")) },
	"another worker": func(o *operator, _ *config.Cluster) {
		o.replace = append(o.replace, state.NodeKeyTarget("worker", "w1"))
	},
	"another member": func(o *operator, _ *config.Cluster) { o.replace = append(o.replace, state.NodeKeyTarget("cp", "cp2")) },
}

func remove(o *operator, t state.Target) {
	o.config.Nodes = slices.DeleteFunc(o.config.Nodes, func(n *config.Node) bool { return n.Target == t })
}

// change changes the word at an index.
func change(c *config.Cluster, index int) {
	words := []string{"one", "one", "one", "one", "one"}
	for i, was := range []string{c.Files[2].Content, c.Units[2].Content, c.Units[0].DropIns[0].Content, c.Files[0].Content, c.Files[1].Content} {
		if strings.Contains(was, "two") || i == index {
			words[i] = "two"
		}
	}
	withSettings(c, words[0], words[1], words[2], words[3], words[4])
}

// planOfBoth plans two changes of a copy of the cluster whose control planes have these conditions, and
// requires that the steps have an order.
func (o *operator) planOfBoth(t *testing.T, one, other string, conditions []string) topology.Result {
	t.Helper()
	o = o.copy(t)
	for _, name := range slices.Compact([]string{one, other}) {
		combined[name](o, o.config.Clusters[0])
	}
	if o.config.Clusters[0].KubernetesVersion != "1.36.3" {
		o.kubelets("1.37.1")
	}
	v := o.observe()
	for plane, name := range conditions {
		ills[name](v, plane+1)
	}
	p, diags := o.planOf(v, planner.Options{})
	for _, d := range diags {
		if strings.Contains(d.Summary, "not sound") {
			t.Errorf("%s and %s while %s: %s", one, other, strings.Join(conditions, ", "), d.Detail)
		}
	}
	return p
}

// TestCombinedChangesHaveNoCycles plans each pair of changes of a cluster in one plan: its steps have an order.
func TestCombinedChangesHaveNoCycles(t *testing.T) {
	t.Parallel()
	first := running(t, 3, 2, "1.36.3")
	withSettings(first.config.Clusters[0], "one", "one", "one", "one", "one")
	first.must(first.apply())
	names := make([]string, 0, len(combined))
	for name := range combined {
		names = append(names, name)
	}
	slices.Sort(names)
	planned := 0
	for i, one := range names {
		for _, other := range names[i:] {
			p := first.planOfBoth(t, one, other, nil)
			if p.Plan != nil && len(p.Plan.Steps) > 0 {
				planned++
			}
		}
	}
	t.Logf("%d of %d pairs have steps", planned, len(names)*(len(names)+1)/2)
	if planned < len(names)*len(names)/3 {
		t.Error("most pairs have no plan")
	}
}

// TestCombinedChangesWithIllControlPlanes plans pairs of changes that restart something while control planes
// are unhealthy: the repair of one, for which others wait, does not wait for these.
func TestCombinedChangesWithIllControlPlanes(t *testing.T) {
	t.Parallel()
	first := running(t, 3, 2, "1.36.3")
	withSettings(first.config.Clusters[0], "one", "one", "one", "one", "one")
	first.must(first.apply())
	conditions := []string{"failing", "silent", "unhealthy member", "well"}
	names := []string{"API servers", "an upgrade", "another worker", "drop-ins", "etcd", "files", "kubelet's fields", "units"}
	tried := every(23)
	for i, one := range names {
		for _, other := range names[i:] {
			for has := range 64 {
				if !tried() {
					continue
				}
				first.planOfBoth(t, one, other, []string{conditions[has%4], conditions[has/4%4], conditions[has/16]})
			}
		}
	}
}
