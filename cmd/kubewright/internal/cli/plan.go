package cli

import (
	"context"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// planFlags adds the flags that plan, apply and destroy share.
func (o *planOptions) planFlags(f *pflag.FlagSet) {
	f.Var(varFlag{o, false}, "var", "set a variable: name=value (repeatable)")
	f.Var(varFlag{o, true}, "var-file", "read variables from a file (repeatable)")
	f.StringArrayVar(&o.targets, "target", nil, "plan only this node, phase, or phase of a node, and what it needs (repeatable)")
	f.StringArrayVar(&o.skipPhases, "skip-phase", nil, "leave out this phase (repeatable)")
	f.IntVar(&o.parallelism, "parallelism", 10, "how many steps run at once")
	f.DurationVar(&o.lockTimeout, "lock-timeout", 0, "how long to wait for the state's lock")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.input, "input", true, "ask questions")
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
	var detailed bool
	cmd := &cobra.Command{
		Use: "plan", Short: "Show what apply would change", Args: takes(0, 0),
		Long: "plan compares the configuration with the state and with what hosts, API and etcd show,\n" +
			"and prints what apply would change, where, and in which order. It writes nothing anywhere.",
		Example: "  kubewright plan\n  kubewright plan -target='node.cp[\"cp1\"]'\n  kubewright plan -detailed-exitcode",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.open(o)
			if err != nil {
				return err
			}
			defer s.close()
			if err := s.plan(cmd.Context()); err != nil {
				return err
			}
			if err := s.show(o.json); err != nil {
				return err
			}
			if detailed && !s.result.Plan.Empty() {
				return exit(exitChanges)
			}
			return nil
		},
	}
	o.planFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.destroy, "destroy", false, "plan the removal of everything")
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit with 2 when there are changes")
	cmd.SetContext(context.Background())
	return cmd
}

// show prints the plan.
func (s *session) show(asJSON bool) error {
	if asJSON {
		return view.PlanJSON(s.Stdout, s.result.Plan)
	}
	o := s.options()
	if s.recorded != nil {
		o.PriorOutputs = s.recorded.Outputs
	}
	return view.Plan(s.Stdout, s.result.Plan, o)
}
