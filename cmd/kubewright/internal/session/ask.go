package session

import (
	"context"
	"errors"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/console"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/cmd/kubewright/internal/workspace"
	"github.com/kubewright/kubewright/config/hclconfig"
)

// CanAsk reports whether the user can answer questions: on a terminal, without -input=false and
// -json.
func CanAsk(a *workspace.Workspace, o Options) bool { return o.Input && !o.JSON && a.Interactive }

// Asker asks for variables without a value; nil if there is no terminal.
func Asker(ctx context.Context, a *workspace.Workspace, o Options) func(hclconfig.Missing) (string, error) {
	if !CanAsk(a, o) {
		return nil
	}
	return func(m hclconfig.Missing) (string, error) {
		if err := ui.AskVariable(a.Stdout, m.Name, m.Description, a.Options()); err != nil {
			return "", err
		}
		if !m.Sensitive {
			text, err := a.ReadLine(ctx)
			if errors.Is(err, context.Canceled) {
				return "", console.NoAnswer(err)
			}
			if _, ended := a.Stdout.Write([]byte("\n")); ended != nil {
				return "", ended
			}
			if err != nil {
				return "", console.NoAnswer(err)
			}
			return text, nil
		}
		if a.Secret == nil {
			return "", console.ErrNoTerminal
		}
		secret, err := a.Secret(ctx, "")
		if err != nil {
			return "", console.NoAnswer(err)
		}
		return string(secret), nil
	}
}

// Passphrase asks for the passphrase of a private key; nil if there is no terminal. It uses the
// terminal itself, so that it also works if stdout is a pipe.
func Passphrase(ctx context.Context, a *workspace.Workspace, o Options) func(keyFile string) ([]byte, error) {
	if !o.Input || a.Secret == nil {
		return nil
	}
	return func(keyFile string) (secret []byte, err error) {
		ask := func() { secret, err = a.Secret(ctx, "Passphrase of "+ui.Clean(keyFile)+": ") }
		if a.Looking != nil {
			a.Looking.Aside(ask)
		} else {
			ask()
		}
		if err != nil {
			return nil, console.NoAnswer(err)
		}
		return secret, nil
	}
}
