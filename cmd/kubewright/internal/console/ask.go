package console

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kubewright/kubewright/state/backend"
	"golang.org/x/term"
)

// ErrNoTerminal is why a question was not answered.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// ReadLine reads one line from stdin; it returns early if ctx is cancelled.
func (c *Console) ReadLine(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if c.stdin == nil {
		c.stdin = bufio.NewReader(c.Stdin)
	}
	type answer struct {
		text string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		text, err := c.stdin.ReadString('\n')
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

// ReadAll reads all of stdin; it returns early if ctx is cancelled, even if stdin is never
// closed.
func (c *Console) ReadAll(ctx context.Context) ([]byte, error) {
	type answer struct {
		text []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		text, err := bounded(c.Stdin)
		read <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-read:
		return got.text, got.err
	}
}

// bounded reads at most the size limit of a state, and fails for more.
func bounded(r io.Reader) ([]byte, error) {
	b, err := backend.ReadAll(r, -1)
	if backend.IsLarge(err) {
		err = fmt.Errorf("it has more than %d MiB, the most that is read of a file: see whether it is the right one", backend.MaxState>>20)
	}
	return b, err
}

// NoAnswer returns why a question was not answered.
func NoAnswer(err error) error {
	if errors.Is(err, context.Canceled) {
		return errors.New("the question was interrupted")
	}
	return errors.New("the question was not answered")
}

// terminalSecret reads a line from the terminal without echo. It is nil if the process has no
// terminal.
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
	case <-ctx.Done(): // the reader is abandoned, and echo is on again
		_ = term.Restore(int(tty.Fd()), before)
		_, _ = tty.WriteString("\n")
		return nil, ctx.Err()
	case got := <-read:
		_, _ = tty.WriteString("\n")
		return got.secret, got.err
	}
}
