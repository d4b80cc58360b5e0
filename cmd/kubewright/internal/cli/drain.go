package cli

import (
	"errors"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/apply"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/planner/maintenance"
	"github.com/kubewright/kubewright/planner/topology"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

func cordonCommand(a *workspace.Workspace) *cobra.Command {
	return schedulingCommand(a, &cobra.Command{
		Use: "cordon NODE…", Short: "Keep new pods off nodes",
		Long: "cordon shows a plan, asks, and makes nodes unschedulable, as kubectl cordon does, under the state's lock\n" +
			"and the cluster's lease. Pods that are there stay. NODE is an address or the name of a node. No apply\n" +
			"uncordons the nodes, unless their blocks say schedulable = true: kubewright uncordon does.",
		Example: "  kubewright cordon w1\n  kubewright cordon -auto-approve 'node.worker[\"w1\"]' 'node.worker[\"w2\"]'",
	}, topology.CordonPhase)
}

func uncordonCommand(a *workspace.Workspace) *cobra.Command {
	return schedulingCommand(a, &cobra.Command{
		Use: "uncordon NODE…", Short: "Let pods in to nodes again",
		Long: "uncordon shows a plan, asks, and makes nodes schedulable again, as kubectl uncordon does, also\n" +
			"those that were cordoned outside of kubewright. NODE is an address or the name of a node.",
		Example: "  kubewright uncordon w1\n  kubewright uncordon -json -auto-approve 'node.worker[\"w1\"]'",
	}, topology.UncordonPhase)
}

func drainCommand(a *workspace.Workspace) *cobra.Command {
	var want config.DrainOptions
	ignoreDaemonSets := true
	cmd := &cobra.Command{
		Use: "drain NODE…", Short: "Evict the pods of nodes, and keep new ones off",
		Long: "drain shows a plan, asks, cordons the nodes, and evicts their pods as kubectl drain does, one node after the\n" +
			"other, under the state's lock and the cluster's lease. The plan names the pods, where they can go, the\n" +
			"PodDisruptionBudgets that block them, and what is lost; what could not be completed is refused. NODE is\n" +
			"an address or the name of a node. The nodes stay cordoned, also when a drain fails: kubewright uncordon\n" +
			"lets pods in again. What no flag says is as in upgrade { drain } of the cluster.",
		Example: "  kubewright drain w1\n  kubewright drain -delete-emptydir-data -timeout=10m w1 w2\n  kubewright drain -pod-selector='app=web' -auto-approve 'node.worker[\"w1\"]'",
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			err := maintenance.CheckPodSelector(want.PodSelector)
			switch {
			case !ignoreDaemonSets:
				err = errors.New("-ignore-daemonsets=false: a pod of a DaemonSet is created again on the same node, so that no drain evicts it: leave the flag out")
			case want.GracePeriod < -1:
				err = errors.New("-grace-period is a number of seconds, or -1 for each pod's own")
			case want.Timeout < 0:
				err = errors.New("-timeout is a duration, as in 10m, or 0 to wait for ever")
			}
			if err != nil {
				return console.Misuse(cmd.CommandPath(), err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&ignoreDaemonSets, "ignore-daemonsets", true, "leave pods of DaemonSets where they are; nothing else is possible")
	f.Lookup("ignore-daemonsets").DefValue = "" // the default would be shown as a flag to turn off
	f.BoolVar(&want.DeleteEmptyDirData, "delete-emptydir-data", false, "evict also pods with emptyDir volumes, whose data is lost")
	f.BoolVar(&want.Force, "force", false, "delete also pods that no controller creates again")
	f.BoolVar(&want.DisableEviction, "disable-eviction", false, "delete pods instead of evicting them, regardless of PodDisruptionBudgets")
	f.IntVar(&want.GracePeriod, "grace-period", -1, "give each pod this `number` of seconds to end; -1 is its own")
	f.DurationVar(&want.Timeout, "timeout", 0, "give up after this `duration`, as in 10m; 0 waits for ever")
	f.StringVar(&want.PodSelector, "pod-selector", "", "evict only pods whose labels match this `selector`, as in app=web")
	return schedulingCommand(a, cmd, topology.DrainPhase, func(o *config.DrainOptions) {
		for name, set := range map[string]func(){
			"delete-emptydir-data": func() { o.DeleteEmptyDirData = want.DeleteEmptyDirData },
			"force":                func() { o.Force = want.Force },
			"disable-eviction":     func() { o.DisableEviction = want.DisableEviction },
			"grace-period":         func() { o.GracePeriod = want.GracePeriod },
			"timeout":              func() { o.Timeout = want.Timeout },
			"pod-selector":         func() { o.PodSelector = want.PodSelector },
		} {
			if f.Changed(name) {
				set()
			}
		}
	})
}

// schedulingCommand completes a command that makes nodes schedulable or not.
func schedulingCommand(a *workspace.Workspace, cmd *cobra.Command, phase string, options ...func(*config.DrainOptions)) *cobra.Command {
	var o session.Options
	var by apply.Approval
	cmd.Args, cmd.ValidArgsFunction = takes(1, -1), completeNodes(a)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		request := maintenance.Scheduling{Phase: phase}
		for _, change := range options {
			request.Options = change
		}
		return apply.CarryOut(cmd.Context(), a, o, by, phase, func(s *session.Session) {
			var unknown diag.Diagnostics
			request.Nodes, s.Hosts.PodsOn, unknown = s.NodesNamed(args)
			s.Command = strings.Join(append([]string{phase}, append(given(cmd), state.ShellWords(args...))...), " ")
			s.Planner = func(v *topology.Fleet, header planner.Plan, _ planner.Options) (topology.Result, diag.Diagnostics) {
				if unknown.HasErrors() {
					return topology.Result{}, unknown
				}
				return maintenance.Schedule(v, header, request)
			}
		})
	}
	careFlags(&o, cmd)
	lockFlag(&o, cmd.Flags())
	o.OverrideFlag(cmd.Flags())
	approvalFlags(&by, cmd)
	cmd.Flags().BoolVar(&a.Finer, "detailed-exitcode", false, "detailed exit codes: 4 = refused, 5 = locked, 6 = a host does not answer")
	return cmd
}

// given returns the flags of a drain as they were given, for the command that is repeated.
func given(cmd *cobra.Command) []string {
	var out []string
	for _, name := range []string{"delete-emptydir-data", "force", "disable-eviction", "grace-period", "timeout", "pod-selector"} {
		switch f := cmd.Flags().Lookup(name); {
		case f == nil || !f.Changed:
		case f.NoOptDefVal != "" && f.NoOptDefVal == f.Value.String():
			out = append(out, "-"+name)
		default:
			out = append(out, state.ShellWord("-"+name+"="+f.Value.String()))
		}
	}
	return out
}
