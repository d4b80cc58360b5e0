package cli

import (
	"errors"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/export"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

// explanation is the value of -explain: an address of the plan.
type explanation struct {
	given bool
	at    state.Address
}

// flag adds -explain to a command.
func (e *explanation) flag(cmd *cobra.Command) {
	cmd.Flags().Var(e, "explain", "say why the plan has what it has at this `address`: of a node, a step, an item or a field of it")
}

// Set implements pflag.Value.
func (e *explanation) Set(s string) (err error) {
	e.given = true
	e.at, err = state.ParseAddress(s)
	return err
}

// String implements pflag.Value.
func (e *explanation) String() string { return "" }

// Type implements pflag.Value.
func (e *explanation) Type() string { return "address" }

// planForm is the value of -format: the form in which a plan is printed. Empty stands for text.
type planForm string

// flag adds -format to a command.
func (f *planForm) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "format", "", "print the plan in this `form`: text, json, markdown, html, junit or github")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(export.PlanFormats(), cobra.ShellCompDirectiveNoFileComp))
}

// fullFlag adds -full to a command.
func fullFlag(a *workspace.Workspace, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.Full, "full", false, "show every operation, all of what is new, each node by itself, and when each certificate expires")
}

// check refuses an unknown form, one beside -json or -explain, and -full with a form other than
// text.
func (f planForm) check(json, full bool, why explanation) error {
	if full && (json || why.given || f.programs()) {
		return errors.New("-full is about the plan as text: give it without -json, -format and -explain")
	}
	if why.given && (json || f.programs()) {
		return errors.New("-explain prints text for people: give it without -json and -format")
	}
	if json && f != "" {
		return errors.New("-json and -format both say how to print: give one of them")
	}
	return export.CheckPlanFormat(f.name())
}

func (f planForm) name() string {
	if f == "" {
		return "text"
	}
	return string(f)
}

// programs reports whether stdout has the plan in this form and nothing else.
func (f planForm) programs() bool { return f.name() != "text" }
