package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/session"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/stateview"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/spf13/cobra"
)

func consoleCommand(a *workspace.Workspace) *cobra.Command {
	var o session.Options
	cmd := &cobra.Command{
		Use: "console", Short: "Try expressions with the values of the configuration", Args: takes(0, 0),
		Long: "console reads expressions, one per line, and prints their values: with the variables, locals, clusters\n" +
			"and nodes of the configuration, its functions and its files. A name that a node has from its host is\n" +
			"that of the state. type(VALUE) says what type a value has.\n\n" +
			"An expression continues on the next line while one of its brackets is open. On a terminal there is a\n" +
			"prompt, and exit or Ctrl-D ends it. From a pipe every line is answered, and the exit code is 1 when\n" +
			"one of them had an error. No host is contacted, nothing is written, and what is sensitive is not shown.",
		Example: "  kubewright console\n" +
			"  echo 'cidrsubnet(cluster.prod.network.pod_subnet, 8, 1)' | kubewright console\n" +
			"  echo '{ for k, n in node.worker : k => n.address }' | kubewright console -var-file=prod.kwvars",
		RunE: func(cmd *cobra.Command, _ []string) error { return evaluate(cmd.Context(), a, o) },
	}
	variableFlags(&o, cmd.Flags())
	return cmd
}

// evaluate answers expressions until stdin ends.
func evaluate(ctx context.Context, a *workspace.Workspace, o session.Options) error {
	a.QuietStdout = true
	a.Sources = a.SourceText
	recorded, err := known(ctx, a)
	if err != nil {
		return err
	}
	c, diags := hclconfig.NewConsole(hclconfig.Options{
		Dir: a.Folder(), Vars: session.Variables(a, o), Env: a.Environ, ToolVersion: console.Version, Ask: session.Asker(ctx, a, o), Decrypt: a.DecryptFile,
	}, recorded)
	if err := ctx.Err(); err != nil {
		return err // interrupted while asking for a variable
	}
	if err := a.Report(diags); err != nil {
		return err
	}
	defer c.Close()
	a.Sources = c.Source
	a.Redact(c.Secrets())
	wrong := false
	for {
		text, err := expression(ctx, a)
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
		a.Print(diags)
		if diags.HasErrors() {
			wrong = true
			continue
		}
		if err := stateview.Expression(a.Stdout, v, a.Options()); err != nil {
			return err
		}
	}
}

func endOfConsole(wrong bool) error {
	if wrong {
		return console.Exit(console.ExitError)
	}
	return nil
}

// expression reads lines until they form an expression. An incomplete one at the end of stdin
// is returned as is.
func expression(ctx context.Context, a *workspace.Workspace) (string, error) {
	text := ""
	for {
		if a.Interactive {
			fmt.Fprint(a.Stdout, map[bool]string{true: "> ", false: ": "}[text == ""])
		}
		line, err := a.ReadLine(ctx)
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

// known returns what applies have found out, from the state, if there is one.
func known(ctx context.Context, a *workspace.Workspace) (config.Known, error) {
	store, err := a.StoreAlone()
	if err != nil {
		return config.Known{}, err
	}
	loaded, err := store.Load(ctx)
	if err != nil {
		return config.Known{}, err
	}
	return session.Known(loaded.State), nil
}
