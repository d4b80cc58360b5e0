package shell

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/kubewright/kubewright/providers"
	"github.com/kubewright/kubewright/providers/budget"
	"github.com/kubewright/kubewright/state"
)

// Transport runs command lines on one host. ssh.Conn and local.Machine implement it.
type Transport interface {
	// Exec runs one command line in the login shell and returns its exit code. An error
	// means that the exit code is unknown; it wraps a kind of providers.
	Exec(ctx context.Context, command string, stdin io.Reader, stdout, stderr io.Writer) (int, error)
	// DialContext connects to an address as the host itself would.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
	Close() error
}

// reader reads blocks until one is a script, and evaluates that. It contains no single
// quote and no backslash, since shells treat these differently inside single quotes.
const reader = `while read -r k n; do if test "$k" = kubewright-script; then s=$(dd bs="$n" count=1 iflag=fullblock 2>/dev/null) && eval "$s"; exit; fi; done`

// CommandLine is the command line that runs on every host, whatever the task.
const CommandLine = "sh -c '" + reader + "'"

var (
	//go:embed scripts/prelude.sh
	preludeScript string
	//go:embed scripts/entry.sh
	entryScript string
)

// Limits for a host's output, in bytes. Exceeding one ends the conversation.
const (
	noiseCap  = 64 << 10 // before the answer begins
	stderrCap = 16 << 20 // on standard error in all, of which the end is kept
	stderrEnd = 32 << 10 // of standard error kept, for error messages
	toldCap   = 16 << 20 // of what commands print while they run
)

// script is a task for a host in one round trip.
type script struct {
	do     string  // in words, before the host's name: observe, change
	body   string  // shell text, made of fixed text and call
	frames []frame // its data, in the order in which it reads them
	limit  int64   // bytes of answer accepted
	// caps limits each section of the answer, in bytes; nil if limit alone applies.
	caps map[string]int64
	// hear gets the rest of each "heard" line as it arrives; nil if none may come.
	hear func(string)
	// pace is how fast the answer has to arrive.
	pace budget.Pace
	// limits are the time limits of its operations, in order; none for an observation.
	limits []time.Duration
	// doing names operation n, for errors.
	doing func(n int) string
}

// frame is a block of data on standard input.
type frame struct {
	size int64
	open func() (io.ReadCloser, error)
}

// bytesFrame returns a frame of data in memory.
func bytesFrame(data []byte) frame {
	return frame{int64(len(data)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

// section is a part of the answer.
type section struct {
	words []string // of the marker line, without the nonce
	body  []byte   // up to the next marker, exactly
}

// answer is the output of a host.
type answer struct {
	sections []section
	complete bool // the end marker was there
	began    time.Time
	stderr   []byte
	// room is the share of the sections in the budget; the parser of the answer releases
	// it.
	room *budget.Lease
}

// release returns the answer's share of the budget.
func (a answer) release() {
	if a.room != nil {
		a.room.Release()
	}
}

// speaker holds the conversations with one host.
type speaker struct {
	transport Transport
	name      string // the host's, for errors
	plain     bool   // stay the login user instead of becoming root
	sudo      *sudoPassword
	budget    *budget.Budget
}

// run runs the script and returns the answer. Together with an error the answer has
// whatever had arrived. run sends the sudo password only to a host whose sudo has refused
// to continue without one.
func (s *speaker) run(ctx context.Context, sc script) (answer, error) {
	for {
		password := s.sudo.wanted()
		a, err := s.attempt(ctx, sc, password)
		if !errors.Is(err, providers.ErrSudo) {
			return a, err
		}
		if !password.IsZero() {
			s.sudo.refused()
			return a, err
		}
		if !asksPassword(a) || !s.sudo.ask(ctx) {
			return a, err
		}
		a.release()
	}
}

func (s *speaker) attempt(ctx context.Context, sc script, password state.Secret) (answer, error) {
	nonce := rand.Text()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := s.timing(sc, cancel)
	defer t.watch.Stop()
	room := s.budget.Lease()
	out := &collector{mark: marker(nonce), limit: sc.limit, caps: sc.caps, former: map[string]int64{}, hear: sc.hear, op: t.op, stop: t.tooMuch, hold: func(n int) error { return t.hold(ctx, room, n) }}
	errOut := &tail{limit: stderrCap, stop: t.tooMuch}
	in := s.input(sc, nonce, password)
	exit, err := s.transport.Exec(ctx, CommandLine, watchedReader{in, t}, watchedWriter{out, t.watch}, watchedWriter{errOut, t.watch})
	t.watch.Stop()
	in.close()
	a := parseAnswer(out.bytes(), nonce)
	a.began, a.stderr, a.room = out.began, errOut.bytes(), room
	if ended := t.over(ctx); ended != nil && (!a.complete || ended.Kind == providers.ErrProtocol) {
		return a, ended
	}
	if err != nil && !a.complete {
		return a, fmt.Errorf("cannot %s %s: %w", sc.do, s.name, err)
	}
	return a, s.judge(sc, a, exit, out.bytes(), !password.IsZero())
}

// input returns everything that goes to standard input.
func (s *speaker) input(sc script, nonce string, password state.Secret) *input {
	var secret []byte
	if !password.IsZero() {
		secret = append(bytes.Clone(password.Reveal()), '\n')
	}
	set := "kw_n=" + Quote(nonce) + "\n"
	entry := set + "kw_c=" + Quote(reader) + "\nkw_root=" + yesNo(!s.plain) + "\nkw_pw=" + yesNo(len(secret) > 0) + "\n" + preludeScript + entryScript
	body := set + preludeScript + "kw_say begin\n" + sc.body + "kw_say end\n"
	in := &input{}
	in.add(block("script", bytesFrame([]byte(entry)))...)
	in.add(bytesFrame(secret))
	in.add(block("script", bytesFrame([]byte(body)))...)
	for _, f := range sc.frames {
		in.add(block("frame", f)...)
	}
	return in
}

// block is data with its header before it.
func block(kind string, f frame) []frame {
	return []frame{bytesFrame(fmt.Appendf(nil, "kubewright-%s %d\n", kind, f.size)), f}
}

// input reads frames one after the other. It opens each when its turn comes, so a large
// file is never held in memory.
type input struct {
	mu     sync.Mutex
	frames []frame
	open   io.ReadCloser // the first of frames, once it is being read
	left   int64         // of it, in bytes
	closed bool
}

func (in *input) add(frames ...frame) { in.frames = append(in.frames, frames...) }

func (in *input) Read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for {
		if in.closed || len(in.frames) == 0 {
			return 0, io.EOF
		}
		if in.open == nil {
			r, err := in.frames[0].open()
			if err != nil {
				return 0, err
			}
			in.open, in.left = r, in.frames[0].size
		}
		n, err := in.open.Read(p[:min(int64(len(p)), in.left+1)])
		switch {
		case int64(n) > in.left:
			return 0, errors.New("a file has grown while it was sent")
		case errors.Is(err, io.EOF) && int64(n) == in.left:
			_ = in.open.Close()
			in.open, in.frames = nil, in.frames[1:]
		case errors.Is(err, io.EOF):
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		default:
			in.left -= int64(n)
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
}

// close ends reading, wherever it is.
func (in *input) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	if in.open != nil {
		_ = in.open.Close()
		in.open = nil
	}
}

// judge derives from the markers how far the conversation got. given reports whether sudo
// got a password.
func (s *speaker) judge(sc script, a answer, exit int, raw []byte, given bool) error {
	if a.complete {
		return nil
	}
	do := sc.do + " " + s.name
	entered, began, sudo := "", false, ""
	for _, sec := range a.sections {
		switch sec.words[0] {
		case "entered":
			entered = strings.Join(sec.words[1:], " ")
		case "begin":
			began = true
		case "refused", "missing":
			sudo = sec.words[0]
		}
	}
	said := lastLine(a.stderr)
	switch {
	case began:
		return &providers.Error{Kind: providers.ErrProtocol, Do: do, Cause: fmt.Errorf("the script ended early with exit code %d%s", exit, said)}
	case sudo == "missing":
		return &providers.Error{Kind: providers.ErrSudo, Do: do, Cause: providers.WithRemedy(
			fmt.Errorf("user id %s is not root, and there is no sudo", providers.Sanitize(entered, 20)), "install sudo there, or connect as root")}
	case entered == "0" || entered != "" && s.plain:
		return &providers.Error{Kind: providers.ErrUnsupported, Do: do, Cause: fmt.Errorf("no POSIX shell could be started, exit code %d%s", exit, said)}
	case entered != "":
		cause := fmt.Errorf("sudo did not let us through%s", said)
		switch {
		case given:
			cause = providers.WithRemedy(cause, "see that the password is right, and that sudo lets the connection's user run commands as root (sudo -l tells there)")
		case !asksPassword(a) && s.sudo.has():
			cause = providers.WithRemedy(cause, "sudo_password was not sent, because sudo has not asked for a password. See what sudo -n true says there as the connection's user")
		}
		return &providers.Error{Kind: providers.ErrSudo, Do: do, Cause: cause}
	}
	if said == "" {
		said = lastLine(raw)
	}
	return &providers.Error{Kind: providers.ErrUnsupported, Do: do, Cause: providers.WithRemedy(
		fmt.Errorf("the login shell runs no commands, exit code %d%s", exit, said),
		"give the connection's user a shell that runs commands, as with: usermod -s /bin/sh USER")}
}

// lastLine returns the last line of a host's output, formatted as the end of a sentence.
func lastLine(output []byte) string {
	lines := providers.Tail(output)
	if len(lines) == 0 {
		return ""
	}
	return ": " + lines[len(lines)-1]
}
