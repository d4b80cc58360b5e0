package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"testing"

	xssh "golang.org/x/crypto/ssh"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/hosttest"
	"github.com/kubewright/kubewright/providers/shell"
	"github.com/kubewright/kubewright/providers/ssh"
	"github.com/kubewright/kubewright/state"
)

// ownRoot returns options for a host whose files are in a folder of the test.
func ownRoot(t testing.TB) shell.Options {
	t.Helper()
	root := t.TempDir()
	if err := errors.Join(os.Chmod(root, 0o755), os.Mkdir(root+"/etc", 0o755)); err != nil {
		t.Fatal(err)
	}
	return shell.Options{Root: root, Unprivileged: true}
}

func currentUser(t testing.TB) (name, owner string) {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	g, err := user.LookupGroupId(u.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return u.Username, u.Username + ":" + g.Name
}

// subjects makes hosts over connections to one server.
func subjects(target ssh.Target) func(t *testing.T) hosttest.Subject {
	return func(t *testing.T) hosttest.Subject {
		o := ownRoot(t)
		_, owner := currentUser(t)
		open := func(t *testing.T) providers.Host {
			c, err := ssh.Dial(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			return ssh.NewHost(c, o)
		}
		return hosttest.Subject{Host: open(t), Owner: owner, Root: o.Root, Again: open}
	}
}

func TestHostOverGoServerConformance(t *testing.T) {
	t.Parallel()
	_, target := newServer(t)
	hosttest.Run(t, subjects(target))
}

func TestHostThroughBastion(t *testing.T) {
	t.Parallel()
	_, bastion := newServer(t)
	_, target := newServer(t, func(s *server) { s.MaxSessions = 1 })
	target.Bastions = []ssh.Target{bastion}
	hosttest.Run(t, subjects(target))
}

// openSSH starts OpenSSH's server and returns how to reach it.
func openSSH(t testing.TB, lines ...string) ssh.Target {
	t.Helper()
	key, public := newKeyFile(t)
	s := startSSHD(t, public, lines...)
	name, _ := currentUser(t)
	target := ssh.Target{Address: "127.0.0.1", Port: s.Port(), User: name, Keys: []string{key}, HostKeys: []string{s.Pin}}
	c, err := ssh.Dial(t.Context(), target)
	if err != nil && strings.Contains(s.Log(), "not allowed because account is locked") {
		t.Skipf("sshd does not let %s log in", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	return target
}

func TestHostOverOpenSSHConformance(t *testing.T) {
	t.Parallel()
	target := openSSH(t)
	hosttest.Run(t, subjects(target))
}

func TestOpenSSHLimits(t *testing.T) {
	t.Parallel()
	target := openSSH(t, "MaxSessions 1", "AllowTcpForwarding no")
	c := dial(t, target)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			var out bytes.Buffer
			if exit, err := c.Exec(t.Context(), "echo ok; exit 4", nil, &out, nil); err != nil || exit != 4 || out.String() != "ok\n" {
				t.Errorf("exit %d, %v, %q", exit, err, out.String())
			}
		})
	}
	wg.Wait()
	_, err := c.DialContext(t.Context(), "tcp", "127.0.0.1:1")
	wantKind(t, err, providers.ErrNoForwarding)
	_, err = ssh.NewHost(c, shell.Options{}).DialContext(t.Context(), "tcp", "localhost:1")
	wantKind(t, err, providers.ErrNoForwarding)
}

func TestOpenSSHForwarding(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	defer web.Close()
	h := ssh.NewHost(dial(t, openSSH(t)), ownRoot(t))
	status, err := h.HTTPStatus(t.Context(), web.URL, "")
	if err != nil || status != http.StatusTeapot {
		t.Errorf("got %d, %v", status, err)
	}
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	_ = l.Close()
	_, err = h.HTTPStatus(t.Context(), "http://"+l.Addr().String(), "")
	wantKind(t, err, providers.ErrUnreachable)
	wantKind(t, err, providers.ErrRefused)
}

func TestOpenSSHRefusesKey(t *testing.T) {
	t.Parallel()
	target := openSSH(t)
	target.Keys[0], _ = newKeyFile(t)
	_, err := ssh.Dial(t.Context(), target)
	wantKind(t, err, providers.ErrAuth)
}

// TestAnyLoginShellWorks checks that hosts work with any login shell, whatever it prints first.
func TestAnyLoginShellWorks(t *testing.T) {
	t.Parallel()
	noisy := writeFile(t, "noisy", "#!/bin/sh\necho 'Welcome to kubewright begin'\nprintf '\\033]0;evil\\007no line end'\necho oops >&2\nexec /bin/sh \"$@\"\n")
	silent := writeFile(t, "nologin", "#!/bin/sh\necho 'This account is not available.'\nexit 1\n")
	for _, f := range []string{noisy, silent} {
		if err := os.Chmod(f, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, sh := range []string{"sh", "dash", "bash", "rbash", "zsh", "fish", "ksh", "mksh", "tcsh", "busybox sh", noisy} {
		words := strings.Fields(sh)
		program, err := exec.LookPath(words[0])
		if err != nil {
			continue
		}
		words[0] = program
		t.Run(sh, func(t *testing.T) {
			t.Parallel()
			s, target := newServer(t, func(s *server) { s.Shell = words })
			h := ssh.NewHost(dial(t, target), ownRoot(t))
			roundTrip(t, h)
			for _, c := range s.Commands() {
				if c != shell.CommandLine {
					t.Errorf("command line %q", c)
				}
			}
		})
	}
	_, target := newServer(t, func(s *server) { s.Shell = []string{silent} })
	_, err := ssh.NewHost(dial(t, target), ownRoot(t)).Observe(t.Context(), state.Query{})
	wantKind(t, err, providers.ErrUnsupported)
	wantText(t, err, "the login shell runs no commands, exit code 1: This account is not available.")
	if got := providers.RemedyOf(err); got != "give the connection's user a shell that runs commands, as with: usermod -s /bin/sh USER" {
		t.Errorf("the remedy is %q", got)
	}
}

// roundTrip writes a file and reads it back.
func roundTrip(t *testing.T, h providers.Host) {
	t.Helper()
	const path, content = "/etc/kubernetes/file", "it's $HOME\n"
	b := providers.Batch{Operations: []planner.Operation{
		planner.WriteFile{Path: path, Mode: "0600", Content: planner.Content{Inline: content}},
	}}
	if _, err := h.Perform(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	r, err := h.Observe(t.Context(), state.Query{Files: []state.FileQuery{{Path: path, Read: state.ReadContent}}})
	if err != nil || string(r.Files[path].Content) != content {
		t.Fatalf("got %+v, %v", r, err)
	}
}

// TestInterruptedUploadKeepsOldFile cuts the connection after so many bytes of an upload, once at every 4
// KiB. The target file is the old or the new one, never a part.
func TestInterruptedUploadKeepsOldFile(t *testing.T) {
	t.Parallel()
	const path = "/etc/kubernetes/file"
	const size = 256 << 10
	server, target := newServer(t)
	old, fresh := strings.Repeat("old", 1000), strings.Repeat("new content\n", size/12)
	o := ownRoot(t)
	write := func(target ssh.Target, content string) error {
		c, err := ssh.Dial(t.Context(), target)
		if err != nil {
			return err
		}
		h := ssh.NewHost(c, o)
		defer func() { _ = h.Close() }()
		_, err = h.Perform(t.Context(), providers.Batch{Operations: []planner.Operation{
			planner.WriteFile{Path: path, Mode: "0600", Content: planner.Content{Inline: content}},
		}})
		return err
	}
	if err := write(target, old); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for limit := int64(16 << 10); limit < size+64<<10; limit += 4 << 10 {
		cutTarget := target
		cutTarget.Port = newProxy(t, server.Addr(), -1, limit, cut).Port()
		err := write(cutTarget, fresh)
		if err != nil {
			failed++
			wantKind(t, err, providers.ErrDisconnected)
		}
		got, readErr := os.ReadFile(o.Root + path)
		if readErr != nil || string(got) != old && string(got) != fresh {
			t.Fatalf("cut after %d bytes: %d bytes in the file, %v", limit, len(got), readErr)
		}
		if string(got) == fresh { // back to the start
			if err := write(target, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if failed < 50 {
		t.Errorf("only %d uploads were cut", failed)
	}
	if err := write(target, fresh); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(o.Root + "/etc/kubernetes")
	if err != nil || len(left) != 1 {
		t.Errorf("%v are left, %v", left, err)
	}
}

// TestEndlessOutputIsCutOff checks that a host that never stops sending is cut off.
func TestEndlessOutputIsCutOff(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]func(out, errOut io.Writer) io.Writer{
		"stdout": func(out, _ io.Writer) io.Writer { return out },
		"stderr": func(_, errOut io.Writer) io.Writer { return errOut },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, target := newServer(t, func(s *server) {
				s.Run = func(_ string, ch xssh.Channel) int {
					w := stream(ch, ch.Stderr())
					for {
						if _, err := w.Write(bytes.Repeat([]byte("\x1b[2J endless "), 1000)); err != nil {
							return 0
						}
					}
				}
			})
			_, err := ssh.NewHost(dial(t, target), shell.Options{}).Observe(t.Context(), state.Query{})
			wantKind(t, err, providers.ErrProtocol)
		})
	}
}

// sudoHost returns a host whose login user has the given program as sudo and, according to
// id, is not root. The program may keep a log at the path log.
func sudoHost(t *testing.T, sudo string, o shell.Options) (h *ssh.Host, s *server, log string) {
	t.Helper()
	dir := t.TempDir()
	log = dir + "/log"
	for name, body := range map[string]string{
		"sudo": "LOG=" + log + "\n" + sudo, "id": "echo 1000",
		"login": "PATH=" + dir + ":$PATH\nexport PATH\nexec /bin/sh \"$@\"",
	} {
		hosttest.WriteProgram(t, dir+"/"+name, "#!/bin/sh\n"+body+"\n")
	}
	s, target := newServer(t, func(s *server) { s.Shell = []string{dir + "/login"} })
	o.Root = ownRoot(t).Root
	return ssh.NewHost(dial(t, target), o), s, log
}

const sudoPassword = "p4ss word"

// Fake sudo programs. The asking one keeps asking until the input ends, as sudo does, and
// counts in its log.
const (
	freeSudo   = `while test "$1" != --; do shift; done; shift; exec "$@"`
	askingSudo = `case "$1" in -n) echo 'sudo: a password is required' >&2; exit 1;; esac
while test "$1" != --; do shift; done; shift
if test -e "$LOG.remember"; then exec "$@"; fi
while :; do
read -r p || { echo 'sudo: no password was provided' >&2; exit 1; }
echo asked >>"$LOG"
if test "$p" = '` + sudoPassword + `'; then exec "$@"; fi
echo 'Sorry, try again.' >&2
done`
	ttySudo = "echo 'sudo: sorry, you must have a tty to run sudo' >&2; exit 1"
)

// rememberingSudo asks only once.
var rememberingSudo = strings.Replace(askingSudo, "; then exec", `; then : >"$LOG.remember"; exec`, 2)

func TestSudoMethods(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, sudo, answer string
		known              bool // the answer is known beforehand
		kind               error
		asked              int // attempts counted by sudo, in two observations
		prompts            int
		more               int // commands in addition to one per observation
	}{
		{"no password needed", freeSudo, "", false, nil, 0, 0, 0},
		{"no password needed, but known", freeSudo, sudoPassword, true, nil, 0, 0, 0},
		{"password", askingSudo, sudoPassword, false, nil, 4, 1, 1},
		{"password, known", askingSudo, sudoPassword, true, nil, 4, 0, 1},
		{"password, remembered", rememberingSudo, sudoPassword, false, nil, 1, 1, 1},
		{"wrong password", askingSudo, "wrong", false, providers.ErrSudo, 1, 1, 1},
		{"wrong password, known", askingSudo, "wrong", true, providers.ErrSudo, 1, 0, 1},
		{"no operator to ask", askingSudo, "", false, providers.ErrSudo, 0, 0, 0},
		{"requiretty", ttySudo, "", false, providers.ErrSudo, 0, 0, 0},
		{"requiretty, password known", ttySudo, sudoPassword, true, providers.ErrSudo, 0, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var o shell.Options
			prompts := 0
			if test.known {
				o.Password = state.NewSecret([]byte(test.answer))
			} else if test.answer != "" {
				o.SudoPassword = func(context.Context) (state.Secret, error) {
					prompts++
					return state.NewSecret([]byte(test.answer)), nil
				}
			}
			h, s, log := sudoHost(t, test.sudo, o)
			for i := range 2 {
				_, err := h.Observe(t.Context(), state.Query{})
				wrong := test.kind != nil && test.more > 0 && i == 0 // a refused password is not sent again
				if said := strings.HasPrefix(providers.RemedyOf(err), "see that the password is right"); said != wrong {
					t.Errorf("%d: the remedy is %q", i, providers.RemedyOf(err))
				}
				if !errors.Is(err, test.kind) {
					t.Errorf("got %v, want %v", err, test.kind)
				}
				if test.kind != nil {
					wantText(t, err, "cannot observe 127.0.0.1: sudo did not let us through: sudo: ")
				}
			}
			attempts, _ := os.ReadFile(log)
			if n := strings.Count(string(attempts), "asked"); n != test.asked || prompts != test.prompts {
				t.Errorf("sudo asked %d times, want %d; the operator was asked %d times, want %d", n, test.asked, prompts, test.prompts)
			}
			if n := len(s.Commands()); n != 2+test.more {
				t.Errorf("%d commands for 2 observations, want %d", n, 2+test.more)
			}
			if test.answer != "" && strings.Contains(strings.Join(s.Commands(), "\n"), test.answer) {
				t.Error("the password is on a command line")
			}
		})
	}
}

// TestMissingSudoNamesRemedy checks that the error for a host without a way to become root has a remedy.
func TestMissingSudoNamesRemedy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hosttest.WriteProgram(t, dir+"/id", "#!/bin/sh\necho 1000\n")
	hosttest.WriteProgram(t, dir+"/login", "#!/bin/sh\nPATH="+dir+"\nexport PATH\nexec /bin/sh \"$@\"\n")
	for _, name := range []string{"sh", "dd"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	_, target := newServer(t, func(s *server) { s.Shell = []string{dir + "/login"} })
	_, err := ssh.NewHost(dial(t, target), shell.Options{Root: ownRoot(t).Root}).Observe(t.Context(), state.Query{})
	wantKind(t, err, providers.ErrSudo)
	wantText(t, err, "user id 1000 is not root, and there is no sudo")
	if got := providers.RemedyOf(err); got != "install sudo there, or connect as root" {
		t.Errorf("the remedy is %q", got)
	}
}

func TestErrorsNameTheHost(t *testing.T) {
	t.Parallel()
	_, target := newServer(t)
	h := ssh.NewHost(dial(t, target), ownRoot(t))
	_, err := h.Perform(t.Context(), providers.Batch{Operations: []planner.Operation{
		planner.Unit{Unit: "no-such-unit.service", Action: "start"},
	}})
	var command *providers.CommandError
	if !errors.As(err, &command) || command.Host != "127.0.0.1" || command.ExitCode == 0 || len(command.Stderr) == 0 {
		t.Errorf("got %#v", err)
	}
	if err != nil && !strings.HasPrefix(err.Error(), "cannot start no-such-unit.service: exit code "+strconv.Itoa(command.ExitCode)) {
		t.Errorf("got %v", err)
	}
}
