package session

import (
	"context"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
)

// Survey observes everything as Plan does, hands the fleet to look, and plans what an apply would
// do now, without the hosts that do not answer. It prints no finding and evaluates no policy. The
// plan is nil if the findings have errors: no plan can be made.
func Survey(ctx context.Context, s *Session, look func(*topology.Fleet)) (*planner.Plan, diag.Diagnostics, error) {
	s.ObservedAfter = s.Now()
	v := s.Observe(ctx)
	if err := ctx.Err(); err != nil {
		return nil, nil, err // an incomplete observation proves nothing
	}
	v.ObservedAt, v.Key, v.Moved, v.AllowUnreachable = s.Hosts.World.Clock().Now(), s.Key(), s.Moved, true
	look(v)
	if diags, err := s.takeOver(v); err != nil || diags.HasErrors() {
		return nil, diags, err
	}
	result, diags := pipeline.Plan(v, s.Header(), planner.Options{})
	if diags.HasErrors() {
		return nil, diags, nil
	}
	s.Observed, s.Result = v, result
	logPlan(s)
	return result.Plan, diags, nil
}
