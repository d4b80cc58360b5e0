package phases_test

import (
	"testing"

	"github.com/kubewright/kubewright/config"
)

// TestIgnoredFromTheStart: of a label that is left to others the state remembers what
// was set, not what the configuration says by now. When it is left to others no
// longer, nobody has taken away what never was there, and what was set goes.
func TestIgnoredFromTheStart(t *testing.T) {
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
		t.Errorf("somebody changed %+v", p.Drift)
	}
	o.must(o.carryOut())
	if labels := o.observe().Clusters["prod"].Nodes["host-10-0-0-21"].Labels; labels["a"] != "" {
		t.Errorf("what was set stays: %v", labels)
	}
}
