package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// How often etcd is queried before it counts as silent: an election takes a few seconds.
const (
	askedTimes = 3
	askedEvery = 5 * time.Second
)

// EtcdAnswers asks every control plane several times whether a quorum of the cluster's etcd
// answers there, and returns the members, or nil if none answers. It fails if that cannot be
// determined.
func (run *Run) EtcdAnswers(ctx context.Context, r maintenance.EtcdRestore) ([]state.EtcdMember, error) {
	p := run.NewPerformer()
	p.Others = nil // each one is asked itself
	defer p.Close()
	for i := range askedTimes {
		if i > 0 {
			if err := run.Hosts.World.Clock().Sleep(ctx, askedEvery); err != nil {
				return nil, err
			}
		}
		for _, n := range run.Config.NodesOf(r.Cluster, config.ControlPlane) {
			if run.Observed.CA(n.Target) == "" || slices.Contains(run.Observed.ForeignEtcds(r.Cluster), n.Target) {
				continue
			}
			members, id, err := MembersThrough(ctx, p, n.Target)
			if err == nil && !run.isItsEtcd(r, n.Target, id) {
				continue
			}
			if err == nil {
				return members, nil
			}
			if !providers.Silent(err) {
				return nil, fmt.Errorf("%s: %w", n.Target, err)
			}
		}
	}
	return nil, nil
}

// silenceGate asks every control plane once more, right before one is stopped.
func (run *Run) silenceGate(ctx context.Context) error {
	members, err := run.EtcdAnswers(ctx, run.Restores)
	if err != nil {
		return fmt.Errorf("refused: it is unknown whether etcd answers now, and nothing is restored over a cluster that may work: %w", err)
	}
	if members == nil {
		return nil
	}
	return fmt.Errorf("refused: since the plan was made the etcd of cluster %q has come back: a quorum of its members answers (%s). Nothing is restored over a cluster that works. "+
		"What this restore has stopped already, if anything, kubewright apply starts again", run.Restores.Cluster, maintenance.MembersNamed(members))
}

// MembersThrough returns the members of etcd, and its cluster ID, through a control plane.
func MembersThrough(ctx context.Context, p *providers.Performer, t state.Target) (members []state.EtcdMember, id string, err error) {
	err = p.ThroughEtcd(ctx, t, func(ctx context.Context, e providers.Etcd) error {
		members, id, err = e.Members(ctx)
		return err
	})
	return members, id, err
}

// isItsEtcd reports whether an etcd is the cluster's, or the one that this restore has made,
// and not one that a first member bootstrapped by itself when it came back with an empty disk:
// that one holds nothing of the cluster.
func (run *Run) isItsEtcd(r maintenance.EtcdRestore, t state.Target, id string) bool {
	if run.Recorded == nil || run.Recorded.Clusters[r.Cluster] == nil || run.Recorded.Clusters[r.Cluster].EtcdClusterID == "" {
		return true
	}
	return id == run.Recorded.Clusters[r.Cluster].EtcdClusterID || topology.RestoredFrom(run.Observed.Reports[t]) == r.SHA256
}
