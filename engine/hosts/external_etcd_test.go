package hosts

import (
	"context"
	"errors"
	"testing"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// TestExternalEtcdErrorIsKept checks that the error of observing an external etcd is
// kept, so that no cluster is bootstrapped on it unseen, even while an interrupted bootstrap
// continues.
func TestExternalEtcdErrorIsKept(t *testing.T) {
	t.Parallel()
	c := config.NewCluster("prod", "1.36.3")
	c.Etcd.External = &config.ExternalEtcd{Endpoints: []string{"https://192.0.2.7:2379"}}
	cp := state.NodeKeyTarget("cp", "cp1")
	cfg := &config.Config{Clusters: []*config.Cluster{c}, Nodes: []*config.Node{{Target: cp, Cluster: "prod", Role: config.ControlPlane, Address: "10.0.0.11"}}}
	lost := &providers.Error{Kind: providers.ErrDisconnected, Do: "open a session", Cause: errors.New("EOF")}
	for name, begun := range map[string]bool{"blank": false, "begun": true} {
		report, recorded := &state.Report{}, (*state.State)(nil)
		if begun {
			report.Marks = &state.Marks{Format: 1, Lineage: "l1", Cluster: "prod", Node: cp, Founder: true}
			recorded = &state.State{Lineage: "l1", Clusters: map[string]*state.RecordedCluster{"prod": {CA: "abc"}}}
		}
		o := newObserver(&Hosts{Members: []*Member{{
			Target: cp, open: func(context.Context) (providers.Host, error) { return nil, lost },
		}}}, cfg, recorded)
		o.reports[cp] = report
		o.externalEtcds(t.Context())
		if seen := o.fleet().ExternalEtcds["prod"]; seen == nil || !errors.Is(seen.Err, providers.ErrDisconnected) {
			t.Errorf("%s: it counts as %+v", name, seen)
		}
	}
}
