package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/starter"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/examples"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// exampleList lists the examples and what they describe, for help.
func exampleList() string {
	wide := 0
	for _, name := range examples.Names() {
		wide = max(wide, len(name))
	}
	var lines []string
	for _, e := range examples.All() {
		lines = append(lines, fmt.Sprintf("  %-*s   %s", wide, e.Name, e.Title))
	}
	return strings.Join(lines, "\n")
}

func completeExamples(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, e := range examples.All() {
		out = append(out, e.Name+"\t"+e.Title)
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// begin writes an example into the folder, and says what to do with it.
func begin(a *workspace.Workspace, cmd *cobra.Command, name string) error {
	if err := alone(cmd); err != nil {
		return console.Misuse(cmd.CommandPath(), err)
	}
	e, ok := examples.Find(name)
	if !ok {
		return console.Misuse(cmd.CommandPath(), fmt.Errorf("there is no example %q.%s The examples are:\n\n%s", name, console.DidYouMean("", name, examples.Names()), exampleList()))
	}
	files, err := starter.Files(e)
	if err != nil {
		return err
	}
	err = starter.Write(a.Folder(), files, a.Ours)
	if refused, ok := errors.AsType[*starter.InTheWayError](err); ok {
		return console.Failure(diag.Diagnostics{refused.Finding(e.Name)})
	}
	if err != nil {
		return console.Failure(diag.Diagnostics{diag.Errorf("Example cannot be written", "%s: %v. Nothing was left behind.", a.Folder(), err)})
	}
	return written(a, e, files)
}

// alone refuses the flags that are about the state beside -example.
func alone(cmd *cobra.Command) error {
	var others []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "example", "chdir", "no-color", "input":
		default:
			others = append(others, "-"+f.Name)
		}
	})
	if len(others) > 0 {
		return fmt.Errorf("-example writes a new configuration, and has nothing to do with a state: leave out %s", strings.Join(others, ", "))
	}
	return nil
}

// purposes says what the files of a starter are for.
var purposes = map[string]string{
	starter.Main:     "the configuration",
	starter.Values:   "the values of its variables",
	starter.Ignored:  "keeps the state, plans, snapshots and kubeconfigs out of git",
	starter.Workflow: "checks pull requests on GitHub; docs/how-to/ci.md has more, also for GitLab",
}

// written says what was written, and what to do next.
func written(a *workspace.Workspace, e examples.Example, files []starter.File) error {
	p := ui.NewPage(a.Options())
	p.Line(p.BoldGreen("Wrote the example " + e.Name + ": " + e.Title + "."))
	p.Line()
	wide := 0
	for _, f := range files {
		wide = max(wide, ansi.StringWidth(f.Name))
	}
	text, real := "All hosts are simulated", "For real ones change the addresses and the connection in "+starter.Main+"."
	for _, f := range slices.Backward(files) {
		p.Line(strings.TrimRight(fmt.Sprintf("  %-*s   %s", wide, f.Name, purposes[f.Name]), " "))
		if f.Name == starter.Values && starter.Simulates(f.Text) {
			real = "For real ones set simulate = false in " + starter.Values + ", and change what the comment at the top of " + starter.Main + " names."
		}
	}
	if e.Needs == "" {
		text += ", so that nothing else is needed to try it"
	}
	p.Line()
	p.Prose(text + ". " + real)
	if e.Needs != "" {
		p.Line()
		p.Prose("Before the first plan: " + e.Needs)
	}
	p.Line()
	p.Line("  " + a.Program() + " plan")
	p.Line("  " + a.Program() + " apply")
	return p.Flush(a.Stdout)
}
