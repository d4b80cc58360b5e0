package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/stateview"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state"
	"github.com/spf13/cobra"
)

func (a *app) consoleCommand() *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use: "console", Short: "Try expressions with the values of the configuration", Args: takes(0, 0),
		Long: "console reads expressions, one per line, and prints their values: with the variables, locals, clusters\n" +
			"and nodes of the configuration, its functions and its files. A name that a node has from its host is\n" +
			"that of the state. type(VALUE) says what type a value has.\n\n" +
			"An expression goes on in the next line while one of its brackets is open. On a terminal there is a\n" +
			"prompt, and exit or Ctrl-D ends it. From a pipe every line is answered, and the exit code is 1 when\n" +
			"one of them had an error. No host is contacted, nothing is written, and what is sensitive is not shown.",
		Example: "  kubewright console\n" +
			"  echo 'cidrsubnet(cluster.prod.network.pod_subnet, 8, 1)' | kubewright console\n" +
			"  echo '{ for k, n in node.worker : k => n.address }' | kubewright console -var-file=prod.kwvars",
		RunE: func(cmd *cobra.Command, _ []string) error { return a.console(cmd.Context(), o) },
	}
	o.variableFlags(cmd.Flags())
	return cmd
}

// console answers expressions until stdin ends.
func (a *app) console(ctx context.Context, o planOptions) error {
	a.quietStdout = true
	a.sources = a.sourceText
	recorded, err := a.recordedNames(ctx)
	if err != nil {
		return err
	}
	c, diags := hclconfig.NewConsole(hclconfig.Options{
		Dir: a.folder(), Vars: a.vars(o), Env: a.Environ, ToolVersion: Version, Ask: a.asker(ctx, o),
	}, recorded)
	if err := ctx.Err(); err != nil {
		return err // asked for a variable, and interrupted
	}
	if err := a.failed(diags); err != nil {
		return err
	}
	defer c.Close()
	a.sources = c.Source
	a.hide(c.Secrets())
	wrong := false
	for {
		text, err := a.expression(ctx)
		switch {
		case errors.Is(err, io.EOF):
			if a.Interactive {
				fmt.Fprintln(a.Stdout)
			}
			return endOfConsole(wrong && !a.Interactive)
		case err != nil:
			return err
		case text == "":
			continue
		case text == "exit" || text == "quit":
			return endOfConsole(wrong && !a.Interactive)
		}
		v, diags := c.Eval(text)
		a.print(diags)
		if diags.HasErrors() {
			wrong = true
			continue
		}
		if err := stateview.Expression(a.Stdout, v, a.options()); err != nil {
			return err
		}
	}
}

func endOfConsole(wrong bool) error {
	if wrong {
		return exit(exitError)
	}
	return nil
}

// expression reads lines until they are one. What is not complete at the end of
// stdin is returned as it is.
func (a *app) expression(ctx context.Context) (string, error) {
	text := ""
	for {
		if a.Interactive {
			fmt.Fprint(a.Stdout, map[bool]string{true: "> ", false: ": "}[text == ""])
		}
		line, err := a.line(ctx)
		if err != nil {
			if text != "" && errors.Is(err, io.EOF) {
				return text, nil
			}
			return "", err
		}
		text += line
		if !hclconfig.Incomplete(text) {
			return strings.TrimSpace(text), nil
		}
		text += "\n"
	}
}

// recordedNames returns the names of nodes in the state, if there is one.
func (a *app) recordedNames(ctx context.Context) (map[state.Target]string, error) {
	store, err := a.storeAlone()
	if err != nil {
		return nil, err
	}
	loaded, err := store.Load(ctx)
	if err != nil {
		return nil, err
	}
	return nodeNames(loaded.State), nil
}

// nodeNames returns the names of the nodes of a state; there may be none.
func nodeNames(recorded *state.State) map[state.Target]string {
	if recorded == nil {
		return nil
	}
	out := map[state.Target]string{}
	for t, n := range recorded.Nodes {
		out[t] = n.Name
	}
	return out
}
