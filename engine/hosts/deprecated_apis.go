package hosts

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kubewright/kubewright/planner/upgrade"
	"github.com/kubewright/kubewright/state"
)

// deprecated asks every API server of the member's cluster for requested deprecated APIs, if
// the cluster is to be upgraded to another minor version.
func (o *observer) deprecated(ctx context.Context, m *Member, cas []string, report *state.ClusterReport) {
	if !upgrade.AsksForDeprecated(o.config, m.Cluster, report.Version) {
		return
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, other := range o.Members {
		if other.Cluster != m.Cluster || !other.Plane {
			continue
		}
		all.Go(func() {
			r, err := o.observe(ctx, other)
			if err != nil || r.Secrets["/etc/kubernetes/admin.conf"].IsZero() || other != m && !o.isOf(cas, other, r) {
				return // the plan reports what is wrong with that host, or it joins
			}
			found, err := o.askDeprecated(ctx, other, r)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				report.DeprecatedUnread = append(report.DeprecatedUnread, fmt.Sprintf("%s: %v", other.Target, err))
			}
			report.Deprecated = state.MergeDeprecated(report.Deprecated, found)
		})
	}
	all.Wait()
	slices.Sort(report.DeprecatedUnread)
}

func (o *observer) askDeprecated(ctx context.Context, m *Member, r *state.Report) ([]state.DeprecatedAPI, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	h, err := o.remembering(ctx, m, r)
	if err != nil {
		return nil, err
	}
	api, err := o.World.Access().API(ctx, h, m.Seat(o.config, r).API)
	if err != nil {
		return nil, err
	}
	defer api.Close()
	return api.DeprecatedAPIs(ctx)
}
