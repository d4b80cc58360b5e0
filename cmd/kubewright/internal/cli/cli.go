// Package cli is the command line: one file per command, flags into options,
// exit codes. It finds out once what the machine is like (Env) and wires the
// other packages together. A run is seven verbs in a row, in carryOut of apply.go:
// load, observe, plan, show, confirm, execute, record; what they work on is the
// session of session.go. What a user sees is printed by package view alone.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/logged"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/encryption"
	"github.com/kubewright/kubewright/state/safefile"
	"github.com/spf13/cobra"
)

// exit is an error that carries nothing but an exit code: all is said already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// app is one invocation.
type app struct {
	*Env
	// chdir, noColor and statePath are global options.
	chdir     string
	noColor   bool
	statePath string
	// backendConfig are the settings of the backend that are given with -backend-config.
	backendConfig []string
	// place is where the state is kept, once that was found out.
	place *used
	// sources reads files for excerpts in diagnostics.
	sources func(string) []byte
	// lines is where everything goes with -json; nil without it.
	lines *view.JSONLines
	// into is where the same lines go beside, with -json-into; nil without it.
	into *linesFile
	// finer tells errors apart by exit codes, with -detailed-exitcode.
	finer bool
	// full shows a plan with all that is otherwise left out or said once, with -full;
	// compactWarnings shows of warnings what they are called, with -compact-warnings.
	full, compactWarnings bool
	// quietStdout keeps stdout for a result that programs read: warnings go to stderr.
	quietStdout bool
	// stdin is Env.Stdin, once something was read from it.
	stdin      *bufio.Reader
	interrupts *interruptions
	// looking is shown while hosts are looked at; nil before.
	looking *view.Looking
	// identities are files with private keys, with -age-identity; sealer encrypts and
	// decrypts what is kept, once that was needed.
	identities []string
	sealer     *encryption.Codec
	// read is the kubewright block, once it was needed.
	read *hclconfig.Settings
	// ask is Env.Secret as long as the command runs; nil when nobody can be asked.
	ask func(prompt string) ([]byte, error)
	// allowsUnreachable and givenAgain are what the same command has to be given
	// again to plan the same.
	allowsUnreachable bool
	// savedPlan is the file of the plan that is carried out.
	savedPlan string
	// savedDigest approves the saved plan where nothing authenticates its file; empty where
	// it needs no approval.
	savedDigest string
	givenAgain  []string
	// secrets are taken out of everything that is said of a failure.
	secrets *state.Redactor
	// log is what KUBEWRIGHT_LOG asks for, or nil; logsToScreen reports whether it is
	// written to stderr.
	log          *logged.Log
	logsToScreen bool
}

// Main runs the command and returns its exit code.
func Main(env *Env) int {
	quiet()
	if env.Aborting != nil {
		go abortAtSecond(env.Aborting, cmp.Or(env.AbortGrace, AbortGrace), env.Stderr, os.Exit)
	}
	stdout := &output{Writer: env.Stdout}
	remembering := *env
	env, remembering.Stdout = &remembering, stdout
	a := &app{Env: env}
	cmd := a.root()
	cmd.SetArgs(oneDash(env.Args))
	cmd.SetIn(env.Stdin)
	cmd.SetOut(heedless{stdout})
	cmd.SetErr(env.Stderr)
	if args, dashes, ok := completion(env.Args); ok {
		cmd.SetArgs(args)
		cmd.SetOut(completionWriter{stdout, dashes})
	} else { // a shell that asks what could be typed gets nothing else
		closing, err := a.openLog()
		if err != nil {
			return a.ended(context.Background(), err)
		}
		defer closing()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if env.Secret != nil {
		a.ask = func(prompt string) ([]byte, error) { return env.Secret(ctx, prompt) }
	}
	heeded := env.Heeded
	if heeded == nil {
		heeded = func() {}
	}
	a.interrupts = listen(env.Interrupts, func(os.Signal) {
		cancel()
		heeded()
	}, heeded)
	defer a.interrupts.close()
	defer a.closeInto()
	began := env.Now()
	code := a.ended(ctx, stdout.orLost(cmd.ExecuteContext(ctx)))
	a.log.Info("command ended", "exit_code", code, "duration", env.Now().Sub(began))
	return code
}

// ended says what is left to be said of how a command has ended, and is its exit code.
func (a *app) ended(ctx context.Context, err error) int {
	var code exit
	var diags *diagError
	if errors.As(err, new(*outputError)) {
		a.lines = nil // stderr can be written, perhaps
	}
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		if a.terminal() && a.lines == nil {
			fmt.Fprintln(a.Stdout) // behind the ^C that the terminal shows
		}
		a.print(diag.Diagnostics{diag.Errorf("Interrupted", "Nothing was changed on any host.")})
		return exitInterrupted
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &diags):
		a.print(diags.list)
		if errors.Is(err, errRefused) && a.lines == nil {
			fmt.Fprintln(a.Stderr, "Nothing was changed on any host.")
		}
	default:
		a.print(diag.Diagnostics{explain(err)})
	}
	if a.finer {
		return finerCode(err)
	}
	return exitError
}

// diagError carries diagnostics up to Main.
type diagError struct{ list diag.Diagnostics }

func (e *diagError) Error() string { return "diagnostics" }

// errRefused is joined to the findings of a plan that is refused before any step of it.
var errRefused = errors.New("the plan is refused")

// failed turns diagnostics with errors into an error; warnings are printed.
func (a *app) failed(diags diag.Diagnostics) error {
	if diags.HasErrors() {
		return &diagError{diags}
	}
	a.print(diags)
	return nil
}

// print shows findings.
func (a *app) print(diags diag.Diagnostics) {
	for _, d := range diags {
		d.Detail = state.WithoutPasswords(a.secrets.Text(d.Detail))
	}
	if len(diags) > 0 {
		a.logFindings(diags)
		a.screen().diagnostics(diags)
	}
}

// say prints text for people. What comes from elsewhere in it, out of a lock, a state
// or the marks on a host, is made fit for a terminal.
func (a *app) say(format string, args ...any) error {
	_, err := fmt.Fprint(a.Stdout, view.CleanText(fmt.Sprintf(format, args...)))
	return err
}

// hide has secrets taken out of everything that is said of a failure from here on.
func (a *app) hide(secrets *state.Redactor) {
	a.secrets = a.secrets.And(secrets)
	a.log.Hide(a.secrets)
}

// sourceText reads a file of the configuration, for excerpts, which do not show
// the secrets that are written there.
func (a *app) sourceText(name string) []byte {
	if !filepath.IsLocal(name) {
		return nil
	}
	b, err := safefile.ReadBelow(a.folder(), name, hclconfig.MaxFile)
	if err != nil {
		return nil
	}
	return hclconfig.Cover(hclconfig.Options{Dir: a.folder()}, name, b)
}

func (a *app) options() view.Options {
	width, height := a.Size()
	return view.Options{
		Width: width, Height: height, Size: a.Size, Color: a.color(a.noColor, width > 0), Full: a.full, CompactWarnings: a.compactWarnings,
		AllowUnreachable: a.allowsUnreachable, GivenAgain: a.givenAgain, SavedPlan: a.savedPlan, SavedDigest: a.savedDigest,
	}
}

// errorOptions are options for what goes to stderr, which may be another terminal
// than stdout, or a file.
func (a *app) errorOptions() view.Options {
	o := a.options()
	o.Width, o.Height, o.Size = 0, 0, nil
	if a.ErrorWidth != nil {
		o.Width = a.ErrorWidth()
	}
	o.Color = a.color(a.noColor, o.Width > 0)
	return o
}

// folder returns the configuration folder: the working folder, or -chdir.
func (a *app) folder() string {
	if a.chdir == "" {
		return a.Dir
	}
	if filepath.IsAbs(a.chdir) {
		return a.chdir
	}
	return filepath.Join(a.Dir, a.chdir)
}

func (a *app) root() *cobra.Command {
	cmd := group(&cobra.Command{
		Use:   "kubewright",
		Short: "Kubernetes clusters on your hosts: plan, apply, destroy",
		Long: "kubewright builds, changes and removes Kubernetes clusters on hosts you already have.\n" +
			"Describe clusters in *.hcl files; plan shows what would change on which host,\n" +
			"apply does exactly that over SSH, destroy gives clean hosts back.\n\n" +
			"Flags are written with one dash or two. Variables come from KUBEWRIGHT_VAR_NAME, from\n" +
			"kubewright.kwvars and *.auto.kwvars, from -var and -var-file; the last one holds. NO_COLOR and\n" +
			"CLICOLOR_FORCE turn colour off and on. KUBEWRIGHT_LOG writes a log, to stderr or into\n" +
			"KUBEWRIGHT_LOG_PATH: error, warn, info, debug or trace.",
		Example:      "  kubewright plan\n  kubewright apply\n  kubewright -chdir=clusters/prod plan -var-file=prod.kwvars",
		SilenceUsage: true, SilenceErrors: true, Args: cobra.ArbitraryArgs, Version: Version,
	})
	cmd.SetVersionTemplate(versionText())
	cmd.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		a.logBegin(cmd)
		if input, err := cmd.Flags().GetBool("input"); err == nil && !input {
			a.ask = nil
		}
	}
	f := cmd.PersistentFlags()
	f.StringVar(&a.chdir, "chdir", "", "work in this `folder` instead of the present one: relative names of files begin there")
	f.BoolVar(&a.noColor, "no-color", false, "print without colour")
	f.StringVar(&a.statePath, "state", "", "the state `file` (default kubewright.state.json in the configuration folder)")
	f.StringArrayVar(&a.identities, "age-identity", nil, "decrypt the state with the private key in this `file`, of age or SSH (repeatable; or "+identityVariable+")")
	f.StringArrayVar(&a.backendConfig, "backend-config", nil, "a setting of the backend that is not in the configuration: `NAME=VALUE`, or a file (repeatable)")
	cmd.SetFlagErrorFunc(badFlag)
	oneDashHelp(cmd)
	addGroup(cmd, "Main commands:", a.validateCommand(), a.planCommand(), a.applyCommand(), a.destroyCommand())
	addGroup(cmd, otherCommands, a.bundleCommand(), a.certificatesCommand(), a.completionCommand(), a.consoleCommand(),
		a.etcdCommand(), a.fmtCommand(), a.forceUnlockCommand(), a.graphCommand(), a.importCommand(), a.initCommand(),
		a.kubeconfigCommand(), a.lockCommand(), a.outputCommand(), a.schemaCommand(), a.showCommand(), a.simCommand(),
		a.stateCommand(), a.versionCommand())
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetHelpCommand(helpCommand())
	cmd.SetHelpCommandGroupID(otherCommands)
	return cmd
}

const otherCommands = "All other commands:"

// addGroup adds commands that help lists under a title.
func addGroup(cmd *cobra.Command, title string, commands ...*cobra.Command) {
	cmd.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
		cmd.AddCommand(c)
	}
}
