package cli

import (
	"context"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/flagvalue"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/testrun"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/jsonlines"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/testview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/spf13/cobra"
)

// testOptions are the flags of test.
type testOptions struct {
	session.Options
	// folder is the folder below the configuration with test files; filter names test files.
	folder string
	filter []string
	// junit is the file of a report.
	junit string
}

func testCommand(a *workspace.Workspace) *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use: "test", Short: "Test the configuration on simulated hosts", Args: takes(0, 0),
		Long: "test carries out the runs of *" + hclconfig.TestSuffix + " files, in the configuration folder and in its folder\n" +
			"tests: each run plans, applies or destroys, and its assert blocks say what has to be true then.\n" +
			"Every file begins with new hosts and without a state, and its runs follow one another.\n\n" +
			"All hosts are simulated, whatever the connection blocks say. The state is in a temporary folder, and a\n" +
			"backend is not opened. The exit code is 1 when a run does not pass.",
		Example: "  kubewright test\n  kubewright test -filter=tests/upgrade" + hclconfig.TestSuffix + "\n  kubewright test -var-file=prod.kwvars",
		RunE:    func(cmd *cobra.Command, _ []string) error { return runTests(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	f.Var(varFlag{&o.Options, false}, "var", "set a variable: -var '`name=value`' (repeatable)")
	f.Var(varFlag{&o.Options, true}, "var-file", "read variables from this `file` (repeatable)")
	f.StringArrayVar(&o.filter, "filter", nil, "carry out only this test `file` (repeatable)")
	f.StringVar(&o.folder, "test-directory", "tests", "look for test files in this `folder` of the configuration too")
	f.BoolVar(&o.JSON, "json", false, "print JSON, one object per line")
	f.Var((*flagvalue.FileName)(&o.junit), "junit-xml", "write a report in JUnit XML into this `file` too")
	o.Parallelism = 10
	return cmd
}

// runTests carries out the test files.
func runTests(ctx context.Context, a *workspace.Workspace, o testOptions) error {
	a.Sources = a.SourceText
	display := testview.Display(testview.Text{Out: a.Stdout, Options: a.Options(), Source: a.Sources})
	if o.JSON {
		a.Lines = jsonlines.New(a.Stdout, a.Now)
		a.Lines.Version(console.Version)
		display = testview.Lines{Stream: a.Lines, Source: a.Sources}
	}
	if err := a.CheckOverwrite("junit-xml", o.junit); err != nil {
		return err
	}
	names, err := testrun.Names(a, o.folder, o.filter)
	if err != nil {
		return err
	}
	tests, diags := hclconfig.ReadTests(hclconfig.Options{Dir: a.Folder()}, names)
	if err := a.Report(diags); err != nil {
		return err
	}
	results, err := testrun.All(ctx, a, tests, testrun.Options{Vars: o.Vars, Parallelism: o.Parallelism, Display: display})
	if err == nil && o.junit != "" {
		err = testrun.WriteReport(a, o.junit, results)
	}
	if err == nil && testview.Failed(results) {
		err = console.Exit(console.ExitError)
	}
	return err
}
