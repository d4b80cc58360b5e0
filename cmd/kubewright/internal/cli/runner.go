package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/phases"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
)

// runner joins the executor, which knows steps, with the performer, which
// knows hosts, and with what the state is to remember of a step.
type runner struct {
	session   *session
	performer *providers.Performer
}

func (s *session) newRunner(st *state.State) *runner {
	w := s.fleet.world
	return &runner{session: s, performer: providers.NewPerformer(providers.PerformerOptions{
		Host: s.fleet.Host, Access: w.access(), Issuer: w.issuer(), Clock: w.clock(),
		Endpoint: s.apiEndpoint, Lineage: st.Lineage, Folder: s.folder(),
	})}
}

// apiEndpoint is the address of a control plane's own API server.
func (s *session) apiEndpoint(t state.Target) string {
	o := observer{fleet: s.fleet, view: s.view}
	return o.endpoint(s.fleet.member(t))
}

// RunStep implements executor.Runner.
func (r *runner) RunStep(ctx context.Context, step *planner.Step, run executor.Run, report func(executor.OpEvent) error) (executor.Result, error) {
	if err := r.gates(ctx, step); err != nil {
		return executor.Result{}, err
	}
	first := true
	outputs, err := r.performer.Run(ctx, step, run.Token, lookup(run.Outputs), func(e providers.Progress) error {
		out := executor.OpEvent{Kind: executor.OpKind(e.Kind), Op: e.Op, Count: e.Count, Text: e.Text}
		if first {
			// Who the node is must be known before its first change.
			out.Learned, first = phases.Identify(r.session.view, step), false
		}
		return report(out)
	})
	result := executor.Result{Outputs: map[string]executor.Output{}}
	for name, o := range outputs {
		result.Outputs[name] = executor.Output{Value: o.Value, Secret: o.Secret}
	}
	if err == nil {
		result.Learned = phases.Left(step)
	}
	return result, err
}

// lookup finds outputs of earlier steps for the performer.
func lookup(outputs executor.Outputs) func(state.Pending) (providers.Output, bool) {
	return func(p state.Pending) (providers.Output, bool) {
		o, ok := outputs.Lookup(p)
		return providers.Output{Value: o.Value, Secret: o.Secret}, ok
	}
}

// gates evaluates a step's conditions on a fresh observation, right before the act.
func (r *runner) gates(ctx context.Context, step *planner.Step) error {
	for _, g := range step.Gates {
		if g != "etcd-quorum" {
			continue
		}
		c := r.session.config.Cluster(r.clusterLabel(step))
		if c == nil || c.Etcd.External != nil {
			continue
		}
		members, err := r.performer.EtcdMembers(ctx, step.Via)
		if err != nil {
			return fmt.Errorf("cannot tell whether etcd holds quorum: %w", err)
		}
		if err := quorumAllows(step, members); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) clusterLabel(step *planner.Step) string {
	if m := r.session.fleet.member(step.Target); m != nil {
		return m.cluster
	}
	return step.Target.Name
}

// quorumAllows refuses an act that would leave fewer healthy voters than a
// majority. Unknown counts as unhealthy.
func quorumAllows(step *planner.Step, members []state.EtcdMember) error {
	voters, healthy := 0, 0
	var sick []string
	for _, m := range members {
		if m.Learner {
			continue
		}
		voters++
		if m.Healthy {
			healthy++
		} else {
			sick = append(sick, m.Name)
		}
	}
	need := voters/2 + 1
	left := healthy
	switch {
	case addsMember(step):
		need = (voters+1)/2 + 1
		if voters == 1 {
			need = 1
		}
	case voters > 1:
		left-- // the member on the step's own node restarts or goes
		if removesMember(step) {
			need = (voters-1)/2 + 1
		}
	default:
		return nil // a single member: the plan said that it is down meanwhile
	}
	if left < need {
		return fmt.Errorf("refused: etcd has %d voters of which %d are healthy (not: %s); this step would leave %d, quorum is %d. "+
			"Bring the other members back first", voters, healthy, strings.Join(sick, ", "), left, need)
	}
	return nil
}

func addsMember(step *planner.Step) bool {
	for _, op := range step.Operations {
		if _, ok := op.(planner.AddEtcdMember); ok {
			return true
		}
	}
	return false
}

func removesMember(step *planner.Step) bool {
	for _, op := range step.Operations {
		if _, ok := op.(planner.RemoveEtcdMember); ok {
			return true
		}
	}
	return false
}
