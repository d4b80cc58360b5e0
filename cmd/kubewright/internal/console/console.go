package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/logged"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/jsonlines"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/progress"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// Exit is an error that carries only an exit code: everything is printed already.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Console is where a command reads and prints: terminal, pipe or file, and the log.
type Console struct {
	*Env
	// NoColor is -no-color.
	NoColor bool
	// Sources reads files for excerpts in diagnostics.
	Sources func(string) []byte
	// Lines is where all output goes with -json; nil without it.
	Lines *jsonlines.Stream
	// Into is the file that the same lines also go to, with -json-into; nil without it.
	Into *LinesFile
	// Finer selects an exit code for each kind of error, with -detailed-exitcode.
	Finer bool
	// Full prints everything that a plan otherwise leaves out or says only once, with -full;
	// CompactWarnings prints only the summaries of warnings, with -compact-warnings.
	Full, CompactWarnings bool
	// QuietStdout reserves stdout for a result that programs read: warnings go to stderr.
	QuietStdout bool
	// stdin is Env.Stdin, once something is read from it.
	stdin      *bufio.Reader
	Interrupts *interruptions
	// Looking is shown while hosts are observed; nil before.
	Looking *progress.Observation
	// Ask is Env.Secret while the command runs; nil if no question can be answered.
	Ask func(prompt string) ([]byte, error)
	// AllowsUnreachable and GivenAgain are the flags that the same command needs again to make
	// the same plan.
	AllowsUnreachable bool
	GivenAgain        []string
	// SavedPlan is the file of the plan that is carried out.
	SavedPlan string
	// SavedDigest approves the saved plan if its file is unauthenticated; empty if it needs no
	// approval.
	SavedDigest string
	// secrets are redacted from everything that is printed about a failure.
	secrets *state.Redactor
	// Log is what KUBEWRIGHT_LOG asks for, or nil; LogsToScreen reports whether it is
	// written to stderr.
	Log          *logged.Log
	LogsToScreen bool
}

// Finish prints what is left to print about the end of a command, and returns its exit code.
func (c *Console) Finish(ctx context.Context, err error) int {
	var code Exit
	var diags *FindingsError
	if errors.As(err, new(*outputError)) {
		c.Lines = nil // stderr may still be writable
	}
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		if c.terminal() && c.Lines == nil {
			fmt.Fprintln(c.Stdout) // after the ^C that the terminal shows
		}
		c.Print(diag.Diagnostics{diag.Errorf("Interrupted", "Nothing was changed on any host.")})
		return ExitInterrupted
	case err == nil:
		return ExitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &diags):
		c.Print(diags.List)
		if errors.Is(err, ErrRefused) && c.Lines == nil {
			fmt.Fprintln(c.Stderr, "Nothing was changed on any host.")
		}
	default:
		c.Print(diag.Diagnostics{Finding(err)})
	}
	if c.Finer {
		return finerCode(err)
	}
	return ExitError
}

// FindingsError carries diagnostics up to Main.
type FindingsError struct{ List diag.Diagnostics }

// Failure returns an error that carries diagnostics.
func Failure(list diag.Diagnostics) error {
	list.Spell(commandline.Line)
	return &FindingsError{list}
}

func (e *FindingsError) Error() string { return "diagnostics" }

// ErrRefused is joined to the findings of a plan that is refused before its first step.
var ErrRefused = errors.New("the plan is refused")

// Report turns diagnostics with errors into an error; warnings are printed.
func (c *Console) Report(diags diag.Diagnostics) error {
	if diags.HasErrors() {
		return Failure(diags)
	}
	c.Print(diags)
	return nil
}

// Print shows findings.
func (c *Console) Print(diags diag.Diagnostics) {
	diags.Spell(commandline.Line)
	for _, d := range diags {
		d.Detail = state.WithoutPasswords(c.secrets.Text(d.Detail))
	}
	if len(diags) > 0 {
		c.logFindings(diags)
		c.Screen().Diagnostics(diags)
	}
}

// Printf prints text for people. Parts that come from outside, such as a lock, a state or the
// marker on a host, are made safe for a terminal.
func (c *Console) Printf(format string, args ...any) error {
	_, err := fmt.Fprint(c.Stdout, ui.CleanText(fmt.Sprintf(format, args...)))
	return err
}

// Redact redacts secrets in everything that is printed about a failure from here on.
func (c *Console) Redact(secrets *state.Redactor) {
	c.secrets = c.secrets.And(secrets)
	c.Log.Hide(c.secrets)
}

// Options returns the options for printing to stdout.
func (c *Console) Options() ui.Options {
	width, height := c.Size()
	return ui.Options{
		Width: width, Height: height, Size: c.Size, Color: c.color(c.NoColor, width > 0), Full: c.Full, CompactWarnings: c.CompactWarnings,
		AllowUnreachable: c.AllowsUnreachable, GivenAgain: c.GivenAgain, SavedPlan: c.SavedPlan, SavedDigest: c.SavedDigest,
	}
}

// ErrorOptions returns the options for printing to stderr, which may be another terminal than
// stdout, or a file.
func (c *Console) ErrorOptions() ui.Options {
	o := c.Options()
	o.Width, o.Height, o.Size = 0, 0, nil
	if c.ErrorWidth != nil {
		o.Width = c.ErrorWidth()
	}
	o.Color = c.color(c.NoColor, o.Width > 0)
	return o
}

// logFindings logs the findings that the user sees.
func (c *Console) logFindings(diags diag.Diagnostics) {
	for _, d := range diags {
		write := c.Log.Warn
		if d.Severity == diag.Error {
			write = c.Log.Error
		}
		write(d.Summary, "detail", d.Detail)
	}
}

// Redraws reports whether a part of the screen can be redrawn: stdout is a terminal that can
// move its cursor, and no log is written in between.
func (c *Console) Redraws() bool {
	return c.terminal() && c.Getenv("TERM") != "dumb" && !c.LogsToScreen
}
