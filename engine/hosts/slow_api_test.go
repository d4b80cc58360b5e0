package hosts

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// slowPlane is a control plane whose API answers slowly, and whose etcd does not answer.
type slowPlane struct{ World }

type slowAccess struct{ providers.Access }

// tellTime is how long its API takes.
const tellTime = time.Minute

func (slowPlane) Access() providers.Access { return slowAccess{} }

func (w slowPlane) Remember(h providers.Host, _ []string, _ *state.Report) providers.Host { return h }

func (slowAccess) API(context.Context, providers.Host, string) (providers.API, error) {
	return slowAPI{}, nil
}

func (slowAccess) Etcd(context.Context, providers.Host, []string, string) (providers.Etcd, error) {
	return silentEtcd{}, nil
}

type slowAPI struct{ providers.API }

func (slowAPI) Observe(ctx context.Context, _ state.ClusterQuery) (*state.ClusterReport, error) {
	select {
	case <-time.After(tellTime):
		return &state.ClusterReport{Version: "v1.36.3"}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (slowAPI) Lease(context.Context, string) (*providers.Lease, error) { return nil, nil }

func (slowAPI) Close() error { return nil }

type silentEtcd struct{ providers.Etcd }

func (silentEtcd) Members(ctx context.Context) ([]state.EtcdMember, string, error) {
	<-ctx.Done()
	return nil, "", ctx.Err()
}

func (silentEtcd) Close() error { return nil }

// TestSlowAPIHasNoTimeLimit checks that there is no time limit on listing a large cluster: an API that
// answers slowly is not silent, and detecting silence is up to the connection. The request to
// etcd is small and has a limit.
func TestSlowAPIHasNoTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := state.NodeKeyTarget("cp", "cp1")
		cfg := &config.Config{
			Clusters: []*config.Cluster{config.NewCluster("prod", "1.36.3")},
			Nodes:    []*config.Node{{Target: n, Cluster: "prod", Role: config.ControlPlane, Address: "cp1"}},
		}
		host := seenHost{report: askedPlane{held: []string{"ca"}}.report()}
		m := &Member{Target: n, Cluster: "prod", Plane: true, address: "cp1", host: host}
		o := newObserver(&Hosts{World: slowPlane{}, Members: []*Member{m}}, cfg, nil)
		began := time.Now()
		report, err := o.askThrough(t.Context(), m, host.report)
		if err != nil || report.Version != "v1.36.3" || report.EtcdUnobserved == "" {
			t.Errorf("after %v: %+v, %v", time.Since(began), report, err)
		}
	})
}
