package console

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"os/signal"
	"os/user"
	"syscall"
	"time"

	"github.com/kubewright/kubewright/cmd/kubewright/internal/coredump"
	"github.com/kubewright/kubewright/providers/sim"
	"github.com/kubewright/kubewright/state/statefile"
	"golang.org/x/term"
)

// Version is the tool's version; the linker sets it for a release.
var Version = "0.1.0-dev"

// Env is everything that the command takes from the machine it runs on. Tests make their own.
type Env struct {
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	// Environ is the whole environment, for KUBEWRIGHT_VAR_name.
	Environ []string
	Dir     string
	// Size is the terminal's size in columns and rows, 0 if stdout is no terminal.
	Size func() (width, height int)
	// ErrorWidth is the width of stderr in columns, 0 if it is no terminal; nil stands for 0.
	ErrorWidth func() int
	// Interactive reports whether questions can be asked on stdin and stdout.
	Interactive bool
	// Secret asks on the terminal without echo; nil without a terminal.
	Secret func(ctx context.Context, prompt string) ([]byte, error)
	Now    func() time.Time
	// NewID makes a random identifier.
	NewID func() string
	// Who is USER@HOST.
	Who string
	// Interrupts delivers interrupts.
	Interrupts <-chan os.Signal
	// Aborting delivers the same interrupts to AbortAtSecond, which ends the process AbortGrace
	// after the second one; 0 is AbortGrace. Without it no interrupt does.
	Aborting   <-chan os.Signal
	AbortGrace time.Duration
	// Heeded, if not nil, is called when an interrupt has taken effect, before anything is
	// printed about it.
	Heeded func()
	// TermGrace is how long running steps may continue after a SIGTERM; 0 is TermGrace.
	TermGrace time.Duration
	// Files is where state and journal are kept; nil stands for the local file system.
	Files statefile.FS
	// OpenWorld opens a simulated world that is kept at a path; nil stands for sim.Open.
	OpenWorld func(path string) (*sim.World, error)
}

// System returns the environment of a real process, which writes no core dump from here on
// unless GOTRACEBACK=crash asks for one.
func System(args []string) *Env {
	if !coredump.Wanted(os.Getenv) {
		coredump.Forbid()
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	interrupts, aborting := make(chan os.Signal, 2), make(chan os.Signal, 2)
	for _, c := range []chan os.Signal{interrupts, aborting} {
		signal.Notify(c, os.Interrupt, syscall.SIGTERM)
		if !signal.Ignored(syscall.SIGHUP) { // as under nohup
			signal.Notify(c, syscall.SIGHUP)
		}
	}
	return &Env{
		Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ(), Dir: dir,
		Size:        func() (int, int) { return terminalSize(os.Stdout) },
		ErrorWidth:  func() int { width, _ := terminalSize(os.Stderr); return width },
		Interactive: term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())),
		Secret:      terminalSecret(),
		Now:         time.Now, NewID: randomID, Who: who(), Interrupts: interrupts, Aborting: aborting,
	}
}

func terminalSize(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, height
}

// terminal reports whether stdout is a terminal.
func (e *Env) terminal() bool {
	width, _ := e.Size()
	return width > 0
}

func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	return hex.EncodeToString(b[:])
}

func who() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return name + "@" + host
}

// color reports whether a stream is coloured: as -no-color, NO_COLOR, CLICOLOR_FORCE and TERM
// say, and otherwise if it is a terminal.
func (e *Env) color(never, terminal bool) bool {
	switch {
	case never, e.Getenv("NO_COLOR") != "":
		return false
	case e.Getenv("CLICOLOR_FORCE") != "" && e.Getenv("CLICOLOR_FORCE") != "0":
		return true
	case e.Getenv("TERM") == "dumb":
		return false
	}
	return terminal
}
