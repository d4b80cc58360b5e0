package pipeline_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state"
)

// afterApply is the time that passes after an apply, so that controllers and kubelets come to rest.
const afterApply = time.Minute

// planEdit changes what is observed or recorded, as the lines of an edits section say:
//
//	NODE: EDIT            on the host of a node, by its key or name: kubewright sim edit -help lists the edits
//	all: EDIT             on the hosts of all nodes
//	time: DURATION        passes everywhere
//	etcd: remove NODE     its member is removed from etcd by hand
//	state: forget TARGET  as kubewright state rm does
//	state: lost           there is no state any more
//	run: stops after STEP  an apply of main.hcl, with the options, is killed when the step is done
//	run: stops before STEP
type planEdit struct {
	o *operator
	// before is the configuration whose nodes are meant as well, if main.hcl no longer has them.
	before  *config.Config
	options planOptions
}

func (e planEdit) apply(line string) error {
	subject, what, ok := strings.Cut(line, ": ")
	if !ok {
		return fmt.Errorf("edit %q is not written SUBJECT: EDIT", line)
	}
	do := map[string]func(string) error{"all": e.everywhere, "time": e.time, "etcd": e.etcd, "state": e.state, "run": e.run}[subject]
	if do == nil {
		do = func(what string) error {
			n := e.node(subject)
			if n == nil {
				return fmt.Errorf("there is no node %q", subject)
			}
			return sim.Edit(e.o.world, n.Address, what)
		}
	}
	if err := do(what); err != nil {
		return fmt.Errorf("edit %q: %w", line, err)
	}
	return nil
}

// nodes returns the nodes of both configurations.
func (e planEdit) nodes() []*config.Node {
	out := slices.Clone(e.o.config.Nodes)
	if e.before == nil {
		return out
	}
	for _, n := range e.before.Nodes {
		if !slices.ContainsFunc(out, func(o *config.Node) bool { return o.Target == n.Target }) {
			out = append(out, n)
		}
	}
	return out
}

func (e planEdit) node(name string) *config.Node {
	for _, n := range e.nodes() {
		if n.Target.Keyed && n.Target.Key == name || !n.Target.Keyed && n.Target.Name == name {
			return n
		}
	}
	return nil
}

func (e planEdit) everywhere(what string) error {
	var errs []error
	for _, n := range e.nodes() {
		errs = append(errs, sim.Edit(e.o.world, n.Address, what))
	}
	return errors.Join(errs...)
}

// time lets time pass in strides of a day, so that what falls due on the way is done on the way.
func (e planEdit) time(what string) error {
	return sim.Edit(e.o.world, e.nodes()[0].Address, "time "+what)
}

func (e planEdit) etcd(what string) error {
	name, ok := strings.CutPrefix(what, "remove ")
	if n := e.node(name); ok && n != nil {
		e.o.removeMember("https://" + n.Address + ":2380")
		return nil
	}
	return errors.New("it is not written remove NODE")
}

func (e planEdit) state(what string) error {
	if what == "lost" {
		e.o.recorded = nil
		return nil
	}
	text, ok := strings.CutPrefix(what, "forget ")
	t, err := state.ParseTarget(text)
	if !ok || err != nil || e.o.recorded.Nodes[t] == nil {
		return fmt.Errorf("it is neither lost nor forget with a recorded node (%v)", err)
	}
	e.o.forgetNode(t)
	return nil
}

// run carries out the plan of main.hcl until the operator is killed.
func (e planEdit) run(what string) error {
	when, step, _ := strings.Cut(strings.TrimPrefix(what, "stops "), " ")
	if when != "after" && when != "before" {
		return errors.New("it is not written stops after STEP or stops before STEP")
	}
	p := planWith(e.o, e.options)
	if p.plan == nil {
		return fmt.Errorf("there is no plan: %w", p.findings.Err())
	}
	reached, stopped := false, false
	e.o.around = func(s *planner.Step) error {
		if here := s.ID.String() == step; reached || here && when == "before" {
			stopped = true
			return errCrash
		} else if here {
			reached = true
		}
		return nil
	}
	err := e.o.carryOut()
	e.o.around = nil
	if !stopped || !errors.Is(err, errCrash) {
		return fmt.Errorf("the run did not stop there (%v):\n%s", err, describe(p.plan))
	}
	return nil
}

// planOptions are the flags of the command, as a user types them.
type planOptions struct {
	destroy, allowUnreachable, refreshOnly bool
	replace, accept, forget                []state.Target
	rotate                                 []topology.Rotation
	plan                                   planner.Options
}

// unrestricted reports whether the plan is of everything.
func (o planOptions) unrestricted() bool {
	return !o.refreshOnly && len(o.plan.Targets)+len(o.plan.Excludes)+len(o.plan.SkipPhases) == 0
}

func parsePlanOptions(text string) (planOptions, error) {
	var o planOptions
	for _, line := range planLines(text) {
		name, value, given := strings.Cut(line, "=")
		var err error
		switch switches := map[string]*bool{"-destroy": &o.destroy, "-allow-unreachable": &o.allowUnreachable, "-refresh-only": &o.refreshOnly}; {
		case switches[name] != nil && !given:
			*switches[name] = true
		case given:
			err = o.set(name, value)
		default:
			err = errors.New("there is no such option")
		}
		if err != nil {
			return o, fmt.Errorf("option %q: %w", line, err)
		}
	}
	return o, nil
}

// set sets an option that has a value.
func (o *planOptions) set(name, value string) error {
	targets := map[string]*[]state.Target{"-replace": &o.replace, "-accept-new-host": &o.accept, "-forget-unreachable": &o.forget}
	selectors := map[string]*[]planner.Selector{"-target": &o.plan.Targets, "-exclude": &o.plan.Excludes}
	if r, ok := rotation.ParseRotation(value); ok && name == "-replace" {
		o.rotate = append(o.rotate, r)
		return nil
	}
	switch {
	case targets[name] != nil:
		t, err := state.ParseTarget(value)
		*targets[name] = append(*targets[name], t)
		return err
	case selectors[name] != nil:
		s, err := planner.ParseSelector(value, pipeline.Names())
		*selectors[name] = append(*selectors[name], s)
		return err
	case name == "-skip-phase":
		names, why := pipeline.SkippedPhase(value)
		if len(names) == 0 {
			return fmt.Errorf("the phase cannot be skipped: %s", why)
		}
		o.plan.SkipPhases = append(o.plan.SkipPhases, names...)
		return nil
	}
	return errors.New("there is no such option")
}
