package planner_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// TestGoneGateRefusesWhileNodeReports checks that a node is removed without its host only while neither its kubelet nor
// its etcd member reports. Reports of other nodes do not count.
func TestGoneGateRefusesWhileNodeReports(t *testing.T) {
	t.Parallel()
	node := planner.DeleteObject{Ref: planner.NodeRef("cp3")}
	worker := &planner.Step{Target: state.NodeKeyTarget("cp", "cp3"), Operations: planner.Operations{node}}
	plane := &planner.Step{Target: worker.Target, Operations: planner.Operations{planner.RemoveEtcdMember{Name: "cp3", PeerURL: "https://10.0.0.13:2380"}, node}}
	member := func(healthy bool) []state.EtcdMember {
		return []state.EtcdMember{
			{Name: "cp1", PeerURLs: []string{"https://10.0.0.11:2380"}, Healthy: true},
			{PeerURLs: []string{"https://10.0.0.13:2380"}, Healthy: healthy},
		}
	}
	others := map[string]state.NodeReport{"cp1": {Ready: true}}
	for _, tt := range []struct {
		name    string
		step    *planner.Step
		node    *state.NodeReport
		members []state.EtcdMember
		want    string
	}{
		{"silent", plane, &state.NodeReport{Silent: true}, member(false), ""},
		{"no node any more", plane, nil, nil, ""},
		{"not ready, and heard of", worker, &state.NodeReport{}, nil, `the kubelet of node "cp3" reports to the API. Switch`},
		{"ready", worker, &state.NodeReport{Ready: true}, nil, `the kubelet of node "cp3" reports to the API. Switch`},
		{"member answers", plane, &state.NodeReport{Silent: true}, member(true), "good, but the etcd member https://10.0.0.13:2380 answers. Switch"},
		{"member of another", worker, &state.NodeReport{Silent: true}, member(true), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			nodes := maps.Clone(others)
			if tt.node != nil {
				nodes["cp3"] = *tt.node
			}
			err := planner.GoneAllows(tt.step, nodes, tt.members)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
