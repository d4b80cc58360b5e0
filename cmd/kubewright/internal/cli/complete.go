package cli

import (
	"context"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/commandline"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/state"
	"github.com/kubewright/kubewright/state/statefile"
	"github.com/spf13/cobra"
)

// completeParts completes the flags that restrict a plan, those of planFlags.
func completeParts(a *workspace.Workspace, cmd *cobra.Command) {
	fixed := func(words func() []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return words(), cobra.ShellCompDirectiveNoFileComp
		}
	}
	_ = cmd.RegisterFlagCompletionFunc("target", fixed(func() []string { return completions(a) }))
	for _, flag := range []string{"exclude", commandline.Replace, commandline.AcceptNewHost, commandline.ForgetUnreachable} {
		_ = cmd.RegisterFlagCompletionFunc(flag, fixed(func() []string { return completions(a) }))
	}
	_ = cmd.RegisterFlagCompletionFunc("skip-phase", fixed(func() []string { return append(pipeline.Names(), pipeline.KubeadmNames()...) }))
}

// completions returns the completions of -target, as far as configuration and the state in this
// folder can be read without a prompt.
func completions(a *workspace.Workspace) []string {
	a.Ask = nil // completion must not prompt
	cfg, _ := hclconfig.Load(hclconfig.Options{Dir: a.Folder(), Decrypt: a.DecryptFile, Env: a.Environ, ToolVersion: console.Version})
	if cfg == nil {
		cfg = &config.Config{}
	}
	recorded, err := completedState(a)
	if err != nil {
		recorded = nil
	}
	return session.Selectable(session.KnownTargets(cfg, recorded))
}

// completeNodes completes the address of a node.
func completeNodes(a *workspace.Workspace) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, text := range completions(a) {
			if t, err := state.ParseTarget(text); err == nil && t.Type == state.TypeNode {
				out = append(out, text)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// recordedTargets completes an address in the state.
func recordedTargets(a *workspace.Workspace) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		a.Ask = nil // completion must not prompt
		recorded, err := completedState(a)
		if err != nil || recorded == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []string
		for _, t := range session.KnownTargets(&config.Config{}, recorded) {
			out = append(out, t.String())
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// completedState returns the state for completions: the one in this folder. If a backend keeps
// the state, there is none: the Tab key opens no connection, and a configuration may come from
// an untrusted branch.
func completedState(a *workspace.Workspace) (*state.State, error) {
	settings := a.Settings()
	if a.StatePath == "" && (settings.Backend != nil || settings.Misplaced.HasErrors()) {
		return nil, nil
	}
	if !settings.Whole && a.StatePath == "" { // the configuration does not say
		last, err := a.LastPlace()
		if err != nil || last != nil && last.Type != workspace.LocalType {
			return nil, err
		}
	}
	loaded, err := statefile.NewStore(a.Paths(), nil).Load(context.Background())
	return loaded.State, err
}
