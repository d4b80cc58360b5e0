package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/engine/hosts"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/availability"
	"github.com/kubewright/kubewright/planner/drain"
	"github.com/kubewright/kubewright/planner/etcd"
	"github.com/kubewright/kubewright/planner/executor"
	"github.com/kubewright/kubewright/planner/immutable"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/phases/objects"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/quorum"
	"github.com/kubewright/kubewright/planner/record"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/kubewright/kubewright/state/statefile"
)

// Runner joins the executor, which knows steps, with the performer, which knows hosts, and with
// what the state records about a step.
type Runner struct {
	*Run
	Performer *providers.Performer
	Fences    *fences
	// desired are the items that the plan is based on.
	desired *state.Snapshot
	// void are the run tokens of hosts that do not count.
	void  map[state.Target]int64
	turns turns
}

// turns are the workers that steps of this run are about to drain or are draining: from the
// gate to the end of the step, after which the nodes themselves show it. The zero value is
// ready.
type turns struct {
	mu    sync.Mutex
	nodes map[state.Target]bool
}

// take begins a turn if allowed agrees: no other turn begins in between.
func (t *turns) take(target state.Target, allowed func(turn map[state.Target]bool) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := allowed(t.nodes)
	if err == nil {
		if t.nodes == nil {
			t.nodes = map[state.Target]bool{}
		}
		t.nodes[target] = true
	}
	return err
}

// end ends the turn of a step, if the step has one.
func (t *turns) end(step *planner.Step) {
	if !slices.Contains(step.Gates, planner.WorkersGate) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.nodes, step.Target)
}

// Run is a plan that is carried out, with the inputs that it was made of.
type Run struct {
	Hosts    *hosts.Hosts
	Config   *config.Config
	Recorded *state.State
	// Observed is the observation that the plan was made of.
	Observed *topology.Fleet
	Result   topology.Result
	// Lineage is the lineage of the state. ID names the run, and Who is USER@HOST; Dead is the
	// run that held the state's lock before and ended without releasing it.
	Lineage, ID, Who, Dead string
	// Leaseless skips the clusters' leases.
	Leaseless bool
	// Restores is the snapshot that a restore rebuilds etcd from.
	Restores maintenance.EtcdRestore
	// Artifacts returns the artifact folder for a node; Snapshots is the folder that etcd
	// snapshots are kept in.
	Artifacts func(state.Target) (string, error)
	Snapshots string
	// Sealing encrypts snapshots; nil for none.
	Sealing providers.Sealing
	// Made is called with each secret that the run makes, before it is used.
	Made func(*state.Redactor)
}

// NewRunner returns the runner with which the executor runs the plan's steps.
func (p *Run) NewRunner() *Runner {
	perf := p.NewPerformer()
	r := &Runner{Run: p, Performer: perf, Fences: p.newFences(perf), desired: p.Result.Desired, void: ownership.VoidRuns(p.Observed)}
	perf.Gates = r.gates
	return r
}

// NewPerformer returns a performer for the hosts and clusters of this run.
func (p *Run) NewPerformer() *providers.Performer {
	w := p.Hosts.World
	before := p.Recorded
	if before == nil {
		before = &state.State{}
	}
	return &providers.Performer{
		Host: p.Hosts.Host, Seat: p.seat, Others: p.Others, Access: w.Access(), Issuer: w.Issuer(), Clock: w.Clock(),
		Artifacts: p.Artifacts, SnapshotFolder: p.Restores.Folder, Snapshots: p.Snapshots, Sealing: p.Sealing, Interrupted: before.Interrupted, Secrets: p.Config.Secrets, Made: p.Made,
		Content: func(_ context.Context, x state.Sensitive) (state.Secret, error) {
			return pipeline.Reveal(p.Observed, p.Result.Desired, x)
		},
	}
}

// seat returns how to reach a control plane.
func (p *Run) seat(t state.Target) (providers.Seat, error) {
	m := p.Hosts.Member(t)
	if m == nil {
		return providers.Seat{}, fmt.Errorf("internal error: %s is no node of this run", t)
	}
	return p.seatOf(m), nil
}

// seatOf returns how to reach a member's own API server now: a changed port is in effect until
// this run has corrected it.
func (p *Run) seatOf(m *hosts.Member) providers.Seat {
	r, c := p.Observed.Reports[m.Target], p.Config.Cluster(m.Cluster)
	if immutable.APIPort(c, r) != immutable.APIPort(c, nil) {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if h, err := m.Connect(ctx); err == nil {
			if now, err := h.Observe(ctx, immutable.APIManifestQuery()); err == nil {
				r = now
			}
		}
	}
	return m.Seat(p.Config, r)
}

// RunStep implements executor.Runner.
func (r *Runner) RunStep(ctx context.Context, step *planner.Step, run executor.Run, report func(executor.OpEvent) error) (executor.Result, error) {
	if err := r.Fences.before(ctx, step); err != nil {
		return executor.Result{}, ending(err)
	}
	defer r.turns.end(step)
	if err := r.gates(ctx, step); err != nil {
		return executor.Result{}, err
	}
	// Record which node it is before its first change.
	learned := record.Identify(r.Observed, step)
	outputs, err := r.Performer.Perform(ctx, step,
		providers.Run{ID: run.ID, Token: run.Token, Lineage: run.Lineage, Void: r.void, Output: lookup(run.Outputs)},
		providers.Progress{
			Begin: func(op, count int) error {
				e := executor.OpEvent{Kind: executor.OpBegin, Op: op, Count: count, Learned: learned}
				learned = state.Learned{}
				return report(e)
			},
			Done: func(op, count int) error {
				return report(executor.OpEvent{Kind: executor.OpDone, Op: op, Count: count})
			},
			Log: func(op int, text string) {
				_ = report(executor.OpEvent{Kind: executor.OpLog, Op: op, Text: text})
			},
			Output: func(op int, text string) {
				_ = report(executor.OpEvent{Kind: executor.OpOutput, Op: op, Text: text})
			},
		})
	result := executor.Result{Outputs: map[string]executor.Output{}}
	for name, o := range outputs {
		result.Outputs[name] = executor.Output{Value: o.Value, Secret: o.Secret}
	}
	if err == nil {
		result.Learned = objects.Learned(step, r.desired)
	}
	result.Refused = errors.Is(err, providers.ErrMoved)
	return result, ending(err)
}

// ending marks a failure after which this run must do nothing more anywhere: another run has
// begun, with this state or with another one that owns a host now.
func ending(err error) error {
	if errors.Is(err, providers.ErrSuperseded) || errors.Is(err, providers.ErrHeld) || errors.Is(err, providers.ErrForeign) {
		return &executor.StopError{Err: err}
	}
	return err
}

// Journal is a journal whose run ends when its lock is lost.
type Journal struct{ *statefile.Journal }

// Append implements executor.Journal.
func (j Journal) Append(e state.Entry) error {
	err := j.Journal.Append(e)
	if errors.Is(err, backend.ErrLost) {
		return &executor.StopError{Err: err}
	}
	return err
}

// lookup finds outputs of earlier steps for the performer.
func lookup(outputs executor.Outputs) func(state.Pending) (providers.Output, bool) {
	return func(p state.Pending) (providers.Output, bool) {
		o, ok := outputs.Lookup(p)
		return providers.Output{Value: o.Value, Secret: o.Secret}, ok
	}
}

// gates evaluates a step's conditions on a fresh observation, right before the step acts.
func (r *Runner) gates(ctx context.Context, step *planner.Step) error {
	c := r.Config.Cluster(r.Hosts.ClusterOf(step.Target))
	if c == nil {
		return nil
	}
	for _, g := range step.Gates {
		var err error
		switch g {
		case planner.QuorumGate, planner.DowntimeGate:
			err = r.quorumGate(ctx, c, step)
		case planner.APIGate:
			err = r.apiGate(ctx, c, step)
		case planner.WorkersGate:
			err = r.workersGate(ctx, c, step)
		case planner.GoneGate:
			err = r.goneGate(ctx, c, step)
		case planner.SilenceGate:
			err = r.silenceGate(ctx)
		default:
			err = fmt.Errorf("internal error: step %s names gate %q, which is not evaluated", step.ID, g)
		}
		if err != nil {
			return &GateError{err}
		}
	}
	return nil
}

// await calls try until it succeeds, the limit is over or ctx ends, and returns the last error
// of try; last is true for the last call.
func (r *Runner) await(ctx context.Context, limit, interval time.Duration, try func(last bool) error) error {
	clock := r.Hosts.World.Clock()
	deadline := clock.Now().Add(limit)
	for {
		last := clock.Now().After(deadline)
		if err := try(last); err == nil || last || clock.Sleep(ctx, interval) != nil {
			return err
		}
	}
}

// quorumGate waits for a quorum that survives the step: a member that was just promoted or
// restarted needs a moment to answer.
func (r *Runner) quorumGate(ctx context.Context, c *config.Cluster, step *planner.Step) error {
	if c.Etcd.External != nil {
		return nil
	}
	return r.await(ctx, c.Timeouts.EtcdAPICall, gateInterval, func(last bool) error {
		members, err := r.members(ctx, step.Via)
		if err != nil {
			err = fmt.Errorf("cannot tell whether etcd holds quorum: %w", err)
		} else {
			err = quorum.Allows(step, r.Observed.PeerURL(step.Target), members)
		}
		if err != nil && etcd.StartsMember(step, members) && r.memberDown(ctx, c, step.Target, last) {
			return nil // a member that is down cannot be lost, and this step starts it again
		}
		return err
	})
}

// memberDown reports whether the member on a step's own host is down: in a way that it cannot
// recover from by itself or, after waiting, at all.
func (r *Runner) memberDown(ctx context.Context, c *config.Cluster, t state.Target, waited bool) bool {
	h, err := r.Hosts.Host(ctx, t)
	if err != nil {
		return false
	}
	seen, err := h.Observe(ctx, etcd.MemberQuery(c))
	if err != nil {
		return false
	}
	if waited {
		return etcd.MemberExits(r.Observed, t, seen)
	}
	return etcd.MemberDown(r.Observed, t, seen)
}

// goneGate checks once more that a node that counts as gone for good is not alive.
func (r *Runner) goneGate(ctx context.Context, c *config.Cluster, step *planner.Step) error {
	nodes, err := r.nodes(ctx, step.Via)
	if err != nil {
		return fmt.Errorf("cannot tell whether its Node remains: %w", err)
	}
	var members []state.EtcdMember
	if c.Etcd.External == nil && planner.ChangesMembers(step) {
		if members, err = r.members(ctx, step.Via); err != nil {
			return fmt.Errorf("cannot tell whether its Node remains: %w", err)
		}
	}
	return planner.GoneAllows(step, nodes, members)
}

// workersGate checks whether a worker may be drained in addition to the workers that are down
// now. It waits for one that was just restarted.
func (r *Runner) workersGate(ctx context.Context, c *config.Cluster, step *planner.Step) error {
	return r.await(ctx, c.Timeouts.KubeletHealthCheck, nodesInterval, func(bool) error {
		return r.turns.take(step.Target, func(turn map[state.Target]bool) error {
			nodes, err := r.nodes(ctx, step.Via)
			if err != nil {
				return fmt.Errorf("cannot tell which workers are down: %w", err)
			}
			return drain.CheckMaxUnavailable(r.Observed, step, nodes, turn)
		})
	})
}

// nodesInterval is gateInterval for conditions that list all nodes.
const nodesInterval = 5 * time.Second

// nodes returns the nodes that the API shows now.
func (r *Runner) nodes(ctx context.Context, via state.Target) (map[string]state.NodeReport, error) {
	var nodes map[string]state.NodeReport
	err := r.Performer.Through(ctx, via, func(ctx context.Context, a providers.API) error {
		report, err := a.Observe(ctx, state.ClusterQuery{})
		if err == nil {
			nodes = report.Nodes
		}
		return err
	})
	return nodes, err
}

// gateInterval is the time between two checks of an unmet condition.
const gateInterval = 500 * time.Millisecond

// members returns the members of etcd, through a control plane or another one of the cluster,
// on connections of its own.
func (r *Runner) members(ctx context.Context, via state.Target) ([]state.EtcdMember, error) {
	var members []state.EtcdMember
	var last error
	for _, t := range append([]state.Target{via}, r.Others(via)...) {
		if members, last = r.membersThrough(ctx, t); last == nil {
			break
		}
	}
	return members, last
}

func (r *Runner) membersThrough(ctx context.Context, via state.Target) ([]state.EtcdMember, error) {
	h, err := r.Hosts.Host(ctx, via)
	if err != nil {
		return nil, err
	}
	primary, err := r.seat(via)
	if err != nil {
		return nil, err
	}
	client, err := r.Hosts.World.Access().Etcd(ctx, h, []string{primary.EtcdURL()}, primary.Folder)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	members, _, err := client.Members(ctx)
	return members, err
}

// Others returns the other control planes of a node's cluster. Only hosts observed to have the
// same CA count: a host that now serves another cluster does not.
func (p *Run) Others(t state.Target) []state.Target {
	var out []state.Target
	for _, m := range p.Hosts.Members {
		if m.Target != t && m.Plane && p.Observed.SameCluster(t, m.Target) {
			out = append(out, m.Target)
		}
	}
	return out
}

// apiGate requires another control plane to serve the API while this one restarts or departs:
// any that does counts, including one that is going to depart or has just joined. If none
// serves it, the step is refused only if one of them should: a restart is allowed if the plan
// has announced that the API is down meanwhile, since no other one runs yet or any more. It is
// also allowed if this control plane does not serve the API itself: there is nothing to lose.
func (r *Runner) apiGate(ctx context.Context, c *config.Cluster, step *planner.Step) error {
	var own *hosts.Member
	var last error
	for _, m := range r.Hosts.Members {
		switch {
		case m.Cluster != c.Label || !m.Plane || m.Leaves && !r.Observed.SameCluster(step.Target, m.Target):
			continue
		case m.Target == step.Target:
			own = m
			continue
		}
		err := r.servesAPI(ctx, m)
		if err == nil {
			return nil
		}
		if availability.ShouldServe(r.Observed, r.Result.Plan, step, m.Target) {
			last = err
		}
	}
	if last == nil || own != nil && r.servesAPI(ctx, own) != nil {
		return nil
	}
	return fmt.Errorf("refused: no other control plane serves the API, and this step stops it on %s: %w", step.Target, last)
}

// servesAPI asks a control plane's own API server whether it is ready.
func (r *Runner) servesAPI(ctx context.Context, m *hosts.Member) error {
	h, err := r.Hosts.Host(ctx, m.Target)
	if err != nil {
		return err
	}
	return hosts.Serves(ctx, h, r.seatOf(m))
}

// GateError is a step that a gate has refused: before it began or, for a gate that is evaluated
// again within the step, before the guarded operation.
type GateError struct{ err error }

func (e *GateError) Error() string { return e.err.Error() }

func (e *GateError) Unwrap() error { return e.err }
