package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/export"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/rationale"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/stateview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/planner/planfile"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

func showCommand(a *workspace.Workspace) *cobra.Command {
	var asJSON bool
	var form planForm
	var why explanation
	cmd := &cobra.Command{
		Use: "show [PLAN]", Short: "Show the state, or a saved plan", Args: takes(0, 1),
		Long: "show prints the state, or a plan that plan -out has saved, for people or in a form for programs.\n" +
			"No host is contacted. A plan in a file is checked with the state's key, and a warning says where that is not\n" +
			"possible, or where the file is not as it was saved. The form markdown is for a pull request and html for a browser; junit\n" +
			"is for the test tab of CI, github for annotations of a workflow, and json for policies.",
		Example: "  kubewright show\n  kubewright show -json plan.kwplan\n  kubewright show -format=markdown plan.kwplan > comment.md\n" +
			"  kubewright show -format=html plan.kwplan > plan.html\n  kubewright show -full plan.kwplan",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := form.check(asJSON, a.Full, why); err != nil {
				return console.Misuse(cmd.CommandPath(), err)
			}
			if len(args) == 1 {
				if err := noAddress(a, args[0]); err != nil {
					return console.Misuse(cmd.CommandPath(), err)
				}
				if asJSON {
					form = "json"
				}
				return showPlan(cmd.Context(), a, args[0], form, why)
			}
			if why.given {
				return console.Misuse(cmd.CommandPath(), errors.New("-explain is of a plan, and none was named: kubewright show -explain=ADDRESS FILE"))
			}
			if a.Full {
				return console.Misuse(cmd.CommandPath(), errors.New("-full is of a plan, and none was named: kubewright show -full FILE"))
			}
			if form.programs() && form != "json" {
				return console.Misuse(cmd.CommandPath(), fmt.Errorf("-format=%s is a form of a plan, and none was named: kubewright show -format=%s FILE", form, form))
			}
			asJSON = asJSON || form == "json"
			st, err := a.ReadState(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return stateview.JSON(a.Stdout, st)
			}
			return stateview.Print(a.Stdout, st, a.Options())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	form.flag(cmd)
	why.flag(cmd)
	fullFlag(a, cmd)
	takesInput(cmd)
	return cmd
}

// noAddress refuses an address of something in the state where a plan file is expected.
func noAddress(a *workspace.Workspace, name string) error {
	_, err := state.ParseAddress(name)
	if _, missing := os.Stat(a.Named(name)); err != nil || !errors.Is(missing, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%q is an address and no file of a plan: what the state has of it is shown by kubewright state show %s", name, state.ShellWord(name))
}

// showPlan prints a saved plan, with a warning on stderr if the state's key does not
// authenticate it. It contacts no host.
func showPlan(ctx context.Context, a *workspace.Workspace, path string, form planForm, why explanation) error {
	f, err := a.ReadPlan(path)
	if err != nil {
		return err
	}
	a.QuietStdout = true
	verified(ctx, a, f)
	o := a.Options()
	o.AllowUnreachable, o.GivenAgain = f.AllowUnreachable, f.GivenAgain
	o.Recorded, o.Parallelism = ui.Recorded{Outputs: f.PriorOutputs, Durations: f.Durations}, f.Parallelism
	if why.given {
		return rationale.Explain(a.Stdout, f.Plan, why.at, o)
	}
	return export.PlanAs(a.Stdout, f.Plan, form.name(), o)
}

func outputCommand(a *workspace.Workspace) *cobra.Command {
	var asJSON, raw bool
	cmd := &cobra.Command{
		Use: "output [NAME]", Short: "Show outputs", Args: takes(0, 1),
		Long: "output prints what the output blocks of the configuration were after the last apply, all of them or\n" +
			"one. They are read from the state: no host is contacted. Of a sensitive output the\n" +
			"state keeps no value, so that none can be printed: to ask for it by name is an error.",
		Example: "  kubewright output\n  kubewright output endpoint\n  kubewright output -raw endpoint\n  kubewright output -json | jq .endpoint.value",
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := a.ReadState(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 0 {
				if asJSON {
					return stateview.OutputsJSON(a.Stdout, st.Outputs)
				}
				return stateview.OutputList(a.Stdout, st.Outputs, a.Options())
			}
			v, ok := st.Outputs[args[0]]
			if !ok {
				names := slices.Sorted(maps.Keys(st.Outputs))
				return console.Failure(diag.Diagnostics{diag.Errorf("Output not found", "The state has no output %q.%s "+
					"Outputs are recorded by apply; those that are there: %s.", args[0], console.DidYouMean("", args[0], names), console.ListOf(names))})
			}
			return stateview.Output(a.Stdout, v, raw, asJSON, a.Options())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&raw, "raw", false, "print the bare value of one output, for a script")
	takesInput(cmd)
	return cmd
}

func stateCommand(a *workspace.Workspace) *cobra.Command {
	cmd := group(&cobra.Command{
		Use: "state", Short: "Look into the state, change it, copy it, or recover it",
		Long: "The state is what kubewright remembers of clusters, hosts and everything that it has made there:\n" +
			"digests, attributes and names, and fingerprints of secrets. It is kubewright.state.json in the configuration folder, or\n" +
			"the file of -state. These commands read it, give what is in it other names, forget, copy and encrypt it; recover\n" +
			"rebuilds a lost one from the hosts. None of them changes anything on a host.",
		Example: "  kubewright state list\n  kubewright state show 'node.cp[\"cp1\"]'\n  kubewright state recover",
	})
	cmd.AddCommand(&cobra.Command{
		Use: "list [ADDRESS…]", Short: "List the clusters, nodes and addons in the state", Args: takes(0, -1),
		Long: "list prints the address of each cluster, addon and node that is recorded, one per line: what -target\n" +
			"and state show take. With addresses it prints those alone: a cluster with its nodes and addons, as state\n" +
			"rm forgets it, and of a block of nodes each of them. No host is contacted.",
		Example:           "  kubewright state list\n  kubewright state list node.worker\n  kubewright -state=/srv/prod.state.json state list",
		ValidArgsFunction: recordedTargets(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := a.ReadState(cmd.Context())
			if err != nil {
				return err
			}
			targets := stateview.Targets(st)
			if len(args) > 0 {
				wanted, err := addressed(st, args)
				if err != nil {
					return err
				}
				targets = slices.DeleteFunc(targets, func(t state.Target) bool { return !slices.Contains(wanted, t) })
			}
			return stateview.List(a.Stdout, targets)
		},
	}, &cobra.Command{
		Use: "show ADDRESS", Short: "Show what is recorded of one cluster, node, addon or item", Args: takes(1, 1),
		Long: "show prints what the state knows of an address: of a cluster, an addon or a node with the names of its\n" +
			"items, of a phase of one with all attributes, of one item, or of one field of it. No host is contacted.",
		Example: "  kubewright state show 'node.cp[\"cp1\"]'\n  kubewright state show 'node.cp[\"cp1\"]/certs'\n" +
			"  kubewright state show 'node.cp[\"cp1\"]/kubelet-start/file:/var/lib/kubelet/config.yaml'",
		ValidArgsFunction: recordedTargets(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			st, err := a.ReadState(cmd.Context())
			if err != nil {
				return err
			}
			address, err := state.ParseAddress(args[0])
			if err != nil {
				return err
			}
			shown, err := stateview.Show(a.Stdout, st, address, a.Options())
			if err == nil && !shown {
				return notRecorded(st, address)
			}
			return err
		},
	}, stateMoveCommand(a), stateRemoveCommand(a), statePullCommand(a), statePushCommand(a), stateRecoverCommand(a), stateEncryptCommand(a), stateDecryptCommand(a))
	for _, c := range cmd.Commands() {
		takesInput(c)
	}
	return cmd
}

// notRecorded refuses an address that the state does not have.
func notRecorded(st *state.State, a state.Address) error {
	if _, err := recordedTarget(st, a.Target.String()); err != nil {
		return err
	}
	return console.Failure(diag.Diagnostics{diag.Errorf("Not in the state", "The state has nothing at %s. kubewright state list prints what it has.", a)})
}

func graphCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	var format string
	var html bool
	cmd := &cobra.Command{
		Use: "graph", Short: "Print the plan's steps and their order as a graph", Args: takes(0, 0),
		Long: "graph plans, as plan does with the same flags, and prints the steps with what each waits for. An edge\n" +
			"is a need, or that two steps take turns: of etcd's members and of control planes one changes at a time.\n\n" +
			"The form dot is for Graphviz, mermaid for Markdown, json for programs, and html is a page that draws\n" +
			"it and needs nothing else.",
		Example: "  kubewright graph | dot -Tsvg > plan.svg\n  kubewright graph -html > graph.html\n" +
			"  kubewright graph -format=mermaid -target='node.cp[\"cp1\"]'\n" +
			"  kubewright graph -replace='node.worker[\"w1\"]' | dot -Tsvg > replaced.svg\n  kubewright graph -destroy -format=json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if html {
				if cmd.Flags().Changed("format") {
					return console.Misuse(cmd.CommandPath(), errors.New("-html and -format both say how to print: give one of them"))
				}
				format = "html"
			}
			if err := export.CheckGraphFormat(format); err != nil {
				return console.Misuse(cmd.CommandPath(), err)
			}
			a.QuietStdout = true
			s, err := planned(cmd.Context(), a, o)
			if err != nil {
				return err
			}
			defer s.Close()
			return export.Graph(a.Stdout, s.Result.Plan, format, s.PlanView())
		},
	}
	planFlags(a, &o, cmd)
	cmd.Flags().StringVar(&format, "format", "dot", "the `form`: dot, html, mermaid or json")
	cmd.Flags().BoolVar(&html, "html", false, "the same as -format=html")
	cmd.Flags().BoolVar(&o.Destroy, "destroy", false, "the graph of destroy")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(export.GraphFormats(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// reason returns an error as a clause.
func reason(err error) string {
	var diags *console.FindingsError
	if errors.As(err, &diags) && len(diags.List) > 0 {
		return diags.List[0].Summary
	}
	return strings.TrimSuffix(console.WithoutPath(err).Error(), ".")
}

// verifyTime limits how long showing a saved plan waits for the state.
const verifyTime = 10 * time.Second

// verified warns about a saved plan that the state's key does not authenticate. It contacts no
// host.
func verified(ctx context.Context, a *workspace.Workspace, f planfile.File) {
	warn := func(format string, args ...any) {
		a.Print(diag.Diagnostics{diag.Warningf(session.NotVerified, format, args...)})
	}
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	var key state.Key
	store, err := a.StoreAlone()
	if err == nil {
		loaded, cannot := store.Load(ctx)
		if err = cannot; err == nil && loaded.State != nil {
			key = state.NewKey(loaded.State.FingerprintKey)
		}
	}
	switch cause := f.Authenticate(key); {
	case cause == nil:
	case errors.Is(cause, planfile.ErrEarlierFormat):
		warn("It was saved by an earlier version of kubewright, which did not authenticate plans: anyone who could write to the file could change it. Apply refuses it.")
	case err != nil:
		warn("The state, whose key authenticates it, could not be read: %v. Anyone who could write to the file could change it.", reason(err))
	case errors.Is(cause, planfile.ErrNoMAC) && key.IsZero():
		warn("It was saved before there was a state, whose key authenticates a saved plan. Apply carries it out only with -approve=DIGEST, or with a yes at the prompt.")
	case key.IsZero():
		warn("There is no state at %s, whose key would authenticate it. Anyone who could write to the file could change it.", store.Place())
	default:
		warn("It does not count as a plan of the state at %s: it was saved with the key of another state, or changed since it was saved. Apply refuses it.", store.Place())
	}
}
