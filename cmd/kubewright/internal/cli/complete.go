package cli

import (
	"slices"

	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/planner/pipeline"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

// completeParts lets the shell complete what restricts a plan. The flags are
// those of planFlags.
func (a *workspace) completeParts(cmd *cobra.Command) {
	fixed := func(words func() []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return words(), cobra.ShellCompDirectiveNoFileComp
		}
	}
	_ = cmd.RegisterFlagCompletionFunc("target", fixed(a.completions))
	for _, flag := range []string{"exclude", topology.ReplaceFlag, topology.AcceptNewHostFlag, topology.ForgetUnreachableFlag} {
		_ = cmd.RegisterFlagCompletionFunc(flag, fixed(a.completions))
	}
	_ = cmd.RegisterFlagCompletionFunc("skip-phase", fixed(pipeline.Names))
}

// completions returns those of -target, as far as configuration and the state in this folder
// can be read without asking anybody.
func (a *workspace) completions() []string {
	a.ask = nil // nobody is asked while typing
	cfg, _ := hclconfig.Load(hclconfig.Options{Dir: a.folder(), Env: a.Environ, ToolVersion: Version})
	if cfg == nil {
		cfg = &config.Config{}
	}
	recorded, err := a.completedState()
	if err != nil {
		recorded = nil
	}
	return selectable(known(cfg, recorded))
}

// recordedTargets returns the completions of an address in the state.
func (a *workspace) recordedTargets(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	a.ask = nil // nobody is asked while typing
	recorded, err := a.completedState()
	if err != nil || recorded == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, t := range known(&config.Config{}, recorded) {
		out = append(out, t.String())
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// selectable returns all that -target takes alone: phases, clusters, addons, nodes,
// and blocks of nodes.
func selectable(targets []state.Target) []string {
	out := pipeline.Names()
	for _, t := range targets {
		out = append(out, t.String())
		if t.Type == state.TypeNode && t.Keyed {
			out = append(out, state.NodeTarget(t.Name).String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
