// Package cli is the command line: one file per command, flags into options, help and
// completion. A run is seven verbs in order, in apply.CarryOut: load, observe, plan, show,
// confirm, execute, record; they work on a session.Session. The packages below view print the
// user's output.
package cli

import (
	"cmp"
	"context"
	"os"
	"runtime"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Main runs the command and returns its exit code.
func Main(env *console.Env) int {
	console.SilenceClientGo()
	if env.Aborting != nil {
		go console.AbortAtSecond(env.Aborting, cmp.Or(env.AbortGrace, console.AbortGrace), env.Stderr, os.Exit)
	}
	stdout := &console.Output{Writer: env.Stdout}
	remembering := *env
	env, remembering.Stdout = &remembering, stdout
	a := &workspace.Workspace{Console: &console.Console{Env: env}}
	cmd := root(a)
	cmd.SetArgs(oneDash(env.Args))
	cmd.SetIn(env.Stdin)
	cmd.SetOut(console.QuietOutput{Output: stdout})
	cmd.SetErr(env.Stderr)
	if args, dashes, ok := completion(env.Args); ok {
		cmd.SetArgs(args)
		cmd.SetOut(completionWriter{stdout, dashes})
	} else { // a shell that asks for completions gets nothing else
		closing, err := a.OpenLog()
		if err != nil {
			return a.Finish(context.Background(), err)
		}
		defer closing()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if env.Secret != nil {
		a.Ask = func(prompt string) ([]byte, error) { return env.Secret(ctx, prompt) }
	}
	heeded := env.Heeded
	if heeded == nil {
		heeded = func() {}
	}
	a.Interrupts = console.Listen(env.Interrupts, func(os.Signal) {
		cancel()
		heeded()
	}, heeded)
	defer a.Interrupts.Close()
	defer a.CloseInto()
	began := env.Now()
	code := a.Finish(ctx, stdout.ErrorOr(cmd.ExecuteContext(ctx)))
	a.Log.Info("command ended", "exit_code", code, "duration", env.Now().Sub(began))
	return code
}

func root(a *workspace.Workspace) *cobra.Command {
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
		SilenceUsage: true, SilenceErrors: true, Args: cobra.ArbitraryArgs, Version: console.Version,
	})
	cmd.SetVersionTemplate(versionText())
	cmd.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		logBegin(a, cmd)
		if input, err := cmd.Flags().GetBool("input"); err == nil && !input {
			a.Ask = nil
		}
	}
	f := cmd.PersistentFlags()
	f.StringVar(&a.Chdir, "chdir", "", "work in this `folder` instead of the present one: relative names of files begin there")
	f.BoolVar(&a.NoColor, "no-color", false, "print without colour")
	f.StringVar(&a.StatePath, "state", "", "the state `file` (default kubewright.state.json in the configuration folder)")
	f.StringArrayVar(&a.Identities, "age-identity", nil, "decrypt the state with the private key in this `file`, of age or SSH (repeatable; or "+workspace.IdentityVariable+")")
	f.StringArrayVar(&a.BackendConfig, "backend-config", nil, "a setting of the backend that is not in the configuration: `NAME=VALUE`, or a file (repeatable)")
	cmd.SetFlagErrorFunc(badFlag(a.Args))
	oneDashHelp(cmd)
	addGroup(cmd, "Main commands:", validateCommand(a), planCommand(a), applyCommand(a), destroyCommand(a))
	addGroup(cmd, otherCommands, bundleCommand(a), certificatesCommand(a), completionCommand(a), consoleCommand(a), cordonCommand(a), doctorCommand(a),
		drainCommand(a),
		etcdCommand(a), fmtCommand(a), forceUnlockCommand(a), graphCommand(a), historyCommand(a), importCommand(a), initCommand(a),
		kubeconfigCommand(a), lockCommand(a), outputCommand(a), schemaCommand(a), showCommand(a), simCommand(a),
		stateCommand(a), statusCommand(a), testCommand(a), uncordonCommand(a), versionCommand(a))
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

// logBegin logs which command begins. Only the names of its flags are logged: a value may be a
// secret.
func logBegin(a *workspace.Workspace, cmd *cobra.Command) {
	if a.Log == nil {
		return
	}
	var flags []string
	cmd.Flags().Visit(func(f *pflag.Flag) { flags = append(flags, "-"+f.Name) })
	a.Log.Info("command begins", "command", cmd.CommandPath(), "flags", flags, "folder", a.Folder(),
		"version", console.Version, "platform", runtime.GOOS+"/"+runtime.GOARCH, "who", a.Who, "pid", os.Getpid())
}
