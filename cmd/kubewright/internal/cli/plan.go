package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/adoption"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/apply"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flagvalue"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/export"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/rationale"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/ownership"
	"github.com/kubewright/kubewright/planner/rotation"
	"github.com/spf13/cobra"
)

// planning adds the flags that plan, apply and destroy share.
func planning(a *workspace.Workspace, o *session.Options, cmd *cobra.Command) {
	cmd.Args = takes(0, 0)
	f := cmd.Flags()
	planFlags(a, o, cmd)
	f.BoolVar(&o.RefreshOnly, "refresh-only", false, "only find out what was changed outside, and write that to the state")
	lockFlag(o, f)
	o.OverrideFlag(f)
	o.Parallelism = 10
	f.Var((*flagvalue.AtLeastOne)(&o.Parallelism), "parallelism", "run this `number` of steps at once")
	f.BoolVar(&o.JSON, "json", false, "print JSON, one object per line")
	fullFlag(a, cmd)
	f.BoolVar(&a.CompactWarnings, "compact-warnings", false, "print only the summaries of warnings, when there are no errors")
	f.Var((*flagvalue.FileName)(&o.JSONInto), "json-into", "write JSON, one object per line, into this `file` beside what is printed")
	f.BoolVar(&a.Finer, "detailed-exitcode", false, "detailed exit codes: 2 = changes, 3 = drift only, 4 = refused, 5 = locked, 6 = a host does not answer, 9 = something is withheld")
}

// planFlags adds the flags that decide what is planned: variables, restrictions, and the
// treatment of single targets.
func planFlags(a *workspace.Workspace, o *session.Options, cmd *cobra.Command) {
	f := cmd.Flags()
	variableFlags(o, f)
	f.StringArrayVar(&o.Targets, "target", nil, "plan only this `address`: a node, a phase, a part of it as kubeadm names it (certs/apiserver), or either of a node (node.a/certs), with what it needs (repeatable)")
	f.StringArrayVar(&o.SkipPhases, "skip-phase", nil, "leave out this `phase`, or this part of it as kubeadm names it (repeatable)")
	o.ChangeFlags(f)
	f.BoolVar(&o.AllowUnreachable, commandline.AllowUnreachable, false, "apply without nodes whose hosts do not answer, and withhold what waits for them: a control plane only while etcd holds quorum and lists it (when destroying: any node); and leave out workers whose marks are not this state's")
	f.BoolVar(&o.AllowOlderState, commandline.AllowOlderState, false, "proceed with a state that is older than the last run its hosts have seen")
	completeParts(a, cmd)
}

func planCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var out, generateOut string
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
			"kinds; it is 6 as well when nothing differs, but not everything could be observed.",
		Example: "  kubewright plan\n  kubewright plan -out=plan.kwplan\n  kubewright plan -format=markdown > plan.md\n" +
			"  kubewright plan -full -compact-warnings\n" +
			"  kubewright plan -explain='node.cp[\"cp1\"]/control-plane'\n  kubewright plan -target='node.cp[\"cp1\"]' -skip-phase=addon\n" +
			"  kubewright plan -refresh-only -detailed-exitcode\n  kubewright plan -generate-config-out=prod.hcl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := form.check(o.JSON, a.Full, why); err != nil {
				return console.Misuse(cmd.CommandPath(), err)
			}
			if err := cmp.Or(a.CheckOverwrite("out", out), a.CheckDistinct(o.JSONInto, out)); err != nil {
				return err
			}
			a.QuietStdout = form.programs()
			var generated adoption.Generation
			if generateOut != "" {
				o.BeforeLoad = func(ctx context.Context, s *session.Session) (err error) {
					generated, err = adoption.Generate(ctx, s, generateOut)
					return err
				}
			}
			s, err := session.Open(cmd.Context(), a, o, "")
			if err != nil {
				return err
			}
			defer s.Close()
			if refused := s.Plan(cmd.Context()); refused != nil {
				if s.Result.Plan == nil {
					return refused
				}
				return errors.Join(showAs(s, form, why), refused)
			}
			if err := showAs(s, form, why); err != nil {
				return err
			}
			if err := errors.Join(adoption.PrintGenerated(s, generated), apply.SavePlan(s, out)); err != nil {
				return err
			}
			if code := changesCode(s); a.Finer && code != console.ExitOK {
				return console.Exit(code)
			}
			return nil
		},
	}
	planning(a, &o, cmd)
	form.flag(cmd)
	why.flag(cmd)
	cmd.Flags().Lookup("lock-timeout").Usage = "a plan takes no lock and waits for none: this `duration` is taken for the sake of scripts"
	cmd.Flags().BoolVar(&o.Destroy, "destroy", false, "plan the removal of everything")
	cmd.Flags().Var((*flagvalue.FileName)(&out), "out", "save the plan to this `file`, for kubewright apply FILE")
	cmd.Flags().StringVar(&generateOut, session.GenerateFlag, "", "write clusters of import blocks that have no block into this new `file` of the configuration")
	return cmd
}

// planned returns a session that has planned. The caller closes it.
func planned(ctx context.Context, a *workspace.Workspace, o session.Options) (*session.Session, error) {
	s, err := session.Open(ctx, a, o, "")
	if err != nil {
		return nil, err
	}
	if err := s.Plan(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// showAs prints the plan in a form, or explains a part of it.
func showAs(s *session.Session, form planForm, why explanation) error {
	switch {
	case why.given:
		return rationale.Explain(s.Stdout, s.Result.Plan, why.at, s.PlanView())
	case !form.programs():
		return s.Show()
	}
	return export.PlanAs(s.Stdout, s.Result.Plan, string(form), s.PlanView())
}

// changesCode returns the exit code of a plan with -detailed-exitcode. If not everything could
// be observed, that comes first: the operator who applies the plan has to come back.
func changesCode(s *session.Session) int {
	p := s.Result.Plan
	switch {
	case p.Withholds() && session.Permits(s):
		return console.ExitWithheld
	case s.OutputsChange(), !p.RefreshOnly && len(ownership.Unremembered(s.Observed)) > 0:
		return console.ExitChanges
	case p.Empty() && p.Withholds():
		return console.ExitUnreachable
	case p.Empty():
		return console.ExitOK
	case onlyDrift(p):
		return console.ExitDrift
	}
	return console.ExitChanges
}

// onlyDrift reports whether a plan only deals with changes made outside kubewright.
func onlyDrift(p *planner.Plan) bool {
	if p.RefreshOnly {
		return len(p.Moved) == 0
	}
	if _, _, destroy := p.Counts(); destroy > 0 {
		return false // a departure has steps and no changes
	}
	if slices.ContainsFunc(p.Steps, rotation.OfRotation) {
		return false // files that are no items have steps and no changes either
	}
	return len(p.Changes) > 0 && len(p.Moved) == 0 &&
		!slices.ContainsFunc(p.Changes, func(c planner.Change) bool { return c.Reason != planner.ReasonDrift })
}
