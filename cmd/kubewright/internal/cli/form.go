package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
)

// planForm is the value of -format: the form in which a plan is printed. Empty
// stands for text.
type planForm string

// flag adds -format to a command.
func (f *planForm) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(f), "format", "", "print the plan in this `form`: text, json, markdown, html, junit or github")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(view.PlanFormats(), cobra.ShellCompDirectiveNoFileComp))
}

// check refuses a form that does not exist, or one beside -json.
func (f planForm) check(json bool) error {
	if json && f != "" {
		return errors.New("-json and -format both say how to print: give one of them")
	}
	return view.PlanFormat(f.name())
}

func (f planForm) name() string {
	if f == "" {
		return "text"
	}
	return string(f)
}

// programs tells that stdout has the plan in this form and nothing else.
func (f planForm) programs() bool { return f.name() != "text" }
