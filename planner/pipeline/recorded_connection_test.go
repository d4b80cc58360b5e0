package pipeline_test

import (
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
)

// TestConnectionOfObservedHostIsRecorded checks that the connection and the host key of an observed host are recorded, so that
// it can be reached when its block is gone. For a host that was not observed, or is not the one that
// joined, the previous record stays.
func TestConnectionOfObservedHostIsRecorded(t *testing.T) {
	t.Parallel()
	const old, shown = "ssh-ed25519 OLD", "ssh-ed25519 NEW"
	worker := founded(t, 1, 1).config.Nodes[1].Target
	for name, c := range map[string]struct {
		seen    func(v *topology.Fleet)
		learned bool
	}{
		"seen": {func(*topology.Fleet) {}, true},
		"not seen": {func(v *topology.Fleet) {
			v.Unobserved[worker] = state.Unobserved{Target: worker}
			delete(v.Reports, worker)
		}, false},
		"emptied":     {func(v *topology.Fleet) { blankHost(v, v.Config.Nodes[1]) }, false},
		"is to leave": {func(v *topology.Fleet) { v.Replace = []state.Target{worker} }, false},
		"another machine": {func(v *topology.Fleet) {
			v.Replace, v.AcceptNewHost = []state.Target{worker}, []state.Target{worker}
			r := *v.Reports[worker]
			r.Facts.MachineID = "another"
			v.Reports[worker] = &r
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := founded(t, 1, 1)
			o.config.Nodes[1].Connection.User = "grace"
			o.recorded.Nodes[worker].HostKey, o.recorded.Nodes[worker].HopKeys = old, map[string]string{"gate:22": old}
			v := o.observe()
			v.AllowUnreachable = true
			v.Reports[worker].HostKey, v.Reports[worker].HopKeys = shown, map[string]string{"gate:22": shown}
			c.seen(v)
			r, diags := o.planOf(v, planner.Options{})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			was, learned := o.recorded.Nodes[worker], record.Record(r.Fleet, r).Nodes[worker]
			switch {
			case !c.learned && learned != nil && (learned.HostKey != old || learned.HopKeys["gate:22"] != old || !learned.Connection.Equal(was.Connection)):
				t.Errorf("the state records %+v", learned)
			case c.learned && (learned == nil || learned.HostKey != shown || learned.HopKeys["gate:22"] != shown || learned.Connection.Get("user").AsString() != "grace" || learned.Name != was.Name):
				t.Errorf("the state records %+v", learned)
			}
		})
	}
}
