package cli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/export"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/rationale"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// planning gives a command what plan, apply and destroy share.
func (a *app) planning(o *planOptions, cmd *cobra.Command) {
	cmd.Args = takes(0, 0)
	f := cmd.Flags()
	a.planFlags(o, cmd)
	f.BoolVar(&o.refreshOnly, "refresh-only", false, "only find out what was changed outside, and write that to the state")
	o.lockFlag(f)
	o.overrideFlag(f)
	o.parallelism = 10
	f.Var((*atLeastOne)(&o.parallelism), "parallelism", "run this `number` of steps at once")
	f.BoolVar(&o.json, "json", false, "print JSON, one object per line")
	a.fullFlag(cmd)
	f.BoolVar(&a.compactWarnings, "compact-warnings", false, "print only the summaries of warnings, when there are no errors")
	f.Var((*fileName)(&o.jsonInto), "json-into", "write JSON, one object per line, into this `file` beside what is printed")
	f.BoolVar(&a.finer, "detailed-exitcode", false, "tell by the exit code: 2 changes, 3 only drift, 4 refused, 5 locked, 6 a host does not answer")
}

// planFlags adds the flags by which one plan differs from another: those of variables,
// those that restrict it, and those that say what is to be done with single targets.
func (a *app) planFlags(o *planOptions, cmd *cobra.Command) {
	f := cmd.Flags()
	o.variableFlags(f)
	f.StringArrayVar(&o.targets, "target", nil, "plan only this `address`: a node, a phase, or a phase of a node (node.a/certs), with what it needs (repeatable)")
	f.StringArrayVar(&o.skipPhases, "skip-phase", nil, "leave out this `phase` (repeatable)")
	o.changeFlags(f)
	f.BoolVar(&o.allowUnreachable, topology.AllowUnreachableFlag, false, "leave out workers and leaving nodes (when destroying: any node) whose hosts do not answer, and workers whose marks are not this state's")
	f.BoolVar(&o.allowOlderState, ownership.AllowOlderStateFlag, false, "go on with a state that is older than the last run its hosts have seen")
	a.completeParts(cmd)
}

// variableFlags adds the flags of variables.
func (o *planOptions) variableFlags(f *pflag.FlagSet) {
	f.Var(varFlag{o, false}, "var", "set a variable: -var '`name=value`' (repeatable)")
	f.Var(varFlag{o, true}, "var-file", "read variables from this `file` (repeatable)")
	f.BoolVar(&o.input, "input", true, "ask for variables, passphrases and approval on a terminal")
}

// lockFlag adds the flag of the state's lock.
func (o *planOptions) lockFlag(f *pflag.FlagSet) {
	f.DurationVar(&o.lockTimeout, "lock-timeout", 0, "wait so long for the state's lock, as in 5m")
}

// varFlag keeps -var and -var-file in the order of the command line.
type varFlag struct {
	o    *planOptions
	file bool
}

func (v varFlag) Set(s string) error {
	arg := hclconfig.VarArg{Assignment: s}
	if v.file {
		arg = hclconfig.VarArg{File: s}
	}
	v.o.vars = append(v.o.vars, arg)
	return nil
}
func (v varFlag) String() string { return "" }
func (v varFlag) Type() string {
	if v.file {
		return "file"
	}
	return "name=value"
}

func (a *app) planCommand() *cobra.Command {
	var o planOptions
	var out string
	var form planForm
	var why explanation
	cmd := &cobra.Command{
		Use: "plan", Short: "Show what apply would change",
		Long: "plan compares the configuration with the state and with what hosts, API and etcd show,\n" +
			"and prints what apply would change, where, in which order, and what that means for those who use\n" +
			"the cluster. It writes nothing to hosts, cluster or state.\n\n" +
			"With -out the plan goes into a file: kubewright show prints it in other forms, and kubewright apply\n" +
			"carries out that very plan. -target and -exclude take a part of it: a node, a phase, or a phase of\n" +
			"a node. -explain says why something is in the plan. Of new nodes that are alike only the first is\n" +
			"shown, and of what is new not everything that makes it up: -full shows all of it.\n\n" +
			"With -generate-config-out a cluster that an import block names, and that has no block yet, is read as\n" +
			"by kubewright import: its configuration goes into a new file, and the plan is made with it.\n\n" +
			"The exit code is 0, or 1 after an error. With -detailed-exitcode it is 2 when there are changes, 3\n" +
			"when all of them were made outside of kubewright, and 4, 5 and 6 for errors of three\n" +
			"kinds; it is 6 as well when nothing differs, but not everything could be looked at.",
		Example: "  kubewright plan\n  kubewright plan -out=plan.kwplan\n  kubewright plan -format=markdown > plan.md\n" +
			"  kubewright plan -full -compact-warnings\n" +
			"  kubewright plan -explain='node.cp[\"cp1\"]/control-plane'\n  kubewright plan -target='node.cp[\"cp1\"]' -skip-phase=addon\n" +
			"  kubewright plan -refresh-only -detailed-exitcode\n  kubewright plan -generate-config-out=prod.hcl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := form.check(o.json, a.full, why); err != nil {
				return &usageError{cmd.CommandPath(), err}
			}
			if err := cmp.Or(a.spares("out", out), a.apart(o.jsonInto, out)); err != nil {
				return err
			}
			a.quietStdout = form.programs()
			s, err := a.planned(cmd.Context(), o)
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.showAs(form, why); err != nil {
				return err
			}
			if err := errors.Join(s.tellGenerated(), s.savePlan(out)); err != nil {
				return err
			}
			if code := s.changesCode(); a.finer && code != exitOK {
				return exit(code)
			}
			return nil
		},
	}
	a.planning(&o, cmd)
	form.flag(cmd)
	why.flag(cmd)
	cmd.Flags().Lookup("lock-timeout").Usage = "a plan takes no lock and waits for none: this `duration` is taken for the sake of scripts"
	cmd.Flags().BoolVar(&o.destroy, "destroy", false, "plan the removal of everything")
	cmd.Flags().Var((*fileName)(&out), "out", "save the plan to this `file`, for kubewright apply FILE")
	cmd.Flags().StringVar(&o.generateOut, generateFlag, "", "write clusters of import blocks that have no block into this new `file` of the configuration")
	return cmd
}

// flagsToRepeat are NAME=VALUE of the flags that no plan holds, and without which
// the same command would read something else. The value of a variable may be a
// secret: its name has to do.
func (a *app) flagsToRepeat(o planOptions) []string {
	var out []string
	if a.chdir != "" {
		out = append(out, "chdir="+a.chdir)
	}
	if a.statePath != "" {
		out = append(out, "state="+a.statePath)
	}
	if o.allowOlderState {
		out = append(out, ownership.AllowOlderStateFlag+"=true")
	}
	for _, v := range o.vars {
		if v.File != "" {
			out = append(out, "var-file="+v.File)
			continue
		}
		name, _, _ := strings.Cut(v.Assignment, "=")
		out = append(out, "var="+name+"=…")
	}
	return out
}

// planned returns a session that has planned. The caller closes it.
func (a *app) planned(ctx context.Context, o planOptions) (*session, error) {
	s, err := a.open(ctx, o, "")
	if err != nil {
		return nil, err
	}
	if err := s.plan(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// show prints the plan.
func (s *session) show() error { return s.screen().plan(s.result.Plan, s.planView()) }

// showAs prints the plan in a form, or explains a part of it.
func (s *session) showAs(form planForm, why explanation) error {
	switch {
	case why.given:
		return rationale.Explain(s.Stdout, s.result.Plan, why.at, s.planView())
	case !form.programs():
		return s.show()
	}
	return export.PlanAs(s.Stdout, s.result.Plan, string(form), s.planView())
}

// planView returns how a plan is shown: beside what the state knows.
func (s *session) planView() ui.Options {
	o := s.options()
	o.Recorded, o.Parallelism = ui.Recorded{Outputs: s.priorOutputs(), Durations: s.durations()}, s.opts.parallelism
	return o
}

// durations returns those that the state holds.
func (s *session) durations() map[string]float64 {
	if s.recorded == nil {
		return nil
	}
	return s.recorded.Durations
}

// priorOutputs returns those that the state holds.
func (s *session) priorOutputs() map[string]state.Value {
	if s.recorded == nil {
		return nil
	}
	return s.recorded.Outputs
}

// outputsChange reports whether the plan's outputs are not those of the state.
func (s *session) outputsChange() bool {
	return !maps.EqualFunc(s.priorOutputs(), s.result.Plan.Outputs, state.Value.Equal)
}
