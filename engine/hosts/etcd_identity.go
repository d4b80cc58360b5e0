package hosts

import (
	"context"
	"slices"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// ownEtcd asks the etcd on a control plane's own host for its cluster ID. If it does not
// answer, nothing is recorded.
func (o *observer) ownEtcd(ctx context.Context, m *Member, r *state.Report) {
	if c := o.config.Cluster(m.Cluster); c != nil && c.Etcd.External != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	h, err := o.remembering(ctx, m, r)
	if err != nil {
		return
	}
	var id state.EtcdIdentity
	err = o.withEtcd(ctx, h, m.Seat(o.config, r), func(e providers.Etcd) (err error) {
		id, err = e.Identity(ctx)
		return err
	})
	if err != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.etcds[m.Target] = id
}

// correct asks API and etcd again if a control plane runs an etcd of its own, which may be the
// one that answered for the cluster: this time through the others. Which ones those are is
// known only after all hosts have answered.
func (o *observer) correct(ctx context.Context) {
	v := o.fleet()
	for label := range o.asked {
		strays := v.ForeignEtcds(label)
		if len(strays) == 0 {
			continue
		}
		delete(o.clusterReports, label)
		for _, m := range o.Members {
			r := o.reports[m.Target]
			if _, answers := o.etcds[m.Target]; m.Cluster != label || !answers || slices.Contains(strays, m.Target) || r == nil {
				continue
			}
			report, err := o.askThrough(ctx, m, r)
			if err != nil {
				o.clusterErrors[label] = err.Error()
				continue
			}
			o.deprecated(ctx, m, o.identity(m, r), report)
			o.clusterReports[label] = report
			delete(o.clusterErrors, label)
			break
		}
	}
}
