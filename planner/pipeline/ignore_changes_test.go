package pipeline_test

import (
	"strings"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/state"
)

// TestIgnoredLabelRecordsWhatWasSet checks that for an ignored label the state records what was set, not what the
// configuration says by now. Once it is no longer ignored, a label that never existed is no drift, and
// the one that was set is removed.
func TestIgnoredLabelRecordsWhatWasSet(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 1)
	n := *o.config.Nodes[1]
	o.config.Nodes[1] = &n
	n.Labels = map[string]string{"a": "set"}
	o.must(o.apply())
	n.Labels = map[string]string{"a": "later", "b": "never"}
	n.Lifecycle.IgnoreChanges = []config.Ignored{{Path: []string{"labels"}}}
	o.must(o.apply())
	o.wantNothing()
	n.Labels, n.Lifecycle.IgnoreChanges = nil, nil
	p, err := o.plan()
	o.must(err)
	if len(p.Drift) > 0 {
		t.Errorf("drift: %+v", p.Drift)
	}
	o.must(o.carryOut())
	if labels := o.observe().ClusterReports["prod"].Nodes["host-10-0-0-21"].Labels; labels["a"] != "" {
		t.Errorf("the label stays: %v", labels)
	}
}

// TestIgnoredArgumentKeepsItsPosition checks that an ignored argument of a static pod keeps its position, whatever
// its value, so that patches that refer to positions and values still fit, as an import writes them.
func TestIgnoredArgumentKeepsItsPosition(t *testing.T) {
	t.Parallel()
	o := founded(t, 1, 0)
	cl := o.config.Clusters[0]
	// These follow the five arguments that every scheduler has.
	cl.Scheduler.Args = []config.Arg{{Name: "v", Value: "2"}, {Name: "profiling", Value: "false"}}
	cl.Patches = []config.Patch{{Target: "kube-scheduler", Type: "json", Content: `[
		{"op": "test", "path": "/spec/containers/0/command/5", "value": "--leader-elect=true"},
		{"op": "replace", "path": "/spec/containers/0/command/5", "value": "--leader-elect=false"},
		{"op": "test", "path": "/spec/containers/0/command/7", "value": "--profiling=false"}]`}}
	o.must(o.apply())
	wants := func(words ...string) {
		t.Helper()
		const path = "/etc/kubernetes/manifests/kube-scheduler.yaml"
		r, err := o.world.Host("10.0.0.11").Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadContent}}})
		o.must(err)
		for _, word := range words {
			name, _, _ := strings.Cut(word, "=")
			if text := string(r.Files[path].Content); strings.Count(text, name+"=") != 1 || !strings.Contains(text, word) {
				t.Errorf("want %q in\n%s", word, text)
			}
		}
	}
	const scheduler = "file /etc/kubernetes/manifests/kube-scheduler.yaml "
	o.edit("10.0.0.11", scheduler+"set-arg v=4", scheduler+"set-arg leader-elect=true", scheduler+"set-arg kube-api-qps=70")
	for _, name := range []string{"v", "leader-elect", "kube-api-qps"} {
		cl.Lifecycle.IgnoreChanges = append(cl.Lifecycle.IgnoreChanges, config.Ignored{Path: []string{"scheduler", "arg", name}})
	}
	o.wantNothing()
	cl.Scheduler.Args = append(cl.Scheduler.Args, config.Arg{Name: "kube-api-burst", Value: "90"})
	o.must(o.apply())
	o.wantNothing()
	wants("--v=4", "--leader-elect=true", "--profiling=false", "--kube-api-qps=70", "--kube-api-burst=90")
	// An argument that a user has removed, and that only the configuration has, stays removed.
	o.edit("10.0.0.11", scheduler+"unset-arg v")
	o.wantNothing()
	cl.Lifecycle.IgnoreChanges = nil
	o.must(o.apply())
	o.wantNothing()
	wants("--v=2", "--leader-elect=false")
}
