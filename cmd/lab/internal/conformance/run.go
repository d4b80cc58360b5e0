package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubewright/kubewright/cmd/lab/internal/process"
)

// A Runner runs tests of the suite against a cluster.
type Runner struct {
	Program    string    // e2e.test
	Kubectl    string    // of the cluster's version
	Kubeconfig string    // of an administrator
	Folder     string    // for logs and reports of parts; must exist
	Processes  int       // that run tests in parallel
	Log        io.Writer // a line per test
	// Alive returns an error if the cluster does not answer: then a failure is none of a test.
	Alive func(ctx context.Context) error
}

// ErrClusterLost is the error of a run whose cluster no longer answers.
var ErrClusterLost = errors.New("the cluster does not answer any more; the verdicts until then are kept")

// Run runs those of the tests that have not passed yet, and keeps their verdicts. An error means
// that tests are left without a verdict; failed tests are none.
func (r Runner) Run(ctx context.Context, tests []string, kept *Verdicts) error {
	left := slices.DeleteFunc(slices.Clone(tests), func(test string) bool {
		v, ok := kept.Of(test)
		return ok && v.Passed
	})
	parallel, alone := parts(left)
	fmt.Fprintf(r.Log, "conformance: %d of %d tests have passed; %d parts in %d processes, then %d parts alone\n",
		len(tests)-len(left), len(tests), len(parallel), r.Processes, len(alone))
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(r.Processes)
	for n, part := range parallel {
		group.Go(func() error { return r.part(running, fmt.Sprintf("parallel-%03d", n), part, kept) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for n, part := range alone {
		if err := r.part(ctx, fmt.Sprintf("serial-%03d", n), part, kept); err != nil {
			return err
		}
	}
	return nil
}

// part runs some tests in one process.
func (r Runner) part(ctx context.Context, name string, tests []string, kept *Verdicts) error {
	if err := ctx.Err(); err != nil {
		return err // of another part
	}
	report := filepath.Join(r.Folder, name+".json")
	if err := os.RemoveAll(report); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(r.Folder, name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, r.Program, r.arguments(report, tests)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.Folder, log, log
	process.KillGroupOnCancel(cmd)
	failed := cmd.Run()
	if err := ctx.Err(); err != nil {
		return err
	}
	verdicts, err := readReport(report, tests)
	if err == nil {
		_ = os.Remove(report) // megabytes about all other tests
	}
	if err == nil && failed == nil {
		return r.keep(verdicts, kept)
	}
	if lost := r.Alive(ctx); lost != nil {
		return fmt.Errorf("%w: %w", ErrClusterLost, lost)
	}
	if err != nil {
		return fmt.Errorf("no verdict on %d tests (%w); see %s", len(tests), err, log.Name())
	}
	return r.keep(verdicts, kept)
}

func (r Runner) keep(verdicts []Verdict, kept *Verdicts) error {
	for _, v := range verdicts {
		word := "passed"
		if !v.Passed {
			word = "FAILED"
		}
		fmt.Fprintf(r.Log, "conformance: %s %s (%s)\n", word, v.Test, time.Duration(v.Seconds*float64(time.Second)).Round(time.Second))
		if v.Reason != "" {
			fmt.Fprintf(r.Log, "  %s\n", v.Reason)
		}
	}
	return kept.Add(verdicts...)
}

// arguments returns the arguments with which e2e.test runs exactly these tests.
func (r Runner) arguments(report string, tests []string) []string {
	args := []string{
		"-kubeconfig=" + r.Kubeconfig, "-kubectl-path=" + r.Kubectl, "-provider=skeleton",
		"-ginkgo.json-report=" + report, "-ginkgo.no-color", "-ginkgo.silence-skips", "-ginkgo.timeout=24h",
	}
	for _, test := range tests {
		args = append(args, "-ginkgo.focus="+regexp.QuoteMeta(test)+"$")
	}
	return args
}
