package shell_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/local"
	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/state"
)

const sudoPassword = `pä$s \wörd 'x"`

// wire is this machine as a transport that records what is sent to it.
type wire struct {
	local.Machine
	mu   sync.Mutex
	sent []string
}

func (w *wire) Exec(ctx context.Context, command string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	var sent bytes.Buffer
	exit, err := w.Machine.Exec(ctx, command, io.TeeReader(stdin, &sent), stdout, stderr)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, sent.String())
	return exit, err
}

// passwords returns how often the password was sent in each command so far.
func (w *wire) passwords(password string) []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	var counts []int
	for _, sent := range w.sent {
		counts = append(counts, strings.Count(sent, password))
	}
	return counts
}

// Fake programs: sudo -n is silent, or prints the same as the real ones; with -S it keeps
// asking until the input ends, as sudo does, and counts in $LOG.
const (
	freeSudo = `while test "$1" != --; do shift; done; shift; exec "$@"`
	asksSudo = `case "$1" in -n) echo "$ASKS" >&2; exit 1;; esac
while test "$1" != --; do shift; done; shift
while :; do
IFS= read -r p || { echo 'sudo: no password was provided' >&2; exit 1; }
echo asked >>"$LOG"
if test "$p" = "$(cat "$LOG.right")"; then exec "$@"; fi
echo 'Sorry, try again.' >&2
done`
)

// login is a host with the user ID, the program as sudo, and the given POSIX shell as sh.
// The login shell is shellLine, which is run with the arguments -c COMMAND.
type login struct {
	uid, sudo, asks, sh, shellLine string
}

func (l login) host(t *testing.T, o shell.Options) (h *shell.Host, w *wire, log string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("the fake sudo programs do not make a user root")
	}
	dir, root := t.TempDir(), t.TempDir()
	log = dir + "/log"
	if err := errors.Join(os.Chmod(root, 0o755), os.Mkdir(root+"/etc", 0o755), os.WriteFile(log+".right", []byte(sudoPassword), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{l.sh, strings.Fields(l.shellLine)[0]} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	sh, err := exec.LookPath(l.sh)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sh, dir+"/sh"); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"id": "echo " + l.uid, "sudo": "LOG=" + log + " ASKS=" + shell.Quote(l.asks) + "\n" + l.sudo,
		"login": "PATH=" + dir + ":$PATH LC_ALL=de_DE.UTF-8\nexport PATH LC_ALL\necho Your password is required to expire >&2\nexec " + l.shellLine + ` "$@"`,
	} {
		hosttest.WriteProgram(t, dir+"/"+name, "#!/bin/sh\n"+body+"\n")
	}
	w = &wire{Machine: local.Machine{Shell: dir + "/login"}}
	o.Root = root
	return shell.New("w1", w, o), w, log
}

const (
	asksForPassword = "sudo: a password is required"
	asksInRust      = "sudo: interactive authentication is required"
	wantsTerminal   = "sudo: sorry, you must have a tty to run sudo"
	notAllowed      = "Sorry, user ann is not allowed to execute '/usr/bin/env -i' as root on w1."
)

// TestSudoPasswordIsSentOnlyOnRequest checks that a host whose sudo has not asked for the
// password, or whose login is root, does not get it, for observations and changes.
func TestSudoPasswordIsSentOnlyOnRequest(t *testing.T) {
	t.Parallel()
	asked := []int{0, 1, 1, 1} // the first command, its repetition, and later ones
	for name, test := range map[string]struct {
		login
		want  []int
		fails error
	}{
		"root":                         {login{"0", freeSudo, "", "dash", "sh"}, []int{0, 0, 0}, nil},
		"root, and a sudo that asks":   {login{"0", asksSudo, asksForPassword, "dash", "sh"}, []int{0, 0, 0}, nil},
		"sudo goes without":            {login{"1000", freeSudo, "", "dash", "sh"}, []int{0, 0, 0}, nil},
		"sudo asks":                    {login{"1000", asksSudo, asksForPassword, "dash", "sh"}, asked, nil},
		"sudo asks, sh is bash":        {login{"1000", asksSudo, asksForPassword, "bash", "sh"}, asked, nil},
		"sudo asks, login shell fish":  {login{"1000", asksSudo, asksForPassword, "dash", "fish"}, asked, nil},
		"sudo asks, login shell zsh":   {login{"1000", asksSudo, asksForPassword, "dash", "zsh -f"}, asked, nil},
		"sudo asks, login shell rbash": {login{"1000", asksSudo, asksForPassword, "bash", "bash -r"}, asked, nil},
		"sudo-rs asks":                 {login{"1000", asksSudo, asksInRust, "dash", "sh"}, asked, nil},
		"sudo wants a terminal":        {login{"1000", asksSudo, wantsTerminal, "dash", "sh"}, []int{0, 0, 0}, providers.ErrSudo},
		"sudo allows nothing":          {login{"1000", asksSudo, notAllowed, "dash", "sh"}, []int{0, 0, 0}, providers.ErrSudo},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, w, _ := test.host(t, shell.Options{Password: state.NewSecret([]byte(sudoPassword))})
			_, observed := h.Observe(t.Context(), state.Query{})
			_, performed := h.Perform(t.Context(), providers.Batch{Token: 1, Operations: []planner.Operation{
				planner.WriteFile{Path: "/etc/a", Mode: "0600", Content: planner.Content{Inline: strings.Repeat("x", 1<<20)}},
			}})
			_, read := h.ReadSecrets(t.Context(), []string{"/etc/a"})
			for _, err := range []error{observed, performed, read} {
				if !errors.Is(err, test.fails) {
					t.Errorf("got %v, want %v", err, test.fails)
				}
				if remedy := providers.RemedyOf(err); test.fails != nil && !strings.HasPrefix(remedy, "sudo_password was not sent") {
					t.Errorf("to do: %q", remedy)
				}
			}
			if got := w.passwords(sudoPassword); !slices.Equal(got, test.want) {
				t.Errorf("the password was sent %v times in the commands, want %v", got, test.want)
			}
		})
	}
}

// TestWrongSudoPasswordIsTriedOnce checks that input after a wrong password is not taken
// for another attempt, and that the password is not sent again.
func TestWrongSudoPasswordIsTriedOnce(t *testing.T) {
	t.Parallel()
	h, w, log := login{"1000", asksSudo, asksForPassword, "dash", "sh"}.host(t, shell.Options{Password: state.NewSecret([]byte("wrong"))})
	for range 2 {
		_, err := perform(t, h, write("/etc/a", "x"), write("/etc/b", "y"))
		if !errors.Is(err, providers.ErrSudo) {
			t.Errorf("got %v", err)
		}
	}
	attempts, _ := os.ReadFile(log)
	if n := strings.Count(string(attempts), "asked"); n != 1 {
		t.Errorf("sudo was given %d passwords", n)
	}
	if got, want := w.passwords("wrong"), []int{0, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("the password was sent %v times in the commands, want %v", got, want)
	}
}
