package session

import (
	"context"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
)

// ObservedNow returns the request of a command that asks for nothing but what was observed until now.
func ObservedNow(s *Session) topology.Request {
	return topology.Request{ObservedAt: s.Hosts.World.Clock().Now()}
}

// Survey observes everything as Plan does, and plans what an apply would do now, without the hosts
// that do not answer. It returns what was observed, and the plan, which is nil if the findings have
// errors: no plan can be made. It prints no finding and evaluates no policy.
func Survey(ctx context.Context, s *Session) (*topology.Fleet, *planner.Plan, diag.Diagnostics, error) {
	s.ObservedAfter = s.Now()
	v := s.Observe(ctx)
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err // an incomplete observation proves nothing
	}
	v = v.WithRequest(topology.Request{ObservedAt: s.Hosts.World.Clock().Now(), Key: s.Key(), Moved: s.Moved, AllowUnreachable: true})
	whole, diags, err := s.takeOver(v)
	if err != nil || diags.HasErrors() {
		return v, nil, diags, err
	}
	result, diags := pipeline.Plan(whole, s.Header(), planner.Options{})
	if diags.HasErrors() {
		return v, nil, diags, nil
	}
	s.Observed, s.Result = result.Fleet, result
	logPlan(s)
	return v, result.Plan, diags, nil
}
