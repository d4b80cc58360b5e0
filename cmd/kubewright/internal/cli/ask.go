package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/view/ui"
	"github.com/kubewright/kubewright/config/hclconfig"
	"github.com/kubewright/kubewright/state/backend"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// errNobody is why a question was not answered.
var errNobody = errors.New("nobody can be asked here")

// line reads one line from stdin, or ends with the command.
func (a *app) line(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if a.stdin == nil {
		a.stdin = bufio.NewReader(a.Stdin)
	}
	type answer struct {
		text string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		text, err := a.stdin.ReadString('\n')
		read <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-read:
		if got.text == "" && got.err != nil {
			return "", got.err
		}
		return strings.TrimRight(got.text, "\r\n"), nil
	}
}

// everything reads all of stdin, or ends with the command: an interrupt is heeded also
// where nobody closes it.
func (a *app) everything(ctx context.Context) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		text, err := bounded(a.Stdin)
		read <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-read:
		return got.text, got.err
	}
}

// bounded reads what is not larger than a state may be.
func bounded(r io.Reader) ([]byte, error) {
	b, err := backend.ReadAll(r, -1)
	if backend.IsLarge(err) {
		err = fmt.Errorf("it has more than %d MiB, the most that is read of a file: see whether it is the right one", backend.MaxState>>20)
	}
	return b, err
}

// canAsk reports whether questions are answered: on a terminal, without -input=false
// and -json.
func (a *app) canAsk(o planOptions) bool { return o.input && !o.json && a.Interactive }

// takesInput gives -input to a command that asks for nothing but the passphrase of
// a key which decrypts the state.
func takesInput(cmd *cobra.Command) {
	if cmd.Flags().Lookup("input") == nil {
		cmd.Flags().Bool("input", true, "ask for passphrases on a terminal")
	}
}

// asker asks for variables without a value; nil when nobody can be asked.
func (a *app) asker(ctx context.Context, o planOptions) func(hclconfig.Missing) (string, error) {
	if !a.canAsk(o) {
		return nil
	}
	return func(m hclconfig.Missing) (string, error) {
		if err := ui.AskVariable(a.Stdout, m.Name, m.Description, a.options()); err != nil {
			return "", err
		}
		if !m.Sensitive {
			text, err := a.line(ctx)
			if errors.Is(err, context.Canceled) {
				return "", noAnswer(err)
			}
			if _, ended := a.Stdout.Write([]byte("\n")); ended != nil {
				return "", ended
			}
			if err != nil {
				return "", noAnswer(err)
			}
			return text, nil
		}
		if a.Secret == nil {
			return "", errNobody
		}
		secret, err := a.Secret(ctx, "")
		if err != nil {
			return "", noAnswer(err)
		}
		return string(secret), nil
	}
}

// noAnswer says why there is none in the words of somebody who types.
func noAnswer(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("the question was interrupted")
	}
	return errors.New("the question was not answered")
}

// passphrase asks for that of a private key; nil when nobody can be asked. It
// goes to the terminal itself, so that it also works when stdout is a pipe.
func (a *app) passphrase(ctx context.Context, o planOptions) func(keyFile string) ([]byte, error) {
	if !o.input || a.Secret == nil {
		return nil
	}
	return func(keyFile string) (secret []byte, err error) {
		ask := func() { secret, err = a.Secret(ctx, "Passphrase of "+ui.Clean(keyFile)+": ") }
		if a.looking != nil {
			a.looking.Aside(ask)
		} else {
			ask()
		}
		if err != nil {
			return nil, noAnswer(err)
		}
		return secret, nil
	}
}

// terminalSecret reads a line from the terminal without showing it. It is nil
// when the process has no terminal.
func terminalSecret() func(ctx context.Context, prompt string) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	_ = tty.Close()
	return readSecret
}

func readSecret(ctx context.Context, prompt string) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tty.Close() }()
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return nil, err
	}
	if _, err := tty.WriteString(prompt); err != nil {
		return nil, err
	}
	type answer struct {
		secret []byte
		err    error
	}
	read := make(chan answer, 1)
	go func() {
		secret, err := term.ReadPassword(int(tty.Fd()))
		read <- answer{secret, err}
	}()
	select {
	case <-ctx.Done(): // the reader is left behind, and what is typed is shown again
		_ = term.Restore(int(tty.Fd()), before)
		_, _ = tty.WriteString("\n")
		return nil, ctx.Err()
	case got := <-read:
		_, _ = tty.WriteString("\n")
		return got.secret, got.err
	}
}
